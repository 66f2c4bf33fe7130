//! The graph pass: what is done to a graph before TensorFlow runs it.
//!
//! TensorFlow calls it twice a graph, after its own passes, with devices already placed; it must change nothing the second
//! time. It lets an unchanged Keras script run ([`xla`]), makes one of nodes that do the same ([`same`]), gives a matrix
//! product its bias and activation ([`bias`]), and makes one operator of several element-wise ones and the updates of
//! variables that they are for ([`clusters`], [`fused`]). `TFVK_FUSION=0` leaves all but the first out.

pub mod bias;
pub mod clusters;
pub mod contraction;
mod flow;
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
    match preserved()? {
        Some(preserved) => fuse_all(encoded, device_type, preserved),
        None => Ok(None),
    }
}

fn fuse_all(encoded: &[u8], device_type: &str, preserved: HashSet<String>) -> Result<Option<Vec<u8>>> {
    let start = std::time::Instant::now();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::model::tests::{FLOAT, encoded, told};

    /// The nodes after the pass; nodes in the order of their names.
    fn fused(nodes: &[(&str, &str, &[&str])], preserved: &[&str]) -> Vec<String> {
        let names: HashSet<String> = preserved.iter().map(|p| (*p).to_owned()).collect();
        let bytes = encoded(nodes, FLOAT);
        let bytes = fuse_all(&bytes, "GPU", names.clone()).unwrap().unwrap_or(bytes);
        assert_eq!(fuse_all(&bytes, "GPU", names).unwrap(), None, "the second time there is nothing to do");
        let mut all = told(&Graph::parse(&bytes, "GPU", HashSet::new()).unwrap());
        all.sort_unstable();
        all
    }

    #[test]
    fn a_chain_becomes_one_node_and_what_is_fetched_stays() {
        let nodes: &[(&str, &str, &[&str])] =
            &[("x", "Arg", &[]), ("a", "Neg", &["x", "^c"]), ("b", "Exp", &["a"]), ("c", "Arg", &[]), ("r", "Ret", &["b"])];
        assert_eq!(fused(nodes, &["r"]), ["b: _VkElementwise(x, ^c)", "c: Arg()", "r: Ret(b)", "x: Arg()"]);
        // A fetched node keeps its name.
        assert_eq!(fused(nodes, &["a"]), ["a: _VkElementwise(x, ^c)", "c: Arg()", "r: Ret(a:1)", "x: Arg()"]);
        // Two fetched nodes cannot be one.
        assert_eq!(fused(nodes, &["a", "b"]).len(), 5);
    }

    #[test]
    fn no_cycle_comes_of_fusion() {
        // Neg's result goes to Exp directly and through a product.
        let nodes: &[(&str, &str, &[&str])] =
            &[("x", "Arg", &[]), ("a", "Neg", &["x"]), ("m", "Other", &["a"]), ("b", "Mul", &["a", "m"]), ("r", "Ret", &["b"])];
        assert_eq!(fused(nodes, &[]).len(), 5);
        // The same by waiting.
        let nodes: &[(&str, &str, &[&str])] =
            &[("x", "Arg", &[]), ("a", "Neg", &["x"]), ("m", "Other", &["^a"]), ("b", "Exp", &["a", "^m"]), ("r", "Ret", &["b"])];
        assert_eq!(fused(nodes, &[]).len(), 5);
    }

    #[test]
    fn nothing_more_waits_where_nodes_may_not_run_or_wait_for_each_other() {
        let of = |op| -> Vec<String> {
            let nodes: &[(&str, &str, &[&str])] = &[
                ("x", "Arg", &[]),
                ("other", op, &["x"]),
                ("a", "Neg", &["x"]),
                ("b", "Exp", &["a"]),
                ("c", "Mul", &["b", "other"]),
                ("r", "Ret", &["b"]),
                ("s", "Ret", &["c"]),
            ];
            fused(nodes, &[])
        };
        assert_eq!(of("Other").len(), 5, "all three are one");
        for op in ["Switch", "CollectiveReduceV2", "QueueDequeueV2", "_Recv"] {
            let got = of(op);
            assert!(got.contains(&"b: _VkElementwise(x)".to_owned()) && got.len() == 6, "{got:?}");
        }
    }

    #[test]
    fn control_flow_ends_where_it_ends() {
        let mut nodes: Vec<(&str, &str, &[&str])> = vec![
            ("x", "Arg", &[]),
            ("s", "Switch", &["x", "x"]),
            ("a", "Neg", &["s"]),
            ("b", "Exp", &["a"]),
            ("m", "Merge", &["b", "s:1"]),
            ("c", "Neg", &["m"]),
            ("d", "Exp", &["c"]),
            ("r", "Ret", &["a", "b", "c", "d"]),
        ];
        // In the branch a and b have two results together; outside c and d may.
        let got = fused(&nodes, &[]);
        assert!(got.contains(&"r: Ret(a, b, c, c:1)".to_owned()), "{got:?}");
        // A loop.
        nodes[1..5].copy_from_slice(&[
            ("e", "Enter", &["x"]),
            ("l", "Merge", &["e", "n"]),
            ("s", "Switch", &["l", "x"]),
            ("a", "Neg", &["s:1"]),
        ]);
        nodes.extend_from_slice(&[("b", "Exp", &["a"]), ("n", "NextIteration", &["b"]), ("m", "Exit", &["s"])]);
        let got = fused(&nodes, &[]);
        assert!(got.contains(&"r: Ret(a, b, c, c:1)".to_owned()), "{got:?}");
    }

    /// What enters a loop in one variable leaves it in another, by way of the next round alone.
    #[test]
    fn a_loop_leads_from_every_entry_to_every_exit() {
        let nodes: &[(&str, &str, &[&str])] = &[
            ("x", "Arg", &[]),
            ("a", "Neg", &["x"]),
            ("e1", "Enter", &["a"]),
            ("e2", "Enter", &["x"]),
            ("m1", "Merge", &["e1", "n1"]),
            ("m2", "Merge", &["e2", "n2"]),
            ("s1", "Switch", &["m1", "m2"]),
            ("s2", "Switch", &["m2", "m2"]),
            ("n1", "NextIteration", &["s1:1"]),
            ("n2", "NextIteration", &["s1:1", "^s2"]),
            ("out", "Exit", &["s2"]),
            ("b", "Mul", &["a", "out"]),
            ("r", "Ret", &["a", "b"]),
        ];
        assert_eq!(fused(nodes, &[]).len(), nodes.len(), "a and b are before and after the loop");
    }

    #[test]
    fn updates_of_variables_go_in_with_their_reads() {
        let mut nodes: Vec<(&str, &str, &[&str])> = vec![
            ("m", "Arg", &[]),
            ("g", "Arg", &[]),
            ("read", "ReadVariableOp", &["m"]),
            ("sub", "Sub", &["g", "read"]),
            ("add", "AssignAddVariableOp", &["m", "sub", "^read"]),
            ("again", "ReadVariableOp", &["m", "^add"]),
            ("sqrt", "Sqrt", &["again"]),
            ("r", "Ret", &["sqrt"]),
            ("done", "NoOp", &["^add"]),
        ];
        let expected = ["done: NoOp(^sqrt)", "g: Arg()", "m: Arg()", "r: Ret(sqrt)", "sqrt: _VkUpdate(m, g)"];
        assert_eq!(fused(&nodes, &[]), expected);
        // A node that is run for its effect leaves one that waits.
        assert!(fused(&nodes, &["add"]).contains(&"add: NoOp(^sqrt)".to_owned()));
        // Someone else holds the value that is updated: it would have to be copied.
        nodes.push(("s", "Ret", &["read"]));
        let got = fused(&nodes, &[]);
        assert!(got.contains(&"add: AssignAddVariableOp(m, sub, ^read)".to_owned()), "{got:?}");
    }

    /// The reads of a function's variables are preserved all of them, though nothing comes of them but their values.
    #[test]
    fn a_function_need_not_read_by_name() {
        let mut nodes: Vec<(&str, &str, &[&str])> = vec![
            ("m", "_Arg", &[]),
            ("g", "_Arg", &[]),
            ("read", "ReadVariableOp", &["m"]),
            ("sub", "Sub", &["g", "read"]),
            ("add", "AssignAddVariableOp", &["m", "sub"]),
        ];
        let expected =
            ["add/fused: _VkUpdate(m, g)", "add: NoOp(^add/fused)", "g: _Arg()", "m: _Arg()", "read: NoOp(^add/fused)"];
        assert_eq!(fused(&nodes, &["read", "add"]), expected);
        nodes.splice(2.., [("a", "ReadVariableOp", &["m"][..]), ("b", "ReadVariableOp", &["m"]), ("r", "Ret", &["a", "b"])]);
        assert_eq!(fused(&nodes, &["a", "b"])[..2], ["a: ReadVariableOp(m)", "b: ReadVariableOp(m)"]);
        assert!(fused(&nodes, &["a", "b"]).iter().any(|n| n == "r: Ret(a, a)" || n == "r: Ret(b, b)"));
    }

    #[test]
    fn a_bias_is_added_like_any_operand() {
        let nodes: &[(&str, &str, &[&str])] = &[
            ("x", "Other", &[]),
            ("b", "Arg", &[]),
            ("add", "BiasAdd", &["x", "b"]),
            ("act", "Tanh", &["add"]),
            ("r", "Ret", &["act", "add"]),
        ];
        assert_eq!(fused(nodes, &[]), ["add: _VkElementwise(x, b)", "b: Arg()", "r: Ret(add:1, add)", "x: Other()"]);
    }

    /// Nodes of which some reduce, with axes of type int32.
    fn reducing(nodes: &[(&str, &str, &[&str])]) -> Vec<String> {
        let [mut float, mut int, mut keep] = [Vec::new(), Vec::new(), Vec::new()];
        crate::wire::put_int(&mut float, 6, 1);
        crate::wire::put_int(&mut int, 6, 3);
        crate::wire::put_int(&mut keep, 5, 1);
        let attributes = [("T", float.clone()), ("dtype", float), ("Tidx", int), ("keep_dims", keep)];
        let mut encoded = Vec::new();
        for (name, op, inputs) in nodes {
            let inputs = inputs.iter().map(|i| (*i).to_owned()).collect();
            let node = model::GraphNode::new(name, op, "/device:GPU:0", inputs, &attributes).unwrap();
            crate::wire::put_bytes(&mut encoded, model::GRAPH_NODE, node.encoded());
        }
        let bytes = fuse_all(&encoded, "GPU", HashSet::new()).unwrap().unwrap_or(encoded);
        let mut all = told(&Graph::parse(&bytes, "GPU", HashSet::new()).unwrap());
        all.sort_unstable();
        all
    }

    #[test]
    fn reductions_go_in_but_not_with_updates() {
        let mut nodes: Vec<(&str, &str, &[&str])> = vec![
            ("x", "Arg", &[]),
            ("axes", "Arg", &[]),
            ("square", "Square", &["x"]),
            ("mean", "Mean", &["square", "axes"]),
            ("over", "RealDiv", &["x", "mean"]),
            ("r", "Ret", &["over"]),
        ];
        assert_eq!(reducing(&nodes), ["axes: Arg()", "over: _VkElementwise(x, axes)", "r: Ret(over)", "x: Arg()"]);
        // The sum of a gradient is there before the update, so that the gradient need not be.
        nodes[4..].copy_from_slice(&[("twice", "AddV2", &["mean", "mean"]), ("add", "AssignAddVariableOp", &["v", "twice"])]);
        nodes.push(("v", "Arg", &[]));
        let got = reducing(&nodes);
        assert!(got.contains(&"mean: _VkElementwise(x, axes)".to_owned()), "{got:?}");
        assert!(got.iter().any(|n| n.contains("_VkUpdate(v, mean)")), "{got:?}");
    }

    #[test]
    fn the_same_is_done_once() {
        let nodes: &[(&str, &str, &[&str])] = &[
            ("v", "Arg", &[]),
            ("a", "ReadVariableOp", &["v"]),
            ("b", "ReadVariableOp", &["v"]),
            ("c", "ReadVariableOp", &["v", "^w"]),
            ("w", "Other", &["^a"]),
            ("r", "Ret", &["a", "b", "c"]),
        ];
        let expected = ["a: ReadVariableOp(v)", "c: ReadVariableOp(v, ^w)", "r: Ret(a, a, c)", "v: Arg()", "w: Other(^a)"];
        assert_eq!(fused(nodes, &[]), expected);
    }

    #[test]
    fn damage_is_an_error_not_a_fault() {
        let good = encoded(&[("x", "Arg", &[]), ("a", "Neg", &["x"]), ("b", "Exp", &["a"]), ("r", "Ret", &["b"])], FLOAT);
        for n in 1..good.len() {
            // A cut can fall between two nodes; what is left then is a graph with inputs that don't exist.
            let _ = fuse_all(&good[..n], "GPU", HashSet::new());
            let mut bad = good.clone();
            bad[n] ^= 0xff;
            let _ = fuse_all(&bad, "GPU", HashSet::new());
        }
        assert!(fuse_all(&good[..good.len() - 1], "GPU", HashSet::new()).is_err());
        // A cycle, which no graph has.
        let cycle = encoded(&[("a", "Neg", &["b"]), ("b", "Exp", &["a"])], FLOAT);
        let _ = fuse_all(&cycle, "GPU", HashSet::new());
    }

    #[test]
    fn a_large_graph_is_fused_once() {
        let names: Vec<String> = (0..2000).map(|i| format!("n{i}")).collect();
        let mut state = 1u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let inputs: Vec<[&str; 2]> = (0..2000)
            .map(|i: usize| i.max(1))
            .map(|i| [i - 1 - random(8).min(i - 1), random(i)].map(|j: usize| names[j].as_str()))
            .collect::<Vec<_>>();
        let mut nodes: Vec<(&str, &str, &[&str])> = vec![("n0", "Arg", &[])];
        for i in 1..2000 {
            let (op, n) = [("Tanh", 1), ("AddV2", 2), ("Mul", 2), ("Other", 2)][random(4)];
            nodes.push((&names[i], op, &inputs[i][..n]));
        }
        let graph = encoded(&nodes, FLOAT);
        let fused = fuse_all(&graph, "GPU", HashSet::new()).unwrap().unwrap();
        let left = Graph::parse(&fused, "GPU", HashSet::new()).unwrap().len();
        assert!((500..1500).contains(&left), "{left} of 2000 nodes are left");
        assert!(fuse_all(&fused, "GPU", HashSet::new()).unwrap().is_none(), "the second time there is nothing to do");
    }
}
