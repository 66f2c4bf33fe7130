//! Gradients of element-wise ops: one shape, the order of operations that TensorFlow's functors have.

use super::activations::{SELU_SCALE, SELU_SCALE_ALPHA, in_wide};
use super::sets::*;
use crate::KernelDef;
use crate::expr::{Attr, Value, grad, grad_attr};

/// Gradients. The first group takes `(y, dy)`, the second `(gradients, features or outputs)`.
pub const GRADIENTS: &[KernelDef] = &[
    grad("TanhGrad", FLOAT_COMPLEX, |y, dy| dy * (1.0 - y.conj() * y.conj())),
    grad("SigmoidGrad", FLOAT_COMPLEX, |y, dy| dy * y.conj() * (1.0 - y.conj())),
    grad("SqrtGrad", FLOAT_COMPLEX, |y, dy| zero_or(dy, (dy * 0.5) / y.conj())),
    grad("RsqrtGrad", FLOAT_COMPLEX, |y, dy| zero_or(dy, (dy * y.conj()) * -0.5 * (y.conj() * y.conj()))),
    grad("InvGrad", FLOAT_COMPLEX, |y, dy| zero_or(dy, -(y.conj() * y.conj()) * dy)),
    grad("ReciprocalGrad", FLOAT_COMPLEX, |y, dy| zero_or(dy, -(y.conj() * y.conj()) * dy)),
    grad("ReluGrad", REAL, |g, x| masked(g, x.gt(x.lit(0.0)))),
    grad("Relu6Grad", REAL, |g, x| masked(g, x.gt(x.lit(0.0)) & x.lt(x.lit(6.0)))),
    grad_attr("LeakyReluGrad", REAL, &[Attr::Float("alpha")], |g, x, a| x.gt(x.lit(0.0)).select(g, g * a.float(0, g))),
    grad("EluGrad", FLOAT, |g, y| y.lt(y.lit(0.0)).select((y + 1.0) * g, g)),
    grad("SeluGrad", FLOAT, |g, y| y.lt(y.lit(0.0)).select(g * (y + SELU_SCALE_ALPHA), g * SELU_SCALE)),
    grad("SoftplusGrad", FLOAT, |g, x| in_wide(g, |g| g / ((-x.wide()).exp() + 1.0))),
    grad("SoftsignGrad", FLOAT, |g, x| in_wide(g, |g| g / (x.wide().abs() + 1.0).square())),
];

/// 0 where the incoming gradient is 0, whatever the formula makes of it.
fn zero_or<'a>(dy: Value<'a>, r: Value<'a>) -> Value<'a> {
    dy.is(0.0).select(dy.lit(0.0), r)
}

/// The gradient times 1 or 0, as TensorFlow does it: an infinite gradient that is masked becomes NaN.
fn masked<'a>(g: Value<'a>, keep: Value<'a>) -> Value<'a> {
    g * keep.select(g.lit(1.0), g.lit(0.0))
}
