//! The graph pass: what is done to a graph before TensorFlow runs it.
//!
//! TensorFlow calls it twice a graph, after its own passes, with devices already placed. For now it lets an unchanged Keras
//! script run: `compile()` asks for XLA as soon as there is a device that is not the CPU, XLA knows no pluggable device,
//! and so every `_XlaMustCompile` goes, from nodes and from the library's functions.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use tf_sys::*;
use tfvk_device::{Code, Error, Result};

use crate::construction::map_entry;
use crate::{guard, platform, wire};

// GraphDef, FunctionDefLibrary, FunctionDef, NodeDef (tensorflow/core/framework/*.proto).
const GRAPH_NODE: u32 = 1;
const GRAPH_LIBRARY: u32 = 2;
const LIBRARY_FUNCTION: u32 = 1;
const FUNCTION_NODE: u32 = 3;
const FUNCTION_ATTR: u32 = 5;
const NODE_ATTR: u32 = 5;

const MUST_COMPILE: &[u8] = b"_XlaMustCompile";

/// Fills `params` with the pass.
///
/// # Safety
/// `params` is what TensorFlow passes to `TF_InitGraph`.
pub unsafe fn init(params: *mut TP_OptimizerRegistrationParams) -> Result<()> {
    // SAFETY: the caller's promise: TensorFlow allocated the three structs with its own sizes.
    let (params, optimizer) = unsafe {
        let Some(params) = params.as_mut() else { return Err(Error::internal("TF_InitGraph without parameters")) };
        // The kernels take both layouts: transposing to NCHW and back only costs.
        if let Some(configs) = params.optimizer_configs.as_mut() {
            configs.layout_optimizer = TF_TriState_Off;
        }
        match params.optimizer.as_mut() {
            Some(optimizer) => (params, optimizer),
            None => return Err(Error::internal("TF_InitGraph without an optimizer to fill")),
        }
    };
    if optimizer.struct_size < TP_OPTIMIZER_STRUCT_SIZE {
        return Err(Error::new(Code::FailedPrecondition, "tensorflow-vulkan needs TensorFlow 2.16 or later"));
    }
    // TensorFlow aborts on a second pass for one device type: when this library is loaded again under another name.
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    let device_type = platform::device_type().filter(|_| !REGISTERED.swap(true, Ordering::Relaxed));
    params.device_type = device_type.map_or_else(platform::unused_type, |t| t.as_ptr());
    optimizer.create_func = Some(create);
    optimizer.optimize_func = Some(optimize);
    optimizer.destroy_func = Some(destroy);
    Ok(())
}

unsafe extern "C" fn create() -> *mut c_void {
    null_mut()
}

unsafe extern "C" fn destroy(_: *mut c_void) {}

unsafe extern "C" fn optimize(
    _: *mut c_void,
    graph: *const TF_Buffer,
    _: *const TF_GrapplerItem,
    output: *mut TF_Buffer,
    status: *mut TF_Status,
) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow passes an encoded graph, and a buffer to fill.
        let (graph, output) = unsafe {
            let graph = match (*graph).length {
                0 => &[][..],
                n => std::slice::from_raw_parts((*graph).data.cast::<u8>(), n),
            };
            (graph, &mut *output)
        };
        let bytes = rewrite(graph)?.into_boxed_slice();
        output.length = bytes.len();
        output.data = Box::into_raw(bytes).cast::<c_void>().cast_const();
        output.data_deallocator = Some(free);
        Ok(())
    });
}

unsafe extern "C" fn free(data: *mut c_void, length: usize) {
    // SAFETY: made by Box::into_raw in `optimize`, of this length; freed once.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(data.cast::<u8>(), length)) });
}

/// The graph after the pass.
fn rewrite(graph: &[u8]) -> Result<Vec<u8>> {
    if !contains(graph, MUST_COMPILE) {
        return Ok(graph.to_vec());
    }
    map(graph, |field| match field.number {
        GRAPH_NODE => node(field.value.bytes()).map(Some),
        GRAPH_LIBRARY => library(field.value.bytes()).map(Some),
        _ => Ok(None),
    })
}

fn library(library: &[u8]) -> Result<Vec<u8>> {
    map(library, |field| if field.number == LIBRARY_FUNCTION { function(field.value.bytes()).map(Some) } else { Ok(None) })
}

fn function(function: &[u8]) -> Result<Vec<u8>> {
    let kept = without_attribute(function, FUNCTION_ATTR)?;
    map(&kept, |field| if field.number == FUNCTION_NODE { node(field.value.bytes()).map(Some) } else { Ok(None) })
}

fn node(node: &[u8]) -> Result<Vec<u8>> {
    without_attribute(node, NODE_ATTR)
}

/// A message with some of its fields replaced: `f` gives a message field's new bytes, or `None` to keep the field as it is.
fn map(message: &[u8], f: impl Fn(wire::Field<'_>) -> Result<Option<Vec<u8>>>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(message.len());
    for field in wire::fields(message) {
        let field = field?;
        match f(field)? {
            Some(bytes) => wire::put_bytes(&mut out, field.number, &bytes),
            None => out.extend_from_slice(field.raw),
        }
    }
    Ok(out)
}

/// A message without the entry `_XlaMustCompile` of its map field `number`.
fn without_attribute(message: &[u8], number: u32) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(message.len());
    for field in wire::fields(message) {
        let field = field?;
        if field.number != number || map_entry(field.value.bytes())?.0 != MUST_COMPILE {
            out.extend_from_slice(field.raw);
        }
    }
    Ok(out)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::put_bytes;

    fn entry(key: &str) -> Vec<u8> {
        let mut entry = Vec::new();
        put_bytes(&mut entry, 1, key.as_bytes());
        put_bytes(&mut entry, 2, &[0x28, 1]);
        entry
    }

    /// A graph with a node and a function with a node, each with these attributes.
    fn graph(attributes: &[&str]) -> Vec<u8> {
        let with = |name: u32, mut out: Vec<u8>| {
            for key in attributes {
                put_bytes(&mut out, name, &entry(key));
            }
            out
        };
        let mut name = Vec::new();
        put_bytes(&mut name, 1, b"n");
        let node = with(NODE_ATTR, name.clone());
        let mut function = with(FUNCTION_ATTR, name);
        put_bytes(&mut function, FUNCTION_NODE, &node);
        let mut library = Vec::new();
        put_bytes(&mut library, LIBRARY_FUNCTION, &function);
        let mut graph = Vec::new();
        put_bytes(&mut graph, GRAPH_NODE, &node);
        put_bytes(&mut graph, GRAPH_LIBRARY, &library);
        put_bytes(&mut graph, 4, &[8, 22]);
        graph
    }

    #[test]
    fn only_the_xla_attribute_goes() {
        let out = rewrite(&graph(&["T", "_XlaMustCompile", "U"])).unwrap();
        assert_eq!(out, graph(&["T", "U"]));
        assert_eq!(rewrite(&out).unwrap(), out, "idempotent");
    }
}
