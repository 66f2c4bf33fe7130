//! The platform: which devices TensorFlow gets, under what name and type; and how it opens them.
//!
//! Decided once, in [`init`]. Everything that can be wrong with the machine (no Vulkan, no adapter, a TensorFlow too old, a
//! second copy of this library) ends here as one sentence and a platform of no devices.

use std::ffi::{CString, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use tf_sys::*;
use tfvk_device::{Adapter, AdapterKind, Code, Device, Error, Result, adapters, visible_adapters};

use crate::{guard, loaded, log, stream_executor};

/// What TensorFlow was given.
struct Platform {
    adapters: Vec<Adapter>,
    name: CString,
    device_type: CString,
}

static PLATFORM: OnceLock<Platform> = OnceLock::new();

/// Whether this copy of the library serves devices.
pub fn is_active() -> bool {
    PLATFORM.get().is_some_and(|p| !p.adapters.is_empty())
}

/// The device type of the kernels, such as `GPU`; `None` when there are no devices.
pub fn device_type() -> Option<&'static CString> {
    PLATFORM.get().filter(|p| !p.adapters.is_empty()).map(|p| &p.device_type)
}

/// A device that TensorFlow opened: what `SP_Device::device_handle` points at.
struct OpenDevice {
    device: Arc<Device>,
    name: CString,
    vendor: CString,
}

/// The device behind an `SP_Device`.
///
/// # Safety
/// `device` is null or what [`create_device`] filled, and [`destroy_device`] is not called while the result is in use.
pub unsafe fn open_device<'a>(device: *const SP_Device) -> Result<&'a Device> {
    // SAFETY: the caller's promise.
    Ok(unsafe { handle(device) }?)
}

/// The device behind an `SP_Device`, to keep.
///
/// # Safety
/// As [`open_device`].
pub unsafe fn shared_device(device: *const SP_Device) -> Result<Arc<Device>> {
    // SAFETY: the caller's promise.
    Ok(Arc::clone(unsafe { handle(device) }?))
}

unsafe fn handle<'a>(device: *const SP_Device) -> Result<&'a Arc<Device>> {
    // SAFETY: the callers' promise; the handle is a Box<OpenDevice> until destroy_device.
    let open = unsafe { device.as_ref().and_then(|d| d.device_handle.cast::<OpenDevice>().as_ref()) };
    open.map(|o| &o.device).ok_or_else(|| Error::internal("TensorFlow passed a device that is not open"))
}

/// Fills `params` with the platform.
///
/// # Safety
/// `params` is what TensorFlow passes to `SE_InitPlugin`.
pub unsafe fn init(params: *mut SE_PlatformRegistrationParams) -> Result<()> {
    // SAFETY: the caller's promise: TensorFlow allocated the three structs with its own sizes.
    let (params, platform, fns) = unsafe {
        let Some(params) = params.as_mut() else { return Err(Error::internal("SE_InitPlugin without parameters")) };
        match (params.platform.as_mut(), params.platform_fns.as_mut()) {
            (Some(platform), Some(fns)) => (params, platform, fns),
            _ => return Err(Error::internal("SE_InitPlugin without a platform to fill")),
        }
    };
    if platform.struct_size < SP_PLATFORM_STRUCT_SIZE || fns.struct_size < SP_PLATFORM_FNS_STRUCT_SIZE {
        // Filling it would write past its end, and an empty one TensorFlow refuses to load: there is no gentler way.
        return Err(Error::new(Code::FailedPrecondition, "tensorflow-vulkan needs TensorFlow 2.16 or later"));
    }
    let chosen = match PLATFORM.get() {
        Some(_) => {
            log::notice("is loaded already; this second time adds nothing");
            None
        }
        None => Some(PLATFORM.get_or_init(|| choose(params.major_version))),
    };
    let (name, device_type) = match chosen {
        Some(p) if !p.adapters.is_empty() => (p.name.as_ptr(), p.device_type.as_ptr()),
        _ => {
            let unused = unused_type();
            (unused, unused)
        }
    };
    let devices = chosen.is_some_and(|p| !p.adapters.is_empty());
    platform.name = name;
    platform.type_ = device_type;
    platform.supports_unified_memory = 0;
    platform.use_bfc_allocator = 1;
    platform.force_memory_growth = 0;
    fns.get_device_count = Some(if devices { get_device_count } else { no_devices });
    fns.create_device = Some(create_device);
    fns.destroy_device = Some(destroy_device);
    fns.create_device_fns = Some(create_device_fns);
    fns.destroy_device_fns = Some(destroy_device_fns);
    fns.create_stream_executor = Some(stream_executor::create);
    fns.destroy_stream_executor = Some(stream_executor::destroy);
    fns.create_timer_fns = Some(stream_executor::create_timer_fns);
    fns.destroy_timer_fns = Some(stream_executor::destroy_timer_fns);
    params.destroy_platform = Some(destroy_platform);
    params.destroy_platform_fns = Some(destroy_platform_fns);
    Ok(())
}

