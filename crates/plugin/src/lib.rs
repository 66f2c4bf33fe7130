//! The TensorFlow plug-in: host number one of the operators.
//!
//! TensorFlow loads this library, looks for four symbols and calls them in this order: [`SE_InitPlugin`] (what devices
//! there are, and the callbacks of the StreamExecutor), [`TF_InitKernel`] (the kernels), [`TF_InitGraph`] (the graph pass),
//! `TF_InitProfiler`. Everything that crosses the seam in either direction does so in this crate: a call from TensorFlow
//! enters through [`guard`], so that no panic crosses and an [`Error`](tfvk_device::Error) becomes a `TF_Status`; a call to
//! TensorFlow goes through [`tf_sys::Api`].
//!
//! When there is nothing to serve (no adapter, a TensorFlow too old, a second copy of this library) TensorFlow gets a
//! platform of no devices under a type that nobody asks for, the user one sentence, and `import tensorflow` works.

mod builtin_kernels;
mod cli;
mod construction;
mod context;
mod copies;
mod graph;
mod guard;
mod loaded;
mod log;
mod memory_limit;
mod platform;
mod profiler;
mod python_hook;
mod registration;
mod status;
mod stream_executor;
mod tensor_handle;
mod variable;
mod variable_layout;
mod wire;

use tf_sys::{SE_PlatformRegistrationParams, TF_ProfilerRegistrationParams, TF_Status, TP_OptimizerRegistrationParams};

/// TensorFlow's entry for the devices.
///
/// # Safety
/// Called by TensorFlow: `params` and `status` are what `stream_executor.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SE_InitPlugin(params: *mut SE_PlatformRegistrationParams, status: *mut TF_Status) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow's promise.
        unsafe { platform::init(params) }
    });
}

/// TensorFlow's entry for the kernels.
#[unsafe(no_mangle)]
pub extern "C" fn TF_InitKernel() {
    guard::logging("registering kernels", registration::init);
    if platform::is_active() {
        guard::logging("changing tf.function", python_hook::install);
    }
}

/// TensorFlow's entry for the graph pass.
///
/// # Safety
/// Called by TensorFlow: `params` and `status` are what `grappler.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TF_InitGraph(params: *mut TP_OptimizerRegistrationParams, status: *mut TF_Status) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow's promise.
        unsafe { graph::init(params) }
    });
}

/// TensorFlow's entry for the profiler.
///
/// # Safety
/// Called by TensorFlow: `params` and `status` are what `pluggable_profiler.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TF_InitProfiler(params: *mut TF_ProfilerRegistrationParams, status: *mut TF_Status) {
    guard::reporting(status, || {
        // SAFETY: TensorFlow's promise.
        unsafe { profiler::init(params) }
    });
}

/// Whether this copy of the library serves devices: what a second copy asks the first.
#[unsafe(no_mangle)]
pub extern "C" fn tfvk_is_active() -> bool {
    platform::is_active()
}
