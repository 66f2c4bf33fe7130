//! The pipeline cache's file: one per device and driver, written atomically; whatever is damaged or foreign is ignored.
//!
//! Layout: a header of our own (magic, vendor, device, driver version, cache UUID, length, checksum) and then the driver's
//! bytes. Drivers check little of what they are given, so nothing reaches them whose checksum is wrong. Knows no Vulkan.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, io};

use crate::env::CacheDir;
use crate::gpu::Identity;
use crate::log;

const MAGIC: &[u8; 8] = b"TFVKPC01";
const HEADER: usize = 8 + 12 + 16 + 8 + 8;
/// A larger file is not read; the cache starts over.
const LARGEST: u64 = 1 << 29;

/// Where a device's pipelines are kept.
#[derive(Clone, Debug)]
pub(crate) struct CacheFile {
    path: PathBuf,
    identity: Identity,
}

impl CacheFile {
    /// `None` where caching is off or there is no place for it.
    pub fn new(dir: &CacheDir, identity: Identity) -> Option<CacheFile> {
        let dir = match dir {
            CacheDir::Disabled => return None,
            CacheDir::At(dir) => dir.clone(),
            CacheDir::Default => default_dir()?,
        };
        let uuid: String = identity.cache_uuid.iter().map(|b| format!("{b:02x}")).collect();
        let (vendor, device, version) = (identity.vendor, identity.device, identity.driver_version);
        Some(CacheFile { path: dir.join(format!("{vendor:04x}-{device:04x}-{version:08x}-{uuid}.pipelines")), identity })
    }

    /// The driver's bytes, and their checksum; `None` if there are none that can be used.
    pub fn load(&self) -> Option<(Vec<u8>, u64)> {
        let length = fs::metadata(&self.path).ok()?.len();
        let read = if length > LARGEST { Err(io::Error::other("it is too large")) } else { fs::read(&self.path) };
        let checked = read.map_err(|e| e.to_string()).and_then(|file| self.check(file).map_err(str::to_string));
        match checked {
            Ok(found) => Some(found),
            Err(why) => {
                log!(Warn, "the pipeline cache {} is ignored: {why}", self.path.display());
                None
            }
        }
    }

    fn check(&self, mut file: Vec<u8>) -> Result<(Vec<u8>, u64), &'static str> {
        if file.len() < HEADER || file[..8] != *MAGIC {
            return Err("it is not a pipeline cache");
        }
        if file[8..36] != self.identity_bytes() {
            return Err("it is another device's or driver's");
        }
        let number = |at: usize| file[at..at + 8].iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
        let (length, sum) = (number(36), number(44));
        if length != (file.len() - HEADER) as u64 || sum != checksum(&file[HEADER..]) {
            return Err("it is damaged");
        }
        file.drain(..HEADER);
        Ok((file, sum))
    }

    /// Write the driver's bytes; readers see the old file or the new one, never a part. The checksum is returned.
    pub fn save(&self, data: &[u8]) -> io::Result<u64> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let sum = checksum(data);
        let mut file = Vec::with_capacity(HEADER + data.len());
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&self.identity_bytes());
        file.extend_from_slice(&(data.len() as u64).to_le_bytes());
        file.extend_from_slice(&sum.to_le_bytes());
        file.extend_from_slice(data);
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)?;
        }
        let unique = format!("{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let temporary = self.path.with_extension(unique);
        let written = fs::write(&temporary, &file).and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written.map(|()| sum)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn identity_bytes(&self) -> [u8; 28] {
        let mut bytes = [0; 28];
        bytes[..4].copy_from_slice(&self.identity.vendor.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.identity.device.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.identity.driver_version.to_le_bytes());
        bytes[12..].copy_from_slice(&self.identity.cache_uuid);
        bytes
    }
}

fn default_dir() -> Option<PathBuf> {
    let var = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        var("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        var("HOME").map(|h| h.join("Library/Caches"))
    } else {
        // The specification says to ignore a relative path.
        var("XDG_CACHE_HOME").filter(|p| p.is_absolute()).or_else(|| var("HOME").map(|h| h.join(".cache")))
    };
    base.map(|b| b.join("tensorflow-vulkan"))
}

/// FNV-1a over 8-byte words, the rest bytewise.
fn checksum(data: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325u64 ^ data.len() as u64;
    let mut mix = |v: u64| sum = (sum ^ v).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(31);
    let words = data.chunks_exact(8);
    words.remainder().iter().for_each(|&b| mix(u64::from(b)));
    words.for_each(|w| mix(w.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_damage_and_strangers() {
        let dir = std::env::temp_dir().join(format!("tfvk-cache-{}", std::process::id()));
        let identity = Identity { vendor: 1, device: 2, driver_version: 3, cache_uuid: [4; 16] };
        let file = CacheFile::new(&CacheDir::At(dir.clone()), identity).unwrap();
        assert!(file.load().is_none(), "nothing there yet");
        let data: Vec<u8> = (0..1001u32).map(|i| (i * 7) as u8).collect();
        let sum = file.save(&data).unwrap();
        assert_eq!(file.load(), Some((data.clone(), sum)));

        let good = fs::read(file.path()).unwrap();
        let mut bad = good.clone();
        for at in [0, 9, 20, 40, 50, HEADER + 3, good.len() - 1] {
            bad[at] ^= 0x10;
            fs::write(file.path(), &bad).unwrap();
            assert!(file.load().is_none(), "byte {at} is wrong");
            bad[at] ^= 0x10;
        }
        for length in [0, 7, HEADER, good.len() - 1] {
            fs::write(file.path(), &good[..length]).unwrap();
            assert!(file.load().is_none(), "cut to {length}");
        }
        fs::write(file.path(), &good).unwrap();
        let other = Identity { driver_version: 9, ..identity };
        let stranger = CacheFile { identity: other, ..file.clone() };
        assert!(stranger.load().is_none());
        assert_ne!(CacheFile::new(&CacheDir::At(dir.clone()), other).unwrap().path(), file.path());
        assert!(CacheFile::new(&CacheDir::Disabled, identity).is_none());
        fs::remove_dir_all(dir).unwrap();
    }
}
