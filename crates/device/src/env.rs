//! Every environment variable of this crate: what it means, and how it is read. Knows no Vulkan.
//!
//! | variable | meaning |
//! |---|---|
//! | `TFVK_VISIBLE_DEVICES` | which usable adapters are offered: indices into their stable order, `0` or `1,0`; `-1` or nothing: none |
//! | `TFVK_ALLOW_SOFTWARE` | `1`: adapters that run on the CPU are offered too |
//! | `TFVK_LOG` | `error`, `warn` (default), `info` or `debug` |
//! | `TFVK_VALIDATION` | `1`: Vulkan's validation layer is on; `sync`: its synchronisation checks too |
//! | `TFVK_PROFILE` | `1`: the time of every kernel is taken, and a table printed in the end (see `profile.rs`) |
//! | `TFVK_CACHE_DIR` | where compiled pipelines are kept; nothing: they are not |
//! | `TFVK_LIMIT_INVOCATIONS` | at most so many invocations of a workgroup |
//! | `TFVK_LIMIT_SHARED_MEMORY` | at most so many bytes of shared memory |
//! | `TFVK_LIMIT_GROUPS` | at most so many workgroups along each axis |
//! | `TFVK_LIMIT_ALLOCATION` | at most so many bytes of one allocation; 4 GiB where nothing is said (see [`LARGEST`]) |
//! | `TFVK_LIMIT_WORK` | at most so much work of one launch, in bytes moved or 16 operations each: what can be is split |
//! | `TFVK_LOSE_AFTER` | the device acts as if it were lost after so many batches of work |
//! | `TFVK_DISABLE` | features to do without, by name: `int64,f64` (see [`DISABLE`]); a required one (see [`REQUIRED`]): refused |
//! | `TFVK_FAR` | `1`: every launch reaches its tensors as it would those of more than 4 GiB |
//! | `TFVK_EMULATE` | features to act as if they were there: `transfer`, a transfer queue where there is none (see [`EMULATE`]) |
//!
//! Numbers may end in `k`, `m` or `g` (powers of 1,024). The limits and `TFVK_DISABLE` imitate a weak device.

use std::path::PathBuf;

use crate::log::Level;
use crate::{Adapter, Error, Features, Result};

/// The validation layer's use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Validation {
    #[default]
    Off,
    On,
    Sync,
}

/// Where compiled pipelines are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CacheDir {
    /// The platform's place for caches.
    #[default]
    Default,
    Disabled,
    At(PathBuf),
}

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `None`: all usable adapters.
    pub visible: Option<Vec<usize>>,
    pub allow_software: bool,
    pub profile: bool,
    pub validation: Validation,
    pub cache: CacheDir,
    pub invocations: Option<u64>,
    pub shared_memory: Option<u64>,
    pub groups: Option<u64>,
    pub allocation: Option<u64>,
    pub work: Option<u64>,
    pub lose_after: Option<u64>,
    pub far: bool,
    pub disable: Vec<String>,
    pub emulate: Vec<String>,
}

/// The largest allocation without TFVK_LIMIT_ALLOCATION. Kernels that index with 32 bits were seen to be wrong 4 GiB past the
/// start of a tensor; `far.rs` is the remedy, and has not been seen at work on such a driver (tests/plugin/large_tensors.py).
const LARGEST: u64 = (4 << 30) - 256;

type Switch = fn(&mut Features);

/// What TFVK_DISABLE can name, and what that takes away.
pub(crate) const DISABLE: &[(&str, Switch)] = &[
    ("int64", |f| (f.int64, f.int64_atomics) = (false, false)),
    ("int16", |f| f.int16 = false),
    ("int8", |f| f.int8 = false),
    ("f64", |f| f.f64 = false),
    ("f16", |f| f.f16 = false),
    ("bf16", |f| (f.bf16, f.bf16_dot, f.bf16_coopmat) = (false, false, false)),
    ("coopmat", |f| (f.coopmat_khr, f.coopmat_nv2, f.bf16_coopmat) = (None, false, false)),
    ("coopmat2", |f| f.coopmat_nv2 = false),
    ("atomics", |f| (f.atomic_f32_add, f.int64_atomics) = (false, false)),
    ("dot", |f| f.integer_dot = false),
    // Basic and arithmetic subgroup operations are required of every device: "arithmetic" below.
    ("subgroups", |f| {
        (f.subgroup_ballot, f.subgroup_vote, f.subgroup_shuffle) = (false, false, false);
        (f.subgroup_shuffle_relative, f.subgroup_clustered, f.subgroup_extended_types) = (false, false, false);
        f.subgroup_size_range = (f.subgroup_size, f.subgroup_size);
    }),
    ("memory_model", |f| f.memory_model = false),
    ("float_controls", |f| {
        (f.nan_preserve_f16, f.nan_preserve_f32, f.nan_preserve_f64) = (false, false, false);
        (f.denorm_preserve_f16, f.denorm_preserve_f32, f.denorm_preserve_f64) = (false, false, false);
        (f.denorm_flush_f32, f.round_even_f16, f.round_even_f32) = (false, false, false);
    }),
    ("budget", |f| f.memory_budget = false),
    ("transfer", |f| f.transfer_queue = false),
    ("timestamps", |f| f.timestamps = false),
];

