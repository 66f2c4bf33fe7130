//! ImageProjectiveTransformV2 and V3.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Kernel, Result, Shape};

use super::{MAX_ELEMENTS, THREADS};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// (images, transforms, output_shape, [fill_value]).
struct Projective {
    kernel: &'static Kernel,
    bilinear: bool,
    fill_mode: u32,
}

pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let (interpolation, mode) = (node.string("interpolation")?, node.string("fill_mode")?);
    let bilinear = match interpolation.as_str() {
        "NEAREST" => false,
        "BILINEAR" => true,
        other => {
            return Err(Error::invalid_argument(format!("Invalid interpolation {other}. Supported types: NEAREST, BILINEAR")));
        }
    };
    let Some(fill_mode) = ["CONSTANT", "REFLECT", "WRAP", "NEAREST"].iter().position(|m| *m == mode) else {
        return Err(Error::invalid_argument(format!("Invalid mode {mode}. Supported types: REFLECT, WRAP, CONSTANT, NEAREST")));
    };
    let kernel = shader::PROJECTIVE.get(&[node.dtype("dtype")?.into()])?;
    Ok(Box::new(Projective { kernel, bilinear, fill_mode: fill_mode as u32 }))
}

impl OpKernel for Projective {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (images, transforms) = (inputs.shape(0)?, inputs.shape(1)?);
        let &[batch, _, _, channels] = images.dims() else {
            return Err(Error::invalid_argument(format!("Input images must have rank 4, got {images}")));
        };
        match transforms.dims() {
            &[n, 8] if n == 1 || n == batch => {}
            _ => {
                return Err(Error::invalid_argument(format!(
                    "Input transform should be num_images x 8 or 1 x 8, got {transforms}"
                )));
            }
        }
        let size = inputs.host_ints(2)?;
        match size.as_slice() {
            &[h, w] if h > 0 && w > 0 => Ok(smallvec![Output::Shape(Shape::from([batch, h, w, channels]))]),
            other => Err(Error::invalid_argument(format!("new width and height must be positive, got {other:?}"))),
        }
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, transforms, y) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let fill = match ctx.inputs().len() {
            4 => ctx.input(3)?.host::<f32>()?.first().copied().unwrap_or(0.0),
            _ => 0.0,
        };
        let none = x.num_elements() == 0; // then every pixel lies outside
        if y.num_elements() > MAX_ELEMENTS {
            return Err(Error::unimplemented(format!("images of {} and {}", x.shape, y.shape)));
        }
        let count = y.num_elements() as u32;
        let mut args = Args::new();
        if none {
            args.null();
        } else {
            args.read(&x)?;
        }
        args.read(&transforms)?.write(&y)?.u32(count);
        for dim in [x.shape[1], x.shape[2], y.shape[1], y.shape[2], x.shape[3]] {
            args.u32(dim as u32);
        }
        args.u32(if transforms.shape[0] == 1 { 0 } else { 8 }).f32(fill);
        let constants = [THREADS, 1, 1, u32::from(self.bilinear && !none), if none { 0 } else { self.fill_mode }];
        ctx.stream().launch_linear(self.kernel, &constants, &args, u64::from(count.div_ceil(THREADS)))
    }
}
