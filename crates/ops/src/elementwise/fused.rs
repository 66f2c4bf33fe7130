//! `_VkElementwise` and `_VkUpdate`: several element-wise ops as one, which a graph pass puts in their place; the second
//! updates variables too. Not TensorFlow's:
//!
//! ```text
//! _VkElementwise  inputs args: Tin, axes: A * int32; outputs results: Tout; attributes Tin, Tout: list(type), program: string
//! _VkUpdate       the same after inputs variables: N * resource
//! ```
//!
//! The program is a [`Chain`] as text after the version of the format, `1; inputs float32; Neg %0; Exp 0; outputs 1`. It is
//! read and checked when the node's kernel is made. What is launched depends on shapes (`plan.rs`) and is kept from one
//! execution to the next.

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tfvk_device::{DType, DevicePtr, Error, Result, Tensor};

use super::plan::{Axes, ByRows, Given, Launch, Place, Plan, plan, types};
use super::rows;
use crate::expr::{ASSIGN, Chain, launch_again};
use crate::run::host_ints;
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs};

/// The op without variables.
pub const FUSED_OP: &str = "_VkElementwise";

/// The op with variables.
pub const UPDATE_OP: &str = "_VkUpdate";

/// The version of the text that this library writes and reads.
const VERSION: &str = "1; ";

/// Inputs whose memory a result may take.
const FORWARD: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/// The ops.
pub const FUSED: &[KernelDef] = &[
    KernelDef::kernel(FUSED_OP, &[], make).forwards(FORWARD).host(&["axes"]),
    KernelDef::kernel(UPDATE_OP, &[], make).host(&["variables", "axes"]),
];

/// The value of the attribute `program` for a chain.
pub fn fused_text(chain: &Chain) -> String {
    format!("{VERSION}{chain}")
}

/// The types of the results of a text's steps. Errors: another version, no chain, ops that don't exist or don't take these
/// types.
pub fn check_text(text: &str) -> Result<Vec<DType>> {
    types(&read(text)?)
}

fn read(text: &str) -> Result<Chain> {
    let chain = text.strip_prefix(VERSION).ok_or_else(|| {
        let version = text.split(';').next().unwrap_or_default();
        Error::invalid_argument(format!("program: expected version {}, got '{version}'", VERSION.trim_end_matches("; ")))
    })?;
    chain.parse()
}

struct Fused {
    chain: Chain,
    types: Vec<DType>,
    /// Whether it has assignments.
    updates: bool,
    /// The last execution's plan: shapes seldom change.
    plan: Mutex<Option<(Given, Arc<Plan>)>>,
}

fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let chain = read(&node.string("program")?)?;
    let types = types(&chain)?;
    let expect = |name: &str, expected: &[DType], got: Vec<DType>| match *expected == got {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!("{name}: the program has {expected:?}, the node {got:?}"))),
    };
    expect("Tin", &chain.inputs, node.dtypes("Tin")?)?;
    let outputs: Vec<DType> = chain.outputs.iter().filter_map(|&o| types.get(o).copied()).collect();
    expect("Tout", &outputs, node.dtypes("Tout")?)?;
    let variables = if node.op() == UPDATE_OP { node.i64("N")? } else { 0 };
    if chain.variables.len() as i64 != variables {
        let expected = chain.variables.len();
        return Err(Error::invalid_argument(format!("N: the program has {expected} variables, the node {variables}")));
    }
    if chain.num_axes() as i64 > node.i64("A")? {
        return Err(Error::invalid_argument(format!("A: the program has {} reductions, the node less", chain.num_axes())));
    }
    let updates = chain.steps.iter().any(|s| s.op == ASSIGN);
    Ok(Box::new(Fused { chain, types, updates, plan: Mutex::new(None) }))
}

