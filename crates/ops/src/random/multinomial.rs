//! Multinomial and StatelessMultinomial: classes drawn from unnormalised log-probabilities.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape};

use super::fill::Source;
use super::philox::Generator;
use super::shape::check_seed;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

const THREADS: u32 = 128;

/// (logits, num_samples, [seed]). A node without a generator has a seed.
struct Multinomial {
    generator: Option<Generator>,
}

impl OpKernel for Multinomial {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        if self.generator.is_none() {
            check_seed(inputs.get(2)?)?;
        }
        let logits = inputs.shape(0)?;
        let &[rows, classes] = logits.dims() else {
            return Err(Error::invalid_argument(format!("logits should be a matrix, got shape {logits}")));
        };
        if classes == 0 {
            return Err(Error::invalid_argument(format!("num_classes should be positive, got {classes}")));
        }
        let count = inputs.shape(1)?;
        if !count.is_empty() {
            return Err(Error::invalid_argument(format!("num_samples should be a scalar, got shape {count}")));
        }
        let samples = inputs.host_int(1)?;
        if samples < 0 {
            return Err(Error::invalid_argument(format!("num_samples should be non-negative, got {samples}")));
        }
        if rows.saturating_mul(samples.max(classes)) > i64::from(i32::MAX) {
            return Err(Error::unimplemented(format!("{rows} x {samples} samples of {classes} classes")));
        }
        Ok(smallvec![Output::Shape(Shape::from([rows, samples]))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (logits, out) = (ctx.input(0)?, ctx.output(0)?);
        let (rows, samples, classes) = (out.shape[0], out.shape[1], logits.shape[1]);
        let sum = if ctx.device().adapter().features.f64 { DType::F64 } else { DType::F32 };
        let sums = ctx.temp(sum, logits.shape.clone())?;
        let seed = if self.generator.is_none() { Some(ctx.input(2)?) } else { None };
        let source = match (&self.generator, &seed) {
            (Some(generator), _) => {
                // The CPU takes two words a sample, the samples of a row rounded up to a multiple of four, and
                // reserves 256 times as many blocks.
                let words = rows as u64 * (samples as u64).next_multiple_of(4) * 2;
                Source::Place(generator.reserve(words * 256))
            }
            (None, Some(seed)) => Source::Seed(seed),
            (None, None) => return Err(Error::internal("neither generator nor seed")),
        };
        let mut args = Args::new();
        args.read(&logits)?.write(&sums)?.write(&out)?;
        let (from, place) = source.addresses(&mut args)?;
        args.u32(rows as u32).u32(classes as u32).u32(samples as u32).u32(u32::from(out.dtype == DType::I64));
        place.words(&mut args);
        let kernel = shader::MULTINOMIAL.get(&[logits.dtype.into(), sum.into()])?;
        ctx.stream().launch_linear(kernel, &[THREADS, 1, 1, from], &args, rows as u64)
    }
}

pub(super) fn stateful(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Multinomial { generator: Some(Generator::new(node)?) }))
}

pub(super) fn stateless(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Multinomial { generator: None }))
}
