//! The node that takes the place of a set of others: `_VkElementwise`, or `_VkUpdate` where there are variables.

use std::collections::HashMap;

use tfvk_device::{DType, Error, Result};
use tfvk_ops::elementwise::{FUSED_OP, UPDATE_OP, check_text, fused_text};
use tfvk_ops::expr::{ASSIGN, Chain, Operand, READ, Step};

use crate::graph::member::Member;
use crate::graph::model::{Graph, GraphNode, Replacement, Use, tensor};
use crate::wire;

/// The replacement of a set of nodes, given in an order in which they can run. `None` if nothing needs it.
pub fn replacement(graph: &Graph, set: &[(usize, Member)]) -> Result<Option<Replacement>> {
    let gone: Vec<usize> = set.iter().map(|(i, _)| *i).collect();
    let mut outputs: Vec<usize> =
        set.iter().filter(|(i, m)| matches!(m, Member::Op(_)) && kept(graph, *i, &gone)).map(|(i, _)| *i).collect();
    // The fetched one keeps its name, and so its output stays the first.
    outputs.sort_by_key(|&i| !graph.is_preserved(i));
    let mut writer = Writer {
        graph,
        gone: &gone,
        chain: Chain::default(),
        handles: vec![],
        args: vec![],
        axes: vec![],
        values: HashMap::new(),
    };
    for (i, member) in set {
        writer.step(*i, member)?;
    }
    let Writer { mut chain, handles, args, axes, values, .. } = writer;
    let step = |i: &usize| values.get(i).copied().ok_or_else(missing);
    chain.outputs = outputs.iter().map(step).collect::<Result<_>>()?;
    if chain.outputs.is_empty() && handles.is_empty() {
        return Ok(None);
    }
    let text = fused_text(&chain);
    // What cannot be run must not come to run.
    let types = check_text(&text)?;
    let node = |i: usize| graph.node(i).ok_or_else(missing);
    let last = node(outputs.first().copied().or(gone.last().copied()).ok_or_else(missing)?)?;
    let name = match outputs.first() {
        Some(_) => last.name.clone(),
        None => unused(graph, &last.name),
    };
    let mut inputs: Vec<String> = handles.iter().chain(&args).chain(&axes).cloned().collect();
    for &i in &gone {
        for control in node(i)?.control_inputs() {
            let inside = graph.index(&control[1..]).is_some_and(|c| gone.contains(&c));
            if !inside && !inputs.contains(control) {
                inputs.push(control.clone());
            }
        }
    }
    let out: Vec<DType> = chain.outputs.iter().filter_map(|&o| types.get(o).copied()).collect();
    let mut program = Vec::new();
    wire::put_bytes(&mut program, 2, text.as_bytes());
    let number = |n: usize| {
        let mut value = Vec::new();
        wire::put_int(&mut value, 3, n as i64);
        value
    };
    let mut attributes =
        vec![("Tin", list(&chain.inputs)), ("Tout", list(&out)), ("program", program), ("A", number(axes.len()))];
    if !handles.is_empty() {
        attributes.push(("N", number(handles.len())));
    }
    let op = if handles.is_empty() { FUSED_OP } else { UPDATE_OP };
    let new = GraphNode::new(&name, op, &last.device, inputs, &attributes)?;
    Ok(Some(Replacement { gone, new, outputs }))
}

fn missing() -> Error {
    Error::internal("a member of a fused node that is none")
}

/// Whether a node's result is wanted outside of the set.
fn kept(graph: &Graph, node: usize, set: &[usize]) -> bool {
    graph.is_preserved(node) || graph.uses(node).iter().any(|u| matches!(u, Use::Data(user, _) if !set.contains(user)))
}

/// A name that no node has.
fn unused(graph: &Graph, base: &str) -> String {
    let names = (0..).map(|n: usize| if n == 0 { format!("{base}/fused") } else { format!("{base}/fused_{n}") });
    names.into_iter().find(|n| graph.index(n).is_none()).unwrap_or_default()
}