impl Fused {
    /// The plan for these inputs, which follow the handles, and variables; `same` as in [`Given`].
    fn plan(&self, inputs: &[Tensor], variables: &[Tensor], same: &[usize]) -> Result<Arc<Plan>> {
        let expected = self.chain.inputs.len();
        let Some((inputs, axes)) = inputs.split_at_checked(expected) else {
            return Err(Error::invalid_argument(format!("args: expected {expected} tensors, got {}", inputs.len())));
        };
        let axes = axes.iter().map(host_ints).collect::<Result<Axes>>()?;
        let lock = || self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, plan)) = lock().as_ref().filter(|(known, _)| known.is(inputs, variables, same, &axes)) {
            return Ok(plan.clone());
        }
        let given = Given::of(inputs, variables, same, axes);
        let plan = Arc::new(plan(&self.chain, &self.types, &given)?);
        *lock() = Some((given, plan.clone()));
        Ok(plan)
    }

    fn run(&self, ctx: &mut Compute<'_>, plan: &Plan, variables: &[Tensor], outputs: &[Tensor]) -> Result<()> {
        let inputs: SmallVec<[Tensor; 8]> = ctx.tensors().0.get(variables.len()..).unwrap_or_default().into();
        // Four elements are read at once.
        let aligned = |place: &Place| match *place {
            Place::Input(i) => inputs.get(i).is_some_and(is_aligned),
            Place::Output(i) => outputs.get(i).is_some_and(is_aligned),
            Place::Variable(_) => false,
            Place::Temp(_) => true,
        };
        let fits = |b: &&ByRows| b.rows.rows > 0 && b.rows.reads.iter().chain(&b.rows.writes).all(aligned);
        let by_rows = plan.by_rows.as_ref().filter(fits);
        let temps = plan.temps.iter().enumerate().map(|(i, (dtype, shape))| match by_rows {
            Some(b) if !b.temps[i] => Ok(Tensor::on_device(*dtype, [0].into(), DevicePtr(0))),
            _ => ctx.temp(*dtype, shape.clone()),
        });
        let temps = temps.collect::<Result<SmallVec<[Tensor; 4]>>>()?;
        let at = |place: Place| {
            let (list, i) = match place {
                Place::Input(i) => (&inputs[..], i),
                Place::Variable(i) => (variables, i),
                Place::Output(i) => (outputs, i),
                Place::Temp(i) => (&temps[..], i),
            };
            list.get(i).cloned().ok_or_else(|| Error::internal(format!("{place:?} does not exist")))
        };
        let run = |ctx: &mut Compute<'_>, l: &Launch| -> Result<()> {
            let reads = l.reads.iter().map(|&p| at(p)).collect::<Result<SmallVec<[Tensor; 8]>>>()?;
            let writes = l.writes.iter().map(|&p| at(p)).collect::<Result<SmallVec<[Tensor; 4]>>>()?;
            match (&l.reduction, &l.program, &reads[..], &writes[..]) {
                (None, Some(program), _, _) => launch_again(&l.memo, ctx.stream(), &program.1, &reads, &writes),
                (Some(_), _, _, [y]) if y.num_elements() == 0 => Ok(()),
                (Some((reducer, r)), Some(program), _, [y]) => {
                    reducer.run_program(ctx, &program.1, &reads, &r.shape, &r.reduced, y, &l.memo)
                }
                (Some((reducer, r)), None, [x], [y]) => reducer.run(ctx, x, &r.reduced, y),
                _ => Err(Error::internal("a launch without a program, or a reduction with several results")),
            }
        };
        match by_rows {
            Some(ByRows { before, rows, then, .. }) => {
                let reads = rows.reads.iter().map(|&p| at(p)).collect::<Result<SmallVec<[Tensor; 8]>>>()?;
                let writes = rows.writes.iter().map(|&p| at(p)).collect::<Result<SmallVec<[Tensor; 8]>>>()?;
                before.iter().try_for_each(|&i| run(ctx, &plan.launches[i]))?;
                rows::launch(ctx, rows, &reads, &writes)?;
                then.iter().try_for_each(|&i| run(ctx, &plan.launches[i]))?;
            }
            None => plan.launches.iter().try_for_each(|l| run(ctx, l))?,
        }
        for &(temp, variable) in &plan.copies {
            let (from, to) = (at(Place::Temp(temp))?, at(Place::Variable(variable))?);
            if from.bytes() > 0 {
                ctx.stream().copy(to.device_ptr()?, from.device_ptr()?, from.bytes())?;
            }
        }
        Ok(())
    }

    fn variables(&self, ctx: &mut Compute<'_>) -> Result<SmallVec<[Tensor; 4]>> {
        let types = &self.chain.variables;
        let all: SmallVec<[usize; 4]> = (0..types.len()).collect();
        // All of them locked where one is written: two may be the same.
        match self.updates {
            true => ctx.update_variables_of(&all, types),
            false => all.iter().zip(types).map(|(&i, &d)| ctx.read_variable(i, d)).collect(),
        }
    }
}

fn is_aligned(t: &Tensor) -> bool {
    t.device_ptr().is_ok_and(|p| p.0 % 16 == 0)
}

/// Whether the memory of an input may become a result's: no other element of it is read afterwards.
fn is_alone(plan: &Plan) -> bool {
    match &plan.launches[..] {
        [] => true,
        [one] => one.reduction.is_none(),
        _ => false,
    }
}

/// For each variable the first that is the same one. Those without elements have no memory to tell them by, and need none.
fn same(variables: &[Tensor]) -> SmallVec<[usize; 4]> {
    let address = |t: &Tensor| t.device_ptr().ok().filter(|_| t.bytes() > 0).map(|p| p.0);
    let mut known: SmallVec<[(u64, usize); 16]> =
        variables.iter().enumerate().filter_map(|(i, t)| Some((address(t)?, i))).collect();
    known.sort_unstable();
    let mut same: SmallVec<[usize; 4]> = (0..variables.len()).collect();
    for pair in 1..known.len() {
        if known[pair].0 == known[pair - 1].0 {
            same[known[pair].1] = same[known[pair - 1].1];
        }
    }
    same
}

