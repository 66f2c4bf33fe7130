//! CropAndResize and its gradients with respect to the image and the boxes.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Kernel, Result, Shape, Tensor};

use super::{MAX_ELEMENTS, THREADS};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

#[derive(Clone, Copy)]
enum What {
    /// (image, boxes, box_ind, crop_size) -> crops.
    Forward,
    /// (grads, boxes, box_ind, image_size) -> gradient of the image.
    Image,
    /// (grads, image, boxes, box_ind) -> gradient of the boxes.
    Boxes,
}

struct Crop {
    what: What,
    kernel: &'static Kernel,
    nearest: bool,
    outside: f32,
}

fn make(node: &dyn OpKernelConstruction, what: What, shader: &'static shader::Shader) -> Result<Box<dyn OpKernel>> {
    let method = node.string("method")?;
    let nearest = match (method.as_str(), what) {
        ("bilinear", _) => false,
        ("nearest", What::Forward | What::Image) => true,
        _ => return Err(Error::invalid_argument(format!("method must be 'bilinear' or 'nearest', got '{method}'"))),
    };
    let outside = if let What::Forward = what { node.f32("extrapolation_value")? } else { 0.0 };
    let kernel = shader.get(&[node.dtype("T")?.into()])?;
    Ok(Box::new(Crop { what, kernel, nearest, outside }))
}

pub(super) fn forward(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, What::Forward, &shader::CROP)
}

pub(super) fn grad_image(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, What::Image, &shader::CROP_GRAD_IMAGE)
}

pub(super) fn grad_boxes(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, What::Boxes, &shader::CROP_GRAD_BOXES)
}

fn rank4(shape: &Shape, name: &str) -> Result<[i64; 4]> {
    let dims = shape.dims().try_into();
    dims.map_err(|_| Error::invalid_argument(format!("{name} must be 4-D, got {shape}")))
}

/// Number of boxes, from `boxes` [n, 4] and `box_ind` [n].
fn boxes(boxes: &Shape, index: &Shape) -> Result<i64> {
    match (boxes.dims(), index.dims()) {
        (&[n, 4], &[m]) if n == m => Ok(n),
        _ => Err(Error::invalid_argument(format!("boxes must be [n, 4] and box_ind [n], got {boxes} and {index}"))),
    }
}

impl OpKernel for Crop {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = match self.what {
            What::Forward => {
                let [_, height, width, depth] = rank4(inputs.shape(0)?, "input image")?;
                let n = boxes(inputs.shape(1)?, inputs.shape(2)?)?;
                let size = inputs.host_ints(3)?;
                match size.as_slice() {
                    &[h, w] if h > 0 && w > 0 && height > 0 && width > 0 => Shape::from([n, h, w, depth]),
                    other => return Err(Error::invalid_argument(format!("crop dimensions must be positive, got {other:?}"))),
                }
            }
            What::Image => {
                let grads = rank4(inputs.shape(0)?, "grads image")?;
                let n = boxes(inputs.shape(1)?, inputs.shape(2)?)?;
                if grads[0] != n || grads.contains(&0) {
                    return Err(Error::invalid_argument(format!("a gradient of {grads:?} does not fit {n} boxes")));
                }
                let size = inputs.host_ints(3)?;
                match size.as_slice() {
                    &[b, h, w, d] if h > 0 && w > 0 && d == grads[3] => Shape::from([b, h, w, d]),
                    other => return Err(Error::invalid_argument(format!("image_size does not fit the gradient: {other:?}"))),
                }
            }
            What::Boxes => {
                let (grads, image) = (rank4(inputs.shape(0)?, "grads image")?, rank4(inputs.shape(1)?, "input image")?);
                let n = boxes(inputs.shape(2)?, inputs.shape(3)?)?;
                if grads[3] != image[3] || grads[0] != n {
                    return Err(Error::invalid_argument("the gradient fits neither image nor boxes"));
                }
                Shape::from([n, 4])
            }
        };
        Ok(smallvec![Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let out = ctx.output(0)?;
        let (a, b, c) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        for t in [&a, &b, &out] {
            if t.num_elements() > MAX_ELEMENTS {
                return Err(Error::unimplemented(format!("crops of {} elements", t.num_elements())));
            }
        }
        let mut args = Args::new();
        let (image, crops): (&Tensor, &Tensor) = match self.what {
            What::Forward => {
                args.read(&a)?.read(&b)?.read(&c)?.write(&out)?.u32(out.num_elements() as u32).u32(a.shape[0] as u32);
                (&a, &out)
            }
            What::Image => {
                args.read(&a)?.read(&b)?.read(&c)?.write(&out)?.u32(out.num_elements() as u32).u32(a.shape[0] as u32);
                (&out, &a)
            }
            What::Boxes => {
                args.read(&a)?.read(&b)?.read(&c)?.read(&ctx.input(3)?)?.write(&out)?;
                args.u32(out.shape[0] as u32).u32(b.shape[0] as u32);
                (&b, &a)
            }
        };
        for dim in [image.shape[1], image.shape[2], crops.shape[1], crops.shape[2], image.shape[3]] {
            args.u32(dim as u32);
        }
        args.f32(self.outside);
        let groups = match self.what {
            What::Boxes => out.shape[0] as u64,
            _ => (out.num_elements() as u64).div_ceil(u64::from(THREADS)),
        };
        ctx.stream().launch_linear(self.kernel, &[THREADS, 1, 1, u32::from(self.nearest)], &args, groups)
    }
}
