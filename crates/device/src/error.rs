//! The one error type: a code that mirrors TensorFlow's `TF_Code`, and a message for the user.

use std::fmt;

/// `TF_Code` (tensorflow/c/tf_status.h), with the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// The operation was cancelled.
    Cancelled = 1,
    /// Unknown error.
    Unknown = 2,
    /// The caller gave an invalid argument.
    InvalidArgument = 3,
    /// The deadline passed first.
    DeadlineExceeded = 4,
    /// Some requested entity was not found.
    NotFound = 5,
    /// What was to be created exists already.
    AlreadyExists = 6,
    /// The caller may not do this.
    PermissionDenied = 7,
    /// Out of memory or of another resource; the device stays usable.
    ResourceExhausted = 8,
    /// The system is not in the state that the operation needs.
    FailedPrecondition = 9,
    /// The operation was aborted.
    Aborted = 10,
    /// Past the valid range.
    OutOfRange = 11,
    /// Not implemented, or not on this adapter.
    Unimplemented = 12,
    /// An invariant of this project or of the driver is broken.
    Internal = 13,
    /// The device is lost.
    Unavailable = 14,
    /// Unrecoverable data loss.
    DataLoss = 15,
}

/// An error: what kind, and a message that names op, argument, expected and got where they apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind, in TensorFlow's terms.
    pub code: Code,
    /// The message for the user.
    pub message: String,
}

/// The result of everything that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of any code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// [`Code::InvalidArgument`].
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// [`Code::ResourceExhausted`].
    pub fn resource_exhausted(message: impl Into<String>) -> Self {
        Self::new(Code::ResourceExhausted, message)
    }

    /// [`Code::Unimplemented`].
    pub fn unimplemented(message: impl Into<String>) -> Self {
        Self::new(Code::Unimplemented, message)
    }

    /// [`Code::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// The same error with `context: ` in front of its message.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
