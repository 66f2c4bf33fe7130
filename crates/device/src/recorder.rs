//! The recorder: turns calls into command buffers, in order, with a barrier only where one is needed, and hands them to
//! the queues in batches. One per device, behind one lock.
//!
//! Batches have one numbering, whichever queue they are for. A copy on the transfer queue is a batch of its own: it starts
//! after all that was recorded before it, and of what is recorded later only what touches its memory waits for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ash::vk;

use crate::args::Access;
use crate::buffer::{Buffer, Home};
use crate::core::Core;
use crate::gpu::Gpu;
use crate::hazards::Hazards;
use crate::lane::{Commands, Lane};
use crate::pipeline::{PUSH_BYTES, Pipeline};
use crate::ring::{Ring, Slice};
use crate::{Args, Error, Result, exit};

/// A batch is handed over after so many commands: few at first, so that an idle GPU starts early; then ever more.
const COMMANDS: (u32, u32) = (32, 512);
/// Likewise, its work: bytes that its commands touch, and what `Args::work` adds.
const WORK: (u64, u64) = (64 << 20, 2 << 30);
/// The fewest bytes that are worth the transfer queue: two queues that wait for each other cost some microseconds.
const TRANSFER: u64 = 256 << 10;
/// Bytes of the ring for argument blocks larger than push constants.
const ARGUMENT_RING: u64 = 1 << 20;
/// The largest argument block.
pub(crate) const LARGEST_ARGUMENTS: usize = 64 << 10;

/// The open batch.
struct Batch {
    commands: Commands,
    bound: vk::Pipeline,
    count: u32,
    work: u64,
    host_reads: bool,
    /// The batch on the transfer queue that this one starts after, or 0.
    after: u64,
}

