//! TensorFlow's profiler: while `tf.profiler.experimental` is at work, every kernel with its time on the device, as one plane
//! a device of TensorFlow's XSpace, `/device:GPU:0` and so on.
//!
//! The times are the device crate's ([`Device::start_trace`]); here they become a message. What is at `stop` is kept until
//! TensorFlow has asked for its size and then for itself.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tf_sys::*;
use tfvk_device::{Device, Error, KernelTime, Result, open_devices};

use crate::wire::{put_bytes, put_int};
use crate::{guard, platform};

/// The last trace, an encoded XSpace.
static TRACE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Fills `params` with the profiler.
///
/// # Safety
/// `params` is what TensorFlow passes to `TF_InitProfiler`.
pub unsafe fn init(params: *mut TF_ProfilerRegistrationParams) -> Result<()> {
    // SAFETY: the caller's promise: TensorFlow allocated the three structs with its own sizes.
    let (params, profiler, fns) = unsafe {
        let Some(params) = params.as_mut() else { return Err(Error::internal("TF_InitProfiler without parameters")) };
        match (params.profiler.as_mut(), params.profiler_fns.as_mut()) {
            (Some(profiler), Some(fns)) => (params, profiler, fns),
            _ => return Err(Error::internal("TF_InitProfiler without a profiler to fill")),
        }
    };
    // One for a device type, as with the graph pass. When this library is loaded again, its second profiler has nothing.
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    let device_type = platform::device_type().filter(|_| !REGISTERED.swap(true, Ordering::Relaxed));
    profiler.device_type = device_type.map_or_else(platform::unused_type, |t| t.as_ptr());
    if device_type.is_some() {
        fns.start = Some(start);
        fns.stop = Some(stop);
        fns.collect_data_xspace = Some(collect);
    } else {
        fns.start = Some(nothing);
        fns.stop = Some(nothing);
        fns.collect_data_xspace = Some(collect_nothing);
    }
    params.destroy_profiler = Some(destroy_profiler);
    params.destroy_profiler_fns = Some(destroy_profiler_fns);
    Ok(())
}

unsafe extern "C" fn nothing(_: *const TP_Profiler, _: *mut TF_Status) {}

unsafe extern "C" fn collect_nothing(_: *const TP_Profiler, _: *mut u8, size: *mut usize, _: *mut TF_Status) {
    // SAFETY: TensorFlow passes a place for the size.
    unsafe { *size = 0 };
}

unsafe extern "C" fn start(_: *const TP_Profiler, status: *mut TF_Status) {
    guard::reporting(status, || {
        open_devices().iter().filter(|d| d.adapter().features.timestamps).try_for_each(|d| d.start_trace())
    });
}

unsafe extern "C" fn stop(_: *const TP_Profiler, status: *mut TF_Status) {
    guard::reporting(status, || {
        let kind = platform::device_type().map_or(c"GPU", |t| t.as_c_str());
        let mut space = Vec::new();
        for (ordinal, device) in open_devices().iter().enumerate() {
            put_bytes(&mut space, 1, &plane(ordinal, kind, device, &device.stop_trace()?));
        }
        *TRACE.lock().unwrap_or_else(PoisonError::into_inner) = space;
        Ok(())
    });
}

/// An XPlane of one line, with an event a launch; metadata are the kernels by number.
fn plane(ordinal: usize, kind: &CStr, device: &Device, launches: &[KernelTime]) -> Vec<u8> {
    let mut plane = Vec::new();
    put_int(&mut plane, 1, ordinal as i64);
    put_bytes(&mut plane, 2, format!("/device:{}:{ordinal}", kind.to_string_lossy()).as_bytes());
    let begin = launches.iter().map(|l| l.start).min().unwrap_or(0);
    let mut line = Vec::new();
    put_int(&mut line, 1, 0);
    put_bytes(&mut line, 2, format!("Kernels on {}", device.adapter().name).as_bytes());
    put_int(&mut line, 3, begin as i64);
    let mut numbers: HashMap<&str, i64> = HashMap::new();
    for launch in launches {
        let next = numbers.len() as i64 + 1;
        let number = *numbers.entry(&launch.name).or_insert_with(|| {
            put_bytes(&mut plane, 4, &metadata(next, &launch.name));
            next
        });
        let mut event = Vec::new();
        put_int(&mut event, 1, number);
        put_int(&mut event, 2, picoseconds(launch.start - begin));
        put_int(&mut event, 3, picoseconds(launch.duration));
        put_bytes(&mut line, 4, &event);
    }
    put_bytes(&mut plane, 3, &line);
    plane
}

fn picoseconds(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds.saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// An entry of the plane's map from numbers to names.
fn metadata(number: i64, name: &str) -> Vec<u8> {
    let mut value = Vec::new();
    put_int(&mut value, 1, number);
    put_bytes(&mut value, 2, name.as_bytes());
    let mut entry = Vec::new();
    put_int(&mut entry, 1, number);
    put_bytes(&mut entry, 2, &value);
    entry
}

unsafe extern "C" fn collect(_: *const TP_Profiler, buffer: *mut u8, size: *mut usize, status: *mut TF_Status) {
    guard::reporting(status, || {
        let trace = TRACE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: TensorFlow passes a place for the size and, once it knows that, a buffer of so many bytes.
        unsafe {
            if buffer.is_null() {
                *size = trace.len();
            } else if *size >= trace.len() {
                std::ptr::copy_nonoverlapping(trace.as_ptr(), buffer, trace.len());
            } else {
                return Err(Error::internal(format!("a trace of {} bytes, and room for {}", trace.len(), *size)));
            }
        }
        Ok(())
    });
}

unsafe extern "C" fn destroy_profiler(_: *mut TP_Profiler) {}
unsafe extern "C" fn destroy_profiler_fns(_: *mut TP_ProfilerFns) {}
