//! Max and mean pooling over two or three space axes, their gradients and second gradients.
//!
//! Gradients are gathered: each element sums over the windows that it is in, so nothing depends on an order of execution.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Tensor};

use super::window::{Pooling, Window};
use crate::array::{count, threads};
use crate::loops;
use crate::shader::{self, Shader};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// What an op does, and which inputs say what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// `input`.
    Max,
    /// `input`.
    Mean,
    /// `input` to values and places.
    MaxWithPlace,
    /// `orig_input, orig_output, grad`.
    MaxGrad,
    /// `orig_input, orig_output, grad` to `grad` at the largest.
    MaxGradGrad,
    /// `orig_input_shape, grad`.
    MeanGrad,
    /// `input, grad, argmax`.
    MaxGradWithPlace,
    /// `input, grad, argmax` to `grad` at the places.
    MaxGradGradWithPlace,
}

struct Pool {
    what: What,
    pooling: Pooling,
    /// Window and strides are inputs, from this one on.
    given: Option<usize>,
    with_batch: bool,
}

/// The kernel of every pooling op, by its name.
pub fn pool(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let op = node.op();
    let what = match op.trim_end_matches("V2") {
        "MaxPool" | "MaxPool3D" => What::Max,
        "AvgPool" | "AvgPool3D" => What::Mean,
        "MaxPoolWithArgmax" => What::MaxWithPlace,
        "MaxPoolGrad" | "MaxPool3DGrad" => What::MaxGrad,
        "MaxPoolGradGrad" | "MaxPool3DGradGrad" => What::MaxGradGrad,
        "AvgPoolGrad" | "AvgPool3DGrad" => What::MeanGrad,
        "MaxPoolGradWithArgmax" => What::MaxGradWithPlace,
        "MaxPoolGradGradWithArgmax" => What::MaxGradGradWithPlace,
        other => return Err(Error::internal(format!("no pooling {other}"))),
    };
    let given = op.ends_with("V2").then_some(if what == What::Max { 1 } else { 3 });
    let with_batch = node.has("include_batch_in_index") && node.bool("include_batch_in_index")?;
    Ok(Box::new(Pool { what, pooling: Pooling::of(node, given.is_some())?, given, with_batch }))
}

impl Pool {
    fn window(&self, inputs: &Inputs<'_>) -> Result<Window> {
        let given = match self.given {
            Some(i) => {
                let axes = |i: usize, name: &str| self.pooling.space_axes(&inputs.host_ints(i)?, name);
                Some((axes(i, "ksize")?, axes(i + 1, "strides")?))
            }
            None => None,
        };
        if self.what == What::MeanGrad {
            return self.pooling.over(&inputs.host_ints(0)?.iter().copied().collect(), given);
        }
        self.pooling.over(inputs.shape(0)?, given)
    }

    /// What else must have which shape.
    fn check(&self, inputs: &Inputs<'_>, window: &Window) -> Result<()> {
        let pooled = window.shape();
        let expect = |i: usize, name: &str, shape: &tfvk_device::Shape| {
            let got = inputs.shape(i)?;
            if got == shape { Ok(()) } else { Err(Error::invalid_argument(format!("{name}: expected shape {shape}, got {got}"))) }
        };
        match self.what {
            What::Max | What::Mean | What::MaxWithPlace => Ok(()),
            What::MaxGrad => {
                expect(1, "orig_output", &pooled)?;
                expect(2, "grad", &pooled)
            }
            What::MaxGradGrad => {
                expect(1, "orig_output", &pooled)?;
                expect(2, "grad", inputs.shape(0)?)
            }
            What::MeanGrad => expect(1, "grad", &pooled),
            What::MaxGradWithPlace => {
                expect(1, "grad", &pooled)?;
                expect(2, "argmax", &pooled)
            }
            What::MaxGradGradWithPlace => {
                expect(1, "grad", inputs.shape(0)?)?;
                expect(2, "argmax", &pooled)
            }
        }
    }
}

impl OpKernel for Pool {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let window = self.window(inputs)?;
        self.check(inputs, &window)?;
        let shape = match self.what {
            What::MaxGrad | What::MaxGradWithPlace => inputs.shape(0)?.clone(),
            What::MeanGrad => inputs.host_ints(0)?.iter().copied().collect(),
            _ => window.shape(),
        };
        Ok(match self.what {
            What::MaxWithPlace => smallvec![Output::Shape(shape.clone()), Output::Shape(shape)],
            _ => smallvec![Output::Shape(shape)],
        })
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let window = self.window(&ctx.inputs())?;
        let out = ctx.output(0)?;
        let input = |i: usize| ctx.input(i).map(Some);
        // The shader, its mode, x, the other operand (a gradient) and the places.
        let (shader, mode, x, other, places): (&'static Shader, u32, _, _, _) = match self.what {
            What::Max => (&shader::POOL, 0, input(0)?, None, None),
            What::Mean => (&shader::POOL, 1, input(0)?, None, None),
            What::MaxWithPlace => (&shader::POOL, 2, input(0)?, None, Some(ctx.output(1)?)),
            What::MaxGradGrad => (&shader::POOL, 3, input(0)?, input(2)?, None),
            What::MaxGrad => (&shader::POOL_GRAD, 0, input(0)?, input(2)?, None),
            What::MeanGrad => (&shader::POOL_GRAD, 1, None, input(1)?, None),
            What::MaxGradWithPlace => (&shader::POOL_GRAD, 2, None, input(1)?, input(2)?),
            // The places are those of the largest, found again.
            What::MaxGradGradWithPlace => (&shader::POOL, 3, input(0)?, input(1)?, None),
        };
        for t in [&x, &other].into_iter().flatten() {
            count(&t.shape)?;
        }
        let n = count(&out.shape)?;
        let mut args = Args::new();
        for t in [&x, &other] {
            match t {
                Some(t) => _ = args.read(t)?,
                None => _ = args.null(),
            }
        }
        args.write(&out)?;
        let place_size = places.as_ref().map_or(8, |p: &Tensor| p.dtype.size() as u32);
        match &places {
            Some(p) if self.what == What::MaxWithPlace => _ = args.write(p)?,
            Some(p) => _ = args.read(p)?,
            None => _ = args.null(),
        }
        args.u32(n);
        window.push(&mut args);
        let gradient = matches!(self.what, What::MaxGrad | What::MeanGrad | What::MaxGradWithPlace);
        let elements = !matches!(self.what, What::MeanGrad | What::MaxGradWithPlace);
        loops::check(ctx, window.iterations(gradient, elements), "a pooling window")?;
        let threads = threads(ctx);
        let constants = [threads, 1, 1, u32::from(self.pooling.channels_first), mode, place_size, u32::from(self.with_batch)];
        ctx.stream().launch_linear(kernel(shader, out.dtype)?, &constants, &args, n.div_ceil(threads).into())
    }
}

fn kernel(shader: &'static Shader, dtype: DType) -> Result<&'static tfvk_device::Kernel> {
    shader.get(&[dtype.into()])
}
