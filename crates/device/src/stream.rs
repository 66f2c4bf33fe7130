//! A device's one in-order stream: launches, fills, copies, events. This checks what callers give; `recorder.rs` records.

use std::sync::Arc;

use crate::completions::{Action, Target};
use crate::core::Core;
use crate::garbage::Waste;
use crate::ranges::{self, Place};
use crate::recorder::{LARGEST_ARGUMENTS, Route, Span};
use crate::{Adapter, Args, DevicePtr, Error, Event, Kernel, Result, Tensor, Timestamp, owner_of};

/// The in-order stream of a device; see the crate's contract. Any thread may record.
pub struct Stream {
    core: Arc<Core>,
}

fn span(place: &Place, start: u64, bytes: u64) -> Span {
    Span { buffer: place.buffer, offset: start - place.base, start, end: start + bytes }
}

impl Stream {
    pub(crate) fn new(core: Arc<Core>) -> Stream {
        Stream { core }
    }

    /// The adapter of its device, with what it can do.
    pub fn adapter(&self) -> &Adapter {
        &self.core.gpu.adapter
    }

    /// Launch `groups` workgroups of `kernel`; none if an axis is 0. `constants[i]` is the specialisation constant of id `i`;
    /// ids 0 to 2 are the workgroup size by convention.
    ///
    /// Errors: InvalidArgument for too many groups along an axis (it is named), or memory of another device; those of
    /// compiling the kernel (Unimplemented for what the device lacks).
    pub fn launch(&self, kernel: &Kernel, constants: &[u32], args: &Args, groups: [u32; 3]) -> Result<()> {
        self.core.gpu.check()?;
        if groups.contains(&0) {
            return Ok(());
        }
        let most = self.core.gpu.adapter.limits.max_groups;
        if groups[0] > most[0] || groups[1] > most[1] || groups[2] > most[2] {
            return Err(too_many(kernel, groups, most));
        }
        if args.device != 0 && (args.device != self.core.gpu.id || args.mixed) {
            let what = "an argument is in the memory of another device";
            return Err(Error::invalid_argument(format!("kernel '{}': {what}", kernel.name)));
        }
        if args.data.len() % 4 != 0 || args.data.len() > LARGEST_ARGUMENTS {
            let (n, most) = (args.data.len(), LARGEST_ARGUMENTS);
            let what = format!("its arguments are {n} bytes, and must be a multiple of 4 and at most {most}");
            return Err(Error::invalid_argument(format!("kernel '{}': {what}", kernel.name)));
        }
        let far = self.core.gpu.far(args.accesses.iter().map(|a| a.end - a.start).max().unwrap_or(0));
        let (pipeline, evicted) = self.core.pipelines.get(kernel, constants, far)?;
        let mut recorder = self.core.recorder()?;
        for old in evicted {
            self.core.garbage.add(0, Waste::Pipeline(old));
        }
        let Some(profile) = self.core.profile.as_ref().filter(|p| p.is_on()) else {
            return recorder.launch(&self.core, &pipeline, args, groups);
        };
        let ((pool, start), (_, end)) = (self.core.queries.take()?, self.core.queries.take()?);
        recorder.timestamp(&self.core, pool, start)?;
        recorder.launch(&self.core, &pipeline, args, groups)?;
        recorder.timestamp(&self.core, pool, end)?;
        let batch = recorder.point();
        drop(recorder);
        profile.add(&self.core, &kernel.name, groups, pool, [start, end], batch)
    }

    /// Launch any number of workgroups of a kernel that computes its linear group id from all three axes,
    /// `x + gl_NumWorkGroups.x * (y + gl_NumWorkGroups.y * z)`, and does nothing from `groups` on. Errors as [`Stream::launch`].
    pub fn launch_linear(&self, kernel: &Kernel, constants: &[u32], args: &Args, groups: u64) -> Result<()> {
        let most = self.core.gpu.adapter.limits.max_groups;
        let folded = fold(groups, most).ok_or_else(|| {
            Error::invalid_argument(format!("kernel '{}': {groups} workgroups do not fit {most:?}", kernel.name))
        })?;
        self.launch(kernel, constants, args, folded)
    }

