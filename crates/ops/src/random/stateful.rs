//! The random ops whose node has its own generator: attributes `seed` and `seed2`, and a place in the stream that every
//! execution moves on by as much as TensorFlow's CPU kernels do.

use tfvk_device::Result;

use super::fill::{Distribution, Source, fill};
use super::philox::Generator;
use super::shape::{bounds, one_output};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Outputs};

/// Blocks of the stream that one output element reserves.
const BLOCKS_PER_OUTPUT: u64 = 256;

/// (shape, [minval, maxval]). `None` draws integers.
struct Stateful {
    generator: Generator,
    distribution: Option<Distribution>,
}

impl OpKernel for Stateful {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        if self.distribution.is_none() {
            bounds(inputs, 1, 2)?;
        }
        one_output(inputs, 0)
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let distribution = match self.distribution {
            Some(d) => d,
            None => bounds(&ctx.inputs(), 1, 2)?,
        };
        let out = ctx.output(0)?;
        let place = self.generator.reserve(out.num_elements() as u64 * BLOCKS_PER_OUTPUT);
        fill(ctx, &out, distribution, Source::Place(place))
    }
}

fn make(node: &dyn OpKernelConstruction, distribution: Option<Distribution>) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Stateful { generator: Generator::new(node)?, distribution }))
}

pub(super) fn uniform(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, Some(Distribution::Uniform))
}

pub(super) fn normal(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, Some(Distribution::Normal))
}

pub(super) fn truncated(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, Some(Distribution::TruncatedNormal))
}

pub(super) fn int(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, None)
}
