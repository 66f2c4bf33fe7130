//! A graph while it is rewritten: nodes, who uses whom, and encoding it again. What is not touched is kept byte by byte.

use std::collections::{HashMap, HashSet};

use tfvk_device::Result;
use tfvk_ops::OpKernelConstruction;

use crate::construction::Node;
use crate::wire;

// GraphDef, NodeDef (tensorflow/core/framework/graph.proto, node_def.proto).
pub const GRAPH_NODE: u32 = 1;
pub const GRAPH_LIBRARY: u32 = 2;
const NODE_NAME: u32 = 1;
const NODE_OP: u32 = 2;
const NODE_INPUT: u32 = 3;
const NODE_DEVICE: u32 = 4;
pub const NODE_ATTR: u32 = 5;

/// A node.
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// Its inputs as written: `node`, `node:output`, `^node` for control.
    pub inputs: Vec<String>,
    /// Its device, if placed.
    pub device: String,
    /// Whether that is one of ours.
    pub ours: bool,
    /// Op and attributes.
    pub def: Node,
    encoded: Vec<u8>,
}

impl GraphNode {
    fn parse(encoded: &[u8], device_type: &str) -> Result<Self> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (mut name, mut device, mut inputs) = (String::new(), String::new(), Vec::new());
        for field in wire::fields(encoded) {
            let field = field?;
            match field.number {
                NODE_NAME => name = text(field.value.bytes()),
                NODE_INPUT => inputs.push(text(field.value.bytes())),
                NODE_DEVICE => device = text(field.value.bytes()),
                _ => {}
            }
        }
        let ours = device.contains(&format!("device:{device_type}:"));
        Ok(Self { name, inputs, device, ours, def: Node::parse(encoded)?, encoded: encoded.to_vec() })
    }

    /// A new node. Attributes are encoded `AttrValue`s.
    pub fn new(name: &str, op: &str, device: &str, inputs: Vec<String>, attributes: &[(&str, Vec<u8>)]) -> Result<Self> {
        let mut encoded = Vec::new();
        wire::put_bytes(&mut encoded, NODE_NAME, name.as_bytes());
        wire::put_bytes(&mut encoded, NODE_OP, op.as_bytes());
        for input in &inputs {
            wire::put_bytes(&mut encoded, NODE_INPUT, input.as_bytes());
        }
        wire::put_bytes(&mut encoded, NODE_DEVICE, device.as_bytes());
        for (key, value) in attributes {
            let mut entry = Vec::new();
            wire::put_bytes(&mut entry, 1, key.as_bytes());
            wire::put_bytes(&mut entry, 2, value);
            wire::put_bytes(&mut encoded, NODE_ATTR, &entry);
        }
        let def = Node::parse(&encoded)?;
        Ok(Self { name: name.into(), inputs, device: device.into(), ours: true, def, encoded })
    }

    /// The node, encoded.
    #[cfg(test)]
    pub fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// Gives the node other inputs.
    fn set_inputs(&mut self, inputs: Vec<String>) -> Result<()> {
        let mut encoded = Vec::with_capacity(self.encoded.len());
        for field in wire::fields(&self.encoded) {
            let field = field?;
            if field.number != NODE_INPUT {
                encoded.extend_from_slice(field.raw);
            }
        }
        for input in &inputs {
            wire::put_bytes(&mut encoded, NODE_INPUT, input.as_bytes());
        }
        (self.encoded, self.inputs) = (encoded, inputs);
        Ok(())
    }

    /// Data inputs, as node and output.
    pub fn data_inputs(&self) -> impl Iterator<Item = (&str, usize)> {
        self.inputs.iter().filter(|i| !i.starts_with('^')).map(|i| tensor(i))
    }

    /// Control inputs, as written.
    pub fn control_inputs(&self) -> impl Iterator<Item = &String> {
        self.inputs.iter().filter(|i| i.starts_with('^'))
    }
}

/// Node and output of a data input as written.
pub fn tensor(input: &str) -> (&str, usize) {
    match input.rsplit_once(':') {
        Some((node, output)) => output.parse().map_or((input, 0), |n| (node, n)),
        None => (input, 0),
    }
}

