//! AdjustHue, AdjustSaturation, AdjustContrastv2, RGBToHSV and HSVToRGB: [..., 3] (contrast: [..., height, width, channels]).

use smallvec::smallvec;
use tfvk_device::{Args, Error, Kernel, Result};

use super::{MAX_ELEMENTS, THREADS};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// (images, [amount]).
struct Colour(&'static Kernel);

fn make(node: &dyn OpKernelConstruction, kind: &'static str) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Colour(shader::COLOUR.get(&[kind.into(), node.dtype("T")?.into()])?)))
}

pub(super) fn hue(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, "hue")
}

pub(super) fn saturation(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, "saturation")
}

pub(super) fn rgb_to_hsv(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, "rgb_to_hsv")
}

pub(super) fn hsv_to_rgb(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, "hsv_to_rgb")
}

pub(super) fn contrast(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Contrast(shader::CONTRAST.get(&[node.dtype("T")?.into()])?)))
}

/// Fails unless input 1, if there is one, is a scalar.
fn check_amount(inputs: &Inputs<'_>) -> Result<()> {
    match inputs.all().get(1) {
        Some(t) if !t.shape.is_empty() => {
            Err(Error::invalid_argument(format!("the amount must be scalar, got shape {}", t.shape)))
        }
        _ => Ok(()),
    }
}

impl OpKernel for Colour {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        check_amount(inputs)?;
        let shape = inputs.shape(0)?;
        if shape.last() != Some(&3) {
            return Err(Error::invalid_argument(format!("input must have 3 channels in its last dimension, got {shape}")));
        }
        Ok(smallvec![Output::Shape(shape.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        if x.num_elements() > MAX_ELEMENTS {
            return Err(Error::unimplemented(format!("an image of {} elements", x.num_elements())));
        }
        let pixels = (x.num_elements() / 3) as u32;
        let mut args = Args::new();
        args.read(&x)?.write(&y)?;
        match ctx.inputs().all().get(1) {
            Some(amount) => args.read(amount)?,
            None => args.null(),
        };
        args.u32(pixels);
        ctx.stream().launch_linear(self.0, &[THREADS, 1, 1], &args, u64::from(pixels.div_ceil(THREADS)))
    }
}

/// (images, factor).
struct Contrast(&'static Kernel);

impl OpKernel for Contrast {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        check_amount(inputs)?;
        let shape = inputs.shape(0)?;
        if shape.rank() < 3 {
            return Err(Error::invalid_argument(format!("input must be at least 3-D, got shape {shape}")));
        }
        Ok(smallvec![Output::Shape(shape.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let split = x.shape.rank() - 3;
        let (images, inner) = x.shape.split_at(split);
        let (images, pixels, channels) = (images.iter().product::<i64>(), inner[0] * inner[1], inner[2]);
        if pixels * channels > MAX_ELEMENTS || images * channels > MAX_ELEMENTS {
            return Err(Error::unimplemented(format!("images of {}", x.shape)));
        }
        let groups = (images * channels) as u32;
        let mut args = Args::new();
        args.read(&x)?.write(&y)?.read(&ctx.input(1)?)?.u32(groups).u32(pixels as u32).u32(channels as u32);
        ctx.stream().launch_linear(self.0, &[THREADS, 1, 1], &args, u64::from(groups))
    }
}
