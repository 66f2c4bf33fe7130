//! Arithmetic: the ops whose int32 kernels TensorFlow keeps in host memory, and those where it doesn't.

use super::{on_host, sets::*};
use crate::KernelDef;
use crate::expr::{Attrs, ShapeRule, Value, binary, general, ternary, unary};

/// Arithmetic on everything but int32.
pub const ARITHMETIC: [KernelDef; 16] = [
    unary("Abs", SIGNED_NOT_INT32, |x| x.abs()),
    unary("Neg", SIGNED_COMPLEX_NOT_INT32, |x| -x),
    unary("Sign", SIGNED_COMPLEX_NOT_INT32, |x| x.sign()),
    unary("Square", NUMBER_NOT_INT32, |x| x * x),
    binary("Add", ADD, |x, y| x + y),
    binary("AddV2", NUMBER_NOT_INT32, |x, y| x + y),
    binary("Sub", NUMBER_NOT_INT32, |x, y| x - y),
    binary("Mul", NUMBER_NOT_INT32, |x, y| x * y),
    binary("Div", NUMBER_NOT_INT32, |x, y| x / y).divides(),
    binary("FloorDiv", REAL_NOT_INT32, |x, y| x.floor_div(y)).divides(),
    binary("FloorMod", REAL_NOT_INT32, |x, y| x.floor_mod(y)).divides(),
    binary("Mod", MOD, |x, y| x.truncate_mod(y)).divides(),
    binary("TruncateMod", MOD, |x, y| x.truncate_mod(y)).divides(),
    binary("SquaredDifference", INT64_FLOAT_COMPLEX, |x, y| (x - y).conj() * (x - y)),
    binary("Maximum", REAL_NOT_INT32, |x, y| x.maximum(y)),
    binary("Minimum", REAL_NOT_INT32, |x, y| x.minimum(y)),
];

/// The same on int32, in host memory.
pub const ARITHMETIC_HOST: [KernelDef; 16] = on_host(ARITHMETIC);

/// Arithmetic without a kernel in host memory.
pub const ARITHMETIC_DEVICE: &[KernelDef] = &[
    binary("RealDiv", FLOAT_COMPLEX, |x, y| x / y),
    binary("TruncateDiv", REAL, |x, y| (x / y).trunc()),
    binary("DivNoNan", FLOAT_COMPLEX, |x, y| y.is(0.0).select(x.lit(0.0), x / y)),
    binary("MulNoNan", FLOAT_COMPLEX, |x, y| y.is(0.0).select(x.lit(0.0), x * y)),
    binary("Pow", POW, |x, y| x.pow(y)),
    binary("Xdivy", FLOAT_COMPLEX, |x, y| x.is(0.0).select(x, x / y)),
    binary("Xlogy", FLOAT_COMPLEX, |x, y| x.is(0.0).select(x, x * y.log())),
    binary("Xlog1py", FLOAT_COMPLEX, |x, y| x.is(0.0).select(x, x * y.log1p())),
    binary("Atan2", FLOAT, |y, x| y.atan2(x)),
    binary("NextAfter", FLOAT_32_64, |x, y| x.next_after(y)),
    binary("Igamma", FLOAT, |a, x| a.igamma(x)),
    binary("Igammac", FLOAT, |a, x| a.igammac(x)),
    binary("IgammaGradA", FLOAT_32_64, |a, x| a.igamma_grad_a(x)),
    binary("RandomGammaGrad", FLOAT_32_64, |a, x| a.random_gamma_grad(x)),
    binary("Zeta", FLOAT_32_64, |x, q| x.zeta(q)),
    binary("Polygamma", FLOAT_32_64, |n, x| n.polygamma(x)),
    ternary("Betainc", FLOAT_32_64, |a, b, x| a.betainc(b, x)),
    unary("Reciprocal", INT64_FLOAT_COMPLEX, |x| 1.0 / x),
    unary("Inv", INT64_FLOAT_COMPLEX, |x| 1.0 / x),
    general("AddN", NUMBER_NOT_INT32, &[], add_n).shaped(ShapeRule::Same).forwards(&[0]),
    general("AddN", INT32, &[], add_n).shaped(ShapeRule::Same).host(&["inputs", "sum"]),
];

/// In the order of the inputs, as TensorFlow's CPU kernel sums up to 8 at a time: rounding to narrow types comes after each
/// group, not after each addition.
fn add_n<'a>(inputs: &[Value<'a>], _: &Attrs<'a>) -> Vec<Value<'a>> {
    let mut sum = inputs[0];
    for &x in &inputs[1..] {
        sum = sum + x;
    }
    vec![sum]
}