/// Whether an encoded graph mentions a device of this type at all.
pub fn mentions_device(encoded: &[u8], device_type: &str) -> bool {
    let needle = format!("device:{device_type}:");
    encoded.windows(needle.len()).any(|window| window == needle.as_bytes())
}

/// One use of a node by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Node `.0` takes output `.1`.
    Data(usize, usize),
    /// Node `.0` waits for it.
    Control(usize),
}

impl Use {
    /// The node that uses.
    pub fn user(self) -> usize {
        match self {
            Use::Data(user, _) | Use::Control(user) => user,
        }
    }
}

/// Nodes that one node takes the place of.
pub struct Replacement {
    /// The nodes.
    pub gone: Vec<usize>,
    /// What takes their place. Its inputs are written as before any replacement.
    pub new: GraphNode,
    /// Of its outputs, whose (first) output each is.
    pub outputs: Vec<usize>,
}

/// A graph.
pub struct Graph {
    nodes: Vec<Option<GraphNode>>,
    by_name: HashMap<String, usize>,
    uses: Vec<Vec<Use>>,
    preserved: HashSet<String>,
    /// Whether it is a function's body.
    is_function: bool,
    /// Library, versions: fields that are kept as they are.
    rest: Vec<u8>,
}

impl Graph {
    /// Reads an encoded graph. Nodes named in `preserved` stay.
    pub fn parse(encoded: &[u8], device_type: &str, preserved: HashSet<String>) -> Result<Self> {
        let (mut nodes, mut rest) = (Vec::new(), Vec::new());
        for field in wire::fields(encoded) {
            let field = field?;
            match field.number {
                GRAPH_NODE => nodes.push(Some(GraphNode::parse(field.value.bytes(), device_type)?)),
                _ => rest.extend_from_slice(field.raw),
            }
        }
        let of_function = |n: &GraphNode| matches!(n.def.op(), "_Arg" | "_Retval" | "_DeviceArg" | "_DeviceRetval");
        let is_function = nodes.iter().flatten().any(of_function);
        let mut graph = Self { uses: Vec::new(), nodes, by_name: HashMap::new(), preserved, is_function, rest };
        graph.index_all();
        Ok(graph)
    }

