//! `_VkElementwise`: several element-wise ops as one, the op that a graph pass puts in their place. Not one of TensorFlow's:
//!
//! ```text
//! inputs args: Tin; output result: T; attributes Tin: list(type), T: type, program: string
//! ```
//!
//! The program is a [`Chain`] as text after the version of the format, `1; inputs float32; Neg %0; Exp 0; outputs 1`. It is
//! read and checked when the node's kernel is made; nodes of one text share one compiled program.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use tfvk_device::{DType, Error, Result, Shape};

use crate::expr::{self, Chain, Operand, Program, ShapeRule, broadcast, launch};
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs};

/// The op's name.
pub const FUSED_OP: &str = "_VkElementwise";

/// The version of the text that this library writes and reads.
const VERSION: &str = "1; ";

/// The op.
pub const FUSED: &[KernelDef] = &[KernelDef::kernel(FUSED_OP, &[], make).forwards(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])];

/// The value of the attribute `program` for a chain.
pub fn fused_text(chain: &Chain) -> String {
    format!("{VERSION}{chain}")
}

/// Whether a text can be run. Errors: another version, no chain, ops that don't exist or don't take these types.
pub fn check_text(text: &str) -> Result<()> {
    read(text).map(|_| ())
}

fn read(text: &str) -> Result<Arc<(Chain, Program)>> {
    let chain = text.strip_prefix(VERSION).ok_or_else(|| {
        let version = text.split(';').next().unwrap_or_default();
        Error::invalid_argument(format!("program: expected version {}, got '{version}'", VERSION.trim_end_matches("; ")))
    })?;
    let read = expr::chain(chain)?;
    match read.0.outputs.len() {
        1 => Ok(read),
        n => Err(Error::invalid_argument(format!("program: expected one output, got {n}"))),
    }
}

struct Fused {
    chain: Arc<(Chain, Program)>,
}

fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let chain = read(&node.string("program")?)?;
    let expect = |name: &str, expected: &[DType], got: Vec<DType>| match *expected == got {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!("{name}: the program has {expected:?}, the node {got:?}"))),
    };
    expect("Tin", chain.1.inputs(), node.dtypes("Tin")?)?;
    let outputs: Vec<DType> = chain.1.outputs().iter().map(|o| o.dtype).collect();
    expect("T", &outputs, vec![node.dtype("T")?])?;
    Ok(Box::new(Fused { chain }))
}

impl OpKernel for Fused {
    /// What the ops one by one make of the operands' shapes, errors included.
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (chain, _) = &*self.chain;
        if inputs.len() != chain.inputs.len() {
            return Err(Error::invalid_argument(format!("args: expected {} tensors, got {}", chain.inputs.len(), inputs.len())));
        }
        let mut shapes: SmallVec<[Shape; 24]> = SmallVec::new();
        for step in &chain.steps {
            let shape = {
                let of = |a: &Operand| match *a {
                    Operand::Input(i) => inputs.shape(i),
                    Operand::Step(i) => shapes.get(i).ok_or_else(|| Error::internal("a step of a chain comes too early")),
                };
                let operands = step.args.iter().map(of).collect::<Result<SmallVec<[&Shape; 4]>>>()?;
                shape(&step.op, &operands).map_err(|e| e.context(&step.op))?
            };
            shapes.push(shape);
        }
        let last = chain.outputs.first().and_then(|&o| shapes.get(o)).cloned();
        Ok(smallvec![Output::Shape(last.ok_or_else(|| Error::internal("a chain without a result"))?)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let inputs = ctx.inputs().all().to_vec();
        launch(ctx.stream(), &self.chain.1, &inputs, &[], &[ctx.output(0)?])
    }
}

/// The shape of one op's result. Operands that must be of one shape may not broadcast, nor be of another rank.
fn shape(op: &str, operands: &[&Shape]) -> Result<Shape> {
    let [first, rest @ ..] = operands else { return Err(Error::internal("an op without operands")) };
    let same = expr::expression(op).is_some_and(|e| matches!(e.shape, ShapeRule::Same));
    if let Some(other) = rest.iter().find(|s| same && s != &first) {
        return Err(Error::invalid_argument(format!("expected operands of one shape, got {first} and {other}")));
    }
    rest.iter().try_fold((*first).clone(), |shape, s| broadcast(&shape, s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{Attr, Local, Node};
    use crate::test_device::local;

    fn run(host: &Local, program: &str, inputs: &[(&[i64], &[f32])]) -> Result<(Shape, Vec<f32>)> {
        let node = Node::new(FUSED_OP).dtype("T", DType::F32).attr("program", Attr::String(program.into()));
        let node = node.attr("Tin", Attr::Types(vec![DType::F32; inputs.len()]));
        let mut values = Vec::new();
        for (shape, v) in inputs {
            let bytes: Vec<u8> = v.iter().flat_map(|x| x.to_le_bytes()).collect();
            values.push(host.upload(DType::F32, Shape::new(shape), &bytes)?);
        }
        let out = host.run(&node, &values)?.remove(0);
        let shape = out.tensor().shape.clone();
        Ok((shape, host.read(&out)?.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()))
    }

    #[test]
    fn broadcasts_and_checks() {
        let Some(host) = local() else { return };
        let program = "1; inputs float32 float32; AddV2 %0 %1; Square 0; outputs 1";
        let (shape, v) = run(&host, program, &[(&[2, 2], &[1., 2., 3., 4.]), (&[2], &[1., -1.])]).unwrap();
        assert_eq!((shape, v), (Shape::from([2, 2]), vec![4., 1., 16., 9.]));
        let error = |program: &str, inputs: &[(&[i64], &[f32])]| run(&host, program, inputs).unwrap_err().message;
        let one: &[(&[i64], &[f32])] = &[(&[2], &[1., 2.])];
        assert!(error("2; inputs float32; Neg %0; outputs 0", one).contains("expected version 1, got '2'"));
        assert!(error("1; inputs float16; Neg %0; outputs 0", one).contains("Tin"));
        assert!(error("1; inputs float32; Neg %0; Exp 0; outputs 0 1", one).contains("one output"));
        assert!(error("1; inputs float32; Neg 1; Exp 0; outputs 1", one).contains("operand"));
        let two: &[(&[i64], &[f32])] = &[(&[1], &[1.]), (&[2], &[1., 2.])];
        assert!(error("1; inputs float32 float32; TanhGrad %0 %1; Exp 0; outputs 1", two).contains("one shape"));
    }
}
