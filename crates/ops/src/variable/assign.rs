//! AssignAddVariableOp and AssignSubVariableOp: in place, by a compiled expression.

use std::sync::Arc;

use tfvk_device::{Error, Result};

use super::programs::shared;
use crate::expr::{Program, launch};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Outputs};

struct Assign {
    program: Arc<Program>,
}

pub(super) fn add(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let types = [node.dtype("dtype")?; 2];
    Ok(Box::new(Assign { program: shared("AssignAddVariableOp", false, &types, |x| vec![x[0] + x[1]])? }))
}

pub(super) fn sub(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let types = [node.dtype("dtype")?; 2];
    Ok(Box::new(Assign { program: shared("AssignSubVariableOp", false, &types, |x| vec![x[0] - x[1]])? }))
}

impl OpKernel for Assign {
    fn outputs(&self, _: &Inputs<'_>) -> Result<Outputs> {
        Ok(Outputs::new())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let value = ctx.input(1)?;
        let variable = ctx.update_variables(&[0], value.dtype)?;
        let [variable] = variable.as_slice() else { return Err(Error::internal("no variable")) };
        if variable.shape != value.shape {
            return Err(Error::invalid_argument(format!(
                "Cannot update variable with shape {} using a Tensor with shape {}, shapes must be equal.",
                variable.shape, value.shape
            )));
        }
        launch(ctx.stream(), &self.program, &[variable.clone(), value], &[], std::slice::from_ref(variable))
    }
}
