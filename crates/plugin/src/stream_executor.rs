//! The StreamExecutor's callbacks: memory, streams, events, timers, copies.
//!
//! A device of ours has one in-order stream, so the four that TensorFlow makes are that one, and a dependency between two
//! of them holds by itself. A callback without a status logs its error.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tf_sys::*;
use tfvk_device::{Code, Device, DevicePtr, Error, Event, Result, Timestamp};

use crate::platform::open_device;
use crate::status::{Status, tf};
use crate::{copies, guard, memory_limit};

type Dev = *const SP_Device;
type Mem = *mut SP_DeviceMemoryBase;
type ConstMem = *const SP_DeviceMemoryBase;
type StatusPtr = *mut TF_Status;

/// What an `SP_Stream` points at.
struct StreamHandle {
    device: Arc<Device>,
}

/// What an `SP_Event` points at: the event as last recorded.
type EventHandle = Mutex<Option<Event>>;

/// What an `SP_Timer` points at.
#[derive(Default)]
struct Timer {
    start: Option<Timestamp>,
    stop: Option<Timestamp>,
}
type TimerHandle = Mutex<Timer>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The device of a stream that TensorFlow got from [`create_stream`].
///
/// # Safety
/// `stream` is null or such a stream, not destroyed while the result is in use.
pub unsafe fn stream_device<'a>(stream: SP_Stream) -> Result<&'a Device> {
    // SAFETY: the caller's promise.
    let handle = unsafe { stream.cast::<StreamHandle>().as_ref() };
    handle.map(|h| &*h.device).ok_or_else(|| Error::internal("the operation has no stream of this plug-in"))
}

/// # Safety
/// `event` is null or from [`create_event`], not destroyed while the result is in use.
unsafe fn event_handle<'a>(event: SP_Event) -> Result<&'a EventHandle> {
    // SAFETY: the caller's promise.
    unsafe { event.cast::<EventHandle>().as_ref() }.ok_or_else(|| Error::internal("a null event"))
}

/// # Safety
/// `timer` is null or from [`create_timer`], not destroyed while the result is in use.
unsafe fn timer_handle<'a>(timer: SP_Timer) -> Result<&'a TimerHandle> {
    // SAFETY: the caller's promise.
    unsafe { timer.cast::<TimerHandle>().as_ref() }.ok_or_else(|| Error::internal("a null timer"))
}

fn boxed<T>(value: T) -> *mut c_void {
    Box::into_raw(Box::new(value)).cast()
}

/// # Safety
/// `pointer` is null or from `boxed::<T>`, and not used again.
unsafe fn unbox<T>(pointer: *mut c_void) {
    if !pointer.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(pointer.cast::<T>()) });
    }
}

/// Fills the table of callbacks.
pub unsafe extern "C" fn create(_: *const SP_Platform, params: *mut SE_CreateStreamExecutorParams, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow passes parameters with a table to fill.
        let se = unsafe { &mut *(*params).stream_executor };
        if se.struct_size < SP_STREAMEXECUTOR_STRUCT_SIZE {
            return Err(Error::new(Code::FailedPrecondition, "this TensorFlow's StreamExecutor is older than 2.16's"));
        }
        se.allocate = Some(allocate);
        se.deallocate = Some(deallocate);
        se.host_memory_allocate = Some(host_memory_allocate);
        se.host_memory_deallocate = Some(host_memory_deallocate);
        se.unified_memory_allocate = Some(unified_memory_allocate);
        se.unified_memory_deallocate = Some(unified_memory_deallocate);
        se.get_allocator_stats = Some(get_allocator_stats);
        se.device_memory_usage = Some(device_memory_usage);
        se.create_stream = Some(create_stream);
        se.destroy_stream = Some(destroy_stream);
        se.create_stream_dependency = Some(create_stream_dependency);
        se.get_stream_status = Some(get_stream_status);
        se.create_event = Some(create_event);
        se.destroy_event = Some(destroy_event);
        se.get_event_status = Some(get_event_status);
        se.record_event = Some(record_event);
        se.wait_for_event = Some(wait_for_event);
        se.create_timer = Some(create_timer);
        se.destroy_timer = Some(destroy_timer);
        se.start_timer = Some(start_timer);
        se.stop_timer = Some(stop_timer);
        se.memcpy_dtoh = Some(memcpy_dtoh);
        se.memcpy_htod = Some(memcpy_htod);
        se.memcpy_dtod = Some(memcpy_dtod);
        se.sync_memcpy_dtoh = Some(sync_memcpy_dtoh);
        se.sync_memcpy_htod = Some(sync_memcpy_htod);
        se.sync_memcpy_dtod = Some(sync_memcpy_dtod);
        se.block_host_for_event = Some(block_host_for_event);
        se.block_host_until_done = Some(block_host_until_done);
        se.synchronize_all_activity = Some(synchronize_all_activity);
        se.mem_zero = Some(mem_zero);
        se.memset = Some(memset);
        se.memset32 = Some(memset32);
        se.host_callback = Some(host_callback);
        Ok(())
    });
}

