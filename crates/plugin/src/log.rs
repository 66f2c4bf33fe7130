//! What the user is told: single lines on standard error.

use tfvk_device::log::{Level, enabled};

/// One sentence for the user.
pub fn notice(message: impl std::fmt::Display) {
    eprintln!("tensorflow-vulkan: {message}");
}

/// Details for whoever looks for a fault: shown when `TFVK_LOG` is `debug`.
pub fn debug(message: impl FnOnce() -> String) {
    if enabled(Level::Debug) {
        eprintln!("tensorflow-vulkan: {}", message());
    }
}
