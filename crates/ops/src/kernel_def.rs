//! How an op is declared: as one constant [`KernelDef`]. No logic beyond small constructors.

use tfvk_device::{DType, Result};

use crate::expr::Expression;
use crate::{OpKernel, OpKernelConstruction};

/// A type attribute and the element types that this kernel serves for it.
#[derive(Clone, Copy, Debug)]
pub struct TypeConstraint {
    /// The attribute's name in TensorFlow's OpDef, such as `T`.
    pub attr: &'static str,
    /// What is served. The kernel is registered for the product of all constraints.
    pub dtypes: &'static [DType],
}

/// What an op does.
#[derive(Clone, Copy)]
pub enum Body {
    /// An element-wise expression, compiled at run time.
    Expression(Expression),
    /// A kernel made from the node's attributes.
    Kernel(fn(&dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>>),
}

/// One kernel of one op. An op has several where, say, its int32 kernel works in host memory.
#[derive(Clone, Copy)]
pub struct KernelDef {
    /// TensorFlow's name of the op.
    pub op: &'static str,
    /// The type constraints.
    pub types: &'static [TypeConstraint],
    /// Arguments (inputs and outputs, by the OpDef's names) in host memory.
    pub host_memory: &'static [&'static str],
    /// Inputs whose memory the first output may take over.
    pub forward: &'static [usize],
    /// The body.
    pub body: Body,
}

impl KernelDef {
    /// An op with a hand-written kernel.
    pub const fn kernel(
        op: &'static str,
        types: &'static [TypeConstraint],
        make: fn(&dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>>,
    ) -> Self {
        Self { op, types, host_memory: &[], forward: &[], body: Body::Kernel(make) }
    }

    /// The same with these arguments in host memory.
    pub const fn host(mut self, arguments: &'static [&'static str]) -> Self {
        self.host_memory = arguments;
        self
    }

    /// The same with these inputs forwardable to the first output.
    pub const fn forwards(mut self, inputs: &'static [usize]) -> Self {
        self.forward = inputs;
        self
    }
}

/// Shorthand for a constraint.
pub const fn t(attr: &'static str, dtypes: &'static [DType]) -> TypeConstraint {
    TypeConstraint { attr, dtypes }
}

/// Sets of element types that many ops share.
pub mod types {
    use tfvk_device::DType::{self, *};

    /// f16, bf16, f32, f64.
    pub const FLOAT: &[DType] = &[F16, BF16, F32, F64];
    /// f16, bf16, f32: what neural networks compute in.
    pub const FLOAT_NN: &[DType] = &[F16, BF16, F32];
    /// Floating-point and complex.
    pub const FLOAT_COMPLEX: &[DType] = &[F16, BF16, F32, F64, C64, C128];
    /// Complex.
    pub const COMPLEX: &[DType] = &[C64, C128];
    /// All integers.
    pub const INTEGER: &[DType] = &[I8, I16, I32, I64, U8, U16, U32, U64];
    /// All integers and floats.
    pub const REAL: &[DType] = &[I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64];
    /// Everything but bool.
    pub const NUMBER: &[DType] = &[I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128];
    /// Everything.
    pub const ALL: &[DType] = DType::NUMERIC;
    /// int32 and int64, for indices.
    pub const INDEX: &[DType] = &[I32, I64];
    /// bool.
    pub const BOOL: &[DType] = &[Bool];
    /// int32.
    pub const INT32: &[DType] = &[I32];
    /// Everything but int32, which TensorFlow keeps in host memory by convention for shape-like ops.
    pub const ALL_BUT_INT32: &[DType] = &[Bool, I8, I16, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128];
}