/// Nothing to clean up.
pub unsafe extern "C" fn destroy(_: *const SP_Platform, _: *mut SP_StreamExecutor) {}

// Memory.

unsafe extern "C" fn allocate(device: Dev, size: u64, _memory_space: i64, memory: Mem) {
    // SAFETY: TensorFlow passes an open device and a description to fill.
    let memory = unsafe { &mut *memory };
    memory.opaque = std::ptr::null_mut();
    memory.size = 0;
    memory.payload = 0;
    // SAFETY: as above.
    let pointer = guard::catch(|| unsafe { open_device(device) }?.allocate(size));
    match pointer {
        Ok(pointer) => {
            memory.opaque = pointer.0 as *mut c_void;
            memory.size = size;
        }
        // TensorFlow's allocator asks again for less, and says itself when it gives up.
        Err(error) => crate::log::debug(|| format!("allocating {size} bytes: {error}")),
    }
}

unsafe extern "C" fn deallocate(device: Dev, memory: Mem) {
    guard::logging("freeing device memory", || {
        // SAFETY: TensorFlow passes an open device and a description of an allocation, or a null one.
        let (device, memory) = unsafe { (open_device(device)?, &mut *memory) };
        let pointer = std::mem::replace(&mut memory.opaque, std::ptr::null_mut());
        if pointer.is_null() { Ok(()) } else { device.deallocate(DevicePtr(pointer as u64)) }
    });
}

unsafe extern "C" fn host_memory_allocate(device: Dev, size: u64) -> *mut c_void {
    guard::or(std::ptr::null_mut(), "allocating pinned memory", || {
        // SAFETY: TensorFlow passes an open device.
        let device = unsafe { open_device(device) }?;
        Ok(device.allocate_pinned(size)?.cast())
    })
}

unsafe extern "C" fn host_memory_deallocate(device: Dev, memory: *mut c_void) {
    guard::logging("freeing pinned memory", || {
        // SAFETY: TensorFlow passes an open device and memory from host_memory_allocate, or null.
        if memory.is_null() { Ok(()) } else { unsafe { open_device(device) }?.free_pinned(memory.cast()) }
    });
}

unsafe extern "C" fn unified_memory_allocate(_: Dev, _: u64) -> *mut c_void {
    std::ptr::null_mut()
}

unsafe extern "C" fn unified_memory_deallocate(_: Dev, _: *mut c_void) {}

unsafe extern "C" fn get_allocator_stats(_: Dev, _: *mut SP_AllocatorStats) -> TF_Bool {
    // TensorFlow's own allocator, which is asked for, keeps the statistics.
    0
}

unsafe extern "C" fn device_memory_usage(device: Dev, free: *mut i64, total: *mut i64) -> TF_Bool {
    guard::or(0, "asking for the memory usage", || {
        // SAFETY: TensorFlow passes an open device and places for the two numbers.
        unsafe {
            let (left, all) = open_device(device)?.memory_usage();
            let left = memory_limit::reported((*device).ordinal, left);
            *free = i64::try_from(left).unwrap_or(i64::MAX);
            *total = i64::try_from(all).unwrap_or(i64::MAX);
        }
        Ok(1)
    })
}

// Streams.

unsafe extern "C" fn create_stream(device: Dev, stream: *mut SP_Stream, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow passes an open device and a place for the stream.
        unsafe { *stream = boxed(StreamHandle { device: crate::platform::shared_device(device)? }) };
        Ok(())
    });
}

unsafe extern "C" fn destroy_stream(_: Dev, stream: SP_Stream) {
    guard::logging("destroying a stream", || {
        // SAFETY: from create_stream, destroyed once.
        unsafe { unbox::<StreamHandle>(stream) };
        Ok(())
    });
}

unsafe extern "C" fn create_stream_dependency(_: Dev, dependent: SP_Stream, other: SP_Stream, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: two streams from create_stream.
        let (dependent, other) = unsafe { (stream_device(dependent)?, stream_device(other)?) };
        // One in-order stream a device: what is recorded later waits by itself.
        if std::ptr::eq(dependent, other) { Ok(()) } else { other.stream().synchronize() }
    });
}

unsafe extern "C" fn get_stream_status(_: Dev, stream: SP_Stream, status: StatusPtr) {
    // SAFETY: a stream from create_stream.
    guard::reporting(status, || unsafe { stream_device(stream) }?.stream().flush());
}

