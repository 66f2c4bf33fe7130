//! Element-wise expressions: declared in one line, compiled at run time to SPIR-V for the element types and the
//! broadcast pattern at hand.

use tfvk_device::Result;

use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Outputs};

/// An element-wise op's declaration.
#[derive(Clone, Copy)]
pub struct Expression {}

/// The kernel of an element-wise op.
pub struct ExpressionKernel {}

impl ExpressionKernel {
    /// A kernel for this node.
    pub fn new(_: Expression, _: &dyn OpKernelConstruction) -> Result<Self> {
        Ok(Self {})
    }
}

impl OpKernel for ExpressionKernel {
    fn outputs(&self, _: &Inputs<'_>) -> Result<Outputs> {
        Ok(Outputs::new())
    }

    fn compute(&self, _: &mut Compute<'_>) -> Result<()> {
        Ok(())
    }
}