/// What TFVK_EMULATE can name, and what that adds: for tests on a device without it.
pub(crate) const EMULATE: &[(&str, Switch)] = &[("transfer", |f| f.transfer_queue = true)];

/// What every device must have: TFVK_DISABLE's name for it, and what a user is told when it is missing.
pub(crate) const REQUIRED: &[(&str, &str)] = &[
    ("compute", "a queue that computes"),
    ("addresses", "buffer device addresses (bufferDeviceAddress)"),
    ("timeline", "timeline semaphores (timelineSemaphore)"),
    ("storage16", "16-bit storage (storageBuffer16BitAccess)"),
    ("storage8", "8-bit storage (storageBuffer8BitAccess)"),
    ("scalar", "scalar block layout (scalarBlockLayout)"),
    ("arithmetic", "subgroup arithmetic in compute shaders"),
];

impl Settings {
    /// The process's settings, read now. Errors name the variable, what it may be, and what it is.
    pub fn from_env() -> Result<Settings> {
        Self::parse(|name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned()))
    }

    /// Settings from any source of variables.
    pub fn parse(get: impl Fn(&str) -> Option<String>) -> Result<Settings> {
        let number = |name: &str| match get(name).filter(|v| !v.trim().is_empty()) {
            None => Ok(None),
            Some(v) => size(&v).map(Some).ok_or_else(|| wrong(name, "a positive whole number, such as 256 or 16k", &v)),
        };
        let flag = |name: &str| match get(name).as_deref().map(str::trim) {
            None | Some("" | "0") => Ok(false),
            Some("1") => Ok(true),
            Some(v) => Err(wrong(name, "0 or 1", v)),
        };
        if let Some(v) = get("TFVK_LOG").filter(|v| !v.is_empty() && Level::parse(v).is_none()) {
            return Err(wrong("TFVK_LOG", "error, warn, info or debug", &v));
        }
        Ok(Settings {
            visible: visible(get("TFVK_VISIBLE_DEVICES"))?,
            allow_software: flag("TFVK_ALLOW_SOFTWARE")?,
            validation: match get("TFVK_VALIDATION").as_deref().map(str::trim) {
                None | Some("" | "0") => Validation::Off,
                Some("1") => Validation::On,
                Some("sync") => Validation::Sync,
                Some(v) => return Err(wrong("TFVK_VALIDATION", "0, 1 or sync", v)),
            },
            profile: flag("TFVK_PROFILE")?,
            cache: match get("TFVK_CACHE_DIR") {
                None => CacheDir::Default,
                Some(v) if v.is_empty() => CacheDir::Disabled,
                Some(v) => CacheDir::At(v.into()),
            },
            invocations: number("TFVK_LIMIT_INVOCATIONS")?,
            shared_memory: number("TFVK_LIMIT_SHARED_MEMORY")?,
            groups: number("TFVK_LIMIT_GROUPS")?,
            allocation: number("TFVK_LIMIT_ALLOCATION")?,
            work: number("TFVK_LIMIT_WORK")?,
            lose_after: number("TFVK_LOSE_AFTER")?,
            far: flag("TFVK_FAR")?,
            disable: names("TFVK_DISABLE", &get, DISABLE.iter().map(|d| d.0).chain(REQUIRED.iter().map(|r| r.0)))?,
            emulate: names("TFVK_EMULATE", &get, EMULATE.iter().map(|e| e.0))?,
        })
    }

    /// Fit an adapter's features and limits to these settings.
    pub fn clamp(&self, adapter: &mut Adapter) {
        for (named, switches) in [(&self.emulate, EMULATE), (&self.disable, DISABLE)] {
            for (_, switch) in switches.iter().filter(|(name, _)| named.iter().any(|n| n == name)) {
                switch(&mut adapter.features);
            }
        }
        let limits = &mut adapter.limits;
        let lower =
            |limit: &mut u32, to: Option<u64>| *limit = (*limit).min(to.map_or(u32::MAX, |n| n.min(u32::MAX.into()) as u32));
        lower(&mut limits.max_invocations, self.invocations);
        lower(&mut limits.shared_memory, self.shared_memory);
        for axis in 0..3 {
            lower(&mut limits.max_group_size[axis], self.invocations);
            lower(&mut limits.max_groups[axis], self.groups);
        }
        // Without 64-bit integers there is no way beyond.
        let most = if adapter.features.int64 { u64::MAX } else { LARGEST };
        limits.max_allocation = limits.max_allocation.min(self.allocation.unwrap_or(LARGEST)).min(most);
        limits.launch_work = limits.launch_work.min(self.work.unwrap_or(u64::MAX));
    }
}

