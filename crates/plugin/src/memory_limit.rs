//! The memory limit of a logical device, which TensorFlow keeps to itself on a pluggable device.
//!
//! `tf.config.set_logical_device_configuration(gpu, [LogicalDeviceConfiguration(memory_limit=...)])` reaches
//! TensorFlow's own GPU devices alone. `python_hook` passes it on to [`tfvk_memory_limit`]; and as TensorFlow's allocator
//! takes what is free, less a reserve, when the device is made, the StreamExecutor then tells it of as much as comes out at
//! the limit. Knows no device.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

const MIB: u64 = 1 << 20;

/// (ordinal of the device, bytes).
static LIMITS: Mutex<Vec<(c_int, u64)>> = Mutex::new(Vec::new());

/// TensorFlow's device `ordinal` is to use at most `bytes` bytes; 0 takes the limit back.
pub extern "C" fn tfvk_memory_limit(ordinal: c_int, bytes: u64) {
    let mut limits = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
    limits.retain(|l| l.0 != ordinal);
    if bytes > 0 {
        limits.push((ordinal, bytes));
    }
}

/// What to tell TensorFlow of the `free` bytes of device `ordinal`.
pub fn reported(ordinal: c_int, free: u64) -> u64 {
    let limits = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = limits.iter().find(|l| l.0 == ordinal).map_or(u64::MAX, |l| l.1);
    free.min(with_reserve(limit))
}

/// As much memory as TensorFlow must find for its allocator to get `limit` bytes. It leaves 255 MiB of less than 2 GiB, and
/// 6% but at least 300 MiB of more (`MinSystemMemory` in pluggable_device_factory.cc).
fn with_reserve(limit: u64) -> u64 {
    let small = limit.saturating_add(255 * MIB);
    if small < 2048 * MIB {
        return small;
    }
    limit.saturating_add(300 * MIB).max((limit as f64 / 0.94) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_survives_the_reserve() {
        for limit in [MIB, 128 * MIB, 1792 * MIB, 1793 * MIB, 4096 * MIB, 40_000 * MIB] {
            let told = with_reserve(limit);
            let reserve = if told < 2048 * MIB { 255 * MIB } else { (300 * MIB).max((told as f64 * 0.06) as u64) };
            assert!((told - reserve).abs_diff(limit) < 4096, "{limit}: {told}");
        }
        tfvk_memory_limit(3, 64 * MIB);
        assert_eq!(
            (reported(3, 8192 * MIB), reported(3, 100 * MIB), reported(2, 8192 * MIB)),
            (319 * MIB, 100 * MIB, 8192 * MIB)
        );
        tfvk_memory_limit(3, 0);
        assert_eq!(reported(3, 8192 * MIB), 8192 * MIB);
    }
}
