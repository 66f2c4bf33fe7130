//! The graph pass: what is done to a graph before TensorFlow runs it.
//!
//! TensorFlow calls it twice a graph, after its own passes, with devices already placed; it must change nothing the second
//! time. It lets an unchanged Keras script run ([`xla`]), makes one of nodes that do the same ([`same`]), gives a matrix
//! product its bias and activation ([`bias`]), and makes one operator of several element-wise ones and the updates of
//! variables that they are for ([`clusters`], [`fused`]). `TFVK_FUSION=0` leaves all but the first out.

pub mod bias;
pub mod clusters;
pub mod contraction;
pub mod fused;
pub mod member;
pub mod model;
mod preserve;
pub mod same;
pub mod xla;

use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use tf_sys::*;
use tfvk_device::{Code, Error, Result};

use crate::graph::model::Graph;
use crate::{guard, log, platform};

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
    item: *const TF_GrapplerItem,
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
        let without_xla = xla::without_xla(graph)?;
        let graph = without_xla.as_deref().unwrap_or(graph);
        // SAFETY: TensorFlow's item of this call.
        let fuse = || fuse(graph, || unsafe { preserve::nodes(item) });
        // A graph that cannot be fused can still be run.
        let fused = guard::or(None, "the graph stays as it is", fuse);
        let bytes = fused.or_else(|| without_xla.clone()).unwrap_or_else(|| graph.to_vec()).into_boxed_slice();
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

/// The graph with operators fused; `None` if there is nothing to fuse. `preserved` are the nodes that must stay.
fn fuse(encoded: &[u8], preserved: impl FnOnce() -> Result<Option<HashSet<String>>>) -> Result<Option<Vec<u8>>> {
    let Some(device_type) = platform::device_type().and_then(|t| t.to_str().ok()) else { return Ok(None) };
    if std::env::var("TFVK_FUSION").is_ok_and(|v| v == "0") || !model::mentions_device(encoded, device_type) {
        return Ok(None);
    }
    // Without the list of what is fetched nothing may go.
    let start = std::time::Instant::now();
    let Some(preserved) = preserved()? else { return Ok(None) };
    let mut graph = Graph::parse(encoded, device_type, preserved)?;
    let before = graph.len();
    let same = same::find(&graph);
    graph.merge(&same)?;
    let products = bias::fuse(&mut graph)?;
    let chains: Vec<_> = clusters::find(&graph).iter().filter_map(|set| fused::replacement(&graph, set).transpose()).collect();
    let chains = chains.into_iter().collect::<Result<Vec<_>>>()?;
    let count = chains.len();
    if same.len() + products + count == 0 {
        return Ok(None);
    }
    graph.replace(chains)?;
    log::debug(|| {
        let took = start.elapsed().as_micros();
        format!(
            "fused {products} products with their bias and {count} element-wise chains: {before} to {} nodes in {took} us",
            graph.len()
        )
    });
    Ok(Some(graph.encode()))
}