/// A device type that nobody uses, for a registration that TensorFlow insists on; lives as long as the process.
pub fn unused_type() -> *const std::ffi::c_char {
    unused_name().into_raw().cast_const()
}

/// The devices, and what to call them; a reason for having none is told here.
fn choose(major_version: i32) -> Platform {
    let adapters = find(major_version).unwrap_or_else(|error| {
        log::notice(format_args!("no device: {error}"));
        Vec::new()
    });
    let device_type = std::env::var("TFVK_DEVICE_TYPE").unwrap_or_default();
    let device_type = if device_type.is_empty() || !is_type_name(&device_type) {
        if !device_type.is_empty() {
            log::notice(format_args!("TFVK_DEVICE_TYPE={device_type} is not a device type (capital letters and _): using GPU"));
        }
        "GPU".to_owned()
    } else {
        device_type
    };
    if let Some(fusion) = std::env::var("TFVK_FUSION").ok().filter(|v| !matches!(v.as_str(), "" | "0" | "1")) {
        log::notice(format_args!("TFVK_FUSION must be 0 or 1, not '{fusion}': operators are fused"));
    }
    Platform { adapters, name: c"VULKAN".to_owned(), device_type: CString::new(device_type).unwrap_or_default() }
}

fn is_type_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
}

fn find(major_version: i32) -> Result<Vec<Adapter>> {
    if major_version != SE_MAJOR {
        let message = format!("this TensorFlow's StreamExecutor interface has version {major_version}, expected {SE_MAJOR}");
        return Err(Error::new(Code::FailedPrecondition, message));
    }
    crate::status::tf()?;
    if let Some(path) = loaded::other_copy() {
        return Err(Error::new(Code::AlreadyExists, format!("another copy is loaded already: {path}")));
    }
    let visible = visible_adapters()?;
    // Whoever has chosen none (`-1`) knows that there is none.
    if visible.is_empty() && std::env::var_os("TFVK_VISIBLE_DEVICES").is_none() {
        let counts = |a: &Adapter| a.kind != AdapterKind::Software || software_allowed();
        let refused: Vec<String> = adapters()?.into_iter().filter(counts).filter_map(|a| a.refused).collect();
        if !refused.is_empty() {
            return Err(Error::new(Code::FailedPrecondition, refused.join("; ")));
        }
    }
    Ok(visible)
}

/// Whether software adapters count.
pub fn software_allowed() -> bool {
    std::env::var("TFVK_ALLOW_SOFTWARE").is_ok_and(|v| v.trim() == "1")
}

/// A platform name and device type that nobody uses and that no earlier refused copy used: TensorFlow aborts on a second
/// platform of one type.
fn unused_name() -> CString {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Unlike in every copy of the library: the address of something that this copy owns.
    let mut n = (std::ptr::from_ref(&NEXT) as u64) >> 3 << 8 | u64::from(NEXT.fetch_add(1, Ordering::Relaxed));
    let mut name = b"VULKAN_UNUSED_".to_vec();
    while n > 0 {
        name.push(b'A' + (n % 26) as u8);
        n /= 26;
    }
    CString::new(name).unwrap_or_default()
}

