//! Convolutions: Conv2D and Conv3D with their gradients, depthwise ones, and the fused forms.
//!
//! `geometry.rs` checks and measures, `launch.rs` turns a convolution into a product, `conv.comp` is the kernel: the loop
//! of `matmul/tile.glsl` with gathered operands. `coop.rs` has those of 16 bits on matrix units: `conv_coop.comp`, with the
//! loop of `matmul/coop_tile.glsl`; `padded.rs` makes more of them fit, `tiles.rs` chooses.

mod columns;
mod coop;
mod depthwise;
mod divide;
mod geometry;
mod launch;
mod ops;
mod padded;
mod tiles;

pub use depthwise::KERNELS as DEPTHWISE_KERNELS;
pub use ops::KERNELS;
