//! BiasAdd, BiasAddV1 and BiasAddGrad, for any rank from 2 on and both data formats.

use smallvec::SmallVec;
use tfvk_device::{Args, DType, Error, Kernel, Result, Shape};

use super::channels::{self, Channels};
use super::softmax::aligned4;
use crate::reduce::{Combine, First, Last, Reducer};
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, shader, t};

const NUMBER: &[DType] = {
    use DType::*;
    &[I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128]
};

/// The declarations.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel("BiasAdd", &[t("T", NUMBER)], |node| BiasAdd::make(node, true)).forwards(&[0]),
    KernelDef::kernel("BiasAddV1", &[t("T", NUMBER)], |node| BiasAdd::make(node, false)).forwards(&[0]),
    KernelDef::kernel("BiasAddGrad", &[t("T", NUMBER)], BiasAddGrad::make),
];

struct BiasAdd {
    kernel: &'static Kernel,
    first: bool,
}

impl BiasAdd {
    fn make(node: &dyn OpKernelConstruction, has_format: bool) -> Result<Box<dyn OpKernel>> {
        let first = has_format && channels::channels_first(&node.string("data_format")?)?;
        Ok(Box::new(Self { kernel: shader::BIAS.get(&[node.dtype("T")?.into()])?, first }))
    }
}

impl OpKernel for BiasAdd {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (value, bias) = (inputs.shape(0)?, inputs.shape(1)?);
        let wrong = |why: String| Err(Error::invalid_argument(why));
        if value.rank() < 2 {
            return wrong(format!("Input tensor must be at least 2D: {value}"));
        }
        if bias.rank() != 1 {
            return wrong(format!("Biases must be 1D: {bias}"));
        }
        if bias[0] != value[channels::axis(value, self.first)] {
            let which = if self.first { "channel" } else { "last" };
            let why = format!("Must provide as many biases as the {which} dimension of the input tensor: {bias} vs. {value}");
            return wrong(why);
        }
        Ok(Outputs::from_iter([Output::Shape(value.clone())]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, bias, y) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let view = Channels::new(&x.shape, self.first)?;
        let vector = !x.dtype.is_complex() && view.fours() && aligned4(&x)? && aligned4(&y)?;
        let pieces = view.elements() / if vector { 4 } else { 1 };
        let threads = 256.min(ctx.device().adapter().limits.max_invocations);
        let mut args = Args::new();
        args.read(&x)?.read(&bias)?.write(&y)?.u32(pieces).u32(view.channels).u32(view.inner);
        let constants = [threads, 1, 1, view.last().into(), vector.into()];
        ctx.stream().launch_linear(self.kernel, &constants, &args, pieces.div_ceil(threads).into())
    }
}

struct BiasAddGrad {
    reducer: Reducer,
    first: bool,
}

impl BiasAddGrad {
    fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let reducer = Reducer::new(Combine::Sum, First::Nothing, Last::Nothing, node.dtype("T")?)?;
        Ok(Box::new(Self { reducer, first: channels::channels_first(&node.string("data_format")?)? }))
    }
}

impl OpKernel for BiasAddGrad {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        if shape.rank() < 2 {
            return Err(Error::invalid_argument(format!("Input tensor must be at least 2D: {shape}")));
        }
        Ok(Outputs::from_iter([Output::Shape(Shape::from([shape[channels::axis(shape, self.first)]]))]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let axis = channels::axis(&x.shape, self.first);
        let reduced: SmallVec<[bool; 8]> = (0..x.shape.rank()).map(|a| a != axis).collect();
        self.reducer.run(ctx, &x, &reduced, &y)
    }
}
