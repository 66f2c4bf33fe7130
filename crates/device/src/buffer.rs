//! A buffer with memory of its own: device memory, or host memory that the device sees.

use std::sync::Arc;

use ash::vk;

use crate::gpu::Gpu;
use crate::{Result, exit};

/// Where a buffer's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// Device memory.
    Device,
    /// Host memory that the host mostly writes.
    Upload,
    /// Host memory that the host reads.
    Download,
    /// A little memory that the host writes and kernels read: of the device where the host can reach it.
    Arguments,
}

/// A buffer; freed when dropped.
pub(crate) struct Buffer {
    pub handle: vk::Buffer,
    /// The device address; 0 where none was asked for.
    pub address: u64,
    /// The host's view; null for device memory.
    pub mapped: *mut u8,
    /// What its memory takes, rounded up by the driver.
    pub footprint: u64,
    memory: vk::DeviceMemory,
    gpu: Arc<Gpu>,
}

// SAFETY: the mapping is plain memory, and every use of it is ordered by whoever holds the buffer.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer of `bytes` bytes, not 0. Errors: ResourceExhausted.
    pub fn new(gpu: &Arc<Gpu>, bytes: u64, home: Home) -> Result<Buffer> {
        use vk::BufferUsageFlags as Usage;
        let what = "allocating memory";
        let addressed = home != Home::Upload && home != Home::Download;
        let mut usage = Usage::TRANSFER_SRC | Usage::TRANSFER_DST;
        if addressed {
            usage |= Usage::STORAGE_BUFFER | Usage::SHADER_DEVICE_ADDRESS;
        }
        let mut info = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        let families = [gpu.families.compute, gpu.families.transfer.unwrap_or(gpu.families.compute)];
        if families[0] != families[1] {
            // Both queues copy, and no buffer is ever handed from one to the other.
            info = info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(&families);
        }
        // SAFETY: the device is alive; `info` is complete.
        let handle = unsafe { gpu.vk.create_buffer(&info, None) }.map_err(|r| gpu.error(r, what))?;
        let mut buffer = Buffer {
            handle,
            address: 0,
            mapped: std::ptr::null_mut(),
            footprint: 0,
            memory: vk::DeviceMemory::null(),
            gpu: gpu.clone(),
        };
        // SAFETY: the buffer is alive.
        let needs = unsafe { gpu.vk.get_buffer_memory_requirements(handle) };
        buffer.footprint = needs.size;
        let mut flags = vk::MemoryAllocateFlagsInfo::default();
        if addressed {
            flags = flags.flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        }
        let mut last = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        for kind in memory_types(&gpu.memory, home, needs.memory_type_bits) {
            let info =
                vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind).push_next(&mut flags);
            // SAFETY: a memory type that the buffer allows.
            match unsafe { gpu.vk.allocate_memory(&info, None) } {
                Ok(memory) => {
                    buffer.memory = memory;
                    break;
                }
                Err(result) => last = result,
            }
        }
        if buffer.memory == vk::DeviceMemory::null() {
            return Err(gpu.error(last, what));
        }
        // SAFETY: memory of the size and type that the buffer asked for, bound once.
        unsafe { gpu.vk.bind_buffer_memory(handle, buffer.memory, 0) }.map_err(|r| gpu.error(r, what))?;
        if addressed {
            let info = vk::BufferDeviceAddressInfo::default().buffer(handle);
            // SAFETY: a bound buffer with that usage.
            buffer.address = unsafe { gpu.vk.get_buffer_device_address(&info) };
        }
        if home != Home::Device {
            // SAFETY: host-visible memory, mapped once, and coherent.
            let mapped = unsafe { gpu.vk.map_memory(buffer.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) };
            buffer.mapped = mapped.map_err(|r| gpu.error(r, what))?.cast();
        }
        Ok(buffer)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if exit::check().is_ok() {
            // SAFETY: whoever drops a buffer has seen the GPU get past its last use; freeing memory unmaps it.
            unsafe {
                self.gpu.vk.destroy_buffer(self.handle, None);
                self.gpu.vk.free_memory(self.memory, None);
            }
        }
    }
}

