//! Every element-wise op: tables of one-line declarations. What the lines mean is [`crate::expr`]'s business.
//!
//! The sets of element types are those of TensorFlow's CPU and GPU kernels together. Where TensorFlow's GPU build keeps
//! int32 in host memory, so does this one: see [`on_host`].

mod activations;
mod arithmetic;
mod bitwise;
mod cast;
mod compare;
mod complex;
mod fused;
mod gradients;
mod plan;
mod reductions;
mod rows;
mod select;
mod sets;
mod unary;

use crate::expr::{Formula, ShapeRule};
use crate::{Body, KernelDef};

pub use activations::ACTIVATIONS;
pub use arithmetic::{ARITHMETIC, ARITHMETIC_DEVICE, ARITHMETIC_HOST};
pub use bitwise::BITWISE;
pub use cast::CAST;
pub use compare::{COMPARE, COMPARE_HOST, LOGICAL};
pub use complex::COMPLEX;
pub use fused::{FUSED, FUSED_OP, UPDATE_OP, check_text, fused_text};
pub use gradients::GRADIENTS;
pub use reductions::reduces;
pub use select::{SELECT, SELECT_HOST};
pub use unary::UNARY;

/// The int32 kernels, in host memory, of ops whose other kernels are `defs`.
pub const fn on_host<const N: usize>(defs: [KernelDef; N]) -> [KernelDef; N] {
    let mut out = defs;
    let mut i = 0;
    while i < N {
        out[i] = host_int32(defs[i]);
        i += 1;
    }
    out
}

/// The int32 kernel, in host memory, of one op.
pub const fn host_int32(mut def: KernelDef) -> KernelDef {
    def.types = sets::INT32;
    if def.host_memory.is_empty() {
        def.host_memory = match def.body {
            Body::Expression(e) => match (e.formula, e.shape) {
                (Formula::Unary(_) | Formula::UnaryAttr(_), _) => &["x", "y"],
                (_, ShapeRule::Same) => &["y", "dy", "z"],
                _ => &["x", "y", "z"],
            },
            Body::Kernel(_) => &[],
        };
    }
    def
}
