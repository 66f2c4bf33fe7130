//! Cast between all types, with the results that TensorFlow's CPU kernels have on x86 for what C++ leaves undefined.

use tfvk_device::DType;

use crate::expr::{Attr, Attrs, Value, part_of, unary_attr};
use crate::{KernelDef, t, types};

/// Cast.
pub const CAST: &[KernelDef] =
    &[unary_attr("Cast", &[t("SrcT", types::ALL), t("DstT", types::ALL)], &[Attr::Type("DstT"), Attr::Bool("Truncate")], cast)];

fn cast<'a>(x: Value<'a>, a: &Attrs<'a>) -> Value<'a> {
    match a.dtype(0) {
        Some(to) if a.flag(1) => truncated(x, to).cast(to),
        Some(to) => x.cast(to),
        None => x.unsupported("Cast without DstT"),
    }
}

/// Without the bits of the fraction that `to` has no room for, so that what follows does not round.
fn truncated<'a>(x: Value<'a>, to: DType) -> Value<'a> {
    let (from, to) = (part_of(x.dtype()), part_of(to));
    let bits = |d: DType| match d {
        DType::F64 => 52,
        DType::F32 => 23,
        DType::F16 => 10,
        DType::BF16 => 7,
        _ => 52,
    };
    if x.is_complex() || !from.is_float() || bits(from) <= bits(to) {
        return x;
    }
    let x = x.wide();
    let (word, have) = if from == DType::F64 { (DType::U64, 52) } else { (DType::U32, 23) };
    let mask = u64::MAX << (have - bits(to));
    let mask = if word == DType::U32 { mask & 0xffff_ffff } else { mask };
    x.is_nan().select(x, (x.bitcast(word) & x.bits_of(word, mask)).bitcast(x.dtype()))
}

impl<'a> Value<'a> {
    /// Converted as TensorFlow's Cast does: complex to real (and to bool) drops the imaginary part; to bool asks whether it is
    /// not 0; integers wrap; floats to integers truncate, and what is out of range (NaN too) is the least int32 or int64,
    /// of whose bits narrower types take the lowest.
    pub fn cast(self, to: DType) -> Value<'a> {
        let from = self.dtype();
        if from == to {
            return self;
        }
        if to.is_complex() {
            let part = part_of(to);
            return self.re().cast(part).complex(self.im().cast(part));
        }
        let x = self.re();
        if to == DType::Bool || !x.dtype().is_float() {
            return x.convert(to);
        }
        let x = x.wide();
        match to {
            DType::F16 | DType::BF16 => x.convert(DType::F32).narrowed(to),
            d if d.is_float() => x.convert(d),
            DType::I64 => to_signed(x, DType::I64, 63),
            DType::U64 => to_unsigned(x, DType::U64, DType::I64, 64),
            DType::U32 => to_unsigned(x, DType::U32, DType::I32, 32),
            _ => to_signed(x, DType::I32, 31).convert(to),
        }
    }
}

/// Truncated; the least number where that is out of range.
fn to_signed<'a>(x: Value<'a>, to: DType, bits: i32) -> Value<'a> {
    let v = x.trunc();
    let limit = 2f64.powi(bits);
    let inside = v.ge(v.lit(-limit)) & v.lt(v.lit(limit));
    inside.select(inside.select(v, v.lit(0.0)).convert(to), x.lit_of(to, -limit))
}

/// Truncated; negative numbers wrap; 2^(bits-1) where that is out of range.
fn to_unsigned<'a>(x: Value<'a>, to: DType, signed: DType, bits: i32) -> Value<'a> {
    let v = x.trunc();
    let (half, whole) = (2f64.powi(bits - 1), 2f64.powi(bits));
    let upper = v.ge(v.lit(half)) & v.lt(v.lit(whole));
    let high = upper.select(v, v.lit(0.0)).convert(to);
    upper.select(high, to_signed(x, signed, bits - 1).convert(to))
}
