//! Cumsum, Cumprod and CumulativeLogsumexp: running totals along one axis. A line (all elements along the axis) belongs to
//! one workgroup, or, where there are many lines side by side, to one invocation.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Kernel, Result, Shape};

use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, TypeConstraint, shader, t, types};

/// The declarations.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel("Cumsum", &[t("T", types::NUMBER), INDEX], |node| Cumulative::make(node, "T", 0)).host(&["axis"]),
    KernelDef::kernel("Cumprod", &[t("T", types::NUMBER), INDEX], |node| Cumulative::make(node, "T", 1)).host(&["axis"]),
    KernelDef::kernel("CumulativeLogsumexp", &[t("T", types::FLOAT), INDEX], |node| Cumulative::make(node, "T", 2))
        .host(&["axis"]),
];

const INDEX: TypeConstraint = t("Tidx", types::INDEX);

/// Lines from which on an invocation can have one to itself and the device is still full.
const MANY_LINES: u32 = 4096;

struct Cumulative {
    kernel: &'static Kernel,
    /// `OP` in the shader.
    op: u32,
    exclusive: bool,
    reverse: bool,
}

impl Cumulative {
    fn make(node: &dyn OpKernelConstruction, attr: &str, op: u32) -> Result<Box<dyn OpKernel>> {
        let kernel = shader::CUMULATIVE.get(&[node.dtype(attr)?.into()])?;
        Ok(Box::new(Self { kernel, op, exclusive: node.bool("exclusive")?, reverse: node.bool("reverse")? }))
    }
}

/// The axis that input 1 names.
fn axis(inputs: &Inputs<'_>) -> Result<usize> {
    let (x, a) = (inputs.shape(0)?, inputs.host_int(1)?);
    let rank = x.rank() as i64;
    x.axis(a)
        .ok_or_else(|| Error::invalid_argument(format!("axis: Expected scan axis in the range [{}, {rank}), but got {a}", -rank)))
}

impl OpKernel for Cumulative {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        axis(inputs)?;
        Ok(smallvec![Output::Shape(shape.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let at = axis(&ctx.inputs())?;
        let size = |dims: &[i64]| u32::try_from(Shape::new(dims).num_elements()).ok();
        let parts = (
            size(&x.shape[..at]),
            size(x.shape.get(at..=at).unwrap_or_default()),
            size(x.shape.get(at + 1..).unwrap_or_default()),
        );
        let (Some(outer), Some(n), Some(inner), true) = (parts.0, parts.1, parts.2, x.num_elements() < 1 << 31) else {
            return Err(Error::unimplemented(format!("x: {} has 2^31 elements or more", x.shape)));
        };
        let lines = outer * inner;
        let serial = lines >= MANY_LINES && inner >= 32;
        let threads = 256.min(1 << ctx.device().adapter().limits.max_invocations.ilog2());
        let mut args = Args::new();
        args.read(&x)?.write(&y)?.u32(lines).u32(n).u32(inner);
        let constants = [threads, 1, 1, self.op, self.exclusive.into(), self.reverse.into(), serial.into()];
        let groups = if serial { lines.div_ceil(threads) } else { lines };
        ctx.stream().launch_linear(self.kernel, &constants, &args, groups.into())
    }
}

#[cfg(test)]
mod tests {
    use tfvk_device::DType;

    use super::*;

    #[test]
    fn every_declared_type_has_a_shader() {
        for def in OPS {
            for &d in def.types[0].dtypes {
                assert!(shader::CUMULATIVE.get(&[d.into()]).is_ok(), "{} {d}", def.op);
            }
        }
        assert!(shader::CUMULATIVE.get(&[DType::Bool.into()]).is_err());
    }
}
