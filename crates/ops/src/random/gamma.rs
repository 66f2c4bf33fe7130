//! StatelessRandomGammaV2, StatelessRandomGammaV3 and RandomGamma.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result};

use super::fill::Source;
use super::philox::Generator;
use super::shape::{check_algorithm, check_seed, shape_of};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

const THREADS: u32 = 128;
/// Blocks of the stream that one sample reserves.
const BLOCKS_PER_SAMPLE: u64 = 256;

/// Inputs are a shape, what the variant says, and alpha.
enum Gamma {
    /// A seed.
    Seed,
    /// A key, a counter, an algorithm.
    Key,
    /// Nothing. Alpha's shape follows the shape that is asked for.
    Own(Generator),
}

pub(super) fn of_seed(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Gamma::Seed))
}

pub(super) fn of_key(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Gamma::Key))
}

pub(super) fn stateful(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Gamma::Own(Generator::new(node)?)))
}

impl Gamma {
    fn alpha(&self) -> usize {
        match self {
            Gamma::Seed => 2,
            Gamma::Key => 4,
            Gamma::Own(_) => 1,
        }
    }
}

impl OpKernel for Gamma {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let alpha = inputs.shape(self.alpha())?;
        let mut shape = shape_of(inputs, 0)?;
        match self {
            Gamma::Seed => check_seed(inputs.get(1)?)?,
            Gamma::Key => check_algorithm(inputs, 3)?,
            Gamma::Own(_) => alpha.iter().for_each(|&d| shape.push(d)),
        }
        if shape.num_elements() > 0 {
            let ends = shape.rank().checked_sub(alpha.rank()).is_some_and(|skip| shape[skip..] == **alpha);
            if !ends {
                let what = format!("Shape passed in must end with broadcasted shape: {shape} and alpha's {alpha}");
                return Err(Error::invalid_argument(what));
            }
        }
        Ok(smallvec![Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (alpha, y) = (ctx.input(self.alpha())?, ctx.output(0)?);
        let small = |n: i64| u32::try_from(n).ok().filter(|&n| n < 1 << 31);
        let Some((alphas, all)) = small(alpha.num_elements()).zip(small(y.num_elements())) else {
            return Err(Error::unimplemented(format!("{} samples at once", y.num_elements())));
        };
        let (first, second) = match self {
            Gamma::Seed => (Some(ctx.input(1)?), None),
            Gamma::Key => (Some(ctx.input(1)?), Some(ctx.input(2)?)),
            Gamma::Own(_) => (None, None),
        };
        let source = match (self, &first, &second) {
            (Gamma::Own(generator), ..) => Source::Place(generator.reserve(u64::from(all) * BLOCKS_PER_SAMPLE)),
            (_, Some(key), Some(counter)) => Source::KeyCounter(key, counter),
            (_, Some(seed), None) => Source::Seed(seed),
            _ => return Err(Error::internal("neither generator nor seed nor key")),
        };
        let computed = if ctx.device().adapter().features.f64 { DType::F64 } else { DType::F32 };
        let mut args = Args::new();
        let (from, place) = source.addresses(&mut args)?;
        args.read(&alpha)?.write(&y)?.u32(alphas).u32(all / alphas);
        place.words(&mut args);
        let kernel = shader::RANDOM_GAMMA.get(&[y.dtype.into(), computed.into()])?;
        ctx.stream().launch_linear(kernel, &[THREADS, 1, 1, from], &args, all.div_ceil(THREADS).into())
    }
}
