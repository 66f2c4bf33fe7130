//! The small C interface of the command `tfvk`: the adapters as JSON, and the benchmarks. It works without TensorFlow.
//!
//! ```c
//! size_t  tfvk_devices_json(char *out, size_t capacity);
//! int32_t tfvk_bench(const char *filter, int32_t quick, void (*line)(const char *json, void *data), void *data);
//! ```

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt::Write;

use tfvk_device::{Adapter, AdapterKind, Code, Device, Error, Result, adapters, visible_adapters};

use crate::guard;
use crate::platform::software_allowed;

/// Receives one line of JSON and the caller's `data`.
type Line = unsafe extern "C" fn(json: *const c_char, data: *mut c_void);

/// Writes what adapters there are, as JSON, to `out`, with a NUL, cut to `capacity` bytes. Returns the bytes of the whole
/// text without the NUL. `out` may be null: then only the size is told.
///
/// # Safety
/// `out` is null or has room for `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfvk_devices_json(out: *mut c_char, capacity: usize) -> usize {
    let text = guard::catch(|| Ok(report())).unwrap_or_else(|error| failed_report(&error));
    if !out.is_null() && capacity > 0 {
        let n = text.len().min(capacity - 1);
        // SAFETY: the caller's promise; n + 1 bytes are at most `capacity`.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), n);
            out.add(n).write(0);
        }
    }
    text.len()
}

/// Runs the benchmarks whose names contain `filter` on the first visible adapter; each line of JSON goes to `line`. Returns
/// 0, or 1 when they could not be run: then the last line tells the error.
///
/// # Safety
/// `filter` is null or a C string; `line` may be called with `data` until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfvk_bench(filter: *const c_char, quick: i32, line: Line, data: *mut c_void) -> i32 {
    let mut print = |text: &str| {
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the caller's promise; the text lives through the call.
        unsafe { line(text.as_ptr(), data) }
    };
    let run = guard::catch(|| {
        // SAFETY: the caller's promise.
        let filter = if filter.is_null() { "".into() } else { unsafe { CStr::from_ptr(filter) }.to_string_lossy() };
        bench(&filter, quick != 0, &mut print)
    });
    match run {
        Ok(()) => 0,
        Err(error) => {
            print(&format!("{{\"error\": {}}}", quoted(&error.message)));
            1
        }
    }
}

fn bench(filter: &str, quick: bool, print: &mut dyn FnMut(&str)) -> Result<()> {
    let visible = visible_adapters()?;
    let adapter =
        visible.first().ok_or_else(|| Error::new(Code::NotFound, "No Vulkan adapter can be used; `tfvk devices` says why."))?;
    tfvk_bench::run(&Device::open(adapter)?, &tfvk_bench::Options { filter: filter.into(), quick }, print)
}

/// `{"version", "error", "devices": [...]}`; `error` is one sentence when no adapter can be told of or chosen.
fn report() -> String {
    let all = match adapters() {
        Ok(all) => all,
        Err(error) => return failed_report(&error),
    };
    let (visible, error) = match visible_adapters() {
        Ok(visible) => (visible, "null".into()),
        Err(error) => (Vec::new(), quoted(&error.message)),
    };
    let devices: Vec<String> = all
        .iter()
        .enumerate()
        .map(|(index, adapter)| describe(index, adapter, visible.iter().position(|v| v.is_same_as(adapter))))
        .collect();
    format!("{{\"version\": {}, \"error\": {error}, \"devices\": [{}]}}", quoted(env!("CARGO_PKG_VERSION")), devices.join(", "))
}

fn failed_report(error: &Error) -> String {
    format!("{{\"version\": {}, \"error\": {}, \"devices\": []}}", quoted(env!("CARGO_PKG_VERSION")), quoted(&error.message))
}

fn describe(index: usize, adapter: &Adapter, device: Option<usize>) -> String {
    let why_not = match (&adapter.refused, device) {
        (Some(refused), _) => quoted(refused),
        (None, Some(_)) => "null".into(),
        (None, None) if adapter.kind == AdapterKind::Software && !software_allowed() => {
            quoted("It is a software driver, which is slow: it is used only with TFVK_ALLOW_SOFTWARE=1.")
        }
        (None, None) => quoted("TFVK_VISIBLE_DEVICES leaves it out."),
    };
    let (f, l) = (&adapter.features, &adapter.limits);
    let features = [
        ("int8", f.int8),
        ("int16", f.int16),
        ("int64", f.int64),
        ("float16", f.f16),
        ("float64", f.f64),
        ("bfloat16", f.bf16),
        ("cooperative_matrix", f.coopmat_khr.is_some()),
        ("cooperative_matrix_2", f.coopmat_nv2),
        ("transfer_queue", f.transfer_queue),
    ];
    let features: Vec<String> = features.iter().map(|(name, has)| format!("\"{name}\": {has}")).collect();
    let limits = [
        ("max_invocations", u64::from(l.max_invocations)),
        ("shared_memory", u64::from(l.shared_memory)),
        ("max_groups", u64::from(l.max_groups[0])),
        ("max_allocation", l.max_allocation),
        ("launch_work", l.launch_work),
        ("subgroup_size", u64::from(f.subgroup_size)),
    ];
    let limits: Vec<String> = limits.iter().map(|(name, n)| format!("\"{name}\": {n}")).collect();
    let mut text =
        format!("{{\"index\": {index}, \"name\": {}, \"driver\": {}, ", quoted(&adapter.name), quoted(&adapter.driver));
    let _ = write!(text, "\"vendor\": {}, \"kind\": \"{}\", ", quoted(&adapter.vendor()), adapter.kind);
    let _ = write!(text, "\"usable\": {}, \"visible\": {}, ", adapter.refused.is_none(), device.is_some());
    let _ = write!(text, "\"tensorflow_index\": {}, ", device.map_or("null".into(), |d| d.to_string()));
    let _ = write!(text, "\"why_not\": {why_not}, \"memory_bytes\": {}, ", l.device_memory);
    let _ = write!(text, "\"features\": {{{}}}, \"limits\": {{{}}}}}", features.join(", "), limits.join(", "));
    text
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_json_wants() {
        assert_eq!(quoted("a \"b\" \\ \n"), r#""a \"b\" \\ \u000a""#);
    }

    #[test]
    fn a_text_longer_than_the_buffer_is_cut_and_its_size_told() {
        let mut buffer = [1 as c_char; 12];
        // SAFETY: the buffer has the room that is told.
        let size = unsafe { tfvk_devices_json(buffer.as_mut_ptr(), buffer.len()) };
        assert!(size > buffer.len());
        assert_eq!(buffer[11], 0);
        assert_eq!(buffer[0], b'{' as c_char);
    }

    #[test]
    fn a_benchmark_without_a_match_tells_the_device_alone() {
        unsafe extern "C" fn collect(json: *const c_char, data: *mut c_void) {
            // SAFETY: `data` is the vector below and `json` a C string.
            unsafe { (*data.cast::<Vec<String>>()).push(CStr::from_ptr(json).to_string_lossy().into_owned()) }
        }
        let mut lines: Vec<String> = Vec::new();
        // SAFETY: the strings and the vector outlive the call.
        let code = unsafe { tfvk_bench(c"no such benchmark".as_ptr(), 1, collect, (&raw mut lines).cast()) };
        assert_eq!(lines.len(), 1);
        assert_eq!(code == 0, lines[0].contains("\"device\""), "{lines:?}");
        assert_eq!(code == 1, lines[0].contains("\"error\""), "{lines:?}");
    }
}
