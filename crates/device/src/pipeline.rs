//! Pipelines: made from a kernel and its specialisation constants, kept in memory (bounded) and, compiled, on disk.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::CString;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use ash::vk;
use smallvec::SmallVec;

use crate::cache::CacheFile;
use crate::env::Settings;
use crate::gpu::Gpu;
use crate::kernel::KernelInfo;
use crate::{Code, Error, Kernel, Result, capability, exit, far, float_controls, log, spirv};

/// Push-constant bytes of every pipeline.
pub(crate) const PUSH_BYTES: usize = 128;
/// Pipelines kept in memory; few in this crate's own tests, to see them go.
const CAPACITY: usize = if cfg!(test) { 64 } else { 4096 };

/// A compiled kernel.
pub(crate) struct Pipeline {
    pub handle: vk::Pipeline,
    /// The last batch that uses it.
    pub last_batch: AtomicU64,
    tick: AtomicU64,
    id: u128,
    constants: SmallVec<[u32; 16]>,
    far: bool,
    gpu: Arc<Gpu>,
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if exit::check().is_ok() {
            // SAFETY: `Core` lets go of a pipeline once the GPU is past the last batch that uses it.
            unsafe { self.gpu.vk.destroy_pipeline(self.handle, None) };
        }
    }
}

/// The keys are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |h, &b| h << 8 ^ u64::from(b));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

type Map = HashMap<u64, SmallVec<[Arc<Pipeline>; 1]>, BuildHasherDefault<Identity>>;

/// All pipelines of a device.
pub(crate) struct Pipelines {
    pub layout: vk::PipelineLayout,
    cache: vk::PipelineCache,
    map: RwLock<Map>,
    count: AtomicU64,
    clock: AtomicU64,
    /// One builder at a time for each of these classes of keys: no pipeline is compiled twice.
    building: [Mutex<()>; 16],
    /// What cannot be made, by key: it is not tried again.
    refused: Mutex<HashMap<u64, Error>>,
    file: Option<CacheFile>,
    /// The checksum of the file when it was last read or written.
    on_disk: Mutex<u64>,
    dirty: AtomicBool,
    gpu: Arc<Gpu>,
}

