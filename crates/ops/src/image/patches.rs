//! ExtractImagePatches.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Kernel, Result, Shape};

use super::{MAX_ELEMENTS, THREADS};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader, sliding};

struct Patches {
    kernel: &'static Kernel,
    /// 32-bit parts of an element.
    parts: i64,
    /// Height and width of each.
    size: [i64; 2],
    stride: [i64; 2],
    rate: [i64; 2],
    same: bool,
}

/// The two inner values of a list of four whose outer ones are 1.
fn inner(node: &dyn OpKernelConstruction, name: &str) -> Result<[i64; 2]> {
    match node.i64s(name)?.as_slice() {
        &[1, y, x, 1] if y > 0 && x > 0 => Ok([y, x]),
        other => Err(Error::invalid_argument(format!("{name}: expected [1, y, x, 1] with positive y and x, got {other:?}"))),
    }
}

pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let same = sliding::is_same(node)?;
    let (dtype, parts) = super::moved_as(node.dtype("T")?);
    let [size, stride, rate] = [inner(node, "ksizes")?, inner(node, "strides")?, inner(node, "rates")?];
    Ok(Box::new(Patches { kernel: shader::PATCHES.get(&[dtype.into()])?, parts, size, stride, rate, same }))
}

impl Patches {
    /// Output size and padding before, along axis 0 (height) or 1 (width).
    fn axis(&self, axis: usize, size: i64) -> (i64, i64) {
        let window = (self.size[axis] - 1) * self.rate[axis] + 1;
        sliding::places(size, window, self.stride[axis], self.same)
    }
}

impl OpKernel for Patches {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let images = inputs.shape(0)?;
        let &[batch, height, width, channels] = images.dims() else {
            return Err(Error::invalid_argument(format!("input must be 4-dimensional, got {images}")));
        };
        let (out_height, out_width) = (self.axis(0, height).0, self.axis(1, width).0);
        if out_height.min(out_width) < 0 {
            return Err(Error::invalid_argument(format!("a patch is larger than the image {images}")));
        }
        let depth = channels * self.size[0] * self.size[1];
        Ok(smallvec![Output::Shape(Shape::from([batch, out_height, out_width, depth]))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let (count, channels) = (y.num_elements() * self.parts, x.shape[3] * self.parts);
        if count.max(x.num_elements() * self.parts) > MAX_ELEMENTS {
            return Err(Error::unimplemented(format!("patches of {count} elements")));
        }
        let pad = [self.axis(0, x.shape[1]).1, self.axis(1, x.shape[2]).1];
        let mut args = Args::new();
        args.read(&x)?.write(&y)?.u32(count as u32);
        let sizes = [x.shape[1], x.shape[2], y.shape[1], y.shape[2], channels];
        for v in sizes.into_iter().chain(self.size).chain(self.stride).chain(self.rate).chain(pad) {
            args.u32(v as u32);
        }
        ctx.stream().launch_linear(self.kernel, &[THREADS, 1, 1], &args, (count as u64).div_ceil(u64::from(THREADS)))
    }
}
