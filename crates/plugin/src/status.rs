//! `TF_Status` to and from [`Error`].

use std::ffi::{CStr, CString};

use tf_sys::{Api, TF_OK, TF_Status};
use tfvk_device::{Code, Error, Result};

use crate::log;

/// TensorFlow's functions; the error names the one that this TensorFlow lacks.
pub fn tf() -> Result<&'static Api> {
    tf_sys::api().map_err(|message| Error::new(Code::FailedPrecondition, message))
}

/// Sets `error` in a status of TensorFlow's.
pub fn set(status: *mut TF_Status, error: &Error) {
    let message = CString::new(error.message.replace('\0', " ")).unwrap_or_default();
    match tf() {
        // SAFETY: a status that TensorFlow gave for this call, and a string that outlives the call.
        Ok(tf) if !status.is_null() => unsafe { (tf.TF_SetStatus)(status, error.code as i32, message.as_ptr()) },
        _ => log::notice(error),
    }
}

/// A status of ours, for calls to TensorFlow.
pub struct Status {
    tf: &'static Api,
    raw: *mut TF_Status,
}

impl Status {
    /// A new one, OK.
    pub fn new(tf: &'static Api) -> Self {
        // SAFETY: no preconditions.
        Self { tf, raw: unsafe { (tf.TF_NewStatus)() } }
    }

    /// For handing to TensorFlow.
    pub fn raw(&self) -> *mut TF_Status {
        self.raw
    }

    /// What the last call left in it.
    pub fn check(&self) -> Result<()> {
        // SAFETY: `raw` is a live status; the message lives until the status changes.
        let (code, message) = unsafe {
            match (self.tf.TF_GetCode)(self.raw) {
                TF_OK => return Ok(()),
                code => (code, CStr::from_ptr((self.tf.TF_Message)(self.raw)).to_string_lossy().into_owned()),
            }
        };
        Err(Error::new(code_of(code), message))
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        // SAFETY: made by TF_NewStatus, deleted once.
        unsafe { (self.tf.TF_DeleteStatus)(self.raw) }
    }
}

fn code_of(number: i32) -> Code {
    use Code::*;
    let all = [
        Cancelled,
        InvalidArgument,
        DeadlineExceeded,
        NotFound,
        AlreadyExists,
        PermissionDenied,
        ResourceExhausted,
        FailedPrecondition,
        Aborted,
        OutOfRange,
        Unimplemented,
        Internal,
        Unavailable,
        DataLoss,
    ];
    all.into_iter().find(|&code| code as i32 == number).unwrap_or(Unknown)
}
