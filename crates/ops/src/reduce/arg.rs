//! ArgMax and ArgMin: the index of the largest or smallest element along one axis.

use tfvk_device::{Args, DType, Error, Kernel, Result, Shape, Tensor};

use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, shader, t, types};

const INPUT: &[DType] = &[
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
];

/// The declarations.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel(
        "ArgMax",
        &[t("T", INPUT), t("Tidx", types::INDEX), t("output_type", &[DType::I32, DType::I64, DType::I16, DType::U16])],
        |node| ArgReduce::make(node, false),
    )
    .host(&["dimension"]),
    KernelDef::kernel("ArgMin", &[t("T", INPUT), t("Tidx", types::INDEX), t("output_type", types::INDEX)], |node| {
        ArgReduce::make(node, true)
    })
    .host(&["dimension"]),
];

struct ArgReduce {
    kernel: &'static Kernel,
    smallest: bool,
    /// Indices of two words.
    wide: bool,
}

impl ArgReduce {
    fn make(node: &dyn OpKernelConstruction, smallest: bool) -> Result<Box<dyn OpKernel>> {
        let output = node.dtype("output_type")?;
        let wide = output == DType::I64;
        let kernel = shader::ARG_REDUCE.get(&[node.dtype("T")?.into(), if wide { DType::I32 } else { output }.into()])?;
        Ok(Box::new(Self { kernel, smallest, wide }))
    }
}

/// The axis that the input `dimension` names.
fn axis(inputs: &Inputs<'_>) -> Result<usize> {
    let dimension = inputs.get(1)?;
    if dimension.shape.rank() != 0 {
        let why = format!("dim must be a scalar, but received tensor of shape: {}", dimension.shape);
        return Err(Error::invalid_argument(why));
    }
    let (shape, a) = (inputs.shape(0)?, inputs.host_int(1)?);
    let rank = shape.rank() as i64;
    let from = if rank == 0 { 0 } else { -rank };
    shape.axis(a).ok_or_else(|| Error::invalid_argument(format!("Expected dimension in the range [{from}, {rank}), but got {a}")))
}

impl OpKernel for ArgReduce {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (mut shape, axis) = (inputs.shape(0)?.clone(), axis(inputs)?);
        if shape[axis] == 0 {
            return Err(Error::invalid_argument(format!("Reduction axis {axis} is empty in shape {shape}")));
        }
        shape.remove(axis);
        Ok(Outputs::from_iter([Output::Shape(shape)]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y, axis) = (ctx.input(0)?, ctx.output(0)?, axis(&ctx.inputs())?);
        self.launch(ctx, &x, axis, &y)
    }
}

impl ArgReduce {
    fn launch(&self, ctx: &Compute<'_>, x: &Tensor, axis: usize, y: &Tensor) -> Result<()> {
        let size = |dims: &[i64]| {
            let n = Shape::new(dims).num_elements();
            let fits = u32::try_from(n).ok().filter(|&n| n <= 1 << 31);
            fits.ok_or_else(|| Error::unimplemented(format!("input {} is too large", x.shape)))
        };
        let (outer, n, columns) = (size(&x.shape[..axis])?, size(&x.shape[axis..=axis])?, size(&x.shape[axis + 1..])?);
        if u64::from(n) * u64::from(columns) > 1 << 31 {
            return Err(Error::unimplemented(format!("input {} is too large along axis {axis}", x.shape)));
        }
        let limit = 256.min(1 << ctx.device().adapter().limits.max_invocations.ilog2());
        let row = columns == 1;
        let along = n.next_power_of_two().min(limit);
        let across = columns.next_power_of_two().min(64);
        let threads = if row { [along, limit / along] } else { [across, (limit / across).min(along)] };
        let groups =
            if row { u64::from(outer.div_ceil(threads[1])) } else { u64::from(outer) * u64::from(columns.div_ceil(threads[0])) };
        let mut args = Args::new();
        args.read(x)?.write(y)?.u32(outer).u32(n).u32(columns);
        let constants = [threads[0], threads[1], 1, row.into(), self.smallest.into(), self.wide.into()];
        ctx.stream().launch_linear(self.kernel, &constants, &args, groups)
    }
}