impl OpKernel for Fused {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        if !self.chain.variables.is_empty() {
            return Ok(self.chain.outputs.iter().map(|_| Output::Dynamic).collect());
        }
        let plan = self.plan(inputs.all(), &[], &[])?;
        let alone = is_alone(&plan);
        Ok(plan.outputs.iter().map(|s| if alone { Output::Shape(s.clone()) } else { Output::Dynamic }).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let variables = if self.chain.variables.is_empty() { SmallVec::new() } else { self.variables(ctx)? };
        let n = variables.len();
        let plan = self.plan(ctx.tensors().0.get(n..).unwrap_or_default(), &variables, &same(&variables))?;
        let alone = n == 0 && is_alone(&plan);
        let output = |(i, s)| if alone { ctx.output(i) } else { ctx.allocate_output(i, s) };
        let outputs = plan.outputs.iter().enumerate().map(output).collect::<Result<SmallVec<[Tensor; 4]>>>()?;
        self.run(ctx, &plan, &variables, &outputs)
    }
}

#[cfg(test)]
mod tests {
    use tfvk_device::Shape;

    use super::*;
    use crate::local::{Attr, Local, Node, Value};
    use crate::test_device::local;

    fn up(host: &Local, shape: &[i64], v: &[f32]) -> Value {
        let bytes: Vec<u8> = v.iter().flat_map(|x| x.to_le_bytes()).collect();
        host.upload(DType::F32, Shape::new(shape), &bytes).unwrap()
    }

    fn floats(host: &Local, v: &Value) -> Vec<f32> {
        host.read(v).unwrap().chunks(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    fn node(op: &str, program: &str, inputs: usize, outputs: usize) -> Node {
        let node = Node::new(op).attr("program", Attr::String(program.into()));
        let types = |n| Attr::Types(vec![DType::F32; n]);
        node.attr("Tin", types(inputs)).attr("Tout", types(outputs)).attr("A", Attr::Int(0))
    }

    #[test]
    fn broadcasts_and_checks() {
        let Some(host) = local() else { return };
        let program = "1; inputs float32 float32; Neg %1; Sub %0 0; Square 1; outputs 2 0";
        let inputs = [up(&host, &[2, 2], &[1., 2., 3., 4.]), up(&host, &[2], &[1., -1.])];
        let out = host.run(&node(FUSED_OP, program, 2, 2), &inputs).unwrap();
        assert_eq!((floats(&host, &out[0]), floats(&host, &out[1])), (vec![4., 1., 16., 9.], vec![-1., 1.]));
        assert_eq!((&out[0].tensor().shape, &out[1].tensor().shape), (&Shape::from([2, 2]), &Shape::from([2])));
        let error = |program: &str, inputs: &[Value], n| {
            host.run(&node(FUSED_OP, program, inputs.len(), n), inputs).err().map(|e| e.message).unwrap_or_default()
        };
        let one = &[up(&host, &[2], &[1., 2.])];
        assert!(error("2; inputs float32; Neg %0; outputs 0", one, 1).contains("expected version 1, got '2'"));
        assert!(error("1; inputs float16; Neg %0; outputs 0", one, 1).contains("Tin"));
        assert!(error("1; inputs float32; Neg %0; Exp 0; outputs 0 1", one, 1).contains("Tout"));
        assert!(error("1; inputs float32; Neg 1; Exp 0; outputs 1", one, 1).contains("operand"));
        assert!(error("1; variables float32; inputs float32; Neg %0; outputs 0", one, 1).contains("variables"));
        let two = &[up(&host, &[1], &[1.]), up(&host, &[2], &[1., 2.])];
        assert!(error("1; inputs float32 float32; TanhGrad %0 %1; Exp 0; outputs 1", two, 1).contains("one shape"));
    }

    #[test]
    fn variables_are_updated() {
        let Some(host) = local() else { return };
        // m += (g - m) / 2; w -= m; and the old m.
        let program = "1; variables float32 float32; inputs float32 float32; read $0; Sub %0 0; Mul 1 %1; AddV2 0 2; \
                       assign $0 3; read $0; read $1; Sub 6 5; assign $1 7; outputs 0 3";
        let node = node(UPDATE_OP, program, 2, 2).attr("N", Attr::Int(2));
        let [m, w] = [[0., 8.], [1., 1.]].map(|v| up(&host, &[2], &v));
        let [g, half] = [up(&host, &[2], &[2., 4.]), up(&host, &[], &[0.5])];
        let out = host.run(&node, &[m.clone().into_variable(), w.clone().into_variable(), g.clone(), half.clone()]).unwrap();
        assert_eq!((floats(&host, &out[0]), floats(&host, &out[1])), (vec![0., 8.], vec![1., 6.]));
        assert_eq!((floats(&host, &m), floats(&host, &w)), (vec![1., 6.], vec![0., -5.]));
        // One variable in both places.
        let out = host.run(&node, &[m.clone().into_variable(), m.clone().into_variable(), g, half]).unwrap();
        assert_eq!((floats(&host, &out[0]), floats(&host, &m)), (vec![1., 6.], vec![0., 0.]));
    }
}
