//! SoftmaxCrossEntropyWithLogits and SparseSoftmaxCrossEntropyWithLogits: a loss per row and the gradient of the logits.

use tfvk_device::{Args, DType, Error, Kernel, Result, Shape};

use super::softmax::Layout;
use crate::shader::Value;
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, shader, t, types};

/// The declarations.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel("SoftmaxCrossEntropyWithLogits", &[t("T", types::FLOAT)], Dense::make),
    KernelDef::kernel("SparseSoftmaxCrossEntropyWithLogits", &[t("T", types::FLOAT), t("Tlabels", types::INDEX)], Sparse::make),
];

struct Dense {
    kernel: &'static Kernel,
}

impl Dense {
    fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let kernel = shader::CROSS_ENTROPY.get(&[node.dtype("T")?.into(), DType::I32.into(), "dense".into()])?;
        Ok(Box::new(Self { kernel }))
    }
}

/// Rows and columns of a tensor of rank 0 to 2, as broadcasting sees them.
fn matrix(shape: &Shape) -> Option<[i64; 2]> {
    match **shape {
        [] => Some([1, 1]),
        [n] => Some([1, n]),
        [rows, n] => Some([rows, n]),
        _ => None,
    }
}

/// The shape that logits and labels are broadcast to.
fn broadcast(logits: &Shape, labels: &Shape) -> Result<[i64; 2]> {
    let flat = || {
        let why = "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional";
        Error::invalid_argument(why)
    };
    if logits.rank().max(labels.rank()) != 2 {
        return Err(flat());
    }
    let (a, b) = (matrix(logits).ok_or_else(flat)?, matrix(labels).ok_or_else(flat)?);
    let mut out = [0; 2];
    for i in 0..2 {
        out[i] = match (a[i], b[i]) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => {
                let why = format!("logits and labels must be broadcastable: logits_size={logits} labels_size={labels}");
                return Err(Error::invalid_argument(why));
            }
        };
    }
    Ok(out)
}

impl OpKernel for Dense {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let [rows, n] = broadcast(inputs.shape(0)?, inputs.shape(1)?)?;
        Ok(Outputs::from_iter([Output::Shape([rows].into()), Output::Shape([rows, n].into())]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (logits, labels) = (ctx.input(0)?.shape, ctx.input(1)?.shape);
        let [rows, _] = broadcast(&logits, &labels)?;
        // Per input: whether it has a row of its own for each row, and its columns.
        let strides = |shape: &Shape| {
            let [own, width] = matrix(shape).unwrap_or([1, 1]);
            [i64::from(own == rows && own != 1), width]
        };
        launch(ctx, self.kernel, strides(&logits), strides(&labels))
    }
}

struct Sparse {
    kernel: &'static Kernel,
}

impl Sparse {
    fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let labels = match node.dtype("Tlabels")? {
            DType::I64 => Value::Word("x64"),
            other => other.into(),
        };
        let kernel = shader::CROSS_ENTROPY.get(&[node.dtype("T")?.into(), labels, "sparse".into()])?;
        Ok(Box::new(Self { kernel }))
    }
}

impl OpKernel for Sparse {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (logits, labels) = (inputs.shape(0)?, inputs.shape(1)?);
        let wrong = |why: String| Err(Error::invalid_argument(why));
        let (&[rows, classes], &[n]) = (logits.dims(), labels.dims()) else {
            return if logits.rank() != 2 {
                wrong(format!("logits must be 2-D, but got shape {logits}"))
            } else {
                wrong(format!("labels must be 1-D, but got shape {labels}"))
            };
        };
        if rows != n {
            let shapes = format!("logits shape {logits} and labels shape {labels}");
            return wrong(format!("logits and labels must have the same first dimension, got {shapes}"));
        }
        if classes == 0 && rows > 0 {
            return wrong(format!("Must have at least one class, but got logits shape {logits}"));
        }
        Ok(Outputs::from_iter([Output::Shape([rows].into()), Output::Shape(logits.clone())]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let classes = ctx.input(0)?.shape[1];
        launch(ctx, self.kernel, [1, classes], [1, 1])
    }
}

/// Both kernels' launch. An input's strides: 1 if it has a row for each row of the result, else 0; its columns.
fn launch(ctx: &Compute<'_>, kernel: &'static Kernel, logits: [i64; 2], labels: [i64; 2]) -> Result<()> {
    let (loss, backprop) = (ctx.output(0)?, ctx.output(1)?);
    let too_large = || Error::unimplemented(format!("logits of shape {} are too large", backprop.shape));
    let small = |v: i64| u32::try_from(v).ok().filter(|&v| v <= 1 << 31).ok_or_else(too_large);
    let (rows, n) = (small(loss.num_elements())?, small(backprop.shape[1])?);
    let l = Layout::new(&ctx.device().adapter().limits, n, false);
    let mut args = Args::new();
    args.read(&ctx.input(0)?)?.read(&ctx.input(1)?)?.write(&loss)?.write(&backprop)?.u32(rows).u32(n);
    args.u32(small(logits[0])?).u32(small(logits[1])?).u32(small(labels[0])?).u32(small(labels[1])?);
    ctx.stream().launch_linear(kernel, &[l.wide, l.high, 1], &args, rows.div_ceil(l.high).into())
}
