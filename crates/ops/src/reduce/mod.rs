//! Reductions over axes: Sum, Mean, Prod, Max, Min, Any, All, EuclideanNorm, L2Loss, ArgMax, ArgMin.

mod arg;
pub mod axes;
pub mod check;
pub mod cumulative;
pub mod histogram;
mod host;
pub mod reducer;

use tfvk_device::{Memory, Result, Shape};

use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, TypeConstraint, t, types};
pub use arg::OPS as ARG_OPS;
pub(crate) use reducer::row_launch;
pub use reducer::{Combine, First, Last, Reducer};

use tfvk_device::DType;

/// The declarations. int32 stays in host memory, as in TensorFlow's own GPU build.
pub const OPS: &[KernelDef] = &[
    reduction("Sum", NUMBER, |n| Reduce::make(n, "T", Combine::Sum, First::Nothing, Last::Nothing)),
    reduction("Mean", NUMBER, |n| Reduce::make(n, "T", Combine::Sum, First::Nothing, Last::Mean)),
    reduction("Prod", NUMBER, |n| Reduce::make(n, "T", Combine::Prod, First::Nothing, Last::Nothing)),
    reduction("Max", REAL, |n| Reduce::make(n, "T", Combine::Max, First::Nothing, Last::Nothing)),
    reduction("Min", REAL, |n| Reduce::make(n, "T", Combine::Min, First::Nothing, Last::Nothing)),
    reduction("Any", ANY, |n| Reduce::make(n, "", Combine::Max, First::Nothing, Last::Nothing)),
    reduction("All", ANY, |n| Reduce::make(n, "", Combine::Min, First::Nothing, Last::Nothing)),
    reduction("EuclideanNorm", NORM, |n| Reduce::make(n, "T", Combine::Sum, First::Square, Last::Root)),
    reduction("Sum", INT32, |n| Reduce::make(n, "T", Combine::Sum, First::Nothing, Last::Nothing)).host(ALL),
    reduction("Mean", INT32, |n| Reduce::make(n, "T", Combine::Sum, First::Nothing, Last::Mean)).host(ALL),
    reduction("Prod", INT32, |n| Reduce::make(n, "T", Combine::Prod, First::Nothing, Last::Nothing)).host(ALL),
    reduction("Max", INT32, |n| Reduce::make(n, "T", Combine::Max, First::Nothing, Last::Nothing)).host(ALL),
    reduction("Min", INT32, |n| Reduce::make(n, "T", Combine::Min, First::Nothing, Last::Nothing)).host(ALL),
    KernelDef::kernel("L2Loss", &[t("T", types::FLOAT)], L2Loss::make),
];

const ALL: &[&str] = &["input", "reduction_indices", "output"];
const NUMBER: &[TypeConstraint] = &[t("T", NUMBER_ON_DEVICE), t("Tidx", types::INDEX)];
const REAL: &[TypeConstraint] = &[t("T", REAL_ON_DEVICE), t("Tidx", types::INDEX)];
const NORM: &[TypeConstraint] = &[t("T", types::FLOAT_COMPLEX), t("Tidx", types::INDEX)];
const ANY: &[TypeConstraint] = &[t("Tidx", types::INDEX)];
const INT32: &[TypeConstraint] = &[t("T", types::INT32), t("Tidx", types::INDEX)];
const REAL_ON_DEVICE: &[DType] = {
    use DType::*;
    &[I8, I16, I64, U8, U16, U32, U64, F16, BF16, F32, F64]
};
const NUMBER_ON_DEVICE: &[DType] = {
    use DType::*;
    &[I8, I16, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128]
};

const fn reduction(
    op: &'static str,
    types: &'static [TypeConstraint],
    make: fn(&dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>>,
) -> KernelDef {
    KernelDef::kernel(op, types, make).host(&["reduction_indices"])
}

/// A reduction over the axes in input 1.
struct Reduce {
    reducer: Reducer,
    combine: Combine,
    last: Last,
    keep_dims: bool,
}

impl Reduce {
    /// `attr` is the type attribute; empty for ops on bool.
    fn make(
        node: &dyn OpKernelConstruction,
        attr: &str,
        combine: Combine,
        first: First,
        last: Last,
    ) -> Result<Box<dyn OpKernel>> {
        let dtype = if attr.is_empty() { DType::Bool } else { node.dtype(attr)? };
        let reducer = Reducer::new(combine, first, last, dtype)?;
        Ok(Box::new(Self { reducer, combine, last, keep_dims: node.bool("keep_dims")? }))
    }
}

impl OpKernel for Reduce {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        let reduced = axes::reduced(shape, &inputs.host_ints(1)?)?;
        Ok(Outputs::from_iter([Output::Shape(axes::output_shape(shape, &reduced, self.keep_dims))]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, mut y) = (ctx.input(0)?, ctx.output(0)?);
        let reduced = axes::reduced(&x.shape, &ctx.inputs().host_ints(1)?)?;
        match x.memory() {
            Memory::Host(_) => host::run(self.combine, self.last, &x, &reduced, &mut y),
            Memory::Device(_) => self.reducer.run(ctx, &x, &reduced, &y),
        }
    }
}

/// Half the sum of all squares.
struct L2Loss {
    reducer: Reducer,
}

impl L2Loss {
    fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let reducer = Reducer::new(Combine::Sum, First::Square, Last::Half, node.dtype("T")?)?;
        Ok(Box::new(Self { reducer }))
    }
}

impl OpKernel for L2Loss {
    fn outputs(&self, _: &Inputs<'_>) -> Result<Outputs> {
        Ok(Outputs::from_iter([Output::Shape(Shape::scalar())]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let reduced = vec![true; x.shape.rank()];
        self.reducer.run(ctx, &x, &reduced, &y)
    }
}