fn wrong(name: &str, expected: &str, got: &str) -> Error {
    Error::invalid_argument(format!("{name} must be {expected}, not '{got}'"))
}

/// A number above 0 with an optional suffix.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let shift = match text.chars().last()? {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        _ => 0,
    };
    let digits = if shift > 0 { &text[..text.len() - 1] } else { &text };
    digits.trim().parse::<u64>().ok()?.checked_mul(1 << shift).filter(|&n| n > 0)
}

/// As CUDA reads its variable: nothing set is all, an empty value is none, a -1 ends the list. An adapter named twice is two
/// devices: how more than one is tried on a machine with one.
fn visible(value: Option<String>) -> Result<Option<Vec<usize>>> {
    let Some(value) = value else { return Ok(None) };
    let mut indices = Vec::new();
    for part in value.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        if part == "-1" {
            break;
        }
        let index = part.parse().map_err(|_| wrong("TFVK_VISIBLE_DEVICES", "indices such as 0 or 0,1, or -1", &value))?;
        indices.push(index);
    }
    Ok(Some(indices))
}

/// A list of names, each a known one.
fn names(variable: &str, get: impl Fn(&str) -> Option<String>, known: impl Iterator<Item = &'static str>) -> Result<Vec<String>> {
    let known: Vec<&str> = known.collect();
    let mut names = Vec::new();
    let value = get(variable).unwrap_or_default();
    for part in value.split(',').map(|p| p.trim().to_ascii_lowercase()).filter(|p| !p.is_empty()) {
        if !known.contains(&part.as_str()) {
            return Err(wrong(variable, &format!("a list of {}", known.join(", ")), &part));
        }
        names.push(part);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Settings> {
        Settings::parse(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string()))
    }

    #[test]
    fn nothing_set_is_the_default() {
        assert_eq!(parse(&[]).unwrap(), Settings::default());
        assert_eq!(parse(&[("TFVK_CACHE_DIR", "")]).unwrap().cache, CacheDir::Disabled);
    }

    #[test]
    fn visible_devices() {
        let v = |s: &str| parse(&[("TFVK_VISIBLE_DEVICES", s)]).map(|s| s.visible);
        assert_eq!(v("1,0").unwrap(), Some(vec![1, 0]));
        assert_eq!(v("-1").unwrap(), Some(vec![]));
        assert_eq!(v("0,-1,2").unwrap(), Some(vec![0]));
        assert_eq!(v("").unwrap(), Some(vec![]));
        assert_eq!(v("0,0").unwrap(), Some(vec![0, 0]));
        assert!(v("gpu").unwrap_err().message.contains("'gpu'"));
    }

    #[test]
    fn sizes_and_words() {
        let s = parse(&[("TFVK_LIMIT_SHARED_MEMORY", "16k"), ("TFVK_LIMIT_GROUPS", "65535")]).unwrap();
        assert_eq!((s.shared_memory, s.groups, s.invocations), (Some(16384), Some(65535), None));
        for (name, value) in [
            ("TFVK_LIMIT_INVOCATIONS", "0"),
            ("TFVK_LIMIT_ALLOCATION", "lots"),
            ("TFVK_LOSE_AFTER", "-3"),
            ("TFVK_ALLOW_SOFTWARE", "yes"),
            ("TFVK_VALIDATION", "full"),
            ("TFVK_LOG", "loud"),
            ("TFVK_DISABLE", "int64,int65"),
            ("TFVK_EMULATE", "int64"),
        ] {
            let error = parse(&[(name, value)]).unwrap_err();
            assert!(error.message.contains(name), "{error}");
        }
    }
}
