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

/// How a node is used.
#[derive(Clone, Default)]
pub struct Uses {
    /// The nodes (by index) that use its output 0, once for each use.
    pub data: Vec<usize>,
    /// How often another output is used, or waited for.
    pub other: usize,
}

/// A graph.
pub struct Graph {
    nodes: Vec<Option<GraphNode>>,
    by_name: HashMap<String, usize>,
    uses: Vec<Uses>,
    preserved: HashSet<String>,
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
        let by_name = nodes.iter().flatten().enumerate().map(|(i, n)| (n.name.clone(), i)).collect();
        let mut graph = Self { uses: vec![Uses::default(); nodes.len()], nodes, by_name, preserved, rest };
        (0..graph.nodes.len()).for_each(|i| graph.add_uses(i));
        Ok(graph)
    }

    /// Notes what the node at `user` uses.
    fn add_uses(&mut self, user: usize) {
        for input in self.nodes[user].iter().flat_map(|n| &n.inputs) {
            let (name, output) = tensor(input.trim_start_matches('^'));
            let Some(&used) = self.by_name.get(name) else { continue };
            match (input.starts_with('^'), output) {
                (false, 0) => self.uses[used].data.push(user),
                _ => self.uses[used].other += 1,
            }
        }
    }

    /// Takes the node at `user` out.
    fn remove(&mut self, user: usize) {
        for input in self.nodes[user].take().iter().flat_map(|n| &n.inputs) {
            let (name, output) = tensor(input.trim_start_matches('^'));
            let Some(uses) = self.by_name.get(name).and_then(|&used| self.uses.get_mut(used)) else { continue };
            match (input.starts_with('^'), output) {
                (false, 0) => {
                    if let Some(at) = uses.data.iter().position(|&u| u == user) {
                        uses.data.swap_remove(at);
                    }
                }
                _ => uses.other -= 1,
            }
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.iter().flatten().count()
    }

    /// The node at an index, if it is still there.
    pub fn node(&self, index: usize) -> Option<&GraphNode> {
        self.nodes.get(index)?.as_ref()
    }

    /// The index of a node.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().filter(|&i| self.nodes[i].is_some())
    }

    /// Whether a node may go into one that replaces `users` too: they are all that use it.
    pub fn only_used_by(&self, index: usize, users: impl Fn(usize) -> bool) -> bool {
        let uses = &self.uses[index];
        let kept = self.node(index).is_none_or(|n| self.preserved.contains(&n.name));
        !kept && uses.other == 0 && !uses.data.is_empty() && uses.data.iter().all(|&u| users(u))
    }

    /// The one user of a node that may go into it.
    pub fn only_user(&self, index: usize) -> Option<usize> {
        let &[user] = &self.uses.get(index)?.data[..] else { return None };
        self.only_used_by(index, |u| u == user).then_some(user)
    }

    /// Indices, users before what they use. A loop's way back does not count: there, the order starts anew.
    pub fn users_first(&self) -> Vec<usize> {
        let mut left: Vec<usize> = vec![0; self.nodes.len()];
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); left.len()];
        let goes_back = |i: usize| self.node(i).is_some_and(|n| n.def.op().ends_with("NextIteration"));
        for (user, node) in self.nodes.iter().enumerate() {
            for input in node.iter().flat_map(|n| &n.inputs) {
                if let Some(used) = self.index(tensor(input.trim_start_matches('^')).0).filter(|&i| !goes_back(i)) {
                    users[used].push(user);
                    left[user] += 1;
                }
            }
        }
        let mut order: Vec<usize> = (0..left.len()).filter(|&i| left[i] == 0).collect();
        let mut next = 0;
        while let Some(&i) = order.get(next) {
            next += 1;
            for &user in &users[i] {
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
        order
    }

    /// Puts `new` in the place of the node at `at`, under the same name, and takes the nodes `gone` out.
    pub fn replace(&mut self, at: usize, new: GraphNode, gone: &[usize]) {
        gone.iter().chain([&at]).for_each(|&i| self.remove(i));
        self.nodes[at] = Some(new);
        self.add_uses(at);
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
