//! The recorder: turns calls into command buffers, in order, with a barrier only where one is needed, and hands them to
//! the queue in batches. One per device, behind one lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ash::vk;
use ash::vk::Handle;

use crate::args::Access;
use crate::buffer::{Buffer, Home};
use crate::core::Core;
use crate::gpu::Gpu;
use crate::hazards::Hazards;
use crate::pipeline::{PUSH_BYTES, Pipeline};
use crate::ring::{Ring, Slice};
use crate::{Args, Error, Result, exit};

/// A batch is handed over after so many commands: few at first, so that an idle GPU starts early; then ever more.
const COMMANDS: (u32, u32) = (32, 512);
/// Likewise, its work: bytes that its commands touch, and what `Args::work` adds.
const WORK: (u64, u64) = (64 << 20, 2 << 30);
/// Batches that the GPU may be behind.
const IN_FLIGHT: usize = 64;
/// Bytes of the ring for argument blocks larger than push constants.
const ARGUMENT_RING: u64 = 1 << 20;
/// The largest argument block.
pub(crate) const LARGEST_ARGUMENTS: usize = 64 << 10;

/// A command buffer with a pool of its own, which is reset whole.
struct Commands {
    pool: vk::CommandPool,
    buffer: vk::CommandBuffer,
}

/// The open batch.
struct Batch {
    commands: Commands,
    bound: vk::Pipeline,
    count: u32,
    work: u64,
    host_reads: bool,
}

/// A range of a buffer for a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub buffer: vk::Buffer,
    pub offset: u64,
    /// Addresses for the hazard tracker; empty for memory that the caller keeps apart otherwise.
    pub start: u64,
    pub end: u64,
}

/// The state of recording.
pub(crate) struct Recorder {
    batch: Option<Batch>,
    /// The number of the open batch, or of the next.
    number: u64,
    in_flight: VecDeque<(u64, Commands)>,
    free: Vec<Commands>,
    hazards: Hazards,
    /// Thresholds for the open batch.
    commands_limit: u32,
    work_limit: u64,
    arguments: Option<(Buffer, Ring)>,
    /// Barriers recorded, for tests.
    pub barriers: u64,
    gpu: Arc<Gpu>,
}

impl Recorder {
    pub fn new(gpu: &Arc<Gpu>) -> Recorder {
        Recorder {
            batch: None,
            number: 1,
            in_flight: VecDeque::new(),
            free: Vec::new(),
            hazards: Hazards::new(),
            commands_limit: COMMANDS.0,
            work_limit: WORK.0,
            arguments: None,
            barriers: 0,
            gpu: gpu.clone(),
        }
    }

    /// The batch that everything recorded so far is in or before.
    pub fn point(&self) -> u64 {
        if self.batch.is_some() { self.number } else { self.number - 1 }
    }

    /// Whether batch `number` is still open.
    pub fn is_open(&self, number: u64) -> bool {
        self.batch.is_some() && self.number == number
    }

    /// The command buffer of the open batch; one is opened if there is none.
    fn commands(&mut self, core: &Core) -> Result<vk::CommandBuffer> {
        if let Some(batch) = &self.batch {
            return Ok(batch.commands.buffer);
        }
        let commands = self.fresh(core)?;
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        let buffer = commands.buffer;
        // SAFETY: a command buffer that the GPU is not using, reset or new.
        if let Err(result) = unsafe { self.gpu.vk.begin_command_buffer(buffer, &info) } {
            self.free.push(commands);
            return Err(self.gpu.error(result, "recording"));
        }
        self.batch = Some(Batch { commands, bound: vk::Pipeline::null(), count: 0, work: 0, host_reads: false });
        // Whatever earlier batches do is done before this one starts.
        self.barrier(buffer);
        core.workers.opened(self.number);
        Ok(buffer)
    }

    /// Open a batch if none is, and return its number: what is recorded next is in it.
    pub fn open(&mut self, core: &Core) -> Result<u64> {
        self.commands(core).map(|_| self.number)
    }

