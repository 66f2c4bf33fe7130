//! Nodes that do the same with the same tensors become one. TensorFlow's own pass does that too, but not to nodes that
//! read variables, nor to what follows from them.

use std::collections::{BTreeMap, HashMap, HashSet};

use tfvk_ops::OpKernelConstruction;
use tfvk_ops::expr::declarations;

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
    /// Of a read of a variable that is updated: the node itself, unless there are many that read alike.
    alone: Option<usize>,
}

/// So many reads of a variable that is updated are one; fewer may be better fused with the update, each on its own.
const MANY: usize = 4;

/// Of each node that another is the same as (and may go): which.
pub fn find(graph: &Graph) -> HashMap<usize, usize> {
    let reads = Reads::of(graph);
    let mut known: HashMap<Key, usize> = HashMap::new();
    let mut same: HashMap<usize, usize> = HashMap::new();
    for node in graph.users_first().into_iter().rev() {
        let Some(key) = graph.node(node).and_then(|n| key(graph, &reads, &same, node, n)) else { continue };
        match known.get(&key) {
            Some(&first) if goes(graph, node) => drop(same.insert(node, first)),
            Some(_) => {}
            None => drop(known.insert(key, node)),
        }
    }
    same
}

/// Whether others may use another node in the place of this one; of what stays, only if any do.
fn goes(graph: &Graph, node: usize) -> bool {
    let used = || graph.uses(node).iter().any(|u| matches!(u, Use::Data(..)));
    !graph.is_preserved(node) || (!graph.is_fetched(node) && used())
}

/// The variables' reads.
struct Reads<'a> {
    /// How many read alike.
    alike: HashMap<&'a [String], usize>,
    /// The handles that other operators have too.
    updated: HashSet<&'a str>,
}

impl<'a> Reads<'a> {
    fn of(graph: &'a Graph) -> Self {
        let mut reads = Self { alike: HashMap::new(), updated: HashSet::new() };
        let nodes = || (0..graph.end()).filter_map(|i| graph.node(i));
        for node in nodes().filter(|n| n.def.op() == "ReadVariableOp") {
            *reads.alike.entry(&node.inputs).or_default() += 1;
        }
        let handles: HashSet<&str> = reads.alike.keys().filter_map(|inputs| inputs.first()).map(String::as_str).collect();
        let others = nodes().filter(|n| n.def.op() != "ReadVariableOp").flat_map(|n| &n.inputs).map(String::as_str);
        reads.updated = others.filter(|i| handles.contains(i)).collect();
        reads
    }

    /// Whether a read should not be merged with others.
    fn alone(&self, read: &GraphNode) -> bool {
        let updated = read.inputs.first().is_some_and(|handle| self.updated.contains(handle.as_str()));
        updated && self.alike.get(&read.inputs[..]).is_none_or(|&n| n < MANY)
    }
}

fn key(graph: &Graph, reads: &Reads<'_>, same: &HashMap<usize, usize>, index: usize, node: &GraphNode) -> Option<Key> {
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
    Some(Key {
        op: op.to_owned(),
        device: node.device.clone(),
        inputs,
        attributes: attributes.map(|(name, value)| (name.to_owned(), value.to_vec())).collect(),
        alone: (op == "ReadVariableOp" && reads.alone(node)).then_some(index),
    })
}