    fn index_all(&mut self) {
        let named = |(i, n): (usize, &Option<GraphNode>)| n.as_ref().map(|n| (n.name.clone(), i));
        self.by_name = self.nodes.iter().enumerate().filter_map(named).collect();
        self.uses = vec![Vec::new(); self.nodes.len()];
        for (user, node) in self.nodes.iter().enumerate() {
            for input in node.iter().flat_map(|n| &n.inputs) {
                let (name, output) = tensor(input.trim_start_matches('^'));
                let Some(&used) = self.by_name.get(name) else { continue };
                self.uses[used].push(if input.starts_with('^') { Use::Control(user) } else { Use::Data(user, output) });
            }
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.iter().flatten().count()
    }

    /// One more than the highest index of a node.
    pub fn end(&self) -> usize {
        self.nodes.len()
    }

    /// The node at an index, if it is still there.
    pub fn node(&self, index: usize) -> Option<&GraphNode> {
        self.nodes.get(index)?.as_ref()
    }

    /// The index of a node.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// How a node is used.
    pub fn uses(&self, index: usize) -> &[Use] {
        self.uses.get(index).map_or(&[], Vec::as_slice)
    }

    /// The nodes that run after a node. A loop's way back does not count.
    pub fn next(&self, index: usize) -> impl Iterator<Item = usize> {
        let back = self.node(index).is_some_and(|n| n.def.op().ends_with("NextIteration"));
        self.uses(index).iter().filter(move |_| !back).map(|u| u.user())
    }

    /// Whether the node must stay under its name: it is fetched, fed, or run for its effect.
    pub fn is_preserved(&self, index: usize) -> bool {
        self.node(index).is_some_and(|n| self.preserved.contains(&n.name))
    }

    /// Whether the node's result may be asked for by its name. Not in a function: its results are nodes of their own, and
    /// what else is preserved there is run for its effect.
    pub fn is_fetched(&self, index: usize) -> bool {
        self.is_preserved(index) && !self.is_function
    }

    /// The one user of a node that may go into it.
    pub fn only_user(&self, index: usize) -> Option<usize> {
        match *self.uses(index) {
            [Use::Data(user, 0)] if !self.is_preserved(index) => Some(user),
            _ => None,
        }
    }

    /// Indices, users before what they use. A loop's way back does not count: there, the order starts anew.
    pub fn users_first(&self) -> Vec<usize> {
        let mut left: Vec<usize> = vec![0; self.nodes.len()];
        (0..left.len()).for_each(|i| self.next(i).for_each(|user| left[user] += 1));
        let mut order: Vec<usize> = (0..left.len()).filter(|&i| left[i] == 0).collect();
        let mut at = 0;
        while let Some(&i) = order.get(at) {
            at += 1;
            for user in self.next(i) {
                left[user] -= 1;
                if left[user] == 0 {
                    order.push(user);
                }
            }
        }
        // What is left is in or after a loop of another kind.
        let seen: HashSet<usize> = order.iter().copied().collect();
        order.extend((0..left.len()).filter(|i| !seen.contains(i)));
        order.reverse();
        order.retain(|&i| self.nodes[i].is_some());
        order
    }

    /// Makes all replacements. A preserved node that goes (and has no outputs in use) leaves a node of its name behind that
    /// does nothing but wait; the name of the new node must not be one that is still in use.
    pub fn replace(&mut self, all: Vec<Replacement>) -> Result<()> {
        // The new text of data inputs, and what waiting for a node means now.
        let mut tensors: HashMap<String, String> = HashMap::new();
        let mut names: HashMap<String, String> = HashMap::new();
        for r in all {
            for (k, &of) in r.outputs.iter().enumerate() {
                let Some(old) = self.node(of) else { continue };
                let new = if k == 0 { r.new.name.clone() } else { format!("{}:{k}", r.new.name) };
                tensors.insert(format!("{}:0", old.name), new.clone());
                tensors.insert(old.name.clone(), new);
            }
            for &i in &r.gone {
                let stays = self.is_preserved(i) && self.nodes[i].as_ref().is_some_and(|n| n.name != r.new.name);
                let Some(old) = self.nodes[i].take() else { continue };
                if stays {
                    let wait = vec![format!("^{}", r.new.name)];
                    self.nodes[i] = Some(GraphNode::new(&old.name, "NoOp", &old.device, wait, &[])?);
                } else {
                    names.insert(old.name, r.new.name.clone());
                }
            }
            self.nodes.push(Some(r.new));
        }
        for node in self.nodes.iter_mut().flatten() {
            rename(node, &tensors, &names)?;
        }
        self.index_all();
        Ok(())
    }

    /// Takes nodes out whose places others (the values) take, output for output.
    pub fn merge(&mut self, same: &HashMap<usize, usize>) -> Result<()> {
        let (mut tensors, mut names) = (HashMap::new(), HashMap::new());
        for (&node, &first) in same {
            let (Some(old), Some(new)) = (self.node(node), self.node(first)) else { continue };
            tensors.insert(format!("{}:0", old.name), new.name.clone());
            tensors.insert(old.name.clone(), new.name.clone());
            names.insert(old.name.clone(), new.name.clone());
        }
        // What is preserved stays, though nobody uses it any more.
        for &node in same.keys() {
            match self.is_preserved(node) {
                true => drop(self.node(node).map(|n| n.name.clone()).and_then(|name| names.remove(&name))),
                false => self.nodes[node] = None,
            }
        }
        for node in self.nodes.iter_mut().flatten() {
            rename(node, &tensors, &names)?;
        }
        self.index_all();
        Ok(())
    }

    /// The graph, encoded.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for node in self.nodes.iter().flatten() {
            wire::put_bytes(&mut out, GRAPH_NODE, &node.encoded);
        }
        out.extend_from_slice(&self.rest);
        out
    }
}