    /// A command buffer that is not in use.
    fn fresh(&mut self, core: &Core) -> Result<Commands> {
        let vk = &self.gpu.vk;
        let mut completed = core.timeline.seen();
        if self.in_flight.front().is_some_and(|(n, _)| *n > completed) {
            completed = core.timeline.poll()?;
        }
        if let Some((oldest, _)) = self.in_flight.front().filter(|_| self.in_flight.len() >= IN_FLIGHT) {
            core.timeline.wait(*oldest)?;
            completed = core.timeline.seen();
        }
        while self.in_flight.front().is_some_and(|(n, _)| *n <= completed) {
            if let Some((_, commands)) = self.in_flight.pop_front() {
                // SAFETY: the GPU is past the pool's one command buffer.
                match unsafe { vk.reset_command_pool(commands.pool, vk::CommandPoolResetFlags::empty()) } {
                    Ok(()) => self.free.push(commands),
                    // SAFETY: as above.
                    Err(_) => unsafe { vk.destroy_command_pool(commands.pool, None) },
                }
            }
        }
        core.garbage.collect(completed);
        if let Some(commands) = self.free.pop() {
            return Ok(commands);
        }
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(self.gpu.families.compute)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        let what = "making a command buffer";
        // SAFETY: the device is alive and has that queue family.
        let pool = unsafe { vk.create_command_pool(&info, None) }.map_err(|r| self.gpu.error(r, what))?;
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        // SAFETY: the pool was just made.
        match unsafe { vk.allocate_command_buffers(&info) }.map(|b| b.first().copied()) {
            Ok(Some(buffer)) => Ok(Commands { pool, buffer }),
            other => {
                // SAFETY: nothing of the pool is in use.
                unsafe { vk.destroy_command_pool(pool, None) };
                Err(self.gpu.error(other.err().unwrap_or(vk::Result::ERROR_UNKNOWN), what))
            }
        }
    }

    /// Everything before in the queue happens before everything after, and is seen by it.
    fn barrier(&mut self, buffer: vk::CommandBuffer) {
        let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
        let writes = vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE;
        let all = writes | vk::AccessFlags::SHADER_READ | vk::AccessFlags::TRANSFER_READ;
        let memory = [vk::MemoryBarrier::default().src_access_mask(writes).dst_access_mask(all)];
        // SAFETY: a command buffer in recording.
        unsafe { self.gpu.vk.cmd_pipeline_barrier(buffer, stages, stages, vk::DependencyFlags::empty(), &memory, &[], &[]) };
        self.hazards.clear();
        self.barriers += 1;
    }

    /// Order work with these accesses after what it depends on.
    fn order(&mut self, buffer: vk::CommandBuffer, accesses: &[Access]) {
        if self.hazards.conflict(accesses) {
            self.barrier(buffer);
        }
        self.hazards.add(accesses);
    }

    /// A command was recorded that touches so many bytes; hand the batch over if that is enough.
    fn recorded(&mut self, core: &Core, bytes: u64) -> Result<()> {
        let Some(batch) = &mut self.batch else { return Ok(()) };
        batch.count += 1;
        batch.work = batch.work.saturating_add(bytes);
        core.workers.recorded(batch.count);
        if batch.count < self.commands_limit && batch.work < self.work_limit {
            return Ok(());
        }
        self.submit(core)?;
        // Larger batches cost less, but only a GPU that is still busy has time for them.
        if core.timeline.reached(self.number - 2)? {
            (self.commands_limit, self.work_limit) = (COMMANDS.0, WORK.0);
        } else {
            self.commands_limit = (self.commands_limit * 2).min(COMMANDS.1);
            self.work_limit = (self.work_limit * 2).min(WORK.1);
        }
        Ok(())
    }