/// The queue that a copy is recorded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The one for everything.
    Main,
    /// The transfer queue.
    Transfer,
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
    main: Lane,
    /// The last batch handed to `main`, or 0.
    last: u64,
    transfer: Option<Lane>,
    hazards: Hazards,
    /// What the batches on the transfer queue touch that no batch of `main` has waited for yet; the last of those.
    apart: Hazards,
    last_apart: u64,
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
            main: Lane::new(gpu, gpu.queue, gpu.families.compute),
            last: 0,
            transfer: gpu.transfer.map(|(queue, family)| Lane::new(gpu, queue, family)),
            hazards: Hazards::new(),
            apart: Hazards::new(),
            last_apart: 0,
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

    /// The way that a copy of so many bytes to or from the host takes.
    pub fn route(&self, bytes: u64) -> Route {
        if self.transfer.is_some() && bytes >= TRANSFER { Route::Transfer } else { Route::Main }
    }

    /// The command buffer of the open batch; one is opened if there is none.
    fn commands(&mut self, core: &Core) -> Result<vk::CommandBuffer> {
        if let Some(batch) = &self.batch {
            return Ok(batch.commands.buffer);
        }
        let commands = self.main.begin(core)?;
        let buffer = commands.buffer;
        self.batch = Some(Batch { commands, bound: vk::Pipeline::null(), count: 0, work: 0, host_reads: false, after: 0 });
        if !self.apart.is_empty() && core.timeline.seen() >= self.last_apart {
            // It costs nothing to wait for what is over.
            self.join_open();
        }
        // Whatever earlier batches do is done before this one starts.
        self.barrier(buffer);
        core.workers.opened(self.number);
        Ok(buffer)
    }

    /// A batch is open in which nothing is recorded yet: let it start after everything on the transfer queue.
    fn join_open(&mut self) {
        if let Some(batch) = &mut self.batch {
            batch.after = self.last_apart;
            self.apart.clear();
        }
    }

    /// Let what is recorded from now on start after everything on the transfer queue.
    fn join(&mut self, core: &Core) -> Result<()> {
        if self.apart.is_empty() {
            return Ok(());
        }
        if self.batch.as_ref().is_some_and(|b| b.count > 0) {
            self.submit(core)?;
        }
        self.commands(core)?;
        self.join_open();
        Ok(())
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

    /// The command buffer of the open batch, for work with these accesses, ordered after what it depends on.
    fn ordered(&mut self, core: &Core, accesses: &[Access]) -> Result<vk::CommandBuffer> {
        if !self.apart.is_empty() && self.apart.conflict(accesses) {
            self.join(core)?;
        }
        let buffer = self.commands(core)?;
        if self.hazards.conflict(accesses) {
            self.barrier(buffer);
        }
        self.hazards.add(accesses);
        Ok(buffer)
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
        let buffer = self.ordered(core, &args.accesses)?;
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

    /// Copy between buffers. `host_reads`: the host will read the destination. The copy's batch.
    pub fn copy(&mut self, core: &Core, route: Route, dst: Span, src: Span, bytes: u64, host_reads: bool) -> Result<u64> {
        let accesses =
            [Access { start: src.start, end: src.end, write: false }, Access { start: dst.start, end: dst.end, write: true }];
        let region = [vk::BufferCopy { src_offset: src.offset, dst_offset: dst.offset, size: bytes }];
        if route == Route::Transfer {
            return self.copy_apart(core, (src.buffer, dst.buffer, &region), &accesses, host_reads);
        }
        let buffer = self.ordered(core, &accesses)?;
        // SAFETY: both ranges are inside their buffers, which are kept until the GPU is past this batch, and do not overlap.
        unsafe { self.gpu.vk.cmd_copy_buffer(buffer, src.buffer, dst.buffer, &region) };
        if let Some(batch) = &mut self.batch {
            batch.host_reads |= host_reads;
        }
        let number = self.number;
        self.recorded(core, 2 * bytes)?;
        Ok(number)
    }

    /// A copy as a batch of its own on the transfer queue.
    fn copy_apart(
        &mut self,
        core: &Core,
        (src, dst, region): (vk::Buffer, vk::Buffer, &[vk::BufferCopy]),
        accesses: &[Access],
        host_reads: bool,
    ) -> Result<u64> {
        self.submit(core)?;
        let Some(lane) = &mut self.transfer else { return Err(Error::internal("there is no transfer queue")) };
        let commands = lane.begin(core)?;
        let vk = &self.gpu.vk;
        let transfer = vk::PipelineStageFlags::TRANSFER;
        let (reads, writes) = (vk::AccessFlags::TRANSFER_READ, vk::AccessFlags::TRANSFER_WRITE);
        let before = [vk::MemoryBarrier::default().src_access_mask(writes).dst_access_mask(reads | writes)];
        // SAFETY: a command buffer in recording; both ranges are inside their buffers, which are kept until the GPU is past
        // this batch, and do not overlap.
        unsafe {
            // Two copies on this queue may touch the same memory.
            vk.cmd_pipeline_barrier(commands.buffer, transfer, transfer, vk::DependencyFlags::empty(), &before, &[], &[]);
            vk.cmd_copy_buffer(commands.buffer, src, dst, region);
        }
        if host_reads {
            host_barrier(vk, commands.buffer);
        }
        let number = self.number;
        self.number += 1;
        self.apart.add(accesses);
        self.last_apart = number;
        core.timeline.apart(number);
        let after = (core.timeline.main, self.last);
        lane.submit(commands, number, Some(after), (core.timeline.transfer, number))?;
        core.submitted.store(number, Ordering::Release);
        Ok(number)
    }

    /// Fill a range with a 32-bit pattern; offset and bytes are multiples of 4.
    pub fn fill(&mut self, core: &Core, dst: Span, bytes: u64, pattern: u32) -> Result<()> {
        let buffer = self.ordered(core, &[Access { start: dst.start, end: dst.end, write: true }])?;
        // SAFETY: the range is inside its buffer, which is kept until the GPU is past this batch.
        unsafe { self.gpu.vk.cmd_fill_buffer(buffer, dst.buffer, dst.offset, bytes, pattern) };
        self.recorded(core, bytes)
    }

    /// Fill a few bytes that no 32-bit fill reaches, from the argument ring.
    pub fn fill_bytes(&mut self, core: &Core, dst: Span, pattern: &[u8]) -> Result<()> {
        let slice = self.large(core, pattern)?;
        let Some((buffer, _)) = &self.arguments else { return Err(Error::internal("no argument ring")) };
        let src = Span { buffer: buffer.handle, offset: slice.offset, start: 0, end: 0 };
        let copied = self.copy(core, Route::Main, dst, src, pattern.len() as u64, false);
        if let Some((_, ring)) = &mut self.arguments {
            match copied {
                Ok(batch) => ring.until(slice.id, batch),
                Err(_) => ring.release(slice.id),
            }
        }
        copied.map(drop)
    }

    /// Write the GPU's clock into a query once everything so far is done. The batch that does.
    pub fn timestamp(&mut self, core: &Core, pool: vk::QueryPool, query: u32) -> Result<u64> {
        self.join(core)?;
        let buffer = self.commands(core)?;
        // Work before and after must not slip past the reading.
        self.barrier(buffer);
        // SAFETY: a command buffer in recording; the query is its owner's alone, and is reset before it is written.
        unsafe {
            self.gpu.vk.cmd_reset_query_pool(buffer, pool, query, 1);
            self.gpu.vk.cmd_write_timestamp(buffer, vk::PipelineStageFlags::ALL_COMMANDS, pool, query);
        }
        self.barrier(buffer);
        let number = self.number;
        self.recorded(core, 0)?;
        Ok(number)
    }

    /// Hand the open batch to the queue, if there is one.
    pub fn submit(&mut self, core: &Core) -> Result<()> {
        let Some(batch) = self.batch.take() else { return Ok(()) };
        let number = self.number;
        if batch.host_reads {
            host_barrier(&self.gpu.vk, batch.commands.buffer);
        }
        core.workers.closed();
        self.hazards.clear();
        self.number += 1;
        self.last = number;
        let after = (batch.after > 0).then_some((core.timeline.transfer, batch.after));
        self.main.submit(batch.commands, number, after, (core.timeline.main, number))?;
        core.submitted.store(number, Ordering::Release);
        Ok(())
    }

    /// Hand the open batch over because someone waits for it or time has passed: the next one starts small again.
    pub fn flush(&mut self, core: &Core) -> Result<()> {
        (self.commands_limit, self.work_limit) = (COMMANDS.0, WORK.0);
        self.submit(core)
    }
}

/// Let the host see what the copies before wrote, once the batch is finished.
fn host_barrier(vk: &ash::Device, buffer: vk::CommandBuffer) {
    let memory = [vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(vk::AccessFlags::HOST_READ)];
    let (from, to) = (vk::PipelineStageFlags::TRANSFER, vk::PipelineStageFlags::HOST);
    // SAFETY: a command buffer in recording.
    unsafe { vk.cmd_pipeline_barrier(buffer, from, to, vk::DependencyFlags::empty(), &memory, &[], &[]) };
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(batch) = self.batch.take().filter(|_| exit::check().is_ok()) {
            self.main.recycle(batch.commands);
        }
    }
}
