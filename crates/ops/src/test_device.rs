//! The device that the tests of this crate run on, and what it may refuse.

use std::sync::OnceLock;

use tfvk_device::{DType, Device, Result, visible_adapters};

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

/// What a run on elements of these types gave; `None` where the device lacks one of them and said so as it must
/// ([`Local::refuses`]). Any other error is the test's.
pub fn served<T>(local: &Local, dtypes: &[DType], result: Result<T>) -> Option<T> {
    match result {
        Ok(given) => Some(given),
        Err(e) if local.refuses(&e, dtypes) => None,
        Err(e) => panic!("{dtypes:?}: {e}"),
    }
}