    /// Launch a pipeline.
    pub fn launch(&mut self, core: &Core, pipeline: &Pipeline, args: &Args, groups: [u32; 3]) -> Result<()> {
        // The ring first: it may have to hand over the open batch.
        let large = if args.data.len() > PUSH_BYTES { Some(self.large(core, &args.data)?) } else { None };
        let buffer = self.commands(core)?;
        self.order(buffer, &args.accesses);
        let Some(batch) = &mut self.batch else { return Err(Error::internal("no batch is open")) };
        let vk = &self.gpu.vk;
        let address = match (&large, &self.arguments) {
            (Some(slice), Some((ring, _))) => Some((ring.address + slice.offset).to_ne_bytes()),
            _ => None,
        };
        let push: &[u8] = address.as_ref().map_or(&args.data, |bytes| bytes);
        // SAFETY: a command buffer in recording; the pipeline is kept until the GPU is past this batch; at most 128 bytes are
        // pushed, a multiple of 4 (`Stream::launch`).
        unsafe {
            if batch.bound != pipeline.handle {
                vk.cmd_bind_pipeline(buffer, vk::PipelineBindPoint::COMPUTE, pipeline.handle);
                batch.bound = pipeline.handle;
            }
            if !push.is_empty() {
                vk.cmd_push_constants(buffer, core.pipelines.layout, vk::ShaderStageFlags::COMPUTE, 0, push);
            }
            vk.cmd_dispatch(buffer, groups[0], groups[1], groups[2]);
        }
        pipeline.last_batch.store(self.number, Ordering::Release);
        if let (Some(slice), Some((_, ring))) = (large, &mut self.arguments) {
            ring.until(slice.id, self.number);
        }
        let moved: u64 = args.accesses.iter().map(|a| a.end - a.start).sum();
        self.recorded(core, moved.saturating_add(args.work))
    }

    /// Put an argument block into the ring.
    fn large(&mut self, core: &Core, data: &[u8]) -> Result<Slice> {
        if self.arguments.is_none() {
            self.arguments = Some((Buffer::new(&self.gpu, ARGUMENT_RING, Home::Arguments)?, Ring::new(ARGUMENT_RING)));
        }
        loop {
            let Some((buffer, ring)) = &mut self.arguments else { return Err(Error::internal("no argument ring")) };
            ring.reclaim(core.timeline.seen());
            if let Some(slice) = ring.take(data.len() as u64) {
                // SAFETY: the slice is inside the mapping and nobody else's.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), buffer.mapped.add(slice.offset as usize), data.len()) };
                return Ok(slice);
            }
            let oldest = ring.oldest();
            self.submit(core)?;
            match oldest {
                Some(batch) => core.timeline.wait(batch)?,
                None => return Err(Error::internal(format!("an argument block of {} bytes fits no ring", data.len()))),
            }
        }
    }

    /// Copy between buffers. `host_reads`: the host will read the destination.
    pub fn copy(&mut self, core: &Core, dst: Span, src: Span, bytes: u64, host_reads: bool) -> Result<()> {
        let buffer = self.commands(core)?;
        let accesses =
            [Access { start: src.start, end: src.end, write: false }, Access { start: dst.start, end: dst.end, write: true }];
        self.order(buffer, &accesses);
        let region = [vk::BufferCopy { src_offset: src.offset, dst_offset: dst.offset, size: bytes }];
        // SAFETY: both ranges are inside their buffers, which are kept until the GPU is past this batch, and do not overlap.
        unsafe { self.gpu.vk.cmd_copy_buffer(buffer, src.buffer, dst.buffer, &region) };
        if let Some(batch) = &mut self.batch {
            batch.host_reads |= host_reads;
        }
        self.recorded(core, 2 * bytes)
    }

    /// Fill a range with a 32-bit pattern; offset and bytes are multiples of 4.
    pub fn fill(&mut self, core: &Core, dst: Span, bytes: u64, pattern: u32) -> Result<()> {
        let buffer = self.commands(core)?;
        self.order(buffer, &[Access { start: dst.start, end: dst.end, write: true }]);
        // SAFETY: the range is inside its buffer, which is kept until the GPU is past this batch.
        unsafe { self.gpu.vk.cmd_fill_buffer(buffer, dst.buffer, dst.offset, bytes, pattern) };
        self.recorded(core, bytes)
    }