impl Pipelines {
    pub fn new(gpu: &Arc<Gpu>) -> Result<Pipelines> {
        let range = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(PUSH_BYTES as u32)];
        let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&range);
        // SAFETY: the device is alive; every device takes 128 bytes of push constants.
        let layout =
            unsafe { gpu.vk.create_pipeline_layout(&info, None) }.map_err(|r| gpu.error(r, "making a pipeline layout"))?;
        let file = CacheFile::new(&Settings::from_env()?.cache, gpu.identity);
        let (data, sum) = file.as_ref().and_then(CacheFile::load).unwrap_or_default();
        let made = new_cache(gpu, &data).or_else(|_| new_cache(gpu, &[]));
        Ok(Pipelines {
            layout,
            cache: made.map_err(|r| gpu.error(r, "making a pipeline cache"))?,
            map: RwLock::default(),
            count: AtomicU64::new(0),
            clock: AtomicU64::new(0),
            building: Default::default(),
            refused: Mutex::default(),
            file,
            on_disk: Mutex::new(sum),
            dirty: AtomicBool::new(false),
            gpu: gpu.clone(),
        })
    }

    /// The pipeline of a kernel with these constants, and pipelines that had to make room for it. `far`: it reaches beyond
    /// [`far::NEAR`] bytes of a tensor.
    ///
    /// Errors: Unimplemented for a capability, size or SPIR-V version that the device lacks; Internal if the driver refuses.
    #[inline]
    pub fn get(&self, kernel: &Kernel, constants: &[u32], far: bool) -> Result<(Arc<Pipeline>, Vec<Arc<Pipeline>>)> {
        let info = kernel.info()?;
        let key = key(info.id, constants) ^ u64::from(far);
        match self.find(key, info.id, constants, far) {
            Some(found) => Ok((found, Vec::new())),
            None => self.build(kernel, info, constants, far, key),
        }
    }

    #[inline]
    fn find(&self, key: u64, id: u128, constants: &[u32], far: bool) -> Option<Arc<Pipeline>> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let found = map.get(&key)?.iter().find(|p| p.id == id && p.far == far && p.constants.as_slice() == constants)?;
        found.tick.store(self.clock.load(Ordering::Relaxed), Ordering::Relaxed);
        Some(found.clone())
    }

    #[cold]
    fn build(
        &self,
        kernel: &Kernel,
        info: &KernelInfo,
        constants: &[u32],
        far: bool,
        key: u64,
    ) -> Result<(Arc<Pipeline>, Vec<Arc<Pipeline>>)> {
        let _builder = self.building[key as usize % self.building.len()].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.find(key, info.id, constants, far) {
            return Ok((found, Vec::new()));
        }
        if let Some(why) = self.refused.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Err(why.clone());
        }
        let start = Instant::now();
        let handle = self.compile(kernel, info, constants, far).map_err(|e| {
            let device = &self.gpu.adapter.name;
            let e = e.context(format!("kernel '{}' with constants {constants:?} on '{device}'", kernel.name));
            if matches!(e.code, Code::Internal | Code::Unimplemented) {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(key, e.clone());
            }
            e
        })?;
        log!(Debug, "compiled '{}' {constants:?} in {:.1} ms", kernel.name, start.elapsed().as_secs_f64() * 1e3);
        let tick = self.clock.fetch_add(1, Ordering::Relaxed);
        let pipeline = Arc::new(Pipeline {
            handle,
            last_batch: AtomicU64::new(0),
            tick: AtomicU64::new(tick),
            id: info.id,
            constants: SmallVec::from_slice(constants),
            far,
            gpu: self.gpu.clone(),
        });
        self.dirty.store(true, Ordering::Release);
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        map.entry(key).or_default().push(pipeline.clone());
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let evicted = if count as usize > CAPACITY { self.evict(&mut map, &pipeline) } else { Vec::new() };
        Ok((pipeline, evicted))
    }

    /// Take out the eighth that was used longest ago.
    fn evict(&self, map: &mut Map, keep: &Arc<Pipeline>) -> Vec<Arc<Pipeline>> {
        let mut ticks: Vec<u64> = map.values().flatten().map(|p| p.tick.load(Ordering::Relaxed)).collect();
        ticks.sort_unstable();
        let limit = ticks.get(ticks.len() / 8).copied().unwrap_or(0);
        let mut evicted = Vec::new();
        map.retain(|_, entries| {
            entries.retain(|p| {
                let old = p.tick.load(Ordering::Relaxed) <= limit && !Arc::ptr_eq(p, keep);
                if old {
                    evicted.push(p.clone());
                }
                !old
            });
            !entries.is_empty()
        });
        self.count.fetch_sub(evicted.len() as u64, Ordering::Relaxed);
        evicted
    }

    fn compile(&self, kernel: &Kernel, info: &KernelInfo, constants: &[u32], far: bool) -> Result<vk::Pipeline> {
        self.gpu.check()?;
        let group = check(kernel, info, constants, &self.gpu)?;
        let gpu = &self.gpu;
        let features = &gpu.adapter.features;
        let words = if far { far::widen(&kernel.spirv) } else { Cow::Borrowed(&*kernel.spirv) };
        let code = float_controls::keep_nans(&words, |width| match width {
            16 => features.nan_preserve_f16,
            32 => features.nan_preserve_f32,
            64 => features.nan_preserve_f64,
            _ => false,
        });
        let module = vk::ShaderModuleCreateInfo::default().code(&code);
        // SAFETY: the words are a SPIR-V module whose capabilities the device has.
        let module = unsafe { gpu.vk.create_shader_module(&module, None) }.map_err(|r| gpu.error(r, "making a shader module"))?;
        let entries: Vec<vk::SpecializationMapEntry> =
            (0..constants.len() as u32).map(|i| vk::SpecializationMapEntry { constant_id: i, offset: 4 * i, size: 4 }).collect();
        let data: Vec<u8> = constants.iter().flat_map(|c| c.to_ne_bytes()).collect();
        let special = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let entry = CString::new(info.module.entry.as_str()).unwrap_or_default();
        let mut sized = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default();
        let mut stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(&entry)
            .specialization_info(&special);
        if let Some(size) = kernel.subgroup_size {
            let (low, high) = gpu.adapter.features.subgroup_size_range;
            if low < high {
                sized.required_subgroup_size = size;
                stage = stage.push_next(&mut sized);
            }
            if gpu.full_subgroups && group.is_some_and(|g| g[0] % size == 0) {
                stage = stage.flags(vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS);
            }
        }
        let create = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(self.layout)];
        // SAFETY: everything that `create` points to outlives the call; the cache is internally synchronised.
        let made = unsafe { gpu.vk.create_compute_pipelines(self.cache, &create, None) };
        // SAFETY: a pipeline does not need its module.
        unsafe { gpu.vk.destroy_shader_module(module, None) };
        match made {
            Ok(pipelines) => pipelines.first().copied().ok_or_else(|| Error::internal("the driver made no pipeline")),
            Err((_, result)) => Err(gpu.error(result, "compiling")),
        }
    }

    /// Whether there are pipelines that the file does not have.
    pub fn unsaved(&self) -> bool {
        self.file.is_some() && self.dirty.load(Ordering::Acquire)
    }

    /// Write the file, if there is something new for it. What another process wrote since is kept.
    pub fn save(&self) {
        let Some(file) = &self.file else { return };
        let mut on_disk = self.on_disk.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.dirty.swap(false, Ordering::AcqRel) {
            return;
        }
        let saved = self.data(file, *on_disk).map_err(|r| format!("{r:?}"));
        let saved = saved.and_then(|data| file.save(&data).map_err(|e| e.to_string()));
        match saved {
            Ok(sum) => *on_disk = sum,
            Err(why) => log!(Warn, "the pipeline cache {} cannot be written: {why}", file.path().display()),
        }
    }

    /// The driver's bytes, together with what another process wrote since `on_disk` was the file's checksum.
    fn data(&self, file: &CacheFile, on_disk: u64) -> std::result::Result<Vec<u8>, vk::Result> {
        let gpu = &self.gpu;
        let foreign = file.load().filter(|(_, sum)| *sum != on_disk).and_then(|(data, _)| new_cache(gpu, &data).ok());
        // SAFETY: both caches are this device's and alive. The other is ours alone, so it is the one merged into: that side
        // the driver does not lock.
        unsafe {
            let Some(other) = foreign else { return gpu.vk.get_pipeline_cache_data(self.cache) };
            let merged = gpu.vk.merge_pipeline_caches(other, &[self.cache]);
            let data = merged.and_then(|()| gpu.vk.get_pipeline_cache_data(other));
            gpu.vk.destroy_pipeline_cache(other, None);
            data
        }
    }

    /// How many there are in memory.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }
}

