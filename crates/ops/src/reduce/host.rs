//! Reductions of int32 tensors in host memory: shape arithmetic, which TensorFlow never sends to a GPU.

use tfvk_device::{Result, Tensor};

use super::reducer::{Combine, Last};

/// Reduces the axes of `x` marked in `reduced` into `y`. Arithmetic wraps as TensorFlow's does; a mean sums in 64 bits and
/// rounds towards zero.
pub fn run(combine: Combine, last: Last, x: &Tensor, reduced: &[bool], y: &mut Tensor) -> Result<()> {
    let out = y.num_elements() as usize;
    let identity = match combine {
        Combine::Sum => 0,
        Combine::Prod => 1,
        Combine::Max => i64::from(i32::MIN),
        Combine::Min => i64::from(i32::MAX),
    };
    let mut results = vec![identity; out];
    // For each axis of x the stride of the result; 0 where it is reduced.
    let mut strides = vec![0usize; x.shape.rank()];
    let mut stride = 1;
    for (a, &d) in x.shape.iter().enumerate().rev().filter(|&(a, _)| !reduced[a]) {
        strides[a] = stride;
        stride *= d as usize;
    }
    let mut index = vec![0i64; x.shape.rank()];
    let mut at = 0usize;
    for &v in x.host::<i32>()? {
        let (v, r) = (i64::from(v), &mut results[at]);
        *r = match combine {
            Combine::Sum => r.wrapping_add(v),
            Combine::Prod => i64::from((*r as i32).wrapping_mul(v as i32)),
            Combine::Max => v.max(*r),
            Combine::Min => v.min(*r),
        };
        for a in (0..index.len()).rev() {
            index[a] += 1;
            at += strides[a];
            if index[a] < x.shape[a] {
                break;
            }
            at -= strides[a] * x.shape[a] as usize;
            index[a] = 0;
        }
    }
    let count = if out == 0 { 0 } else { x.num_elements() / out as i64 };
    for (o, r) in y.host_mut::<i32>()?.iter_mut().zip(results) {
        *o = if last == Last::Mean { r.checked_div(count).unwrap_or(0) } else { r } as i32;
    }
    Ok(())
}