/// An attribute that is a list of types.
fn list(types: &[DType]) -> Vec<u8> {
    let (mut list, mut value) = (Vec::new(), Vec::new());
    types.iter().for_each(|&d| wire::put_int(&mut list, 6, d as i64));
    wire::put_bytes(&mut value, 1, &list);
    value
}

struct Writer<'a> {
    graph: &'a Graph,
    gone: &'a [usize],
    chain: Chain,
    /// The variables' handles, the operands and the axes of reductions, as written.
    handles: Vec<String>,
    args: Vec<String>,
    axes: Vec<String>,
    /// The step of the chain whose result a node's is.
    values: HashMap<usize, usize>,
}

impl Writer<'_> {
    fn step(&mut self, index: usize, member: &Member) -> Result<()> {
        let node = self.graph.node(index).ok_or_else(missing)?;
        let inputs: Vec<&String> = node.inputs.iter().filter(|i| !i.starts_with('^')).collect();
        match (member, &inputs[..]) {
            (Member::Op(op), _) => {
                let mut args = inputs.iter().zip(&op.inputs).map(|(i, &d)| self.operand(i, d)).collect::<Result<Vec<_>>>()?;
                if let (true, Some(axes)) = (op.reduces, inputs.last()) {
                    args.push(Operand::Axes(self.axes(axes)));
                }
                self.push(&op.name, op.attrs.clone(), args);
            }
            (Member::Read(dtype), [handle]) => {
                let variable = self.variable(handle, *dtype)?;
                self.push(READ, Vec::new(), vec![variable]);
            }
            (Member::Update(dtype, op), [handle, value]) => {
                let variable = self.variable(handle, *dtype)?;
                let value = self.operand(value, *dtype)?;
                let old = self.push(READ, Vec::new(), vec![variable]);
                let new = self.push(op, Vec::new(), vec![Operand::Step(old), value]);
                self.push(ASSIGN, Vec::new(), vec![variable, Operand::Step(new)]);
            }
            _ => return Err(missing()),
        }
        self.values.insert(index, self.chain.steps.len() - 1);
        Ok(())
    }

    fn push(&mut self, op: &str, attrs: Vec<tfvk_ops::expr::AttrValue>, args: Vec<Operand>) -> usize {
        self.chain.steps.push(Step { op: op.to_owned(), attrs, args });
        self.chain.steps.len() - 1
    }

    /// The variable of a handle.
    fn variable(&mut self, handle: &str, dtype: DType) -> Result<Operand> {
        place(&mut self.handles, &mut self.chain.variables, handle, dtype).map(Operand::Variable)
    }

    /// The place of the axes of a reduction.
    fn axes(&mut self, input: &str) -> usize {
        self.axes.iter().position(|i| i == input).unwrap_or_else(|| {
            self.axes.push(input.to_owned());
            self.axes.len() - 1
        })
    }

    fn operand(&mut self, input: &str, dtype: DType) -> Result<Operand> {
        match self.graph.index(tensor(input).0).filter(|i| self.gone.contains(i)) {
            Some(inside) => self.values.get(&inside).map(|&s| Operand::Step(s)).ok_or_else(missing),
            None => place(&mut self.args, &mut self.chain.inputs, input, dtype).map(Operand::Input),
        }
    }
}

/// The place of an input in a list, at whose end it is put if it is new.
fn place(list: &mut Vec<String>, types: &mut Vec<DType>, input: &str, dtype: DType) -> Result<usize> {
    let at = list.iter().position(|i| i == input).unwrap_or_else(|| {
        list.push(input.to_owned());
        types.push(dtype);
        list.len() - 1
    });
    match types.get(at) {
        Some(&d) if d == dtype => Ok(at),
        _ => Err(Error::internal(format!("{input} is used as two types"))),
    }
}
