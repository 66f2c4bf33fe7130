//! `tf_status.h`, `tf_tensor.h`, `tf_buffer.h`, `kernels.h`, `ops.h`, `eager/c_api.h`: the types.

use std::ffi::{c_char, c_int, c_void};

macro_rules! opaque {
    ($($name:ident),* $(,)?) => {$(
        #[repr(C)]
        pub struct $name { _opaque: [u8; 0] }
    )*};
}
opaque!(
    TF_Status,
    TF_Tensor,
    TF_KernelBuilder,
    TF_OpKernelConstruction,
    TF_OpKernelContext,
    TF_OpDefinitionBuilder,
    TF_ShapeInferenceContext,
    TF_ShapeHandle,
    TF_VariableInputLockHolder,
    TFE_Context,
    TFE_ContextOptions,
    TFE_TensorHandle,
    TFE_Op,
);

/// `TF_Code`; 0 is success.
pub type TF_Code = c_int;
/// `TF_DataType`.
pub type TF_DataType = c_int;
/// `TF_Bool`.
pub type TF_Bool = u8;

pub const TF_OK: TF_Code = 0;
/// `TF_STRING`.
pub const TF_STRING: TF_DataType = 7;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TF_Buffer {
    pub data: *const c_void,
    pub length: usize,
    pub data_deallocator: Option<unsafe extern "C" fn(*mut c_void, usize)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TF_StringView {
    pub data: *const c_char,
    pub len: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TF_AllocatorAttributes {
    pub struct_size: usize,
    pub on_host: TF_Bool,
}
pub const TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE: usize = crate::end_of!(TF_AllocatorAttributes, on_host, TF_Bool);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TF_InputRange_Args {
    pub struct_size: usize,
    pub priv_: *mut c_void,
    pub start: c_int,
    pub stop: c_int,
    pub status: *mut TF_Status,
}
pub const TF_INPUT_RANGE_ARGS_STRUCT_SIZE: usize = crate::end_of!(TF_InputRange_Args, status, *mut TF_Status);

/// What TensorFlow calls to copy a variable's value: context, source, destination.
pub type CopyFn = unsafe extern "C" fn(*mut TF_OpKernelContext, *mut TF_Tensor, *mut TF_Tensor);
/// What TensorFlow calls to update a variable: context, variable, value, the number given to it.
pub type UpdateFn = unsafe extern "C" fn(*mut TF_OpKernelContext, *mut TF_Tensor, *mut TF_Tensor, c_int);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_tensorflows() {
        assert_eq!((TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE, TF_INPUT_RANGE_ARGS_STRUCT_SIZE), (9, 32));
        assert_eq!((size_of::<TF_Buffer>(), size_of::<TF_StringView>()), (24, 16));
    }
}
