//! `experimental/stream_executor/stream_executor.h`, version 0.0.1 (TensorFlow 2.5 and later; checked 2.16 to 2.21).

use std::ffi::{c_char, c_int, c_void};

use crate::{TF_Bool, TF_Status};

pub const SE_MAJOR: i32 = 0;
pub const SE_MINOR: i32 = 0;
pub const SE_PATCH: i32 = 1;

/// A stream of the plug-in; what it points at is the plug-in's.
pub type SP_Stream = *mut c_void;
/// An event of the plug-in.
pub type SP_Event = *mut c_void;
/// A timer of the plug-in.
pub type SP_Timer = *mut c_void;
pub type SE_StatusCallbackFn = unsafe extern "C" fn(*mut c_void, *mut TF_Status);

/// `SE_EventStatus`.
pub type SE_EventStatus = c_int;
pub const SE_EVENT_UNKNOWN: SE_EventStatus = 0;
pub const SE_EVENT_ERROR: SE_EventStatus = 1;
pub const SE_EVENT_PENDING: SE_EventStatus = 2;
pub const SE_EVENT_COMPLETE: SE_EventStatus = 3;

#[repr(C)]
pub struct SP_TimerFns {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub nanoseconds: Option<unsafe extern "C" fn(SP_Timer) -> u64>,
}
pub const SP_TIMER_FNS_STRUCT_SIZE: usize = size_of::<SP_TimerFns>();

#[repr(C)]
pub struct SP_AllocatorStats {
    pub struct_size: usize,
    pub num_allocs: i64,
    pub bytes_in_use: i64,
    pub peak_bytes_in_use: i64,
    pub largest_alloc_size: i64,
    pub has_bytes_limit: i8,
    pub bytes_limit: i64,
    pub bytes_reserved: i64,
    pub peak_bytes_reserved: i64,
    pub has_bytes_reservable_limit: i8,
    pub bytes_reservable_limit: i64,
    pub largest_free_block_bytes: i64,
}
pub const SP_ALLOCATORSTATS_STRUCT_SIZE: usize = size_of::<SP_AllocatorStats>();

#[repr(C)]
#[derive(Clone, Copy)]
pub struct SP_DeviceMemoryBase {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub opaque: *mut c_void,
    pub size: u64,
    pub payload: u64,
}
pub const SP_DEVICE_MEMORY_BASE_STRUCT_SIZE: usize = size_of::<SP_DeviceMemoryBase>();

#[repr(C)]
pub struct SP_Device {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub ordinal: i32,
    pub device_handle: *mut c_void,
    pub hardware_name: *const c_char,
    pub device_vendor: *const c_char,
    pub pci_bus_id: *const c_char,
}
pub const SP_DEVICE_STRUCT_SIZE: usize = size_of::<SP_Device>();

#[repr(C)]
pub struct SE_CreateDeviceParams {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub ordinal: i32,
    pub device: *mut SP_Device,
}
pub const SE_CREATE_DEVICE_PARAMS_STRUCT_SIZE: usize = size_of::<SE_CreateDeviceParams>();

#[repr(C)]
pub struct SP_DeviceFns {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub get_numa_node: Option<unsafe extern "C" fn(*const SP_Device) -> i32>,
    pub get_memory_bandwidth: Option<unsafe extern "C" fn(*const SP_Device) -> i64>,
    pub get_gflops: Option<unsafe extern "C" fn(*const SP_Device) -> f64>,
}
pub const SP_DEVICE_FNS_STRUCT_SIZE: usize = size_of::<SP_DeviceFns>();

#[repr(C)]
pub struct SE_CreateDeviceFnsParams {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub device_fns: *mut SP_DeviceFns,
}

type Dev = *const SP_Device;
type Mem = *mut SP_DeviceMemoryBase;
type ConstMem = *const SP_DeviceMemoryBase;
type Status = *mut TF_Status;