/// The heap that device memory comes from.
pub(crate) fn device_heap(memory: &vk::PhysicalDeviceMemoryProperties) -> usize {
    memory_types(memory, Home::Device, u32::MAX).first().map_or(0, |&t| memory.memory_types[t as usize].heap_index as usize)
}

/// The memory types to try for a home, best first.
fn memory_types(memory: &vk::PhysicalDeviceMemoryProperties, home: Home, allowed: u32) -> Vec<u32> {
    use vk::MemoryPropertyFlags as Flags;
    let mapped = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    let local = Flags::DEVICE_LOCAL;
    let heap_size = |t: &vk::MemoryType| memory.memory_heaps[t.heap_index as usize].size;
    let all = &memory.memory_types[..memory.memory_type_count as usize];
    let mut scored: Vec<(i64, u64, u32)> = Vec::new();
    for (i, t) in (0u32..).zip(all) {
        let has = |flags| i64::from(t.property_flags.contains(flags));
        let exotic = Flags::LAZILY_ALLOCATED | Flags::PROTECTED | Flags::DEVICE_COHERENT_AMD | Flags::DEVICE_UNCACHED_AMD;
        let usable = allowed & 1 << i != 0 && !t.property_flags.intersects(exotic);
        let wanted = if home == Home::Device { local } else { mapped };
        if !usable || !t.property_flags.contains(wanted) {
            continue;
        }
        let score = match home {
            // What the host can reach is a small window on many cards.
            Home::Device => -has(Flags::HOST_VISIBLE),
            Home::Upload => 2 - 2 * has(local) + has(Flags::HOST_CACHED),
            Home::Download => 2 * has(Flags::HOST_CACHED) - has(local),
            Home::Arguments => 2 * has(local),
        };
        scored.push((score, heap_size(t), i));
    }
    // The larger heap first, above all for device memory; then the better type; then the driver's order.
    match home {
        Home::Device => scored.sort_by_key(|&(score, size, i)| (std::cmp::Reverse(size), -score, i)),
        _ => scored.sort_by_key(|&(score, size, i)| (-score, std::cmp::Reverse(size), i)),
    }
    if home == Home::Device {
        // Device memory never spills into another heap: a program would be slow without knowing why.
        let first = scored.first().map(|&(_, _, i)| all[i as usize].heap_index);
        scored.retain(|&(_, _, i)| Some(all[i as usize].heap_index) == first);
    }
    scored.into_iter().map(|(_, _, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vk::MemoryPropertyFlags as Flags;

    fn memory(types: &[(Flags, u32)], heaps: &[u64]) -> vk::PhysicalDeviceMemoryProperties {
        let mut m = vk::PhysicalDeviceMemoryProperties::default();
        (m.memory_type_count, m.memory_heap_count) = (types.len() as u32, heaps.len() as u32);
        for (i, &(property_flags, heap_index)) in types.iter().enumerate() {
            m.memory_types[i] = vk::MemoryType { property_flags, heap_index };
        }
        for (i, &size) in heaps.iter().enumerate() {
            m.memory_heaps[i] = vk::MemoryHeap { size, flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
        }
        m
    }

    #[test]
    fn a_discrete_card() {
        let (local, mapped) = (Flags::DEVICE_LOCAL, Flags::HOST_VISIBLE | Flags::HOST_COHERENT);
        let types = [
            (Flags::empty(), 1),
            (local, 0),
            (mapped, 1),
            (mapped | Flags::HOST_CACHED, 1),
            (local | mapped, 2),
            (local | mapped, 0),
        ];
        let m = memory(&types, &[8 << 30, 16 << 30, 256 << 20]);
        assert_eq!(memory_types(&m, Home::Device, u32::MAX), [1, 5]);
        assert_eq!(memory_types(&m, Home::Upload, u32::MAX)[0], 3);
        assert_eq!(memory_types(&m, Home::Download, u32::MAX)[0], 3);
        assert_eq!(memory_types(&m, Home::Arguments, u32::MAX)[0], 5);
        assert_eq!(memory_types(&m, Home::Arguments, !(1 << 5))[0], 4);
        assert_eq!(device_heap(&m), 0);
    }
}