// Events.

unsafe extern "C" fn create_event(_: Dev, event: *mut SP_Event, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow passes a place for the event.
        unsafe { *event = boxed(EventHandle::default()) };
        Ok(())
    });
}

unsafe extern "C" fn destroy_event(_: Dev, event: SP_Event) {
    guard::logging("destroying an event", || {
        // SAFETY: from create_event, destroyed once.
        unsafe { unbox::<EventHandle>(event) };
        Ok(())
    });
}

unsafe extern "C" fn get_event_status(_: Dev, event: SP_Event) -> SE_EventStatus {
    // TensorFlow ends the process when an event has an error. What waits for it may as well go on: whatever it does with
    // the device next is refused, with the reason.
    guard::or(SE_EVENT_COMPLETE, "asking for an event", || {
        // SAFETY: from create_event.
        let event = lock(unsafe { event_handle(event) }?);
        // An event that was never recorded has nothing to wait for.
        let complete = event.as_ref().map_or(Ok(true), Event::is_complete)?;
        Ok(if complete { SE_EVENT_COMPLETE } else { SE_EVENT_PENDING })
    })
}

unsafe extern "C" fn record_event(_: Dev, stream: SP_Stream, event: SP_Event, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: a stream from create_stream and an event from create_event.
        let (device, event) = unsafe { (stream_device(stream)?, event_handle(event)?) };
        *lock(event) = Some(device.stream().record_event()?);
        Ok(())
    });
}

unsafe extern "C" fn wait_for_event(device: Dev, stream: SP_Stream, event: SP_Event, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: an open device, a stream from create_stream and an event from create_event.
        let (own, waits, event) = unsafe { (open_device(device)?, stream_device(stream)?, event_handle(event)?) };
        // An event of the stream's own device is before everything recorded later; one of another device is not.
        match &*lock(event) {
            Some(event) if !std::ptr::eq(own, waits) => event.wait(),
            _ => Ok(()),
        }
    });
}

unsafe extern "C" fn block_host_for_event(_: Dev, event: SP_Event, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: from create_event.
        match &*lock(unsafe { event_handle(event) }?) {
            Some(event) => event.wait(),
            None => Ok(()),
        }
    });
}

unsafe extern "C" fn block_host_until_done(_: Dev, stream: SP_Stream, status: StatusPtr) {
    // SAFETY: a stream from create_stream.
    guard::reporting(status, || unsafe { stream_device(stream) }?.stream().synchronize());
}

unsafe extern "C" fn synchronize_all_activity(device: Dev, status: StatusPtr) {
    // SAFETY: an open device.
    guard::reporting(status, || unsafe { open_device(device) }?.stream().synchronize());
}

unsafe extern "C" fn host_callback(_: Dev, stream: SP_Stream, callback: SE_StatusCallbackFn, argument: *mut c_void) -> TF_Bool {
    struct Argument(*mut c_void);
    // SAFETY: TensorFlow passes it for use on a thread of the plug-in's.
    unsafe impl Send for Argument {}
    impl Argument {
        fn call(self, callback: SE_StatusCallbackFn) {
            if let Ok(tf) = tf() {
                let status = Status::new(tf);
                // SAFETY: TensorFlow's function and its own argument, called once.
                unsafe { callback(self.0, status.raw()) };
                if let Err(error) = status.check() {
                    crate::log::notice(format_args!("a host callback: {error}"));
                }
            }
        }
    }
    guard::or(0, "recording a host callback", || {
        let argument = Argument(argument);
        // SAFETY: a stream from create_stream.
        unsafe { stream_device(stream) }?.stream().on_complete(Box::new(move || argument.call(callback)))?;
        Ok(1)
    })
}

// Timers.

unsafe extern "C" fn create_timer(_: Dev, timer: *mut SP_Timer, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow passes a place for the timer.
        unsafe { *timer = boxed(TimerHandle::default()) };
        Ok(())
    });
}

unsafe extern "C" fn destroy_timer(_: Dev, timer: SP_Timer) {
    guard::logging("destroying a timer", || {
        // SAFETY: from create_timer, destroyed once.
        unsafe { unbox::<TimerHandle>(timer) };
        Ok(())
    });
}

unsafe extern "C" fn start_timer(_: Dev, stream: SP_Stream, timer: SP_Timer, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: from create_stream and create_timer.
        let (device, timer) = unsafe { (stream_device(stream)?, timer_handle(timer)?) };
        lock(timer).start = Some(device.stream().timestamp()?);
        Ok(())
    });
}

