//! Range: `start + i * delta`. The bounds are in host memory; the size is computed in the element type, as TensorFlow does.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape, Tensor};

use super::mover::threads;
use super::one_hot::count;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct Range;

/// The kernel of Range.
pub fn range(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Range))
}

/// The nearest f16 of `x` (ties to even), as f32.
fn round_f16(x: f32) -> f32 {
    let a = x.abs();
    if a >= 65520.0 {
        return f32::INFINITY.copysign(x);
    }
    // Adding and taking away a power of two leaves the multiples of the last place.
    let exponent = ((a.to_bits() >> 23) as i32 - 127).max(-14);
    let magic = f32::from_bits(((exponent - 10 + 23 + 127) as u32) << 23);
    ((a + magic) - magic).copysign(x)
}

/// The nearest bf16 of a finite `x` (ties to even), as f32.
fn round_bf16(x: f32) -> f32 {
    let b = x.to_bits();
    f32::from_bits((b.wrapping_add(0x7fff + (b >> 16 & 1))) & 0xffff_0000)
}

fn f16_value(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let a = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        e => (1024.0 + fraction) * 2f32.powi(e - 25),
    };
    if bits >> 15 == 1 { -a } else { a }
}

/// An element in host memory.
#[derive(Clone, Copy, Debug)]
enum Number {
    Int(i128),
    /// With how results are rounded.
    Float(f64, fn(f64) -> f64),
}

fn first<T: tfvk_device::Element>(t: &Tensor) -> Result<T> {
    t.host::<T>()?.first().copied().ok_or_else(|| Error::invalid_argument("expected a scalar, got an empty tensor"))
}

fn number(t: &Tensor) -> Result<Number> {
    use DType::*;
    let raw16 = || first::<u16>(&t.with(U16, t.shape.clone()));
    Ok(match t.dtype {
        I8 => Number::Int(first::<i8>(t)?.into()),
        I16 => Number::Int(first::<i16>(t)?.into()),
        I32 => Number::Int(first::<i32>(t)?.into()),
        I64 => Number::Int(first::<i64>(t)?.into()),
        U8 => Number::Int(first::<u8>(t)?.into()),
        U16 => Number::Int(first::<u16>(t)?.into()),
        U32 => Number::Int(first::<u32>(t)?.into()),
        U64 => Number::Int(first::<u64>(t)?.into()),
        F32 => Number::Float(first::<f32>(t)?.into(), |x| f64::from(x as f32)),
        F64 => Number::Float(first::<f64>(t)?, |x| x),
        F16 => Number::Float(f16_value(raw16()?).into(), |x| round_f16(x as f32).into()),
        BF16 => Number::Float(f32::from_bits(u32::from(raw16()?) << 16).into(), |x| round_bf16(x as f32).into()),
        other => return Err(Error::invalid_argument(format!("a range of {other}"))),
    })
}

fn size(start: Number, limit: Number, delta: Number) -> Result<i64> {
    let bad = |what: &str| Err(Error::invalid_argument(format!("Requires {what}: {start:?}, {limit:?}, {delta:?}")));
    match (start, limit, delta) {
        (Number::Int(s), Number::Int(l), Number::Int(d)) => match d {
            0 => bad("delta != 0"),
            d if d > 0 && s > l => bad("start <= limit when delta > 0"),
            d if d < 0 && s < l => bad("start >= limit when delta < 0"),
            d => Ok(((l - s).unsigned_abs().div_ceil(d.unsigned_abs())).min(i64::MAX as u128) as i64),
        },
        (Number::Float(s, round), Number::Float(l, _), Number::Float(d, _)) => {
            if d == 0.0 {
                return bad("delta != 0");
            }
            if (d > 0.0 && s > l) || (d < 0.0 && s < l) {
                return bad("start and limit in the order of delta's sign");
            }
            let n = round(round(l - s) / d).abs().ceil();
            if n.is_finite() && n < 9e18 { Ok(n as i64) } else { bad("a finite size") }
        }
        _ => bad("one type"),
    }
}

impl OpKernel for Range {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        for (i, name) in ["start", "limit", "delta"].into_iter().enumerate() {
            if inputs.shape(i)?.num_elements() != 1 {
                return Err(Error::invalid_argument(format!("{name} must be a scalar, not shape {}", inputs.shape(i)?)));
            }
        }
        let n = size(number(inputs.get(0)?)?, number(inputs.get(1)?)?, number(inputs.get(2)?)?)?;
        Ok(smallvec![Output::Shape(Shape::from([n]))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let out = ctx.output(0)?;
        let n = count(&out.shape)?;
        let mut args = Args::new();
        args.write(&out)?;
        for i in [0, 2] {
            let t = ctx.input(i)?;
            let bytes = t.with(DType::U8, Shape::from([t.dtype.size() as i64]));
            let bytes = bytes.host::<u8>()?;
            // A negative narrow integer is extended by its sign.
            let sign = t.dtype.is_signed_integer() && bytes.last().is_some_and(|b| b >> 7 == 1);
            let mut bits = [if sign { 0xff } else { 0 }; 8];
            bits.iter_mut().zip(bytes).for_each(|(a, b)| *a = *b);
            args.bytes(&bits);
        }
        args.u32(n);
        let threads = threads(ctx);
        let kernel = shader::RANGE.get(&[out.dtype.into()])?;
        ctx.stream().launch_linear(kernel, &[threads, 1, 1], &args, n.div_ceil(threads).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let i = |a, b, c| size(Number::Int(a), Number::Int(b), Number::Int(c));
        assert_eq!((i(0, 10, 3).unwrap(), i(10, 0, -5).unwrap(), i(3, 3, 1).unwrap()), (4, 2, 0));
        assert!(i(0, 1, 0).is_err() && i(1, 0, 1).is_err() && i(0, 1, -1).is_err());
        let f = |a: f32, b: f32, c: f32, r: fn(f32) -> f32| {
            let round: fn(f64) -> f64 =
                if r(1.0 + 1.0 / 512.0) == 1.0 { |x| round_bf16(x as f32).into() } else { |x| round_f16(x as f32).into() };
            size(Number::Float(r(a).into(), round), Number::Float(r(b).into(), round), Number::Float(r(c).into(), round))
        };
        // TensorFlow's own answers.
        assert_eq!(f(0.3, 1000.0, 0.7, round_bf16).unwrap(), 1432);
        assert_eq!(f(0.3, 1000.0, 0.7, round_f16).unwrap(), 1427);
    }

    #[test]
    fn half_values() {
        for bits in (0..=0x7bffu16).chain(0x8000..=0xfbff) {
            let v = f16_value(bits);
            assert_eq!(round_f16(v).to_bits(), v.to_bits(), "{bits:#x}");
        }
        assert_eq!(round_f16(65519.0), 65504.0);
        assert_eq!(round_f16(2049.0), 2048.0);
        assert_eq!(round_f16(2f32.powi(-25)), 0.0);
    }
}
