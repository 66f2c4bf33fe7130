//! Moving elements about: the strided copy that Transpose, Slice, Concat, Tile, Einsum and others share.

mod plan;
mod strided;

pub use strided::{View, copy_bytes, permute, strided_copy};
