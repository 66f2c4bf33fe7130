//! The device that the tests of this crate run on.

use std::sync::OnceLock;

use tfvk_device::{Device, visible_adapters};

use crate::local::Local;

/// A host on the first visible adapter, or `None` (said on stderr) where there is none. Where TFVK_ALLOW_SOFTWARE is set
/// there must be one.
pub fn local() -> Option<Local> {
    static DEVICE: OnceLock<Option<std::sync::Arc<Device>>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| {
        let opened = visible_adapters().and_then(|all| all.first().map(Device::open).transpose());
        match opened {
            Ok(Some(device)) => Some(device),
            other => {
                let why = other.err().map_or("no adapter is visible".into(), |e| e.to_string());
                assert!(std::env::var_os("TFVK_ALLOW_SOFTWARE").is_none(), "no device: {why}");
                eprintln!("skipped, no device: {why}");
                None
            }
        }
    });
    device.clone().map(Local::new)
}