/// Rewrites a node's inputs: tensors and names that have others now.
fn rename(node: &mut GraphNode, tensors: &HashMap<String, String>, names: &HashMap<String, String>) -> Result<()> {
    let new = |input: &String| match input.strip_prefix('^') {
        Some(name) => names.get(name).map(|n| format!("^{n}")),
        None => tensors.get(input).cloned(),
    };
    if !node.inputs.iter().any(|i| new(i).is_some_and(|n| n != *i)) {
        return Ok(());
    }
    let mut inputs: Vec<String> = Vec::with_capacity(node.inputs.len());
    for input in &node.inputs {
        let input = new(input).unwrap_or_else(|| input.clone());
        // Waiting twice, or for oneself, is refused by TensorFlow.
        if !input.starts_with('^') || (!inputs.contains(&input) && input[1..] != *node.name) {
            inputs.push(input);
        }
    }
    node.set_inputs(inputs)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    const GPU: &str = "/device:GPU:0";

    /// The types float32 of operators and variables, as attributes.
    pub const FLOAT: &[&str] = &["T", "dtype"];

    /// An encoded graph of nodes `name: op(inputs)` whose attributes `types` are float32.
    pub fn encoded(nodes: &[(&str, &str, &[&str])], types: &[&str]) -> Vec<u8> {
        let mut encoded = Vec::new();
        let mut float = Vec::new();
        wire::put_int(&mut float, 6, 1);
        let attributes: Vec<(&str, Vec<u8>)> = types.iter().map(|t| (*t, float.clone())).collect();
        for (name, op, inputs) in nodes {
            let inputs = inputs.iter().map(|i| (*i).to_owned()).collect();
            wire::put_bytes(&mut encoded, GRAPH_NODE, &GraphNode::new(name, op, GPU, inputs, &attributes).unwrap().encoded);
        }
        encoded
    }

    fn graph(nodes: &[(&str, &str, &[&str])], preserved: &[&str]) -> Graph {
        Graph::parse(&encoded(nodes, &[]), "GPU", preserved.iter().map(|p| (*p).to_owned()).collect()).unwrap()
    }

    /// The nodes as they were written.
    pub fn told(graph: &Graph) -> Vec<String> {
        let text = |n: &GraphNode| format!("{}: {}({})", n.name, n.def.op(), n.inputs.join(", "));
        graph.nodes.iter().flatten().map(text).collect()
    }

    #[test]
    fn replacing_renames() {
        let nodes: &[(&str, &str, &[&str])] = &[
            ("x", "Arg", &[]),
            ("a", "A", &["x"]),
            ("b", "B", &["a", "^x"]),
            ("c", "C", &["b:0", "a"]),
            ("d", "D", &["c", "a", "^b", "^c"]),
            ("e", "E", &["^d"]),
        ];
        let mut graph = graph(nodes, &["c", "d"]);
        let f = GraphNode::new("c", "F", GPU, vec!["x".into()], &[]).unwrap();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| graph.index(n).unwrap());
        graph.replace(vec![Replacement { gone: vec![a, b, c], new: f, outputs: vec![c, a] }]).unwrap();
        assert_eq!(told(&graph), ["x: Arg()", "d: D(c, c:1, ^c)", "e: E(^d)", "c: F(x)"]);
        assert_eq!(Graph::parse(&graph.encode(), "GPU", HashSet::new()).map(|g| told(&g)), Ok(told(&graph)));
        // A preserved node that is run for its effect.
        let g = GraphNode::new("g", "G", GPU, vec!["c".into()], &[]).unwrap();
        graph.replace(vec![Replacement { gone: vec![d], new: g, outputs: vec![] }]).unwrap();
        assert_eq!(told(&graph), ["x: Arg()", "d: NoOp(^g)", "e: E(^d)", "c: F(x)", "g: G(c)"]);
    }

    #[test]
    fn the_order_ends_at_the_way_back_of_a_loop() {
        let nodes: &[(&str, &str, &[&str])] = &[
            ("exp", "Exp", &["merge"]),
            ("next", "NextIteration", &["exp"]),
            ("merge", "Merge", &["enter", "next"]),
            ("enter", "Enter", &[]),
        ];
        let graph = graph(nodes, &[]);
        let names: Vec<&str> = graph.users_first().iter().map(|&i| nodes[i].0).collect();
        assert_eq!(names, ["next", "exp", "merge", "enter"]);
    }
}
