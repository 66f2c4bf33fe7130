//! The one guard at TensorFlow's seam: what TensorFlow calls runs inside [`catch`], so that a panic never crosses into C++
//! and every error reaches TensorFlow as a status.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tf_sys::TF_Status;
use tfvk_device::{Error, Result};

use crate::{log, status};

/// Runs `body`; a panic is an internal error. One from overflow is not: the numbers are the user's sizes.
pub fn catch<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        if text.starts_with("attempt to ") && text.ends_with(" with overflow") {
            return Err(Error::invalid_argument("sizes are too large: arithmetic on them overflows"));
        }
        Err(Error::internal(format!("a fault in tensorflow-vulkan: {text}")))
    })
}

/// A callback with a status: an error is set in it.
pub fn reporting(status: *mut TF_Status, body: impl FnOnce() -> Result<()>) {
    if let Err(error) = catch(body) {
        status::set(status, &error);
    }
}

/// A callback with neither status nor result: an error can only be logged.
pub fn logging(what: &str, body: impl FnOnce() -> Result<()>) {
    if let Err(error) = catch(body) {
        log::notice(format_args!("{what}: {error}"));
    }
}

/// A callback without a status but with a result: an error is logged and is `otherwise`.
pub fn or<T>(otherwise: T, what: &str, body: impl FnOnce() -> Result<T>) -> T {
    catch(body).unwrap_or_else(|error| {
        log::notice(format_args!("{what}: {error}"));
        otherwise
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = catch::<()>(|| panic!("lost {}", 7)).err().map(|e| e.message).unwrap_or_default();
        assert!(error.ends_with("lost 7"), "{error}");
        assert_eq!(catch(|| Ok(3)), Ok(3));
        let error = catch::<()>(|| panic!("attempt to multiply with overflow")).err();
        assert_eq!(error.map(|e| e.code), Some(tfvk_device::Code::InvalidArgument));
    }
}
