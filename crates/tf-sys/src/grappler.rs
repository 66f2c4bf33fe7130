//! `experimental/grappler/grappler.h`: the graph optimiser.

use std::ffi::{c_char, c_int, c_void};

use crate::{TF_Buffer, TF_Status};

#[repr(C)]
pub struct TF_GrapplerItem {
    _opaque: [u8; 0],
}

/// `TF_TriState`.
pub type TF_TriState = c_int;
pub const TF_TriState_Default: TF_TriState = 0;
pub const TF_TriState_Off: TF_TriState = 1;
pub const TF_TriState_On: TF_TriState = 2;

#[repr(C)]
pub struct TP_OptimizerConfigs {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub disable_model_pruning: TF_TriState,
    pub implementation_selector: TF_TriState,
    pub function_optimization: TF_TriState,
    pub common_subgraph_elimination: TF_TriState,
    pub arithmetic_optimization: TF_TriState,
    pub debug_stripper: TF_TriState,
    pub constant_folding: TF_TriState,
    pub shape_optimization: TF_TriState,
    pub auto_mixed_precision: TF_TriState,
    pub auto_mixed_precision_onednn_bfloat16: TF_TriState,
    pub auto_mixed_precision_mkl: TF_TriState,
    pub pin_to_host_optimization: TF_TriState,
    pub layout_optimizer: TF_TriState,
    pub remapping: TF_TriState,
    pub loop_optimization: TF_TriState,
    pub dependency_optimization: TF_TriState,
    pub auto_parallel: TF_TriState,
    pub memory_optimization: TF_TriState,
    pub scoped_allocator_optimization: TF_TriState,
}
pub const TP_OPTIMIZER_CONFIGS_STRUCT_SIZE: usize =
    crate::end_of!(TP_OptimizerConfigs, scoped_allocator_optimization, TF_TriState);

#[repr(C)]
pub struct TP_Optimizer {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub create_func: Option<unsafe extern "C" fn() -> *mut c_void>,
    pub optimize_func:
        Option<unsafe extern "C" fn(*mut c_void, *const TF_Buffer, *const TF_GrapplerItem, *mut TF_Buffer, *mut TF_Status)>,
    pub destroy_func: Option<unsafe extern "C" fn(*mut c_void)>,
}
pub const TP_OPTIMIZER_STRUCT_SIZE: usize = size_of::<TP_Optimizer>();

#[repr(C)]
pub struct TP_OptimizerRegistrationParams {
    pub struct_size: usize,
    pub ext: *mut c_void,
    pub major_version: i32,
    pub minor_version: i32,
    pub patch_version: i32,
    pub device_type: *const c_char,
    pub optimizer_configs: *mut TP_OptimizerConfigs,
    pub optimizer: *mut TP_Optimizer,
}
pub const TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE: usize = size_of::<TP_OptimizerRegistrationParams>();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_tensorflows() {
        assert_eq!(TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE, 56);
        assert_eq!((TP_OPTIMIZER_CONFIGS_STRUCT_SIZE, TP_OPTIMIZER_STRUCT_SIZE), (92, 40));
        let first = std::mem::offset_of!(TP_OptimizerConfigs, disable_model_pruning);
        let field = |offset: usize| (offset - first) / 4;
        assert_eq!(field(std::mem::offset_of!(TP_OptimizerConfigs, arithmetic_optimization)), 4);
        assert_eq!(field(std::mem::offset_of!(TP_OptimizerConfigs, layout_optimizer)), 12);
        assert_eq!(field(std::mem::offset_of!(TP_OptimizerConfigs, remapping)), 13);
    }
}