impl Drop for Pipelines {
    fn drop(&mut self) {
        if exit::check().is_ok() {
            // SAFETY: the device is idle or lost when its parts are dropped.
            unsafe {
                self.gpu.vk.destroy_pipeline_cache(self.cache, None);
                self.gpu.vk.destroy_pipeline_layout(self.layout, None);
            }
        }
    }
}

fn new_cache(gpu: &Gpu, data: &[u8]) -> std::result::Result<vk::PipelineCache, vk::Result> {
    let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
    // SAFETY: the device is alive; the bytes are the driver's own, as their checksum says.
    unsafe { gpu.vk.create_pipeline_cache(&info, None) }
}

#[inline]
fn key(id: u128, constants: &[u32]) -> u64 {
    let fold = |h: u64, &c: &u32| (h ^ u64::from(c)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(27);
    spirv::finish(constants.iter().fold((id >> 64) as u64 ^ id as u64, fold))
}

/// Whether the device can run the kernel with these constants; the workgroup size, if it is known.
fn check(kernel: &Kernel, info: &KernelInfo, constants: &[u32], gpu: &Gpu) -> Result<Option<[u32; 3]>> {
    let (features, limits) = (&gpu.adapter.features, &gpu.adapter.limits);
    let module = &info.module;
    if module.version > gpu.spirv {
        let ((a, b), (c, d)) = (module.version, gpu.spirv);
        return Err(Error::unimplemented(format!("it is SPIR-V {a}.{b}, and the driver takes up to {c}.{d}")));
    }
    if let Some(what) = capability::lacking(&module.capabilities, features) {
        return Err(Error::unimplemented(format!("it needs {what}, which the device lacks")));
    }
    if let Some(size) = kernel.subgroup_size {
        let (low, high) = features.subgroup_size_range;
        if !(low..=high).contains(&size) || !size.is_power_of_two() {
            return Err(Error::unimplemented(format!("it needs subgroups of {size}, and the device offers {low} to {high}")));
        }
    }
    let shared = module.shared_memory(constants);
    if shared > u64::from(limits.shared_memory) {
        let has = limits.shared_memory;
        return Err(Error::unimplemented(format!("it needs {shared} bytes of shared memory, and the device has {has}")));
    }
    let group = module.group_size(constants);
    if let Some(group) = group {
        for (axis, name) in ["x", "y", "z"].iter().enumerate() {
            let (n, most) = (group[axis], limits.max_group_size[axis]);
            if n == 0 || n > most {
                return Err(Error::unimplemented(format!(
                    "its workgroup size is {n} along {name}, and the device takes 1 to {most}"
                )));
            }
        }
        let all = group.iter().map(|&n| u64::from(n)).product::<u64>();
        if all > u64::from(limits.max_invocations) {
            let most = limits.max_invocations;
            return Err(Error::unimplemented(format!("its workgroup is {all} invocations, and the device takes {most} at most")));
        }
    }
    Ok(group)
}

#[cfg(test)]
mod tests {
    use crate::{Args, DType, Device, Kernel, Tensor, adapters};

    /// More pipelines than are kept, each still right while the GPU runs others that made room for it.
    #[test]
    fn bounded() {
        let bytes = include_bytes!("../tests/device/kernels/affine.spv");
        let words = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        let kernel = Kernel::from_words("affine", words);
        let adapter = adapters().unwrap().into_iter().find(|a| a.refused.is_none()).unwrap();
        let device = Device::open(&adapter).unwrap();
        let t = Tensor::on_device(DType::U32, [64].into(), device.allocate(256).unwrap());
        device.stream().fill(t.device_ptr().unwrap(), 256, 0).unwrap();
        for i in 0..300u32 {
            let mut args = Args::new();
            args.read(&t).unwrap().write(&t).unwrap().u32(64).u32(1).u32(1);
            // The kernel has no constant 3: the pipelines differ in nothing but their key.
            device.stream().launch(&kernel, &[64, 1, 1, i], &args, [1, 1, 1]).unwrap();
            assert!(device.pipelines() <= super::CAPACITY);
        }
        assert!(device.pipelines() > super::CAPACITY / 2);
        assert_eq!(device.stream().read(&t).unwrap()[..4], 300u32.to_ne_bytes());
        assert_eq!(crate::validation_errors(), 0);
    }
}
