//! Control flow in a graph: TensorFlow has made loops and branches into Switch and Merge, Enter and Exit by now. What runs
//! after what, what runs once and always, and an order.

use std::collections::HashMap;

use tfvk_ops::OpKernelConstruction;

use crate::graph::model::{Graph, tensor};

/// What control flow makes of a graph.
pub struct Flow {
    /// The nodes after each node. Instead of a loop's way back, everything that goes round leads to everything that leaves:
    /// what enters in one variable may leave in another, some rounds later.
    pub after: Vec<Vec<usize>>,
    /// The nodes, each after those before it.
    pub order: Vec<usize>,
    /// Whether a node runs once, always: it is in no loop and no branch.
    pub plain: Vec<bool>,
}

/// A loop's frame.
#[derive(Default)]
struct Frame {
    /// The frame around it.
    parent: Option<usize>,
    rounds: Vec<usize>,
    exits: Vec<usize>,
}

impl Flow {
    /// Of a graph. Where that is none that TensorFlow makes, nothing is plain.
    pub fn of(graph: &Graph) -> Self {
        let mut first = graph.users_first();
        first.reverse();
        let mut after: Vec<Vec<usize>> = (0..graph.end()).map(|i| graph.next(i).collect()).collect();
        for frame in frames(graph, &first) {
            frame.rounds.iter().for_each(|&i| after[i].extend(&frame.exits));
        }
        let order = sorted(&after);
        let whole = order.len() == after.len();
        let plain = depths(graph, &first).into_iter().map(|depth| whole && depth == 0).collect();
        let mut order = if whole { order } else { first };
        order.retain(|&i| graph.node(i).is_some());
        Self { after, order, plain }
    }
}

/// The nodes before a node, but for a loop's way back.
fn before(graph: &Graph, node: usize) -> impl Iterator<Item = usize> {
    let inputs = graph.node(node).into_iter().flat_map(|n| &n.inputs);
    inputs.filter_map(|i| graph.index(tensor(i.trim_start_matches('^')).0)).filter(|&i| !goes_back(graph, i))
}

fn goes_back(graph: &Graph, node: usize) -> bool {
    graph.node(node).is_some_and(|n| n.def.op().ends_with("NextIteration"))
}

/// The frames of the loops.
fn frames(graph: &Graph, order: &[usize]) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut named: HashMap<String, usize> = HashMap::new();
    // The frame that each node's results are in, and how deep that is.
    let mut of: Vec<Option<usize>> = vec![None; graph.end()];
    let mut depth: Vec<usize> = Vec::new();
    for &node in order {
        let Some(n) = graph.node(node) else { continue };
        let deep = |f: Option<usize>| f.map_or(0, |f| depth[f] + 1);
        let own = before(graph, node).map(|i| of[i]).max_by_key(|f| deep(*f)).flatten();
        let inner = deep(own);
        of[node] = match (n.def.op().trim_start_matches("Ref"), own) {
            ("Enter", parent) => {
                let name = n.def.string("frame_name").unwrap_or_default();
                Some(*named.entry(name).or_insert_with(|| {
                    depth.push(inner);
                    frames.push(Frame { parent, ..Frame::default() });
                    frames.len() - 1
                }))
            }
            ("Exit", Some(frame)) => {
                frames[frame].exits.push(node);
                frames[frame].parent
            }
            ("NextIteration", Some(frame)) => {
                frames[frame].rounds.push(node);
                own
            }
            _ => own,
        };
    }
    frames
}

/// All nodes that are on no cycle nor after one, each after those before it.
fn sorted(after: &[Vec<usize>]) -> Vec<usize> {
    let mut left = vec![0usize; after.len()];
    after.iter().flatten().for_each(|&i| left[i] += 1);
    let mut order: Vec<usize> = (0..left.len()).filter(|&i| left[i] == 0).collect();
    let mut at = 0;
    while let Some(&i) = order.get(at) {
        at += 1;
        for &next in &after[i] {
            left[next] -= 1;
            if left[next] == 0 {
                order.push(next);
            }
        }
    }
    order
}

/// How deep each node is in branches and loops. Too deep is safe.
fn depths(graph: &Graph, order: &[usize]) -> Vec<u32> {
    let mut depths = vec![0u32; graph.end()];
    for &node in order {
        let Some(n) = graph.node(node) else { continue };
        let depth = before(graph, node).map(|i| depths[i]).max().unwrap_or(0);
        let round = || n.data_inputs().filter_map(|(name, _)| graph.index(name)).any(|i| goes_back(graph, i));
        depths[node] = match n.def.op().trim_start_matches("Ref") {
            "Switch" | "_SwitchN" | "Enter" => depth + 1,
            // A loop's begin merges what enters with what comes back; a branch's end merges what of it has run.
            "Merge" if !round() => depth.saturating_sub(1),
            // Out of the loop, and out of the Switch that asks whether to go on.
            "Exit" => depth.saturating_sub(2),
            _ => depth,
        };
    }
    depths
}
