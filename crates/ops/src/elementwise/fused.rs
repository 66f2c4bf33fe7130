//! `_VkElementwise`: several element-wise ops as one, the op that a graph pass puts in their place. Not one of TensorFlow's:
//!
//! ```text
//! inputs args: Tin; output result: T; attributes Tin: list(type), T: type, program: string (a Chain as text)
//! ```

use smallvec::smallvec;
use tfvk_device::{Error, Result, Shape};

use crate::expr::{Chain, Program, broadcast, launch};
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs};

/// The op's name.
pub const FUSED_OP: &str = "_VkElementwise";

/// The op.
pub const FUSED: &[KernelDef] = &[KernelDef::kernel(FUSED_OP, &[], make).forwards(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])];

struct Fused {
    program: Program,
}

fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let chain: Chain = node.string("program")?.parse()?;
    Ok(Box::new(Fused { program: chain.program()? }))
}

impl OpKernel for Fused {
    /// What all operands broadcast to. The ops one by one give the same: each broadcasts its operands.
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        if inputs.len() != self.program.inputs().len() {
            let expected = self.program.inputs().len();
            return Err(Error::invalid_argument(format!("args: expected {expected} tensors, got {}", inputs.len())));
        }
        let shape = inputs.all().iter().try_fold(Shape::scalar(), |shape, t| broadcast(&shape, &t.shape))?;
        Ok(smallvec![Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let inputs = ctx.inputs().all().to_vec();
        launch(ctx.stream(), &self.program, &inputs, &[], &[ctx.output(0)?])
    }
}
