//! Every operator. An op is declared once, as data ([`KernelDef`]); the driver [`run`] does for all of them what they have
//! in common, and the op's body is an expression or an [`OpKernel`].
//!
//! This crate knows no host: TensorFlow's plug-in, the standalone runtime and the tests each implement
//! [`OpKernelContext`] and [`OpKernelConstruction`] and find everything in [`registry`].

mod array;
mod context;
mod conv;
pub mod copy;
pub mod elementwise;
pub mod expr;
mod gather;
mod generic;
pub mod image;
mod kernel_def;
pub mod linalg;
pub mod local;
mod loops;
pub mod matmul;
pub mod nn;
pub mod optimizer;
mod packing;
mod pool;
mod quantize;
pub mod random;
pub mod reduce;
pub mod registry;
mod rnn;
mod run;
pub mod shader;
pub mod signature;
mod sliding;
mod sort;
mod spectral;
#[cfg(test)]
mod test_device;
pub mod variable;

pub use context::{OpKernelConstruction, OpKernelContext};
pub use kernel_def::{Body, KernelDef, TypeConstraint, t, types};
pub use run::{Compute, Inputs, OpKernel, Output, Outputs, create, run};

#[cfg(test)]
#[path = "prelude/tests.rs"]
mod prelude_tests;
