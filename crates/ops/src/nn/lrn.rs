//! LRN and LRNGrad: local response normalisation over the channels of an NHWC tensor.

use tfvk_device::{Args, Error, Kernel, Result};

use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, shader, t, types};

/// The declarations.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel("LRN", &[t("T", types::FLOAT_NN)], |node| Lrn::make(node, false)),
    KernelDef::kernel("LRNGrad", &[t("T", types::FLOAT_NN)], |node| Lrn::make(node, true)),
];

struct Lrn {
    kernel: &'static Kernel,
    gradient: bool,
    radius: i32,
    bias: f32,
    alpha: f32,
    beta: f32,
}

impl Lrn {
    fn make(node: &dyn OpKernelConstruction, gradient: bool) -> Result<Box<dyn OpKernel>> {
        let radius = node.i64("depth_radius")?;
        let radius = i32::try_from(radius)
            .ok()
            .filter(|&r| (0..1 << 30).contains(&r))
            .ok_or_else(|| Error::invalid_argument(format!("depth_radius = {radius} is not between 0 and 2^30")))?;
        let kind = if gradient { "backward" } else { "forward" };
        Ok(Box::new(Self {
            kernel: shader::LRN.get(&[node.dtype("T")?.into(), kind.into()])?,
            gradient,
            radius,
            bias: node.f32("bias")?,
            alpha: node.f32("alpha")?,
            beta: node.f32("beta")?,
        }))
    }
}

impl OpKernel for Lrn {
    /// LRN: input. LRNGrad: input_grads, input_image, output_image, all of one shape.
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        if shape.rank() != 4 {
            return Err(Error::invalid_argument(format!("in must be 4-dimensional, got {shape}")));
        }
        for i in 1..inputs.len() {
            if inputs.shape(i)? != shape {
                let why = format!("input_grads, input_image and output_image must have one shape, got {shape}");
                return Err(Error::invalid_argument(format!("{why} and {}", inputs.shape(i)?)));
            }
        }
        Ok(Outputs::from_iter([Output::Shape(shape.clone())]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let y = ctx.output(0)?;
        let small = |n: i64| {
            let fits = u32::try_from(n).ok().filter(|&n| n <= i32::MAX as u32);
            fits.ok_or_else(|| Error::unimplemented(format!("a tensor of shape {} is too large", y.shape)))
        };
        let (count, depth) = (small(y.num_elements())?, small(y.shape[3])?);
        let mut args = Args::new();
        for i in 0..if self.gradient { 3 } else { 1 } {
            args.read(&ctx.input(i)?)?;
        }
        args.write(&y)?.u32(count).u32(depth).i32(self.radius).f32(self.bias).f32(self.alpha).f32(self.beta);
        let threads = 256.min(ctx.device().adapter().limits.max_invocations);
        ctx.stream().launch_linear(self.kernel, &[threads, 1, 1], &args, count.div_ceil(threads).into())
    }
}
