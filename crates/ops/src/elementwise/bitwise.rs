//! Operations on the bits of integers.

use super::sets::*;
use crate::expr::{Value, binary, unary};
use crate::{KernelDef, t};
use tfvk_device::DType;

/// Bitwise ops.
pub const BITWISE: &[KernelDef] = &[
    binary("BitwiseAnd", INTEGER, |x, y| x & y),
    binary("BitwiseOr", INTEGER, |x, y| x | y),
    binary("BitwiseXor", INTEGER, |x, y| x ^ y),
    unary("Invert", INTEGER, |x| !x),
    binary("LeftShift", INTEGER, |x, y| x << count(x, y)),
    binary("RightShift", INTEGER, |x, y| x >> count(x, y)),
    unary("PopulationCount", &[t("T", crate::types::INTEGER)], |x| x.population_count()).forwards(&[]),
];

/// TensorFlow clamps a shift's count to `[0, bits)`.
fn count<'a>(x: Value<'a>, y: Value<'a>) -> Value<'a> {
    let most = y.lit((x.dtype().size() * 8 - 1) as f64);
    let y = if y.dtype().is_signed_integer() { y.maximum(y.lit(0.0)) } else { y };
    y.minimum(most)
}

impl<'a> Value<'a> {
    /// The number of set bits of an integer, as a uint8.
    pub fn population_count(self) -> Value<'a> {
        let d = self.dtype();
        let word = |x: Value<'a>| x.convert(DType::U32).bit_count();
        let n = match d.size() {
            8 => {
                let bits = self.convert(DType::U64);
                word(bits) + word(bits >> 32)
            }
            4 => word(self),
            size => (self.convert(DType::U32) & self.bits_of(DType::U32, (1 << (size * 8)) - 1)).bit_count(),
        };
        n.convert(DType::U8)
    }
}