    /// Fill a few bytes that no 32-bit fill reaches, from the argument ring.
    pub fn fill_bytes(&mut self, core: &Core, dst: Span, pattern: &[u8]) -> Result<()> {
        let slice = self.large(core, pattern)?;
        self.commands(core)?;
        let Some((buffer, ring)) = &mut self.arguments else { return Err(Error::internal("no argument ring")) };
        ring.until(slice.id, self.number);
        let src = Span { buffer: buffer.handle, offset: slice.offset, start: 0, end: 0 };
        self.copy(core, dst, src, pattern.len() as u64, false)
    }

    /// Write the GPU's clock into a query once everything so far is done.
    pub fn timestamp(&mut self, core: &Core, pool: vk::QueryPool, query: u32) -> Result<()> {
        let buffer = self.commands(core)?;
        // Work before and after must not slip past the reading.
        self.barrier(buffer);
        // SAFETY: a command buffer in recording; the query is its owner's alone, and is reset before it is written.
        unsafe {
            self.gpu.vk.cmd_reset_query_pool(buffer, pool, query, 1);
            self.gpu.vk.cmd_write_timestamp(buffer, vk::PipelineStageFlags::ALL_COMMANDS, pool, query);
        }
        self.barrier(buffer);
        self.recorded(core, 0)
    }

    /// Hand the open batch to the queue, if there is one.
    pub fn submit(&mut self, core: &Core) -> Result<()> {
        let Some(batch) = self.batch.take() else { return Ok(()) };
        let number = self.number;
        let lost = self.gpu.lose_after.is_some_and(|n| number > n);
        let buffers = [batch.commands.buffer];
        let (semaphores, values) = ([core.timeline.semaphore], [number]);
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
        let info = [vk::SubmitInfo::default().command_buffers(&buffers).signal_semaphores(&semaphores).push_next(&mut timeline)];
        let vk = &self.gpu.vk;
        // SAFETY: the command buffer is in recording; the queue is used under the recorder's lock alone.
        let done = unsafe {
            if batch.host_reads {
                let memory = [vk::MemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
                    .dst_access_mask(vk::AccessFlags::HOST_READ)];
                let (from, to) = (vk::PipelineStageFlags::TRANSFER, vk::PipelineStageFlags::HOST);
                vk.cmd_pipeline_barrier(buffers[0], from, to, vk::DependencyFlags::empty(), &memory, &[], &[]);
            }
            let ended = vk.end_command_buffer(buffers[0]);
            let ended = if lost { Err(vk::Result::ERROR_DEVICE_LOST) } else { ended };
            ended.and_then(|()| vk.queue_submit(self.gpu.queue, &info, vk::Fence::null()))
        };
        core.workers.closed();
        self.hazards.clear();
        self.in_flight.push_back((number, batch.commands));
        self.number += 1;
        match done {
            Ok(()) => {
                core.submitted.store(number, Ordering::Release);
                Ok(())
            }
            // The batch is gone, and with it the order that was promised.
            Err(result) => Err(self.gpu.lose(&format!("handing work to the GPU failed: {result:?}"))),
        }
    }

    /// Hand the open batch over because someone waits for it or time has passed: the next one starts small again.
    pub fn flush(&mut self, core: &Core) -> Result<()> {
        (self.commands_limit, self.work_limit) = (COMMANDS.0, WORK.0);
        self.submit(core)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if exit::check().is_err() {
            return;
        }
        let open = self.batch.take().map(|b| b.commands);
        for commands in self.free.drain(..).chain(self.in_flight.drain(..).map(|(_, c)| c)).chain(open) {
            if !commands.pool.is_null() {
                // SAFETY: the device is idle or lost when its parts are dropped.
                unsafe { self.gpu.vk.destroy_command_pool(commands.pool, None) };
            }
        }
    }
}
