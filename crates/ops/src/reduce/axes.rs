//! Which axes are reduced: reading them from the op's input, the output's shape, and merging neighbours.

use smallvec::SmallVec;
use tfvk_device::{Error, Result, Shape};

/// Per axis of the input, whether it is reduced. `axes` may be negative; errors are TensorFlow's.
pub fn reduced(shape: &Shape, axes: &[i64]) -> Result<SmallVec<[bool; 8]>> {
    let rank = shape.rank();
    let mut reduced: SmallVec<[bool; 8]> = SmallVec::from_elem(false, rank);
    for &axis in axes {
        let a = shape.axis(axis).ok_or_else(|| {
            Error::invalid_argument(format!("Invalid reduction dimension ({axis} for input with {rank} dimension(s)"))
        })?;
        if std::mem::replace(&mut reduced[a], true) {
            let why = format!("Invalid reduction arguments: Axes contains duplicate dimension: {a}");
            return Err(Error::invalid_argument(why));
        }
    }
    Ok(reduced)
}

/// The output's shape.
pub fn output_shape(shape: &Shape, reduced: &[bool], keep_dims: bool) -> Shape {
    let dims = shape.iter().zip(reduced);
    dims.filter(|&(_, &r)| keep_dims || !r).map(|(&d, &r)| if r { 1 } else { d }).collect()
}

/// A run of neighbouring axes that are all reduced or all kept, as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Elements along it.
    pub size: i64,
    /// Whether it is reduced.
    pub reduced: bool,
}

/// The axes as alternating runs; axes of size 1 belong to none.
pub fn runs(shape: &[i64], reduced: &[bool]) -> SmallVec<[Run; 8]> {
    let mut runs: SmallVec<[Run; 8]> = SmallVec::new();
    for (&size, &reduced) in shape.iter().zip(reduced).filter(|&(&d, _)| d != 1) {
        match runs.last_mut() {
            Some(last) if last.reduced == reduced => last.size *= size,
            _ => runs.push(Run { size, reduced }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_and_errors() {
        let s = Shape::from([2, 3, 4]);
        assert_eq!(reduced(&s, &[-1, 0]).unwrap().as_slice(), [true, false, true]);
        assert!(reduced(&s, &[1, -2]).unwrap_err().message.contains("duplicate dimension: 1"));
        assert!(reduced(&s, &[3]).unwrap_err().message.contains("(3 for input with 3 dimension(s)"));
        assert_eq!(output_shape(&s, &[true, false, true], false), Shape::from([3]));
        assert_eq!(output_shape(&s, &[true, false, true], true), Shape::from([1, 3, 1]));
    }

    #[test]
    fn neighbours_merge() {
        let r = runs(&[2, 1, 3, 4, 1, 5], &[true, false, true, false, true, false]);
        let run = |size, reduced| Run { size, reduced };
        assert_eq!(r.as_slice(), [run(6, true), run(20, false)]);
        assert!(runs(&[1, 1], &[true, false]).is_empty());
    }
}
