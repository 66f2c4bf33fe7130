//! Element-wise operators that only feed each other become one `_VkElementwise`: one launch, no memory in between. Its
//! results are those of the operators one by one, to the last bit.

use std::collections::HashMap;

use tfvk_device::{DType, Result};
use tfvk_ops::elementwise::{FUSED_OP, check_text, fused_text};
use tfvk_ops::expr::{AttrValue, Chain, Operand, ShapeRule, Step, declarations};
use tfvk_ops::signature::{ArgType, signature};
use tfvk_ops::{KernelDef, OpKernelConstruction};

use crate::graph::model::{Graph, GraphNode, tensor};
use crate::wire;

/// Operators in one: what compiles quickly and keeps its values in registers.
const MAX_STEPS: usize = 24;
/// Tensors that one reads.
const MAX_INPUTS: usize = 12;

/// An operator that can go into a chain.
struct Candidate {
    attrs: Vec<AttrValue>,
    inputs: Vec<DType>,
    output: DType,
}

/// Fuses what fits; the number of chains.
pub fn fuse(graph: &mut Graph) -> usize {
    let mut count = 0;
    let mut known: HashMap<usize, Option<Candidate>> = HashMap::new();
    for root in graph.users_first() {
        let Some(new) = chain(graph, root, &mut known) else { continue };
        let (node, gone) = new;
        graph.replace(root, node, &gone);
        count += 1;
    }
    count
}

/// The node as an operator of a chain: an expression of broadcasting operands whose kernel, for these element types, has
/// everything in device memory (TensorFlow keeps int32 on the host in many), with one result.
fn candidate(node: &GraphNode) -> Option<Candidate> {
    if !node.ours {
        return None;
    }
    let op = node.def.op();
    let serves = |def: &KernelDef| def.types.iter().all(|c| node.def.dtype(c.attr).is_ok_and(|d| c.dtypes.contains(&d)));
    let &(def, e) = declarations(op).iter().find(|(def, _)| serves(def))?;
    let broadcasts = match e.shape {
        ShapeRule::Broadcast | ShapeRule::Same => true,
        ShapeRule::BroadcastOrScalar => node.def.bool("incompatible_shape_error").is_ok_and(|b| b),
        ShapeRule::First | ShapeRule::Custom(_) => false,
    };
    if !broadcasts || !def.host_memory.is_empty() {
        return None;
    }
    let signature = signature(op)?;
    let dtype = |kind: ArgType| match kind {
        ArgType::Fixed(dtype) => dtype,
        ArgType::Attr(name) => node.def.dtype(name).ok(),
        ArgType::List(_) => None,
    };
    let mut inputs = Vec::new();
    for arg in &signature.inputs {
        let n = match arg.number {
            Some(name) => usize::try_from(node.def.i64(name).ok()?).ok()?,
            None => 1,
        };
        inputs.extend(std::iter::repeat_n(dtype(arg.dtype)?, n));
    }
    let [output] = &signature.outputs[..] else { return None };
    let output = dtype(output.dtype).filter(|_| output.number.is_none())?;
    let fits = node.data_inputs().count() == inputs.len();
    Some(Candidate { attrs: e.read_attrs(&node.def).ok()?, inputs, output }).filter(|_| fits)
}

/// The chain that ends in `root`, and the nodes that go into it; `None` if it would be `root` alone.
fn chain(graph: &Graph, root: usize, known: &mut HashMap<usize, Option<Candidate>>) -> Option<(GraphNode, Vec<usize>)> {
    let mut look = |i: usize| known.entry(i).or_insert_with(|| graph.node(i).and_then(candidate)).is_some();
    let last = graph.node(root)?;
    if !look(root) {
        return None;
    }
    // Grow by whatever only feeds what is in already.
    let mut members = vec![root];
    let mut grown = true;
    while grown {
        grown = false;
        for at in (0..members.len()).rev() {
            let feeders: Vec<usize> = graph.node(members[at])?.data_inputs().filter_map(|(name, _)| graph.index(name)).collect();
            for i in feeders {
                let fits = members.len() < MAX_STEPS
                    && !members.contains(&i)
                    && look(i)
                    && graph.node(i).is_some_and(|n| n.device == last.device)
                    && graph.only_used_by(i, |user| members.contains(&user));
                if fits {
                    members.push(i);
                    if outside(graph, &members).len() > MAX_INPUTS {
                        members.pop();
                    } else {
                        grown = true;
                    }
                }
            }
        }
    }
    if members.len() < 2 {
        return None;
    }
    let node = fused(graph, &members, known).ok()?;
    Some((node, members[1..].to_vec()))
}

