//! Activation functions.

use super::sets::*;
use crate::KernelDef;
use crate::expr::{Attr, Value, unary, unary_attr};

/// Selu's factor for positive numbers.
pub(super) const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
/// Selu's factor times its alpha.
pub(super) const SELU_SCALE_ALPHA: f64 = 1.758_099_340_847_376_9;

/// Activation functions.
pub const ACTIVATIONS: &[KernelDef] = &[
    unary("Relu", REAL, |x| x.maximum(x.lit(0.0))),
    unary("Relu6", REAL, |x| x.maximum(x.lit(0.0)).minimum(x.lit(6.0))),
    unary_attr("LeakyRelu", REAL, &[Attr::Float("alpha")], |x, a| x.gt(x.lit(0.0)).select(x, x * a.float(0, x))),
    unary("Elu", FLOAT, |x| x.lt(x.lit(0.0)).select(x.expm1(), x)),
    unary("Selu", FLOAT, |x| in_wide(x, |x| x.lt(x.lit(0.0)).select(x.expm1() * SELU_SCALE_ALPHA, x * SELU_SCALE))),
    unary("Softplus", FLOAT, |x| in_wide(x, |x| x.maximum(x.lit(0.0)) + (-x.abs()).exp().log1p())),
    unary("Softsign", FLOAT, |x| in_wide(x, |x| x / (x.abs() + 1.0))),
];

/// `f` without rounding to narrow types at each step.
pub(super) fn in_wide<'a>(x: Value<'a>, f: impl FnOnce(Value<'a>) -> Value<'a>) -> Value<'a> {
    f(x.wide()).narrowed(x.dtype())
}
