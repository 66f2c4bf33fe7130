//! What the ops of this folder ask of their host-memory inputs: a shape, bounds, an algorithm.

use tfvk_device::{DType, Error, Result, Shape, Tensor};

use super::fill::Distribution;
use crate::{Inputs, Output, Outputs};

/// The shape that input `index` spells, int32 or int64 [n] in host memory.
pub fn shape_of(inputs: &Inputs<'_>, index: usize) -> Result<Shape> {
    let dims = inputs.host_ints(index)?;
    if let Some(bad) = dims.iter().find(|d| **d < 0) {
        return Err(Error::invalid_argument(format!("shape: Dimension {bad} must be >= 0")));
    }
    Ok(dims.iter().copied().collect())
}

/// One output of that shape.
pub fn one_output(inputs: &Inputs<'_>, index: usize) -> Result<Outputs> {
    Ok([Output::Shape(shape_of(inputs, index)?)].into_iter().collect())
}

/// `[minval, maxval)` from two scalars in host memory.
pub fn bounds(inputs: &Inputs<'_>, min: usize, max: usize) -> Result<Distribution> {
    for (name, index) in [("minval", min), ("maxval", max)] {
        let shape = inputs.shape(index)?;
        if !shape.is_empty() {
            return Err(Error::invalid_argument(format!("{name} must be 0-D, got shape {shape}")));
        }
    }
    let (low, high) = (inputs.host_int(min)?, inputs.host_int(max)?);
    if low >= high {
        return Err(Error::invalid_argument(format!("Need minval < maxval, got {low} >= {high}")));
    }
    Ok(Distribution::Int { low, range: high.wrapping_sub(low) as u64 })
}

/// TensorFlow's numbers of generator algorithms (tensorflow/core/framework/rng_alg.h).
pub const PHILOX: i64 = 1;
const AUTO_SELECT: i64 = 3;

/// Fails unless input `index`, a scalar in host memory, names Philox or leaves the choice.
pub fn check_algorithm(inputs: &Inputs<'_>, index: usize) -> Result<()> {
    let shape = inputs.shape(index)?;
    if !shape.is_empty() {
        return Err(Error::invalid_argument(format!("input {index} (0-based) must have shape [], not {shape}")));
    }
    match inputs.host_int(index)? {
        PHILOX | AUTO_SELECT => Ok(()),
        other => Err(Error::invalid_argument(format!("Unsupported algorithm id: {other}"))),
    }
}

/// Fails unless a seed is int32 or int64 [2].
pub fn check_seed(seed: &Tensor) -> Result<()> {
    if seed.shape.dims() != [2] {
        return Err(Error::invalid_argument(format!("seed must have shape [2], not {}", seed.shape)));
    }
    match seed.dtype {
        DType::I32 | DType::I64 => Ok(()),
        other => Err(Error::invalid_argument(format!("Invalid seed type: {other}"))),
    }
}
