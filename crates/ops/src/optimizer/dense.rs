//! The optimiser updates (ResourceApply*): variable and slots are updated in place by one launch of a compiled expression.
//! Scalars such as the learning rate are read on the device. The formulas are in `rules.rs`.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use tfvk_device::{DType, Error, Result, Tensor};

use super::rules::{RULES, Rule};
use crate::expr::{Program, launch};
use crate::variable::shared;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Outputs};

struct Apply {
    rule: &'static Rule,
    flag: bool,
    program: OnceLock<Arc<Program>>,
}

pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let rule = RULES.iter().find(|r| r.op == node.op());
    let rule = rule.ok_or_else(|| Error::internal(format!("no update named {}", node.op())))?;
    let flag = rule.flag.map_or(Ok(false), |name| node.bool(name))?;
    Ok(Box::new(Apply { rule, flag, program: OnceLock::new() }))
}

impl Apply {
    /// An op's operand types follow from its `T`, so there is one program a node.
    fn program(&self, operands: &[Tensor]) -> Result<Arc<Program>> {
        if let Some(p) = self.program.get() {
            return Ok(p.clone());
        }
        let types: SmallVec<[DType; 12]> = operands.iter().map(|t| t.dtype).collect();
        let program = shared(self.rule.op, self.flag, &types, |x| (self.rule.formula)(x, self.flag))?;
        Ok(self.program.get_or_init(|| program).clone())
    }
}

impl OpKernel for Apply {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        for i in self.rule.variables..inputs.len() {
            let shape = inputs.shape(i)?;
            if i != self.rule.grad && !shape.is_empty() {
                return Err(Error::invalid_argument(format!("input {i} is not a scalar: {shape}")));
            }
        }
        Ok(Outputs::new())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let names: SmallVec<[usize; 4]> = (0..self.rule.variables).collect();
        let variables = ctx.update_variables(&names, ctx.input(self.rule.grad)?.dtype)?;
        let mut operands: SmallVec<[Tensor; 12]> = variables.iter().cloned().collect();
        for i in self.rule.variables..ctx.inputs().len() {
            operands.push(ctx.input(i)?);
        }
        let shape = &operands[0].shape;
        let slots = 1..self.rule.variables;
        if let Some(other) = slots.chain([self.rule.grad]).map(|i| &operands[i]).find(|t| t.shape != *shape) {
            return Err(Error::invalid_argument(format!(
                "var and its slots and gradient must have one shape, got {shape} and {}",
                other.shape
            )));
        }
        launch(ctx.stream(), &*self.program(&operands)?, &operands, &[], &variables)
    }
}
