//! ExtractVolumePatches.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Kernel, Result, Shape};

use super::{MAX_ELEMENTS, THREADS};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader, sliding};

struct Patches {
    kernel: &'static Kernel,
    /// 32-bit parts of an element.
    parts: i64,
    window: [i64; 3],
    stride: [i64; 3],
    same: bool,
}

/// The three inner values of a list of five whose outer ones are 1.
fn inner(node: &dyn OpKernelConstruction, name: &str) -> Result<[i64; 3]> {
    match *node.i64s(name)?.as_slice() {
        [1, z, y, x, 1] if z.min(y).min(x) > 0 => Ok([z, y, x]),
        _ => Err(Error::invalid_argument(format!("{name}: expected [1, z, y, x, 1], all positive, got {:?}", node.i64s(name)?))),
    }
}

pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let same = sliding::is_same(node)?;
    let (dtype, parts) = super::moved_as(node.dtype("T")?);
    let kernel = shader::VOLUME_PATCHES.get(&[dtype.into()])?;
    Ok(Box::new(Patches { kernel, parts, window: inner(node, "ksizes")?, stride: inner(node, "strides")?, same }))
}

impl Patches {
    /// Patches along a space axis of `n` elements, and the padding before it.
    fn axis(&self, axis: usize, n: i64) -> (i64, i64) {
        sliding::places(n, self.window[axis], self.stride[axis], self.same)
    }
}

impl OpKernel for Patches {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let x = inputs.shape(0)?;
        let &[batch, depth, height, width, channels] = x.dims() else {
            return Err(Error::invalid_argument(format!("input must be 5-dimensional, got {x}")));
        };
        let out = [self.axis(0, depth).0, self.axis(1, height).0, self.axis(2, width).0];
        if out.iter().any(|&n| n < 0) {
            return Err(Error::invalid_argument(format!("a patch is larger than the volume {x}")));
        }
        let values = channels * self.window.iter().product::<i64>();
        Ok(smallvec![Output::Shape(Shape::from([batch, out[0], out[1], out[2], values]))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let count = y.num_elements() * self.parts;
        if count.max(x.num_elements() * self.parts) > MAX_ELEMENTS {
            return Err(Error::unimplemented(format!("patches of {count} elements")));
        }
        let before = [0, 1, 2].map(|i| self.axis(i, x.shape[i + 1]).1);
        let mut args = Args::new();
        args.read(&x)?.write(&y)?.u32(count as u32).u32((x.shape[4] * self.parts) as u32);
        for v in x.shape[1..4].iter().chain(&y.shape[1..4]).chain(&self.window).chain(&self.stride).chain(&before) {
            args.u32(*v as u32);
        }
        ctx.stream().launch_linear(self.kernel, &[THREADS, 1, 1], &args, (count as u64).div_ceil(u64::from(THREADS)))
    }
}