#[repr(C)]
pub struct SP_StreamExecutor {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub allocate: Option<unsafe extern "C" fn(Dev, u64, i64, Mem)>,
    pub deallocate: Option<unsafe extern "C" fn(Dev, Mem)>,
    pub host_memory_allocate: Option<unsafe extern "C" fn(Dev, u64) -> *mut c_void>,
    pub host_memory_deallocate: Option<unsafe extern "C" fn(Dev, *mut c_void)>,
    pub unified_memory_allocate: Option<unsafe extern "C" fn(Dev, u64) -> *mut c_void>,
    pub unified_memory_deallocate: Option<unsafe extern "C" fn(Dev, *mut c_void)>,
    pub get_allocator_stats: Option<unsafe extern "C" fn(Dev, *mut SP_AllocatorStats) -> TF_Bool>,
    pub device_memory_usage: Option<unsafe extern "C" fn(Dev, *mut i64, *mut i64) -> TF_Bool>,
    pub create_stream: Option<unsafe extern "C" fn(Dev, *mut SP_Stream, Status)>,
    pub destroy_stream: Option<unsafe extern "C" fn(Dev, SP_Stream)>,
    pub create_stream_dependency: Option<unsafe extern "C" fn(Dev, SP_Stream, SP_Stream, Status)>,
    pub get_stream_status: Option<unsafe extern "C" fn(Dev, SP_Stream, Status)>,
    pub create_event: Option<unsafe extern "C" fn(Dev, *mut SP_Event, Status)>,
    pub destroy_event: Option<unsafe extern "C" fn(Dev, SP_Event)>,
    pub get_event_status: Option<unsafe extern "C" fn(Dev, SP_Event) -> SE_EventStatus>,
    pub record_event: Option<unsafe extern "C" fn(Dev, SP_Stream, SP_Event, Status)>,
    pub wait_for_event: Option<unsafe extern "C" fn(Dev, SP_Stream, SP_Event, Status)>,
    pub create_timer: Option<unsafe extern "C" fn(Dev, *mut SP_Timer, Status)>,
    pub destroy_timer: Option<unsafe extern "C" fn(Dev, SP_Timer)>,
    pub start_timer: Option<unsafe extern "C" fn(Dev, SP_Stream, SP_Timer, Status)>,
    pub stop_timer: Option<unsafe extern "C" fn(Dev, SP_Stream, SP_Timer, Status)>,
    pub memcpy_dtoh: Option<unsafe extern "C" fn(Dev, SP_Stream, *mut c_void, ConstMem, u64, Status)>,
    pub memcpy_htod: Option<unsafe extern "C" fn(Dev, SP_Stream, Mem, *const c_void, u64, Status)>,
    pub memcpy_dtod: Option<unsafe extern "C" fn(Dev, SP_Stream, Mem, ConstMem, u64, Status)>,
    pub sync_memcpy_dtoh: Option<unsafe extern "C" fn(Dev, *mut c_void, ConstMem, u64, Status)>,
    pub sync_memcpy_htod: Option<unsafe extern "C" fn(Dev, Mem, *const c_void, u64, Status)>,
    pub sync_memcpy_dtod: Option<unsafe extern "C" fn(Dev, Mem, ConstMem, u64, Status)>,
    pub block_host_for_event: Option<unsafe extern "C" fn(Dev, SP_Event, Status)>,
    pub block_host_until_done: Option<unsafe extern "C" fn(Dev, SP_Stream, Status)>,
    pub synchronize_all_activity: Option<unsafe extern "C" fn(Dev, Status)>,
    pub mem_zero: Option<unsafe extern "C" fn(Dev, SP_Stream, Mem, u64, Status)>,
    pub memset: Option<unsafe extern "C" fn(Dev, SP_Stream, Mem, u8, u64, Status)>,
    pub memset32: Option<unsafe extern "C" fn(Dev, SP_Stream, Mem, u32, u64, Status)>,
    pub host_callback: Option<unsafe extern "C" fn(Dev, SP_Stream, SE_StatusCallbackFn, *mut c_void) -> TF_Bool>,
}
pub const SP_STREAMEXECUTOR_STRUCT_SIZE: usize = size_of::<SP_StreamExecutor>();

#[repr(C)]
pub struct SE_CreateStreamExecutorParams {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub stream_executor: *mut SP_StreamExecutor,
}

#[repr(C)]
pub struct SP_Platform {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub name: *const c_char,
    pub type_: *const c_char,
    pub supports_unified_memory: TF_Bool,
    pub use_bfc_allocator: TF_Bool,
    pub force_memory_growth: TF_Bool,
}
pub const SP_PLATFORM_STRUCT_SIZE: usize = crate::end_of!(SP_Platform, force_memory_growth, TF_Bool);

#[repr(C)]
pub struct SP_PlatformFns {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub get_device_count: Option<unsafe extern "C" fn(*const SP_Platform, *mut c_int, Status)>,
    pub create_device: Option<unsafe extern "C" fn(*const SP_Platform, *mut SE_CreateDeviceParams, Status)>,
    pub destroy_device: Option<unsafe extern "C" fn(*const SP_Platform, *mut SP_Device)>,
    pub create_device_fns: Option<unsafe extern "C" fn(*const SP_Platform, *mut SE_CreateDeviceFnsParams, Status)>,
    pub destroy_device_fns: Option<unsafe extern "C" fn(*const SP_Platform, *mut SP_DeviceFns)>,
    pub create_stream_executor: Option<unsafe extern "C" fn(*const SP_Platform, *mut SE_CreateStreamExecutorParams, Status)>,
    pub destroy_stream_executor: Option<unsafe extern "C" fn(*const SP_Platform, *mut SP_StreamExecutor)>,
    pub create_timer_fns: Option<unsafe extern "C" fn(*const SP_Platform, *mut SP_TimerFns, Status)>,
    pub destroy_timer_fns: Option<unsafe extern "C" fn(*const SP_Platform, *mut SP_TimerFns)>,
}
pub const SP_PLATFORM_FNS_STRUCT_SIZE: usize = size_of::<SP_PlatformFns>();

#[repr(C)]
pub struct SE_PlatformRegistrationParams {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub major_version: i32,
    pub minor_version: i32,
    pub patch_version: i32,
    pub platform: *mut SP_Platform,
    pub platform_fns: *mut SP_PlatformFns,
    pub destroy_platform: Option<unsafe extern "C" fn(*mut SP_Platform)>,
    pub destroy_platform_fns: Option<unsafe extern "C" fn(*mut SP_PlatformFns)>,
}
pub const SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE: usize = size_of::<SE_PlatformRegistrationParams>();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_tensorflows() {
        assert_eq!(SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE, 64);
        assert_eq!((SP_PLATFORM_STRUCT_SIZE, size_of::<SP_Platform>(), SP_PLATFORM_FNS_STRUCT_SIZE), (35, 40, 88));
        assert_eq!((SE_CREATE_DEVICE_PARAMS_STRUCT_SIZE, SP_DEVICE_STRUCT_SIZE, SP_DEVICE_FNS_STRUCT_SIZE), (32, 56, 40));
        assert_eq!((size_of::<SE_CreateStreamExecutorParams>(), SP_STREAMEXECUTOR_STRUCT_SIZE), (24, 288));
        assert_eq!((SP_DEVICE_MEMORY_BASE_STRUCT_SIZE, SP_TIMER_FNS_STRUCT_SIZE), (40, 24));
        assert_eq!(SP_ALLOCATORSTATS_STRUCT_SIZE, 96);
    }
}
