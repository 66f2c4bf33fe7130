//! The kernel of an element-wise op, as the driver runs it.

use std::sync::{Arc, OnceLock};

use smallvec::smallvec;
use tfvk_device::{DType, Error, Memory, Result, Tensor};

use super::declare::{AttrValue, Expression};
use super::lacking::lacking;
use super::ready::Memo;
use super::{Program, cache, launch};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// The kernel of an element-wise op.
pub struct ExpressionKernel {
    op: String,
    expression: Expression,
    attrs: Vec<AttrValue>,
    floats: Vec<f64>,
    /// A node's operand types don't change.
    program: OnceLock<Arc<Program>>,
    memo: Memo,
}

impl ExpressionKernel {
    /// A kernel for this node.
    pub fn new(expression: Expression, node: &dyn OpKernelConstruction) -> Result<Self> {
        let attrs = expression.read_attrs(node)?;
        let floats =
            attrs.iter().filter_map(|a| if let AttrValue::Float(b) = a { Some(f64::from(f32::from_bits(*b))) } else { None });
        Ok(Self {
            op: node.op().into(),
            floats: floats.collect(),
            expression,
            attrs,
            program: OnceLock::new(),
            memo: Memo::default(),
        })
    }

    fn program(&self, inputs: &[Tensor]) -> Result<Arc<Program>> {
        if let Some(p) = self.program.get() {
            if p.inputs().iter().copied().eq(inputs.iter().map(|t| t.dtype)) {
                return Ok(p.clone());
            }
        }
        let types: Vec<DType> = inputs.iter().map(|t| t.dtype).collect();
        let p = cache::program(&self.op, &self.expression, &self.attrs, &types)?;
        Ok(self.program.get_or_init(|| p.clone()).clone()).map(|kept| if kept.inputs() == types { kept } else { p })
    }

    /// TensorFlow's CPU kernels refuse an integer division by zero, and host memory is where it can be seen.
    fn check_divisor(&self, inputs: &[Tensor]) -> Result<()> {
        let Some(t) = inputs.get(1).filter(|t| self.expression.divides && t.dtype.is_integer()) else { return Ok(()) };
        let bytes = t.with(DType::U8, [t.bytes() as i64].into());
        if bytes.host::<u8>()?.chunks(t.dtype.size()).any(|e| e.iter().all(|&b| b == 0)) {
            return Err(Error::invalid_argument("Integer division by zero"));
        }
        Ok(())
    }
}

impl OpKernel for ExpressionKernel {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = match self.memo.shape(inputs.all()) {
            Some(known) => known,
            None => self.expression.views(inputs, &self.attrs)?.output,
        };
        Ok(smallvec![Output::Shape(shape); inputs.num_outputs()])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (given, outputs) = ctx.tensors();
        if self.memo.run(ctx.stream(), given, outputs)? {
            return Ok(());
        }
        let views = self.expression.views(&ctx.inputs(), &self.attrs)?.inputs;
        if views.is_empty() && !given.is_empty() {
            // Shapes that don't broadcast are nowhere equal: what the formula makes of 0 and 1.
            let program = Program::build(self.op.as_str(), &[], &[], |b, _, _| {
                let different = [b.lit(DType::I8, 0.0), b.lit(DType::I8, 1.0)];
                self.expression.apply(&different, &self.attrs, Vec::new())
            })?;
            return launch(ctx.stream(), &program, &[], &[], outputs);
        }
        let inputs: Vec<Tensor> = given.iter().zip(views).map(|(t, shape)| t.reshaped(shape)).collect();
        let program = self.program(&inputs)?;
        let on_host = outputs.iter().all(|o| matches!(o.memory(), Memory::Host(_)));
        if on_host {
            self.check_divisor(&inputs)?;
        }
        if on_host || lacking(&program, &ctx.device().adapter().features).is_some() {
            return launch(ctx.stream(), &program, &inputs, &self.floats, outputs);
        }
        match launch::ready(&program, &inputs, &self.floats, outputs)? {
            Some(ready) => self.memo.keep(ready, ctx.stream(), given, outputs),
            None => Ok(()),
        }
    }
}
