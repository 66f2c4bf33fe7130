//! A queue of the device with its command buffers. The recorder has one for everything, and one for copies where the device
//! has a queue for them. What is recorded, and what waits for what, is the recorder's to know.

use std::collections::VecDeque;
use std::sync::Arc;

use ash::vk;

use crate::core::Core;
use crate::gpu::Gpu;
use crate::{Result, exit};

/// Batches that the GPU may be behind.
const IN_FLIGHT: usize = 64;

/// A command buffer with a pool of its own, which is reset whole.
pub(crate) struct Commands {
    pool: vk::CommandPool,
    pub buffer: vk::CommandBuffer,
}

/// A semaphore at a value.
pub(crate) type Point = (vk::Semaphore, u64);

/// A queue.
pub(crate) struct Lane {
    queue: vk::Queue,
    family: u32,
    in_flight: VecDeque<(u64, Commands)>,
    free: Vec<Commands>,
    gpu: Arc<Gpu>,
}

impl Lane {
    pub fn new(gpu: &Arc<Gpu>, queue: vk::Queue, family: u32) -> Lane {
        Lane { queue, family, in_flight: VecDeque::new(), free: Vec::new(), gpu: gpu.clone() }
    }

    /// A command buffer in recording. Waits only while very many batches are in flight.
    pub fn begin(&mut self, core: &Core) -> Result<Commands> {
        let commands = self.fresh(core)?;
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: a command buffer that the GPU is not using, reset or new.
        match unsafe { self.gpu.vk.begin_command_buffer(commands.buffer, &info) } {
            Ok(()) => Ok(commands),
            Err(result) => {
                self.free.push(commands);
                Err(self.gpu.error(result, "recording"))
            }
        }
    }

    /// End a command buffer and hand it to the queue as batch `number`: it starts once `after` is reached, and reaches
    /// `done`. The caller holds the recorder's lock, under which alone queues are used. Errors: the device is lost by that.
    pub fn submit(&mut self, commands: Commands, number: u64, after: Option<Point>, done: Point) -> Result<()> {
        let lost = self.gpu.lose_after.is_some_and(|n| number > n);
        let (wait, wait_value) = after.map_or((vk::Semaphore::null(), 0), |point| point);
        let n = usize::from(after.is_some());
        let (waits, wait_values, stages) = ([wait], [wait_value], [vk::PipelineStageFlags::ALL_COMMANDS]);
        let (buffers, signals, signal_values) = ([commands.buffer], [done.0], [done.1]);
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&wait_values[..n])
            .signal_semaphore_values(&signal_values);
        let info = [vk::SubmitInfo::default()
            .wait_semaphores(&waits[..n])
            .wait_dst_stage_mask(&stages[..n])
            .command_buffers(&buffers)
            .signal_semaphores(&signals)
            .push_next(&mut timeline)];
        // SAFETY: the command buffer is in recording; the queue is used under one lock, as the caller promised.
        let ended = unsafe { self.gpu.vk.end_command_buffer(commands.buffer) };
        let ended = if lost { Err(vk::Result::ERROR_DEVICE_LOST) } else { ended };
        // SAFETY: as above; every pointer of `info` outlives the call.
        let handed = ended.and_then(|()| unsafe { self.gpu.vk.queue_submit(self.queue, &info, vk::Fence::null()) });
        self.in_flight.push_back((number, commands));
        // The batch is gone, and with it the order that was promised.
        handed.map_err(|result| self.gpu.lose(&format!("handing work to the GPU failed: {result:?}")))
    }

    /// A command buffer that is not in use.
    fn fresh(&mut self, core: &Core) -> Result<Commands> {
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
                self.recycle(commands);
            }
        }
        core.garbage.collect(completed);
        match self.free.pop() {
            Some(commands) => Ok(commands),
            None => self.allocate(),
        }
    }

    /// Take back a command buffer that the GPU does not use.
    pub fn recycle(&mut self, commands: Commands) {
        // SAFETY: the GPU does not use the pool's one command buffer.
        match unsafe { self.gpu.vk.reset_command_pool(commands.pool, vk::CommandPoolResetFlags::empty()) } {
            Ok(()) => self.free.push(commands),
            // SAFETY: as above.
            Err(_) => unsafe { self.gpu.vk.destroy_command_pool(commands.pool, None) },
        }
    }

    fn allocate(&self) -> Result<Commands> {
        let (vk, what) = (&self.gpu.vk, "making a command buffer");
        let info =
            vk::CommandPoolCreateInfo::default().queue_family_index(self.family).flags(vk::CommandPoolCreateFlags::TRANSIENT);
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
}

impl Drop for Lane {
    fn drop(&mut self) {
        if exit::check().is_err() {
            return;
        }
        for commands in self.free.drain(..).chain(self.in_flight.drain(..).map(|(_, c)| c)) {
            // SAFETY: the device is idle or lost when its parts are dropped.
            unsafe { self.gpu.vk.destroy_command_pool(commands.pool, None) };
        }
    }
}
