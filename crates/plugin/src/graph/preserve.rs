//! The nodes that a graph pass must keep: what is fetched, fed, or run for its effect.

use std::collections::HashSet;
use std::ffi::c_char;

use tf_sys::TF_GrapplerItem;
use tfvk_device::Result;

use crate::status::{Status, tf};

/// Their names; `None` in a TensorFlow that does not tell.
///
/// # Safety
/// `item` is what TensorFlow passed to the pass, during that call.
pub unsafe fn nodes(item: *const TF_GrapplerItem) -> Result<Option<HashSet<String>>> {
    let tf = tf()?;
    let (Some(size), Some(list)) = (tf.TF_GetNodesToPreserveListSize, tf.TF_GetNodesToPreserveList) else { return Ok(None) };
    let status = Status::new(tf);
    let (mut count, mut bytes) = (0, 0usize);
    // SAFETY: the caller's promise; the places for the results outlive the calls and have the sizes that were asked for.
    unsafe {
        size(item, &mut count, &mut bytes, status.raw());
        status.check()?;
        let n = usize::try_from(count).unwrap_or(0);
        let mut names: Vec<*mut c_char> = vec![std::ptr::null_mut(); n];
        let mut lengths = vec![0usize; n];
        let mut storage = vec![0u8; bytes];
        list(item, names.as_mut_ptr(), lengths.as_mut_ptr(), count, storage.as_mut_ptr().cast(), bytes, status.raw());
        status.check()?;
        let name = |(&start, &length): (&*mut c_char, &usize)| {
            // The names are parts of `storage`.
            let bytes = if length == 0 { &[][..] } else { std::slice::from_raw_parts(start.cast::<u8>(), length) };
            String::from_utf8_lossy(bytes).into_owned()
        };
        Ok(Some(names.iter().zip(&lengths).map(name).collect()))
    }
}