/// The tensors that come from outside, as written, each once.
fn outside(graph: &Graph, members: &[usize]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for input in members.iter().filter_map(|&i| graph.node(i)).flat_map(|n| &n.inputs) {
        let inside = graph.index(tensor(input).0).is_some_and(|i| members.contains(&i));
        if !input.starts_with('^') && !inside && !all.contains(input) {
            all.push(input.clone());
        }
    }
    all
}

/// Members in the order of execution.
fn in_order(graph: &Graph, members: &[usize]) -> Vec<usize> {
    fn visit(graph: &Graph, members: &[usize], i: usize, done: &mut Vec<usize>) {
        if done.contains(&i) {
            return;
        }
        for (name, _) in graph.node(i).into_iter().flat_map(GraphNode::data_inputs) {
            if let Some(feeder) = graph.index(name).filter(|f| members.contains(f)) {
                visit(graph, members, feeder, done);
            }
        }
        done.push(i);
    }
    let mut done = Vec::new();
    visit(graph, members, members[0], &mut done);
    done
}

fn fused(graph: &Graph, members: &[usize], known: &HashMap<usize, Option<Candidate>>) -> Result<GraphNode> {
    let missing = || tfvk_device::Error::internal("a member of a chain that is no node");
    let inputs = outside(graph, members);
    let order = in_order(graph, members);
    let mut types = vec![DType::F32; inputs.len()];
    let mut steps = Vec::new();
    let mut controls: Vec<String> = Vec::new();
    for &i in &order {
        let node = graph.node(i).ok_or_else(missing)?;
        let member = known.get(&i).and_then(Option::as_ref).ok_or_else(missing)?;
        let mut args = Vec::new();
        for (input, &dtype) in node.inputs.iter().filter(|i| !i.starts_with('^')).zip(&member.inputs) {
            let feeder = graph.index(tensor(input).0).and_then(|f| order.iter().position(|&o| o == f));
            args.push(match (feeder, inputs.iter().position(|o| o == input)) {
                (Some(step), _) => Operand::Step(step),
                (None, Some(at)) => {
                    types[at] = dtype;
                    Operand::Input(at)
                }
                (None, None) => return Err(missing()),
            });
        }
        for control in node.control_inputs() {
            if !controls.contains(control) {
                controls.push(control.clone());
            }
        }
        steps.push(Step { op: node.def.op().to_owned(), attrs: member.attrs.clone(), args });
    }
    let root = graph.node(members[0]).ok_or_else(missing)?;
    let output = known.get(&members[0]).and_then(Option::as_ref).ok_or_else(missing)?.output;
    let chain = Chain { outputs: vec![steps.len() - 1], inputs: types, steps };
    let text = fused_text(&chain);
    // What cannot be compiled must not come to run.
    check_text(&text)?;
    let mut list = Vec::new();
    for dtype in &chain.inputs {
        wire::put_int(&mut list, 6, *dtype as i64);
    }
    let (mut tin, mut tout, mut program) = (Vec::new(), Vec::new(), Vec::new());
    wire::put_bytes(&mut tin, 1, &list);
    wire::put_int(&mut tout, 6, output as i64);
    wire::put_bytes(&mut program, 2, text.as_bytes());
    let attributes = [("Tin", tin), ("T", tout), ("program", program)];
    GraphNode::new(&root.name, FUSED_OP, &root.device, inputs.into_iter().chain(controls).collect(), &attributes)
}
