//! Elementary and special functions, written in the expression language itself: those that shaders have are too inaccurate,
//! and absent for f64.
//!
//! Each is written for f32 and f64; float16 and bfloat16 are computed in f32 and rounded once.

mod bits;
mod fmod;

use tfvk_device::DType;

pub use fmod::fmod;

use super::Value;
use super::graph::Unary;

impl<'a> Value<'a> {
    /// `f` in f32 or f64; float16 and bfloat16 widened for it and rounded after it.
    fn real(self, name: &str, f: fn(Value<'a>) -> Value<'a>) -> Value<'a> {
        match self.dtype() {
            d @ (DType::F16 | DType::BF16) => f(self.wide()).narrowed(d),
            DType::F32 | DType::F64 => f(self),
            _ => self.unsupported(name),
        }
    }

    /// The square root.
    pub fn sqrt(self) -> Value<'a> {
        self.real("the square root", |x| x.unary(Unary::Sqrt))
    }
}
