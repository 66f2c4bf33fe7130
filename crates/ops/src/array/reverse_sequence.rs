//! ReverseSequence: the first `seq_lengths[b]` elements of each sequence reversed.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape};

use super::fill::size_word;
use super::mover::threads;
use super::one_hot::count;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct ReverseSequence {
    sequence: i64,
    batch: i64,
}

/// The kernel of ReverseSequence.
pub fn reverse_sequence(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(ReverseSequence { sequence: node.i64("seq_dim")?, batch: node.i64("batch_dim")? }))
}

impl ReverseSequence {
    fn axes(&self, x: &Shape) -> Result<(usize, usize)> {
        let axis = |a: i64, name: &str| {
            let inside = (0..x.rank() as i64).contains(&a);
            inside
                .then_some(a as usize)
                .ok_or_else(|| Error::invalid_argument(format!("{name} must be < input rank ({}), got {a}", x.rank())))
        };
        let (s, b) = (axis(self.sequence, "seq_dim")?, axis(self.batch, "batch_dim")?);
        if s == b {
            return Err(Error::invalid_argument(format!("batch_dim == seq_dim == {s}")));
        }
        Ok((s, b))
    }
}

impl OpKernel for ReverseSequence {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let x = inputs.shape(0)?;
        let (_, batch) = self.axes(x)?;
        if inputs.shape(1)?.dims() != [x[batch]] {
            return Err(Error::invalid_argument(format!(
                "Length of seq_lengths != input.dims({batch}): {} vs. [{}]",
                inputs.shape(1)?,
                x[batch]
            )));
        }
        Ok(smallvec![Output::Shape(x.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, lengths, y) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let (sequence, batch) = self.axes(&x.shape)?;
        let (outer, inner) = (sequence.min(batch), sequence.max(batch));
        let product = |from: usize, to: usize| Shape::new(&x.shape[from..to]).num_elements() as u32;
        let n = count(&x.shape)?;
        let mut args = Args::new();
        args.read(&x)?.read(&lengths)?.write(&y)?.u32(n).u32(x.shape[outer] as u32).u32(product(outer + 1, inner));
        args.u32(x.shape[inner] as u32).u32(product(inner + 1, x.shape.rank()));
        let index = if lengths.dtype == DType::I64 { "8" } else { "4" };
        let kernel = shader::REVERSE_SEQUENCE.get(&[size_word(x.dtype)?.into(), index.into()])?;
        let threads = threads(ctx);
        let constants = [threads, 1, 1, u32::from(sequence == inner)];
        ctx.stream().launch_linear(kernel, &constants, &args, n.div_ceil(threads).into())
    }
}
