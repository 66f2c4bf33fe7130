//! ScaleAndTranslate, its gradient, and ResizeArea: separable sums of neighbours (see `spans.rs`), rows first.

use smallvec::smallvec;
use tfvk_device::{DType, Error, Result, Shape};

use super::spans::{Sampling, Spans};
use crate::array::fill_bits;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

enum Scale {
    /// `images, size, scale, translation`.
    Sampled { kernel: Sampling, antialias: bool },
    /// `grads, original_image, scale, translation`.
    Gradient { kernel: Sampling, antialias: bool },
    /// `images, size`.
    Area { align_corners: bool },
}

fn sampling(node: &dyn OpKernelConstruction) -> Result<(Sampling, bool)> {
    Ok((Sampling::named(&node.string("kernel_type")?)?, node.bool("antialias")?))
}

pub(super) fn scale_and_translate(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let (kernel, antialias) = sampling(node)?;
    Ok(Box::new(Scale::Sampled { kernel, antialias }))
}

pub(super) fn scale_and_translate_grad(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let (kernel, antialias) = sampling(node)?;
    Ok(Box::new(Scale::Gradient { kernel, antialias }))
}

pub(super) fn area(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Scale::Area { align_corners: node.bool("align_corners")? }))
}

/// Two floats in host memory.
fn pair(inputs: &Inputs<'_>, index: usize, name: &str) -> Result<[f32; 2]> {
    match *inputs.get(index)?.host::<f32>()? {
        [a, b] if inputs.shape(index)?.rank() == 1 => Ok([a, b]),
        _ => Err(Error::invalid_argument(format!("{name} must have two elements, got shape {}", inputs.shape(index)?))),
    }
}

/// The scales along height and width. Errors: one is not positive.
fn scales(inputs: &Inputs<'_>) -> Result<[f32; 2]> {
    match pair(inputs, 2, "scale")? {
        [a, b] if a > 0.0 && b > 0.0 => Ok([a, b]),
        other => Err(Error::invalid_argument(format!("Scale must be greater than zero, got {other:?}"))),
    }
}

/// Batch, height, width, channels. Errors: not an image.
fn image(shape: &Shape, name: &str) -> Result<[i64; 4]> {
    match *shape.dims() {
        [b, h, w, c] if h > 0 && w > 0 && c > 0 => Ok([b, h, w, c]),
        [_, _, _, _] => Err(Error::invalid_argument(format!("{name} must be of non-zero size, got {shape}"))),
        _ => Err(Error::invalid_argument(format!("{name} must be 4-dimensional, got {shape}"))),
    }
}

impl Scale {
    /// Height and width of the result.
    fn size(&self, inputs: &Inputs<'_>) -> Result<[i64; 2]> {
        if let Scale::Gradient { .. } = self {
            let [_, h, w, _] = image(inputs.shape(1)?, "original_image")?;
            return Ok([h, w]);
        }
        match *inputs.host_ints(1)?.as_slice() {
            [h, w] if h > 0 && w > 0 && inputs.shape(1)?.rank() == 1 => Ok([h, w]),
            ref other => Err(Error::invalid_argument(format!("size must be two positive numbers, got {other:?}"))),
        }
    }

    /// The sums along height (0) or width (1).
    fn spans(&self, inputs: &Inputs<'_>, axis: usize, from: i64, to: i64) -> Result<Spans> {
        let (from, to) = (from as usize, to as usize);
        Ok(match *self {
            Scale::Sampled { kernel, antialias } => {
                let (scale, moved) = (scales(inputs)?[axis], pair(inputs, 3, "translation")?[axis]);
                Spans::sampled(kernel, from, to, scale, moved, antialias)
            }
            Scale::Gradient { kernel, antialias } => {
                let (scale, moved) = (scales(inputs)?[axis], pair(inputs, 3, "translation")?[axis]);
                Spans::sampled(kernel, to, from, scale, moved, antialias).transposed(to)
            }
            Scale::Area { align_corners } => {
                let aligned = align_corners && to > 1;
                let scale = if aligned { (from - 1) as f32 / (to - 1) as f32 } else { from as f32 / to as f32 };
                Spans::covered(from, to, scale)
            }
        })
    }
}

impl OpKernel for Scale {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let [batch, height, width, channels] = image(inputs.shape(0)?, "input")?;
        let [h, w] = self.size(inputs)?;
        match self {
            Scale::Area { align_corners: true } if (h > 1 && height == 1) || (w > 1 && width == 1) => {
                return Err(Error::unimplemented("align_corners of an image that is one pixel high or wide"));
            }
            Scale::Area { .. } => {}
            _ => _ = (scales(inputs)?, pair(inputs, 3, "translation")?),
        }
        if let Scale::Gradient { .. } = self {
            let original = inputs.shape(1)?;
            if original[0] != batch || original[3] != channels {
                let what = "grads and original_image must have the same batch and channels";
                return Err(Error::invalid_argument(format!("{what}: {} and {original}", inputs.shape(0)?)));
            }
        }
        Ok(smallvec![Output::Shape(Shape::from([batch, h, w, channels]))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let [batch, height, width, channels] = image(&x.shape, "input")?;
        let [h, w] = self.size(&ctx.inputs())?;
        if x.num_elements() == 0 {
            return fill_bits(ctx, &y, &[0; 16]);
        }
        let rows = self.spans(&ctx.inputs(), 0, height, h)?;
        let columns = self.spans(&ctx.inputs(), 1, width, w)?;
        let between = ctx.temp(DType::F32, [batch, h, width, channels])?;
        rows.apply(ctx, &x, &between, [batch, height, width * channels])?;
        columns.apply(ctx, &between, &y, [batch * h, width, channels])
    }
}
