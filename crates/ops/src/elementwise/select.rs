//! Choice between values, and values like others.

use tfvk_device::{Error, Result};

use super::{host_int32, sets::*};
use crate::expr::{ShapeRule, Value, Views, ternary, unary};
use crate::{Inputs, KernelDef};

/// Choice, clipping, constants.
pub const SELECT: &[KernelDef] = &[
    ternary("SelectV2", ALL, |c, t, e| c.select(t, e)).forwards(&[1, 2]),
    ternary("Select", ALL, |c, t, e| c.select(t, e)).forwards(&[1, 2]).shaped(ShapeRule::Custom(select_shape)),
    CLIP_BY_VALUE,
    unary("ZerosLike", ALL_NOT_INT32, |x| x.lit(0.0)),
    unary("OnesLike", ALL_NOT_INT32, |x| x.lit(1.0)),
    unary("ZerosLike", INT32, |x| x.lit(0.0)).forwards(&[]).host(&["y"]),
    unary("OnesLike", INT32, |x| x.lit(1.0)).forwards(&[]).host(&["y"]),
];

/// `max(min(x, hi), lo)`, NaN and -0 kept; the bounds are scalars or of `x`'s shape.
const CLIP_BY_VALUE: KernelDef = ternary("ClipByValue", CLIP, clip).forwards(&[0]).shaped(ShapeRule::Custom(clip_shape));

fn clip<'a>(x: Value<'a>, lo: Value<'a>, hi: Value<'a>) -> Value<'a> {
    let m = x.gt(hi).select(hi, x);
    m.lt(lo).select(lo, m)
}

/// The same of int32, in host memory.
pub const SELECT_HOST: &[KernelDef] = &[host_int32(CLIP_BY_VALUE.host(&["t", "clip_value_min", "clip_value_max", "output"]))];

fn select_shape(inputs: &Inputs<'_>) -> Result<Views> {
    let (c, t, e) = (inputs.shape(0)?, inputs.shape(1)?, inputs.shape(2)?);
    if t != e {
        return Err(Error::invalid_argument(format!("'then' and 'else' must have the same size, got {t} and {e}")));
    }
    let mut seen = c.clone();
    if c != t && c.rank() == 1 && t.rank() >= 1 && c[0] == t[0] {
        // A vector chooses whole rows.
        (1..t.rank()).for_each(|_| seen.push(1));
    } else if c != t && c.rank() != 0 {
        return Err(Error::invalid_argument(format!(
            "'cond' must be a scalar, a vector as long as the first dimension, or of the shape {t} of 'then' and 'else', got {c}"
        )));
    }
    Ok(Views { output: t.clone(), inputs: vec![seen, t.clone(), t.clone()] })
}

fn clip_shape(inputs: &Inputs<'_>) -> Result<Views> {
    let x = inputs.shape(0)?.clone();
    let mut views = vec![x.clone()];
    for (i, name) in [(1, "clip_value_min"), (2, "clip_value_max")] {
        let s = inputs.shape(i)?;
        if *s != x && s.rank() != 0 {
            return Err(Error::invalid_argument(format!("{name} must be a scalar or of the shape {x} of the input, got {s}")));
        }
        views.push(s.clone());
    }
    Ok(Views { output: x, inputs: views })
}
