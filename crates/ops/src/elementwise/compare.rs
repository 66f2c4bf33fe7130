//! Comparisons and logic.

use super::{on_host, sets::*};
use crate::KernelDef;
use crate::expr::{Attr, ShapeRule, binary, compare, general, unary};

const SHAPE_ERROR: &[Attr] = &[Attr::Bool("incompatible_shape_error")];

/// Comparisons of everything but int32.
pub const COMPARE: [KernelDef; 6] = [
    compare("Equal", ALL_NOT_INT32, |x, y| x.equal(y)).with_attrs(SHAPE_ERROR).shaped(ShapeRule::BroadcastOrScalar),
    compare("NotEqual", ALL_NOT_INT32, |x, y| x.not_equal(y)).with_attrs(SHAPE_ERROR).shaped(ShapeRule::BroadcastOrScalar),
    compare("Less", REAL_NOT_INT32, |x, y| x.lt(y)),
    compare("LessEqual", REAL_NOT_INT32, |x, y| x.le(y)),
    compare("Greater", REAL_NOT_INT32, |x, y| x.gt(y)),
    compare("GreaterEqual", REAL_NOT_INT32, |x, y| x.ge(y)),
];

/// The same of int32, in host memory.
pub const COMPARE_HOST: [KernelDef; 6] = on_host(COMPARE);

/// Logic and tests.
pub const LOGICAL: &[KernelDef] = &[
    binary("LogicalAnd", &[], |x, y| x & y),
    binary("LogicalOr", &[], |x, y| x | y),
    unary("LogicalNot", &[], |x| !x),
    unary("IsNan", FLOAT, |x| x.is_nan()).forwards(&[]),
    unary("IsInf", FLOAT, |x| x.is_inf()).forwards(&[]),
    unary("IsFinite", FLOAT, |x| x.is_finite()).forwards(&[]),
    general("ApproximateEqual", REAL, &[Attr::Float("tolerance")], |x, a| {
        let d = if x[0].dtype().is_float() { (x[0] - x[1]).abs() } else { x[0].maximum(x[1]) - x[0].minimum(x[1]) };
        vec![d.lt(a.float(0, d))]
    })
    .shaped(ShapeRule::Same),
];
