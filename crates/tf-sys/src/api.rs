//! The table of TensorFlow's functions.
//!
//! A function is required (a plain pointer: without it the plug-in does not load, and says which one is missing) or
//! optional (an `Option`: whoever calls it serves a TensorFlow without it in another way, or not at all).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::*;

/// `"name\0"` as a C string; a name in the table has no inner zero.
fn c_name(name: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default()
}

// A macro, because a function pointer's type cannot be computed from a name, and each is needed as a field and a look-up.
macro_rules! table {
    (
        required { $(fn $req:ident($($ra:ty),* $(,)?) $(-> $rr:ty)?;)* }
        optional { $(fn $opt:ident($($oa:ty),* $(,)?) $(-> $or:ty)?;)* }
    ) => {
        /// TensorFlow's functions, by name.
        pub struct Api {
            $(pub $req: unsafe extern "C" fn($($ra),*) $(-> $rr)?,)*
            $(pub $opt: Option<unsafe extern "C" fn($($oa),*) $(-> $or)?>,)*
        }

        impl Api {
            fn load() -> Result<Api, String> {
                Ok(Api {
                    $($req: {
                        let address = symbol(c_name(concat!(stringify!($req), "\0"))).ok_or_else(|| missing(stringify!($req)))?;
                        // SAFETY: the header of TensorFlow's C interface gives this name this type.
                        unsafe { std::mem::transmute::<*const c_void, unsafe extern "C" fn($($ra),*) $(-> $rr)?>(address) }
                    },)*
                    // SAFETY: as above.
                    $($opt: symbol(c_name(concat!(stringify!($opt), "\0"))).map(|address| unsafe {
                        std::mem::transmute::<*const c_void, unsafe extern "C" fn($($oa),*) $(-> $or)?>(address)
                    }),)*
                })
            }
        }
    };
}

fn missing(name: &str) -> String {
    format!("this TensorFlow has no function {name}: tensorflow-vulkan needs TensorFlow 2.16 or later")
}

/// The table, resolved at the first call.
///
/// # Errors
/// One sentence that names the missing function.
pub fn api() -> Result<&'static Api, &'static str> {
    static API: OnceLock<Result<Api, String>> = OnceLock::new();
    API.get_or_init(Api::load).as_ref().map_err(String::as_str)
}

