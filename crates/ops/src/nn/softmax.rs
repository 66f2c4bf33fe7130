//! Softmax and LogSoftmax along the last axis.

use tfvk_device::{Args, Error, Kernel, Limits, Result, Tensor};

use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, shader, t, types};

/// The declarations.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel("Softmax", &[t("T", types::FLOAT)], |node| Softmax::make(node, false)).forwards(&[0]),
    KernelDef::kernel("LogSoftmax", &[t("T", types::FLOAT)], |node| Softmax::make(node, true)).forwards(&[0]),
];

struct Softmax {
    kernel: &'static Kernel,
    log: bool,
}

impl Softmax {
    fn make(node: &dyn OpKernelConstruction, log: bool) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Self { kernel: shader::SOFTMAX.get(&[node.dtype("T")?.into()])?, log }))
    }
}

impl OpKernel for Softmax {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        if shape.rank() == 0 {
            return Err(Error::invalid_argument(format!("logits must have >= 1 dimension, got {shape}")));
        }
        Ok(Outputs::from_iter([Output::Shape(shape.clone())]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let (rows, n) = rows(&x)?;
        let aligned = aligned4(&x)? && aligned4(&y)?;
        let l = Layout::new(&ctx.device().adapter().limits, n, aligned);
        let mut args = Args::new();
        args.read(&x)?.write(&y)?.u32(rows).u32(n);
        let cached = l.per > 0;
        let constants = [l.wide, l.high, 1, self.log.into(), l.vector.into(), cached.into(), l.per.max(1)];
        ctx.stream().launch_linear(self.kernel, &constants, &args, rows.div_ceil(l.high).into())
    }
}

/// A tensor's rows and their length, where the last axis is the row.
pub(super) fn rows(x: &Tensor) -> Result<(u32, u32)> {
    let n = x.shape.last().copied().unwrap_or(1);
    let rows = x.num_elements().checked_div(n).unwrap_or(0);
    match (u32::try_from(rows), u32::try_from(n)) {
        (Ok(rows), Ok(n)) if n <= 1 << 31 => Ok((rows, n)),
        _ => Err(Error::unimplemented(format!("a {}{} is too large", x.dtype, x.shape))),
    }
}

/// Whether a tensor's elements can be read in fours.
pub(super) fn aligned4(x: &Tensor) -> Result<bool> {
    Ok(x.device_ptr()?.0 % (4 * x.dtype.size() as u64).min(16) == 0)
}

/// How a workgroup's threads lie over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Threads that share a row; a power of two.
    pub wide: u32,
    /// Rows of a workgroup.
    pub high: u32,
    /// Rows are read in fours.
    pub vector: bool,
    /// Pieces (elements, or fours) that each thread keeps; 0: too many.
    pub per: u32,
}

impl Layout {
    /// For rows of `n` elements.
    pub fn new(limits: &Limits, n: u32, aligned: bool) -> Self {
        const THREADS: u32 = 256;
        /// Pieces a thread can keep in registers.
        const MOST: u32 = 8;
        let threads = THREADS.min(1 << limits.max_invocations.max(1).ilog2());
        let vector = aligned && n % 4 == 0;
        let pieces = if vector { n / 4 } else { n };
        let wide = pieces.div_ceil(4).max(1).next_power_of_two().min(threads);
        let per = pieces.div_ceil(wide).next_power_of_two();
        Self { wide, high: threads / wide, vector, per: if per <= MOST { per } else { 0 } }
    }
}
