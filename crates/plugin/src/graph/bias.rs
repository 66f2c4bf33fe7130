//! `MatMul`, `BiasAdd` and an activation become one `_FusedMatMul`: the epilogue of the product does the rest. Only where
//! that gives the very same bits: in float32 (16-bit floats are rounded once, not after each operator).

use tfvk_device::{DType, Result};
use tfvk_ops::OpKernelConstruction;

use crate::graph::model::{Graph, GraphNode, Replacement};
use crate::wire;

/// What may follow the bias.
const ACTIVATIONS: [&str; 3] = ["Relu", "Relu6", "LeakyRelu"];

/// Fuses what fits; the number of products that were.
pub fn fuse(graph: &mut Graph) -> Result<usize> {
    let found: Vec<Replacement> = (0..graph.end()).filter_map(|i| candidate(graph, i).and_then(Result::ok)).collect();
    let count = found.len();
    graph.replace(found)?;
    Ok(count)
}

/// The replacement of the product at `index`, with its bias and, if there is one, its activation.
fn candidate(graph: &Graph, index: usize) -> Option<Result<Replacement>> {
    let product = graph.node(index)?;
    let dtype = product.def.dtype("T").ok()?;
    if product.def.op() != "MatMul" || !product.ours || dtype != DType::F32 {
        return None;
    }
    let bias_at = graph.only_user(index)?;
    let bias = graph.node(bias_at)?;
    let channels_last = !bias.def.has("data_format") || bias.def.string("data_format").is_ok_and(|f| f == "NHWC");
    let first = bias.data_inputs().next()? == (product.name.as_str(), 0);
    if bias.def.op() != "BiasAdd" || bias.device != product.device || !channels_last || !first {
        return None;
    }
    let activation = graph.only_user(bias_at).and_then(|i| Some((i, graph.node(i)?))).filter(|(_, node)| {
        ACTIVATIONS.contains(&node.def.op()) && node.device == product.device && node.data_inputs().count() == 1
    });
    let (at, last) = activation.unwrap_or((bias_at, bias));
    let mut gone = vec![index, bias_at, at];
    gone.dedup();
    Some(fused(product, bias, last).map(|new| Replacement { gone, new, outputs: vec![at] }))
}

fn fused(product: &GraphNode, bias: &GraphNode, last: &GraphNode) -> Result<GraphNode> {
    let data = |node: &GraphNode| -> Vec<String> { node.inputs.iter().filter(|i| !i.starts_with('^')).cloned().collect() };
    let mut inputs = data(product);
    inputs.extend(data(bias).into_iter().skip(1));
    let activation = if std::ptr::eq(bias, last) { None } else { Some(last) };
    for node in [Some(product), Some(bias), activation].into_iter().flatten() {
        for control in node.control_inputs() {
            if !inputs.contains(control) {
                inputs.push(control.clone());
            }
        }
    }
    let int = |field: u32, value: i64| {
        let mut out = Vec::new();
        wire::put_int(&mut out, field, value);
        out
    };
    let float = |value: f32| {
        let mut out = vec![4 << 3 | 5];
        out.extend_from_slice(&value.to_le_bytes());
        out
    };
    let mut list = Vec::new();
    for name in ["BiasAdd"].into_iter().chain(activation.map(|n| n.def.op())) {
        wire::put_bytes(&mut list, 2, name.as_bytes());
    }
    let mut fused_ops = Vec::new();
    wire::put_bytes(&mut fused_ops, 1, &list);
    let alpha = activation.and_then(|n| n.def.f32("alpha").ok()).unwrap_or(0.2);
    let attributes = [
        ("T", int(6, product.def.dtype("T")? as i64)),
        ("transpose_a", int(5, i64::from(product.def.bool("transpose_a")?))),
        ("transpose_b", int(5, i64::from(product.def.bool("transpose_b")?))),
        ("num_args", int(3, 1)),
        ("fused_ops", fused_ops),
        ("epsilon", float(0.0001)),
        ("leakyrelu_alpha", float(alpha)),
    ];
    GraphNode::new(&last.name, "_FusedMatMul", &last.device, inputs, &attributes)
}