    /// Fill `bytes` bytes with `pattern`; any alignment. Errors: not inside one allocation of this device.
    pub fn fill(&self, dst: DevicePtr, bytes: u64, pattern: u8) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let place = self.device_range("fill", dst, bytes)?;
        let (end, whole) = (dst.0 + bytes, u32::from_ne_bytes([pattern; 4]));
        // Allocations start at a multiple of 4.
        let (first, last) = (dst.0.next_multiple_of(4).min(end), (end & !3).max(dst.0));
        let mut recorder = self.core.recorder()?;
        if first >= last {
            let n = bytes as usize;
            return recorder.fill_bytes(&self.core, span(&place, dst.0, bytes), &[pattern; 8][..n]);
        }
        if first > dst.0 {
            let n = first - dst.0;
            recorder.fill_bytes(&self.core, span(&place, dst.0, n), &[pattern; 4][..n as usize])?;
        }
        recorder.fill(&self.core, span(&place, first, last - first), last - first, whole)?;
        if end > last {
            let n = end - last;
            recorder.fill_bytes(&self.core, span(&place, last, n), &[pattern; 4][..n as usize])?;
        }
        Ok(())
    }

    /// Fill `bytes` bytes with a 32-bit pattern. Errors: `dst` or `bytes` is no multiple of 4; as [`Stream::fill`].
    pub fn fill_u32(&self, dst: DevicePtr, bytes: u64, pattern: u32) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        if dst.0 % 4 != 0 || bytes % 4 != 0 {
            let what = format!("fill_u32: address {:#x} and size {bytes} must be multiples of 4", dst.0);
            return Err(Error::invalid_argument(what));
        }
        let place = self.device_range("fill_u32", dst, bytes)?;
        self.core.recorder()?.fill(&self.core, span(&place, dst.0, bytes), bytes, pattern)
    }

    /// Copy inside this device's memory, or from another device's (through the host, waiting for it). Errors: a range is not
    /// inside one allocation; the ranges overlap.
    pub fn copy(&self, dst: DevicePtr, src: DevicePtr, bytes: u64) -> Result<()> {
        if bytes == 0 || dst == src {
            return Ok(());
        }
        let to = self.device_range("copy", dst, bytes)?;
        let from = ranges::device_range(src, bytes).map_err(|e| e.context("copy: source"))?;
        if from.device != self.core.gpu.id {
            return self.copy_across(dst, src, bytes);
        }
        if src.0 < dst.0 + bytes && dst.0 < src.0 + bytes {
            let what = format!("copy: {bytes} bytes at {:#x} and at {:#x} overlap", src.0, dst.0);
            return Err(Error::invalid_argument(what));
        }
        let (to, from) = (span(&to, dst.0, bytes), span(&from, src.0, bytes));
        self.core.recorder()?.copy(&self.core, Route::Main, to, from, bytes, false).map(drop)
    }

    fn copy_across(&self, dst: DevicePtr, src: DevicePtr, bytes: u64) -> Result<()> {
        let other = owner_of(src.0).ok_or_else(|| Error::invalid_argument("copy: the source's device is closed"))?;
        let mut host = vec![0u8; (bytes as usize).min(64 << 20)];
        let mut done = 0;
        while done < bytes {
            let n = (bytes - done).min(host.len() as u64);
            // SAFETY: `host` lives past the wait.
            unsafe { other.stream().download(host.as_mut_ptr(), src.offset(done), n) }?;
            other.stream().record_event()?.wait()?;
            self.upload(dst.offset(done), &host[..n as usize])?;
            done += n;
        }
        Ok(())
    }

    /// Copy to the device. `src` may be reused when this returns, unless it is pinned memory of this device (then: after an
    /// event). Waits only while the staging ring is full. Errors: not inside one allocation of this device.
    pub fn upload(&self, dst: DevicePtr, src: &[u8]) -> Result<()> {
        if src.is_empty() {
            return Ok(());
        }
        let bytes = src.len() as u64;
        let place = self.device_range("upload", dst, bytes)?;
        if let Some(pinned) = ranges::pinned_range(src.as_ptr(), bytes, self.core.gpu.id) {
            let (to, from) = (span(&place, dst.0, bytes), span(&pinned, src.as_ptr() as u64, bytes));
            let mut recorder = self.core.recorder()?;
            let route = recorder.route(bytes);
            return recorder.copy(&self.core, route, to, from, bytes, false).map(drop);
        }
        let chunk = self.core.uploads.chunk();
        for (i, part) in src.chunks(chunk).enumerate() {
            let (at, n) = (dst.0 + (i * chunk) as u64, part.len() as u64);
            let (slice, buffer) = self.core.uploads.take(&self.core, n)?;
            let recorded = self.core.uploads.fill(slice, part).and_then(|()| {
                let mut recorder = self.core.recorder()?;
                let from = Span { buffer, offset: slice.offset, start: 0, end: 0 };
                let route = recorder.route(n);
                let batch = recorder.copy(&self.core, route, span(&place, at, n), from, n, false)?;
                self.core.uploads.until(slice, batch);
                // The GPU empties this chunk while the host fills the next.
                if bytes > chunk as u64 { recorder.submit(&self.core) } else { Ok(()) }
            });
            if recorded.is_err() {
                self.core.uploads.release(slice.id);
                return recorded;
            }
        }
        Ok(())
    }

    /// Copy from the device, to pinned memory of this device directly, else through the staging ring. Waits only while that
    /// is full. Errors: not inside one allocation of this device.
    ///
    /// If the device is lost before the copy is done, the bytes are all ones (NaN, or -1).
    ///
    /// # Safety
    /// `dst` is valid for writes of `bytes` bytes until an event recorded after this call is complete or says that the device
    /// is lost.
    pub unsafe fn download(&self, dst: *mut u8, src: DevicePtr, bytes: u64) -> Result<()> {
        // The first chunks may be under way when a later one fails.
        self.core.told(self.record_download(dst, src, bytes))
    }

    fn record_download(&self, dst: *mut u8, src: DevicePtr, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let place = self.device_range("download", src, bytes)?;
        if let Some(pinned) = ranges::pinned_range(dst, bytes, self.core.gpu.id) {
            let (to, from) = (span(&pinned, dst as u64, bytes), span(&place, src.0, bytes));
            let mut recorder = self.core.recorder()?;
            let route = recorder.route(bytes);
            return recorder.copy(&self.core, route, to, from, bytes, true).map(drop);
        }
        let chunk = self.core.downloads.chunk() as u64;
        let mut done = 0;
        while done < bytes {
            let n = (bytes - done).min(chunk);
            let (slice, buffer) = self.core.downloads.take(&self.core, n)?;
            let to = Span { buffer, offset: slice.offset, start: 0, end: 0 };
            let recorded = self.core.recorder().and_then(|mut recorder| {
                let route = recorder.route(n);
                let batch = recorder.copy(&self.core, route, to, span(&place, src.0 + done, n), n, true)?;
                let target = Target(dst.wrapping_add(done as usize));
                let action = Action::Copy { dst: target, offset: slice.offset, bytes: n as usize, slice: slice.id };
                self.core.completions.push(batch, action);
                if bytes > chunk { recorder.submit(&self.core) } else { Ok(()) }
            });
            if recorded.is_err() {
                self.core.downloads.release(slice.id);
                return recorded;
            }
            done += n;
        }
        Ok(())
    }

    /// A tensor's bytes: a download, and a wait for it. Errors: the tensor is in host memory; as [`Stream::download`].
    pub fn read(&self, t: &Tensor) -> Result<Vec<u8>> {
        let mut host = vec![0u8; t.bytes() as usize];
        if !host.is_empty() {
            // SAFETY: `host` lives past the wait.
            unsafe { self.download(host.as_mut_ptr(), t.device_ptr()?, t.bytes()) }?;
            self.record_event()?.wait()?;
        }
        Ok(host)
    }

    /// An event that is complete once all work before it is.
    pub fn record_event(&self) -> Result<Event> {
        let recorder = self.core.recorder()?;
        Ok(Event::new(self.core.clone(), recorder.point(), self.core.completions.pushed()))
    }

    /// Call `f`, on a thread of the device, once all work before it is complete; also if the device is lost by then. Events
    /// recorded later wait for its return. `f` may record work, but not wait for work recorded after it.
    pub fn on_complete(&self, f: Box<dyn FnOnce() + Send>) -> Result<()> {
        let recorder = self.core.recorder()?;
        self.core.completions.push(recorder.point(), Action::Call(f));
        Ok(())
    }

    /// Hand all recorded work to the GPU; does not wait.
    pub fn flush(&self) -> Result<()> {
        self.core.flush()
    }

    /// Wait for all recorded work.
    pub fn synchronize(&self) -> Result<()> {
        self.core.synchronize()
    }

    /// The GPU's clock once all work before it is complete; work after it starts later. Errors: Unimplemented where the
    /// device has no timestamps.
    pub fn timestamp(&self) -> Result<Timestamp> {
        let (pool, query) = self.core.queries.take()?;
        let recorded = self.core.recorder().and_then(|mut r| r.timestamp(&self.core, pool, query));
        match recorded {
            Ok(batch) => Ok(Timestamp::new(self.core.clone(), pool, query, batch)),
            Err(error) => {
                self.core.queries.give(query);
                Err(error)
            }
        }
    }

    fn device_range(&self, what: &str, ptr: DevicePtr, bytes: u64) -> Result<Place> {
        let place = ranges::device_range(ptr, bytes).map_err(|e| e.context(what))?;
        match place.device == self.core.gpu.id {
            true => Ok(place),
            false => Err(Error::invalid_argument(format!("{what}: {:#x} is in the memory of another device", ptr.0))),
        }
    }
}

