//! Events and timestamps.

use crate::{Error, Result};

/// A point in a stream.
pub struct Event {}

impl Event {
    /// Whether everything before the event is complete. Hands the work to the GPU if that has not been done yet.
    pub fn is_complete(&self) -> Result<bool> {
        Err(Error::unimplemented("the device crate is being written"))
    }
    /// Wait until everything before the event is complete.
    pub fn wait(&self) -> Result<()> {
        Err(Error::unimplemented("the device crate is being written"))
    }
}

/// The GPU's clock at a point in a stream.
pub struct Timestamp {}

impl Timestamp {
    /// Wait for the point; nanoseconds since an arbitrary start.
    pub fn wait(&self) -> Result<u64> {
        Err(Error::unimplemented("the device crate is being written"))
    }
}