unsafe extern "C" fn no_devices(_: *const SP_Platform, count: *mut c_int, _: *mut TF_Status) {
    // SAFETY: TensorFlow passes a place for the count.
    unsafe { *count = 0 }
}

unsafe extern "C" fn get_device_count(_: *const SP_Platform, count: *mut c_int, _: *mut TF_Status) {
    let n = PLATFORM.get().map_or(0, |p| p.adapters.len());
    // SAFETY: TensorFlow passes a place for the count.
    unsafe { *count = n as c_int }
}

unsafe extern "C" fn create_device(_: *const SP_Platform, params: *mut SE_CreateDeviceParams, status: *mut TF_Status) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow passes parameters with a device to fill.
        let (ordinal, device) = unsafe { ((*params).ordinal, &mut *(*params).device) };
        let adapters = PLATFORM.get().map_or(&[][..], |p| &p.adapters);
        let adapter = usize::try_from(ordinal)
            .ok()
            .and_then(|i| adapters.get(i))
            .ok_or_else(|| Error::invalid_argument(format!("device ordinal {ordinal}: there are {}", adapters.len())))?;
        let open = OpenDevice {
            device: Device::open(adapter)?,
            name: CString::new(adapter.name.clone()).unwrap_or_default(),
            vendor: CString::new(adapter.vendor()).unwrap_or_default(),
        };
        log::debug(|| format!("opened device {ordinal}: {adapter}"));
        let open = Box::new(open);
        device.ordinal = ordinal;
        device.hardware_name = open.name.as_ptr();
        device.device_vendor = open.vendor.as_ptr();
        device.pci_bus_id = c"".as_ptr();
        device.device_handle = Box::into_raw(open).cast::<c_void>();
        Ok(())
    });
}

unsafe extern "C" fn destroy_device(_: *const SP_Platform, device: *mut SP_Device) {
    guard::logging("closing a device", || {
        // SAFETY: a device that create_device filled, or an empty one; its handle is taken, so it is freed once.
        let open = unsafe { device.as_mut().map(|d| std::mem::replace(&mut d.device_handle, std::ptr::null_mut())) };
        if let Some(open) = open.filter(|p| !p.is_null()) {
            // SAFETY: made by Box::into_raw in create_device.
            drop(unsafe { Box::from_raw(open.cast::<OpenDevice>()) });
        }
        Ok(())
    });
}

unsafe extern "C" fn create_device_fns(_: *const SP_Platform, params: *mut SE_CreateDeviceFnsParams, status: *mut TF_Status) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow passes parameters with a table to fill.
        let fns = unsafe { &mut *(*params).device_fns };
        fns.get_numa_node = Some(get_numa_node);
        fns.get_memory_bandwidth = Some(get_memory_bandwidth);
        fns.get_gflops = Some(get_gflops);
        Ok(())
    });
}

unsafe extern "C" fn get_numa_node(_: *const SP_Device) -> i32 {
    -1
}

unsafe extern "C" fn get_memory_bandwidth(_: *const SP_Device) -> i64 {
    -1
}

unsafe extern "C" fn get_gflops(_: *const SP_Device) -> f64 {
    -1.0
}

unsafe extern "C" fn destroy_device_fns(_: *const SP_Platform, _: *mut SP_DeviceFns) {}
unsafe extern "C" fn destroy_platform(_: *mut SP_Platform) {}
unsafe extern "C" fn destroy_platform_fns(_: *mut SP_PlatformFns) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(is_type_name("GPU") && is_type_name("MY_XPU"));
        assert!(!is_type_name("gpu") && !is_type_name("") && !is_type_name("GPU:0"));
        let (a, b) = (unused_name(), unused_name());
        assert!(a != b && is_type_name(a.to_str().unwrap()), "{a:?} {b:?}");
    }
}