unsafe extern "C" fn stop_timer(_: Dev, stream: SP_Stream, timer: SP_Timer, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: from create_stream and create_timer.
        let (device, timer) = unsafe { (stream_device(stream)?, timer_handle(timer)?) };
        lock(timer).stop = Some(device.stream().timestamp()?);
        Ok(())
    });
}

unsafe extern "C" fn nanoseconds(timer: SP_Timer) -> u64 {
    guard::or(0, "reading a timer", || {
        // SAFETY: from create_timer.
        match &*lock(unsafe { timer_handle(timer) }?) {
            Timer { start: Some(start), stop: Some(stop) } => Ok(stop.wait()?.saturating_sub(start.wait()?)),
            _ => Ok(0),
        }
    })
}

/// Fills the timers' one callback.
pub unsafe extern "C" fn create_timer_fns(_: *const SP_Platform, fns: *mut SP_TimerFns, _: StatusPtr) {
    // SAFETY: TensorFlow passes a table to fill.
    unsafe { (*fns).nanoseconds = Some(nanoseconds) }
}

/// Nothing to clean up.
pub unsafe extern "C" fn destroy_timer_fns(_: *const SP_Platform, _: *mut SP_TimerFns) {}

// Copies and fills.

unsafe extern "C" fn memcpy_dtoh(_: Dev, stream: SP_Stream, dst: *mut c_void, src: ConstMem, size: u64, status: StatusPtr) {
    // SAFETY: a stream from create_stream; TensorFlow keeps both memories valid until the copy is complete.
    guard::reporting(status, || unsafe { copies::copy(stream_device(stream)?, dst.cast(), (*src).opaque.cast(), size) });
}

unsafe extern "C" fn memcpy_htod(_: Dev, stream: SP_Stream, dst: Mem, src: *const c_void, size: u64, status: StatusPtr) {
    // SAFETY: as in memcpy_dtoh.
    guard::reporting(status, || unsafe { copies::copy(stream_device(stream)?, (*dst).opaque.cast(), src.cast(), size) });
}

unsafe extern "C" fn memcpy_dtod(_: Dev, stream: SP_Stream, dst: Mem, src: ConstMem, size: u64, status: StatusPtr) {
    // SAFETY: as in memcpy_dtoh.
    guard::reporting(status, || unsafe {
        copies::copy(stream_device(stream)?, (*dst).opaque.cast(), (*src).opaque.cast(), size)
    });
}

/// A copy that is complete when this returns.
///
/// # Safety
/// As [`copies::copy`]; `device` is open.
unsafe fn copy_now(device: Dev, dst: *mut c_void, src: *const c_void, size: u64) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let device = open_device(device)?;
        copies::copy(device, dst.cast(), src.cast(), size)?;
        device.stream().synchronize()
    }
}

unsafe extern "C" fn sync_memcpy_dtoh(device: Dev, dst: *mut c_void, src: ConstMem, size: u64, status: StatusPtr) {
    // SAFETY: an open device, and memory that is valid during the call.
    guard::reporting(status, || unsafe { copy_now(device, dst, (*src).opaque, size) });
}

unsafe extern "C" fn sync_memcpy_htod(device: Dev, dst: Mem, src: *const c_void, size: u64, status: StatusPtr) {
    // SAFETY: as in sync_memcpy_dtoh.
    guard::reporting(status, || unsafe { copy_now(device, (*dst).opaque, src, size) });
}

unsafe extern "C" fn sync_memcpy_dtod(device: Dev, dst: Mem, src: ConstMem, size: u64, status: StatusPtr) {
    // SAFETY: as in sync_memcpy_dtoh.
    guard::reporting(status, || unsafe { copy_now(device, (*dst).opaque, (*src).opaque, size) });
}

unsafe extern "C" fn mem_zero(device: Dev, stream: SP_Stream, location: Mem, size: u64, status: StatusPtr) {
    // SAFETY: as in memset.
    unsafe { memset(device, stream, location, 0, size, status) }
}

unsafe extern "C" fn memset(_: Dev, stream: SP_Stream, location: Mem, pattern: u8, size: u64, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: a stream from create_stream, and a description of device memory.
        let (device, dst) = unsafe { (stream_device(stream)?, (*location).opaque as u64) };
        device.stream().fill(DevicePtr(dst), size, pattern)
    });
}

unsafe extern "C" fn memset32(_: Dev, stream: SP_Stream, location: Mem, pattern: u32, size: u64, status: StatusPtr) {
    guard::reporting(status, || {
        // SAFETY: as in memset.
        let (device, dst) = unsafe { (stream_device(stream)?, (*location).opaque as u64) };
        device.stream().fill_u32(DevicePtr(dst), size, pattern)
    });
}
