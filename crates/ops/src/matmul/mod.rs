//! Matrix products: MatMul, BatchMatMul, Einsum and their fused forms.
//!
//! An op describes a [`Product`]; `choice.rs` picks the kernel; `tile.glsl` is the loop that MatMul shares with the
//! convolutions.

pub mod choice;
pub mod einsum;
pub mod epilogue;
mod ops;
pub mod product;

pub use ops::KERNELS;
pub use product::{Batch, Operand, Product};
