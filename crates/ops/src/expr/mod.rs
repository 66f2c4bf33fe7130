//! Element-wise expressions: declared in one line, compiled at run time to SPIR-V for the element types and the
//! broadcast pattern at hand.
//!
//! ```text
//! unary("Sqrt", FLOAT, |x| x.sqrt())        declare.rs   the declaration
//!   │  Value, Builder                         value.rs     the language that it is written in
//!   ▼
//! Graph                                       graph.rs     typed SSA, for one element
//!   │  Program                                program.rs   graph + operands + results; chain.rs makes one of several ops
//!   ├──> interpret                            host tensors; the tests' oracle
//!   ▼
//! plan + spirv::generate                      shapes -> variant and launches; program x variant -> shader (cached)
//!   ▼
//! launch -> ready                             arguments, Stream::launch_linear; a node's last launch is kept
//!   ├──> lacking                              on the host, where the device lacks the arithmetic
//!   └──> fetch -> spirv::graft                in the place of another kernel's loads
//! ```

mod cache;
mod chain;
mod complex;
mod declare;
mod divide;
mod eval;
mod fetch;
mod graph;
mod interpret;
mod kernel;
mod lacking;
mod launch;
mod math;
mod plan;
mod program;
mod ready;
mod round;
pub mod spirv;
mod storage;
#[cfg(test)]
mod tests;
mod value;

pub use cache::chain;
pub use chain::{ASSIGN, Chain, Operand, READ, Step, declarations, expression};
pub use declare::{
    Attr, AttrValue, Attrs, Expression, Formula, ShapeRule, Views, binary, compare, general, grad, grad_attr, ternary, unary,
    unary_attr,
};
pub(crate) use fetch::Fetch;
pub use graph::{Graph, Id, Loop, Node, Ty};
pub use interpret::run as interpret;
pub use kernel::ExpressionKernel;
pub(crate) use launch::launch_again;
pub use launch::{host_number, launch};
pub use plan::{Access, Plan, Variant, broadcast, broadcast_strides};
pub use program::{Out, Program};
pub(crate) use ready::Memo;
pub use value::{Builder, Value, part_of};
