//! The random ops whose generator is a variable (`tf.random.Generator`): int64 [3] or more, counter then key, on the device.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape, Tensor};

use super::fill::{Distribution, Source, fill};
use super::philox::entropy;
use super::shape::{bounds, check_algorithm, one_output};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// Blocks of the stream that one output element, or one of `delta`, takes.
const BLOCKS_PER_OUTPUT: u64 = 256;

fn state(ctx: &mut Compute<'_>) -> Result<Tensor> {
    let values = ctx.update_variables(&[0], DType::I64)?;
    let state = values.into_iter().next().ok_or_else(|| Error::internal("no state variable"))?;
    if state.shape.rank() != 1 {
        let rank = state.shape.rank();
        return Err(Error::invalid_argument(format!("RNG state must have one and only one dimension, not {rank}")));
    }
    if state.num_elements() < 3 {
        let got = state.num_elements();
        return Err(Error::invalid_argument(format!(
            "For the Philox algorithm, the size of state must be at least 3; got {got}"
        )));
    }
    Ok(state)
}

fn skip(ctx: &Compute<'_>, state: &Tensor, before: Option<&Tensor>, outputs: u64) -> Result<()> {
    let mut args = Args::new();
    args.read_write(state)?;
    match before {
        Some(t) => args.write(t)?,
        None => args.null(),
    };
    args.u64(outputs.wrapping_mul(BLOCKS_PER_OUTPUT));
    ctx.stream().launch(shader::RANDOM_SKIP.get(&[])?, &[1, 1, 1], &args, [1, 1, 1])
}

/// (resource, algorithm, shape, [minval, maxval]). `None` draws integers.
struct OfState(Option<Distribution>);

impl OpKernel for OfState {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        check_algorithm(inputs, 1)?;
        if self.0.is_none() {
            bounds(inputs, 3, 4)?;
        }
        one_output(inputs, 2)
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let distribution = match self.0 {
            Some(d) => d,
            None => bounds(&ctx.inputs(), 3, 4)?,
        };
        let out = ctx.output(0)?;
        let state = state(ctx)?;
        fill(ctx, &out, distribution, Source::State(&state))?;
        skip(ctx, &state, None, out.num_elements() as u64)
    }
}

/// (resource, algorithm, delta) -> the state from before, where `read`.
struct Skip {
    read: bool,
}

impl OpKernel for Skip {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        check_algorithm(inputs, 1)?;
        let delta = inputs.shape(2)?;
        if !delta.is_empty() {
            return Err(Error::invalid_argument(format!("input 2 (0-based) must have shape [], not {delta}")));
        }
        Ok(if self.read { smallvec![Output::Shape(Shape::from([3]))] } else { smallvec![] })
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let delta = ctx.input(2)?;
        let delta = match delta.dtype {
            DType::U64 => delta.host::<u64>()?.first().copied(),
            _ => delta.host::<i64>()?.first().map(|&d| d as u64),
        };
        let state = state(ctx)?;
        let before = if self.read { Some(ctx.output(0)?) } else { None };
        skip(ctx, &state, before.as_ref(), delta.unwrap_or(0))
    }
}

/// shape -> integers that nobody can foretell.
struct NonDeterministic;

impl OpKernel for NonDeterministic {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        one_output(inputs, 0)
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let place = super::philox::Philox::from_seeds(entropy(), entropy());
        fill(ctx, &ctx.output(0)?, Distribution::FullInt, Source::Place(place))
    }
}

type Made = Result<Box<dyn OpKernel>>;

macro_rules! makers {
    ($($name:ident => $kernel:expr),* $(,)?) => {$(
        pub(super) fn $name(_: &dyn OpKernelConstruction) -> Made {
            Ok(Box::new($kernel))
        }
    )*};
}
makers! {
    uniform => OfState(Some(Distribution::Uniform)),
    normal => OfState(Some(Distribution::Normal)),
    truncated => OfState(Some(Distribution::TruncatedNormal)),
    full_int => OfState(Some(Distribution::FullInt)),
    int => OfState(None),
    read_and_skip => Skip { read: true },
    skip_only => Skip { read: false },
    non_deterministic => NonDeterministic,
}
