//! ResizeBilinear, ResizeBicubic, ResizeNearestNeighbor and their gradients, NHWC.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Kernel, Result, Shape};

use super::MAX_ELEMENTS;
use crate::loops;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

#[derive(Clone, Copy, PartialEq)]
enum What {
    /// (images, size) -> resized.
    Forward,
    /// (grads, original image) -> its gradient.
    GradOfImage,
    /// (grads, size of the original) -> its gradient.
    GradOfSize,
}

struct Resize {
    kernel: &'static Kernel,
    what: What,
    align_corners: bool,
    half_pixel: bool,
    /// Elements of 8 bytes are moved as two of 4.
    parts: i64,
}

fn make(node: &dyn OpKernelConstruction, what: What, kernel: &'static Kernel, parts: i64) -> Result<Box<dyn OpKernel>> {
    let (align_corners, half_pixel) = (node.bool("align_corners")?, node.bool("half_pixel_centers")?);
    // TensorFlow's gradient to a size takes both.
    if align_corners && half_pixel && what != What::GradOfSize {
        return Err(Error::invalid_argument("If half_pixel_centers is True, align_corners must be False."));
    }
    Ok(Box::new(Resize { kernel, what, align_corners, half_pixel, parts }))
}

pub(super) fn bilinear(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, What::Forward, shader::RESIZE.get(&["bilinear".into(), node.dtype("T")?.into()])?, 1)
}

pub(super) fn bicubic(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, What::Forward, shader::RESIZE.get(&["bicubic".into(), node.dtype("T")?.into()])?, 1)
}

pub(super) fn nearest(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let (dtype, parts) = super::moved_as(node.dtype("T")?);
    make(node, What::Forward, shader::RESIZE_NEAREST.get(&[dtype.into()])?, parts)
}

pub(super) fn bilinear_grad(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, What::GradOfImage, shader::RESIZE_GRAD.get(&["bilinear".into(), node.dtype("T")?.into()])?, 1)
}

pub(super) fn bicubic_grad(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, What::GradOfImage, shader::RESIZE_GRAD.get(&["bicubic".into(), node.dtype("T")?.into()])?, 1)
}

pub(super) fn nearest_grad(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, What::GradOfSize, shader::RESIZE_NEAREST_GRAD.get(&[node.dtype("T")?.into()])?, 1)
}

/// The dimensions of an NHWC tensor.
fn image(inputs: &Inputs<'_>, index: usize, name: &str) -> Result<[i64; 4]> {
    let shape = inputs.shape(index)?;
    let dims = shape.dims().try_into();
    dims.map_err(|_| Error::invalid_argument(format!("{name} must be 4-dimensional, got shape {shape}")))
}

impl Resize {
    fn scale(&self, from: i64, to: i64) -> f32 {
        if self.align_corners && to > 1 { (from - 1) as f32 / (to - 1) as f32 } else { from as f32 / to as f32 }
    }
}

impl OpKernel for Resize {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let [batch, in_height, in_width, channels] =
            image(inputs, 0, if self.what == What::Forward { "input" } else { "grads" })?;
        let [height, width] = match self.what {
            What::GradOfImage => {
                let [_, height, width, _] = image(inputs, 1, "original_image")?;
                [height, width]
            }
            _ => {
                let size = inputs.host_ints(1)?;
                match size.as_slice() {
                    &[height, width] => [height, width],
                    other => return Err(Error::invalid_argument(format!("size: expected 2 elements, got {}", other.len()))),
                }
            }
        };
        if height <= 0 || width <= 0 {
            return Err(Error::invalid_argument("output dimensions must be positive"));
        }
        if in_height <= 0 || in_width <= 0 {
            return Err(Error::invalid_argument("input image must be of non-zero size"));
        }
        Ok(smallvec![Output::Shape(Shape::from([batch, height, width, channels]))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        // `small` is the image that was resized, `large` the result; a gradient goes the other way.
        let (small, large) = if self.what == What::Forward { (&x, &y) } else { (&y, &x) };
        let (y_scale, x_scale) = (self.scale(small.shape[1], large.shape[1]), self.scale(small.shape[2], large.shape[2]));
        let channels = x.shape[3] * self.parts;
        let constants = [super::THREADS, 1, 1, u32::from(self.half_pixel), u32::from(self.align_corners)];
        let [of_x, of_y] = [&x, &y].map(|t| t.shape[1] * t.shape[2] * channels);
        if of_x.max(of_y) > MAX_ELEMENTS {
            return Err(Error::unimplemented(format!("images of {} and {}", x.shape, y.shape)));
        }
        if self.what != What::Forward {
            // The pixels of the result that one of the image may have been read for.
            let touched = |i: usize| 2 * (large.shape[i] / small.shape[i]) as u64 + 8;
            loops::check(
                ctx,
                touched(1).min(large.shape[1] as u64) * touched(2).min(large.shape[2] as u64 + 1),
                "a resizing's gradient",
            )?;
        }
        let at_once = MAX_ELEMENTS / of_x.max(of_y);
        let mut first = 0;
        while first < x.shape[0] {
            let batch = at_once.min(x.shape[0] - first);
            let count = (batch * of_y) as u32;
            let mut args = Args::new();
            args.read(&x.slice(first * of_x / self.parts, [batch * of_x / self.parts]))?;
            args.write(&y.slice(first * of_y / self.parts, [batch * of_y / self.parts]))?.u32(count);
            for dim in [small.shape[1], small.shape[2], large.shape[1], large.shape[2], channels] {
                args.u32(dim as u32);
            }
            args.f32(y_scale).f32(x_scale);
            ctx.stream().launch_linear(self.kernel, &constants, &args, u64::from(count.div_ceil(super::THREADS)))?;
            first += batch;
        }
        Ok(())
    }
}
