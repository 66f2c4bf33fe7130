//! HistogramFixedWidth.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape};

use crate::array::{count, fill_bits, threads};
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, shader, t, types};

/// The declarations.
pub const OPS: &[KernelDef] =
    &[KernelDef::kernel("HistogramFixedWidth", &[t("T", &[DType::F32, DType::F64]), t("dtype", types::INT32)], Histogram::make)
        .host(&["value_range", "nbins"])];

struct Histogram;

impl Histogram {
    fn make(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Histogram))
    }
}

/// The two ends of the range.
fn range(inputs: &Inputs<'_>) -> Result<[f64; 2]> {
    let ends = inputs.get(1)?;
    let given: Vec<f64> = match ends.dtype {
        DType::F64 => ends.host::<f64>()?.to_vec(),
        _ => ends.host::<f32>()?.iter().map(|&v| f64::from(v)).collect(),
    };
    match *given.as_slice() {
        [low, high] if ends.shape.rank() == 1 && low < high => Ok([low, high]),
        [low, high] if ends.shape.rank() == 1 => {
            let what = "value_range should satisfy value_range[0] < value_range[1], but got";
            Err(Error::invalid_argument(format!("{what} '[{low}, {high}]'")))
        }
        _ => Err(Error::invalid_argument(format!("value_range should be a vector of 2 elements, got {}", ends.shape))),
    }
}

fn bins(inputs: &Inputs<'_>) -> Result<i64> {
    if inputs.shape(2)?.rank() != 0 {
        return Err(Error::invalid_argument(format!("nbins should be a scalar, got {}", inputs.shape(2)?)));
    }
    match inputs.host_int(2)? {
        n if n > 0 => Ok(n),
        n => Err(Error::invalid_argument(format!("nbins should be a positive number, but got '{n}'"))),
    }
}

impl OpKernel for Histogram {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        range(inputs)?;
        Ok(smallvec![Output::Shape(Shape::from([bins(inputs)?]))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, counts) = (ctx.input(0)?, ctx.output(0)?);
        let ([low, high], bins) = (range(&ctx.inputs())?, bins(&ctx.inputs())?);
        fill_bits(ctx, &counts, &[0; 16])?;
        let n = count(&x.shape)?;
        if n == 0 {
            return Ok(());
        }
        let double = x.dtype == DType::F64 || ctx.device().adapter().features.f64;
        let wide = if double { DType::F64 } else { DType::F32 };
        let width = threads(ctx);
        let groups = n.div_ceil(width * 8).min(1024);
        let mut args = Args::new();
        args.read(&x)?.read_write(&counts)?;
        // The range's width is rounded to the values' type first, as TensorFlow has it.
        #[allow(clippy::cast_possible_truncation)]
        let (span, put) = match x.dtype {
            DType::F64 => (high - low, args.f64(low)),
            _ => (f64::from(high as f32 - low as f32), args.f32(low as f32)),
        };
        let step = span / bins as f64;
        #[allow(clippy::cast_possible_truncation)]
        if double {
            put.f64(step)
        } else {
            put.f32(step as f32)
        };
        args.u32(n).u32(bins as u32).u32(groups * width);
        let kernel = shader::HISTOGRAM.get(&[x.dtype.into(), wide.into(), DType::I32.into()])?;
        ctx.stream().launch(kernel, &[width, 1, 1], &args, [groups, 1, 1])
    }
}