table! {
    required {
        // tf_status.h
        fn TF_NewStatus() -> *mut TF_Status;
        fn TF_DeleteStatus(*mut TF_Status);
        fn TF_SetStatus(*mut TF_Status, TF_Code, *const c_char);
        fn TF_GetCode(*const TF_Status) -> TF_Code;
        fn TF_Message(*const TF_Status) -> *const c_char;
        // tf_buffer.h
        fn TF_NewBufferFromString(*const c_void, usize) -> *mut TF_Buffer;
        fn TF_NewBuffer() -> *mut TF_Buffer;
        fn TF_DeleteBuffer(*mut TF_Buffer);
        // tf_tensor.h
        fn TF_AllocateTensor(TF_DataType, *const i64, c_int, usize) -> *mut TF_Tensor;
        fn TF_DeleteTensor(*mut TF_Tensor);
        fn TF_TensorType(*const TF_Tensor) -> TF_DataType;
        fn TF_NumDims(*const TF_Tensor) -> c_int;
        fn TF_Dim(*const TF_Tensor, c_int) -> i64;
        fn TF_TensorByteSize(*const TF_Tensor) -> usize;
        fn TF_TensorData(*const TF_Tensor) -> *mut c_void;
        fn TF_TensorBitcastFrom(*const TF_Tensor, TF_DataType, *mut TF_Tensor, *const i64, c_int, *mut TF_Status);
        // kernels.h: registration
        fn TF_NewKernelBuilder(
            *const c_char,
            *const c_char,
            Option<unsafe extern "C" fn(*mut TF_OpKernelConstruction) -> *mut c_void>,
            Option<unsafe extern "C" fn(*mut c_void, *mut TF_OpKernelContext)>,
            Option<unsafe extern "C" fn(*mut c_void)>,
        ) -> *mut TF_KernelBuilder;
        fn TF_KernelBuilder_TypeConstraint(*mut TF_KernelBuilder, *const c_char, TF_DataType, *mut TF_Status);
        fn TF_KernelBuilder_HostMemory(*mut TF_KernelBuilder, *const c_char);
        fn TF_KernelBuilder_Priority(*mut TF_KernelBuilder, i32);
        fn TF_RegisterKernelBuilder(*const c_char, *mut TF_KernelBuilder, *mut TF_Status);
        fn TF_DeleteKernelBuilder(*mut TF_KernelBuilder);
        // kernels.h: construction
        fn TF_OpKernelConstruction_Failure(*mut TF_OpKernelConstruction, *mut TF_Status);
        fn TF_OpKernelConstruction_GetName(*mut TF_OpKernelConstruction) -> TF_StringView;
        fn TF_OpKernelConstruction_GetNodeDef(*mut TF_OpKernelConstruction, *mut TF_Status) -> *mut TF_Buffer;
        // kernels.h: the context
        fn TF_GetStream(*mut TF_OpKernelContext, *mut TF_Status) -> SP_Stream;
        fn TF_NumInputs(*mut TF_OpKernelContext) -> c_int;
        fn TF_NumOutputs(*mut TF_OpKernelContext) -> c_int;
        fn TF_GetInput(*mut TF_OpKernelContext, c_int, *mut *mut TF_Tensor, *mut TF_Status);
        fn TF_InputDatatype(*mut TF_OpKernelContext, c_int) -> TF_DataType;
        fn TF_SetOutput(*mut TF_OpKernelContext, c_int, *const TF_Tensor, *mut TF_Status);
        fn TF_OpKernelContext_Failure(*mut TF_OpKernelContext, *mut TF_Status);
        fn TF_ExpectedOutputDataType(*mut TF_OpKernelContext, c_int) -> TF_DataType;
        fn TF_AllocateOutput(
            *mut TF_OpKernelContext,
            c_int,
            TF_DataType,
            *const i64,
            c_int,
            usize,
            *mut TF_Status,
        ) -> *mut TF_Tensor;
        fn TF_ForwardInputOrAllocateOutput(
            *mut TF_OpKernelContext,
            *const c_int,
            c_int,
            c_int,
            *const i64,
            c_int,
            *mut c_int,
            *mut TF_Status,
        ) -> *mut TF_Tensor;
        fn TF_AllocateTemp(
            *mut TF_OpKernelContext,
            TF_DataType,
            *const i64,
            c_int,
            *mut TF_AllocatorAttributes,
            *mut TF_Status,
        ) -> *mut TF_Tensor;
        // ops.h
        fn TF_NewOpDefinitionBuilder(*const c_char) -> *mut TF_OpDefinitionBuilder;
        fn TF_RegisterOpDefinition(*mut TF_OpDefinitionBuilder, *mut TF_Status);
        fn TF_OpDefinitionBuilderAddAttr(*mut TF_OpDefinitionBuilder, *const c_char);
        fn TF_OpDefinitionBuilderAddInput(*mut TF_OpDefinitionBuilder, *const c_char);
        fn TF_OpDefinitionBuilderAddOutput(*mut TF_OpDefinitionBuilder, *const c_char);
        fn TF_OpDefinitionBuilderSetIsStateful(*mut TF_OpDefinitionBuilder, bool);
        fn TF_OpDefinitionBuilderSetShapeInferenceFunction(
            *mut TF_OpDefinitionBuilder,
            Option<unsafe extern "C" fn(*mut TF_ShapeInferenceContext, *mut TF_Status)>,
        );
        fn TF_ShapeInferenceContextSetUnknownShape(*mut TF_ShapeInferenceContext, *mut TF_Status);
    }
    optional {
        // kernels.h
        fn TF_IsHostMemoryInput(*mut TF_OpKernelContext, c_int, *mut TF_Status) -> bool;
        fn TF_IsHostMemoryOutput(*mut TF_OpKernelContext, c_int, *mut TF_Status) -> bool;
        fn TF_GetDeviceName(*mut TF_OpKernelContext) -> TF_StringView;
        // kernels_experimental.h: exported up to 2.18, and again from 2.23
        fn TF_AssignVariable(*mut TF_OpKernelContext, c_int, c_int, bool, CopyFn, *mut TF_Status);
        fn TF_AssignUpdateVariable(*mut TF_OpKernelContext, c_int, c_int, c_int, c_int, CopyFn, UpdateFn, *mut TF_Status);
        fn TF_GetInputTensorFromVariable(
            *mut TF_OpKernelContext,
            c_int,
            bool,
            bool,
            bool,
            CopyFn,
            *mut *mut TF_Tensor,
            *mut TF_Status,
        );
        fn TF_MaybeLockVariableInputMutexesInOrder(
            *mut TF_OpKernelContext,
            bool,
            bool,
            *const c_int,
            usize,
            CopyFn,
            *mut *mut TF_VariableInputLockHolder,
            *mut TF_Status,
        );
        fn TF_ReleaseVariableInputLockHolder(*mut TF_VariableInputLockHolder);
        fn TF_OpKernelContext_ForwardRefInputToRefOutput(*mut TF_OpKernelContext, i32, i32);
        // c_api_experimental.h
        fn TF_GetRegisteredKernelsForOp(*const c_char, *mut TF_Status) -> *mut TF_Buffer;
        fn TF_GetAllRegisteredKernels(*mut TF_Status) -> *mut TF_Buffer;
        // grappler.h
        fn TF_GetNodesToPreserveListSize(*const TF_GrapplerItem, *mut c_int, *mut usize, *mut TF_Status);
        fn TF_GetNodesToPreserveList(
            *const TF_GrapplerItem,
            *mut *mut c_char,
            *mut usize,
            c_int,
            *mut c_void,
            usize,
            *mut TF_Status,
        );
        // eager/c_api.h: a private context that runs single operators on the CPU
        fn TFE_NewContextOptions() -> *mut TFE_ContextOptions;
        fn TFE_ContextOptionsSetConfig(*mut TFE_ContextOptions, *const c_void, usize, *mut TF_Status);
        fn TFE_DeleteContextOptions(*mut TFE_ContextOptions);
        fn TFE_NewContext(*const TFE_ContextOptions, *mut TF_Status) -> *mut TFE_Context;
        fn TFE_DeleteContext(*mut TFE_Context);
        fn TFE_NewTensorHandle(*const TF_Tensor, *mut TF_Status) -> *mut TFE_TensorHandle;
        fn TFE_DeleteTensorHandle(*mut TFE_TensorHandle);
        fn TFE_TensorHandleResolve(*mut TFE_TensorHandle, *mut TF_Status) -> *mut TF_Tensor;
        fn TFE_NewOp(*mut TFE_Context, *const c_char, *mut TF_Status) -> *mut TFE_Op;
        fn TFE_DeleteOp(*mut TFE_Op);
        fn TFE_OpSetDevice(*mut TFE_Op, *const c_char, *mut TF_Status);
        fn TFE_OpAddInput(*mut TFE_Op, *mut TFE_TensorHandle, *mut TF_Status);
        fn TFE_OpSetAttrType(*mut TFE_Op, *const c_char, TF_DataType);
        fn TFE_Execute(*mut TFE_Op, *mut *mut TFE_TensorHandle, *mut c_int, *mut TF_Status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_function_is_named() {
        // No TensorFlow in a test process.
        let message = api().err().unwrap_or_default();
        assert!(message.contains("TF_NewStatus") && message.contains("2.16"), "{message}");
    }
}