#[cold]
fn too_many(kernel: &Kernel, groups: [u32; 3], most: [u32; 3]) -> Error {
    let axis = (0..3).find(|&i| groups[i] > most[i]).unwrap_or(0);
    let (name, n, most) = (["x", "y", "z"][axis], groups[axis], most[axis]);
    Error::invalid_argument(format!("kernel '{}': {n} workgroups along {name}, and the device takes {most} at most", kernel.name))
}

/// `groups` as a box of at least as many, with little to spare, inside `most`.
fn fold(groups: u64, most: [u32; 3]) -> Option<[u32; 3]> {
    let [mx, my, mz] = most.map(u64::from);
    if groups <= mx {
        return Some([groups as u32, 1, 1]);
    }
    let rows = groups.div_ceil(mx);
    let z = rows.div_ceil(my);
    let y = rows.div_ceil(z);
    let x = groups.div_ceil(y * z);
    (z <= mz).then_some([x as u32, y as u32, z as u32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding() {
        let most = [65535, 65535, 65535];
        assert_eq!(fold(0, most), Some([0, 1, 1]));
        assert_eq!(fold(65535, most), Some([65535, 1, 1]));
        for groups in [65536, 65537, 1 << 20, (1 << 32) + 12345, 65535 * 65535, 65535 * 65535 + 1] {
            let [x, y, z] = fold(groups, most).unwrap().map(u64::from);
            assert!(x <= 65535 && y <= 65535 && z <= 65535);
            assert!(x * y * z >= groups && x * y * z - groups < y * z, "{groups}: {x} {y} {z}");
        }
        assert_eq!(fold(u64::MAX / 2, most), None);
    }
}
