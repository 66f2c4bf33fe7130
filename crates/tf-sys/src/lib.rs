//! TensorFlow's C interface: the structs and functions that a pluggable device uses, found when the plug-in is loaded.
//!
//! Data, no logic: `#[repr(C)]` structs under TensorFlow's own names (of `tensorflow/c`, Apache-2.0), and one table,
//! [`Api`], of the functions, resolved by name in the TensorFlow that loaded us. Nothing is linked: one binary serves every
//! TensorFlow whose required functions are there, and says by name which one is not.
//!
//! This crate must not know the device, the operators or what the plug-in does with the functions.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
#![allow(missing_docs)] // The documentation of a C function is TensorFlow's header.

mod api;
mod grappler;
mod kernels;
mod profiler;
mod stream_executor;
mod symbols;

pub use api::{Api, api};
pub use grappler::*;
pub use kernels::*;
pub use profiler::*;
pub use stream_executor::*;
pub use symbols::symbol;

/// The end of `$field` in `$type`: what TensorFlow calls its struct size (`TF_OFFSET_OF_END`).
#[macro_export]
macro_rules! end_of {
    ($type:ty, $field:ident, $size:ty) => {
        std::mem::offset_of!($type, $field) + std::mem::size_of::<$size>()
    };
}
