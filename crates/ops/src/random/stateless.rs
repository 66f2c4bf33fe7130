//! The stateless random ops: of a seed (V1), and of a key and a counter (V2). Seeds, keys and counters stay on the device.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Result, Shape};

use super::fill::{Distribution, Source, fill};
use super::philox::Philox;
use super::shape::{PHILOX, bounds, check_algorithm, check_seed, one_output};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// What a node draws; integers in a range get it when they run.
#[derive(Clone, Copy)]
enum Draw {
    Of(Distribution),
    Int,
}

/// (shape, seed, [minval, maxval]).
struct OfSeed(Draw);

impl OpKernel for OfSeed {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        check_seed(inputs.get(1)?)?;
        one_output(inputs, 0)
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let distribution = match self.0 {
            Draw::Of(d) => d,
            Draw::Int => bounds(&ctx.inputs(), 2, 3)?,
        };
        fill(ctx, &ctx.output(0)?, distribution, Source::Seed(&ctx.input(1)?))
    }
}

/// (shape, key, counter, alg, [minval, maxval]).
struct OfKey(Draw);

impl OpKernel for OfKey {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        check_algorithm(inputs, 3)?;
        let (key, counter) = (inputs.shape(1)?, inputs.shape(2)?);
        if key.dims() != [1] {
            return Err(Error::invalid_argument(format!("key: expected shape [1], got {key}")));
        }
        if counter.rank() != 1 || counter[0] < 2 {
            return Err(Error::invalid_argument(format!("counter: expected a vector of at least 2 elements, got {counter}")));
        }
        one_output(inputs, 0)
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let distribution = match self.0 {
            Draw::Of(d) => d,
            Draw::Int => bounds(&ctx.inputs(), 4, 5)?,
        };
        fill(ctx, &ctx.output(0)?, distribution, Source::KeyCounter(&ctx.input(1)?, &ctx.input(2)?))
    }
}

/// seed -> key, counter and, with `algorithm`, alg (in host memory).
struct KeyCounter {
    algorithm: bool,
}

impl OpKernel for KeyCounter {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        check_seed(inputs.get(0)?)?;
        let mut outputs: Outputs = smallvec![Output::Shape(Shape::from([1])), Output::Shape(Shape::from([2]))];
        if self.algorithm {
            outputs.push(Output::Shape(Shape::scalar()));
        }
        Ok(outputs)
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let seed = ctx.input(0)?;
        let mut args = Args::new();
        args.write(&ctx.output(0)?)?.write(&ctx.output(1)?)?;
        let (source, place): (u32, Philox) = Source::Seed(&seed).addresses(&mut args)?;
        place.words(&mut args);
        ctx.stream().launch(shader::RANDOM_KEY.get(&[])?, &[1, 1, 1, source], &args, [1, 1, 1])?;
        if self.algorithm { write_algorithm(ctx, 2) } else { Ok(()) }
    }
}

/// -> alg.
struct Algorithm;

impl OpKernel for Algorithm {
    fn outputs(&self, _: &Inputs<'_>) -> Result<Outputs> {
        Ok(smallvec![Output::Shape(Shape::scalar())])
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        write_algorithm(ctx, 0)
    }
}

fn write_algorithm(ctx: &Compute<'_>, output: usize) -> Result<()> {
    if let [alg] = ctx.output(output)?.host_mut::<i32>()? {
        *alg = PHILOX as i32;
    }
    Ok(())
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
    uniform => OfSeed(Draw::Of(Distribution::Uniform)),
    normal => OfSeed(Draw::Of(Distribution::Normal)),
    truncated => OfSeed(Draw::Of(Distribution::TruncatedNormal)),
    full_int => OfSeed(Draw::Of(Distribution::FullInt)),
    int => OfSeed(Draw::Int),
    uniform_v2 => OfKey(Draw::Of(Distribution::Uniform)),
    normal_v2 => OfKey(Draw::Of(Distribution::Normal)),
    truncated_v2 => OfKey(Draw::Of(Distribution::TruncatedNormal)),
    full_int_v2 => OfKey(Draw::Of(Distribution::FullInt)),
    int_v2 => OfKey(Draw::Int),
    key_counter => KeyCounter { algorithm: false },
    key_counter_alg => KeyCounter { algorithm: true },
    alg => Algorithm,
}
