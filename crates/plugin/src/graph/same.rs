//! Nodes that do the same with the same tensors become one. TensorFlow's own pass does that too, but not to nodes that
//! read variables, nor to what follows from them.

use std::collections::{BTreeMap, HashMap};

use tfvk_ops::OpKernelConstruction;
use tfvk_ops::expr::declarations;

use crate::graph::member::{Member, member};
use crate::graph::model::{Graph, GraphNode, Use};

/// Operators besides the element-wise ones that give the same for the same.
const PURE: [&str; 8] = ["Const", "ReadVariableOp", "Reshape", "Squeeze", "ExpandDims", "Transpose", "Sum", "Mean"];

/// What makes two nodes the same.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: String,
    device: String,
    inputs: Vec<String>,
    attributes: BTreeMap<String, Vec<u8>>,
    /// Of a read of a variable: whether only operators that can be fused with an update of it use the value. One that
    /// others use too cannot go into that update.
    goes_into_update: bool,
}

/// Of each node that another is the same as (and may go): which.
pub fn find(graph: &Graph) -> HashMap<usize, usize> {
    let mut known: HashMap<Key, usize> = HashMap::new();
    let mut same: HashMap<usize, usize> = HashMap::new();
    for node in graph.users_first().into_iter().rev() {
        let Some(key) = graph.node(node).and_then(|n| key(graph, &same, node, n)) else { continue };
        match known.get(&key) {
            Some(&first) if !graph.is_preserved(node) => drop(same.insert(node, first)),
            Some(_) => {}
            None => drop(known.insert(key, node)),
        }
    }
    same
}

fn key(graph: &Graph, same: &HashMap<usize, usize>, index: usize, node: &GraphNode) -> Option<Key> {
    let op = node.def.op();
    if !node.ours || (declarations(op).is_empty() && !PURE.contains(&op)) {
        return None;
    }
    let renamed = |input: &String| {
        let bare = input.trim_start_matches('^');
        let first = graph.index(bare).and_then(|i| same.get(&i)).and_then(|&f| graph.node(f));
        first.map_or_else(|| input.clone(), |f| format!("{}{}", &input[..input.len() - bare.len()], f.name))
    };
    let mut inputs: Vec<String> = node.inputs.iter().map(renamed).collect();
    let data = inputs.iter().filter(|i| !i.starts_with('^')).count();
    inputs[data..].sort_unstable();
    let attributes = node.def.attributes().filter(|(name, _)| !name.starts_with('_'));
    let fits = |u: &Use| match *u {
        Use::Data(user, _) => graph.node(user).and_then(member).is_some_and(|m| matches!(m, Member::Op(_) | Member::Update(..))),
        Use::Control(_) => true,
    };
    Some(Key {
        op: op.to_owned(),
        device: node.device.clone(),
        inputs,
        attributes: attributes.map(|(name, value)| (name.to_owned(), value.to_vec())).collect(),
        goes_into_update: op == "ReadVariableOp" && graph.uses(index).iter().all(fits),
    })
}
