//! StatelessRandomGammaV2, StatelessRandomGammaV3 and RandomGamma; RandomPoissonV2 and StatelessRandomPoisson: samples that
//! each take as many random numbers as they need.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result};

use super::fill::Source;
use super::philox::Generator;
use super::shape::{check_algorithm, check_seed, shape_of};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

const THREADS: u32 = 128;
/// Blocks of the stream that one sample reserves.
const BLOCKS_PER_SAMPLE: u64 = 256;

/// Where the numbers come from. Inputs are a shape, what the variant says, and the parameter: alpha or the rate.
enum From {
    /// A seed.
    Seed,
    /// A key, a counter, an algorithm.
    Key,
    /// Nothing. The parameter's shape follows the shape that is asked for.
    Own(Generator),
}

struct Samples {
    from: From,
    poisson: bool,
}

impl Samples {
    fn boxed(from: From, node: &dyn OpKernelConstruction) -> Box<dyn OpKernel> {
        Box::new(Self { from, poisson: node.op().contains("Poisson") })
    }
}

pub(super) fn of_seed(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Samples::boxed(From::Seed, node))
}

pub(super) fn of_key(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Samples::boxed(From::Key, node))
}

pub(super) fn stateful(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Samples::boxed(From::Own(Generator::new(node)?), node))
}

impl From {
    /// The parameter's input.
    fn parameter(&self) -> usize {
        match self {
            From::Seed => 2,
            From::Key => 4,
            From::Own(_) => 1,
        }
    }
}

impl OpKernel for Samples {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let alpha = inputs.shape(self.from.parameter())?;
        let mut shape = shape_of(inputs, 0)?;
        match &self.from {
            From::Seed => check_seed(inputs.get(1)?)?,
            From::Key => check_algorithm(inputs, 3)?,
            From::Own(_) => alpha.iter().for_each(|&d| shape.push(d)),
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
        let (alpha, y) = (ctx.input(self.from.parameter())?, ctx.output(0)?);
        let small = |n: i64| u32::try_from(n).ok().filter(|&n| n < 1 << 31);
        let Some((alphas, all)) = small(alpha.num_elements()).zip(small(y.num_elements())) else {
            return Err(Error::unimplemented(format!("{} samples at once", y.num_elements())));
        };
        let (first, second) = match self.from {
            From::Seed => (Some(ctx.input(1)?), None),
            From::Key => (Some(ctx.input(1)?), Some(ctx.input(2)?)),
            From::Own(_) => (None, None),
        };
        let source = match (&self.from, &first, &second) {
            (From::Own(generator), ..) => Source::Place(generator.reserve(u64::from(all) * BLOCKS_PER_SAMPLE)),
            (_, Some(key), Some(counter)) => Source::KeyCounter(key, counter),
            (_, Some(seed), None) => Source::Seed(seed),
            _ => return Err(Error::internal("neither generator nor seed nor key")),
        };
        let computed = if ctx.device().adapter().features.f64 { DType::F64 } else { DType::F32 };
        let mut args = Args::new();
        let (from, place) = source.addresses(&mut args)?;
        args.read(&alpha)?.write(&y)?.u32(alphas).u32(all / alphas);
        place.words(&mut args);
        let kernel = if self.poisson {
            shader::RANDOM_POISSON.get(&[alpha.dtype.into(), y.dtype.into(), computed.into()])?
        } else {
            shader::RANDOM_GAMMA.get(&[y.dtype.into(), computed.into()])?
        };
        ctx.stream().launch_linear(kernel, &[THREADS, 1, 1, from], &args, all.div_ceil(THREADS).into())
    }
}
