//! Takes `_XlaMustCompile` off nodes and functions: `compile()` asks for XLA as soon as there is a device that is not the
//! CPU, and XLA knows no pluggable device.

use tfvk_device::Result;

use crate::construction::map_entry;
use crate::graph::model::{GRAPH_LIBRARY, GRAPH_NODE, NODE_ATTR};
use crate::wire;

// FunctionDefLibrary, FunctionDef (tensorflow/core/framework/function.proto).
const LIBRARY_FUNCTION: u32 = 1;
const FUNCTION_NODE: u32 = 3;
const FUNCTION_ATTR: u32 = 5;

const MUST_COMPILE: &[u8] = b"_XlaMustCompile";

/// An encoded graph without the attribute; `None` if it has none.
pub fn without_xla(graph: &[u8]) -> Result<Option<Vec<u8>>> {
    if !contains(graph, MUST_COMPILE) {
        return Ok(None);
    }
    map(graph, |field| match field.number {
        GRAPH_NODE => node(field.value.bytes()).map(Some),
        GRAPH_LIBRARY => library(field.value.bytes()).map(Some),
        _ => Ok(None),
    })
    .map(Some)
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
        let out = without_xla(&graph(&["T", "_XlaMustCompile", "U"])).unwrap().unwrap();
        assert_eq!(out, graph(&["T", "U"]));
        assert_eq!(without_xla(&out).unwrap(), None, "idempotent");
    }
}
