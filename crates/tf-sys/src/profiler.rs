//! `experimental/pluggable_profiler/pluggable_profiler.h`.

use std::ffi::{c_char, c_void};

use crate::TF_Status;

#[repr(C)]
pub struct TP_Profiler {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub device_type: *const c_char,
}
pub const TP_PROFILER_STRUCT_SIZE: usize = size_of::<TP_Profiler>();

#[repr(C)]
pub struct TP_ProfilerFns {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub start: Option<unsafe extern "C" fn(*const TP_Profiler, *mut TF_Status)>,
    pub stop: Option<unsafe extern "C" fn(*const TP_Profiler, *mut TF_Status)>,
    pub collect_data_xspace: Option<unsafe extern "C" fn(*const TP_Profiler, *mut u8, *mut usize, *mut TF_Status)>,
}
pub const TP_PROFILER_FNS_STRUCT_SIZE: usize = size_of::<TP_ProfilerFns>();

#[repr(C)]
pub struct TF_ProfilerRegistrationParams {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub major_version: i32,
    pub minor_version: i32,
    pub patch_version: i32,
    pub profiler: *mut TP_Profiler,
    pub profiler_fns: *mut TP_ProfilerFns,
    pub destroy_profiler: Option<unsafe extern "C" fn(*mut TP_Profiler)>,
    pub destroy_profiler_fns: Option<unsafe extern "C" fn(*mut TP_ProfilerFns)>,
}
pub const TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE: usize = size_of::<TF_ProfilerRegistrationParams>();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_tensorflows() {
        assert_eq!(TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE, 64);
        assert_eq!((TP_PROFILER_STRUCT_SIZE, TP_PROFILER_FNS_STRUCT_SIZE), (24, 40));
    }
}
