//! Windows that slide along an axis, as TensorFlow's paddings SAME and VALID place them. Knows no operator.

use tfvk_device::{Error, Result};

use crate::OpKernelConstruction;

/// Whether the attribute `padding` is SAME. Errors: it is neither that nor VALID.
pub fn is_same(node: &dyn OpKernelConstruction) -> Result<bool> {
    match node.string("padding")?.as_str() {
        "SAME" => Ok(true),
        "VALID" => Ok(false),
        other => Err(Error::invalid_argument(format!("padding: expected SAME or VALID, got {other}"))),
    }
}

/// How many places a window has along an axis of `n` elements, and the elements of padding before the first. A window that is
/// longer than the axis has, without padding, none or less than none.
pub fn places(n: i64, window: i64, stride: i64, same: bool) -> (i64, i64) {
    if same {
        let places = (n + stride - 1) / stride;
        (places, ((places - 1) * stride + window - n).max(0) / 2)
    } else {
        ((n - window + stride) / stride, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn as_tensorflow_places_them() {
        assert_eq!(places(7, 3, 2, true), (4, 1));
        assert_eq!(places(8, 3, 2, true), (4, 0), "the one element of padding is at the end");
        assert_eq!(places(7, 1, 3, true), (3, 0));
        assert_eq!(places(7, 3, 2, false), (3, 0));
        assert_eq!(places(2, 4, 3, false), (0, 0), "longer by less than a stride");
        assert_eq!(places(2, 9, 3, false), (-1, 0));
    }
}
