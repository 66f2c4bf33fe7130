//! What a fused op does to a product before it is stored: bias, then activation. `epilogue.glsl` is its other half.

use tfvk_device::{Error, Result, Tensor};

use crate::OpKernelConstruction;

/// An activation; the number is the shader's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Activation {
    #[default]
    None = 0,
    Relu = 1,
    Relu6 = 2,
    Elu = 3,
    LeakyRelu = 4,
    Tanh = 5,
    Sigmoid = 6,
    GeluApproximate = 7,
    GeluExact = 8,
}

impl Activation {
    /// By the name that TensorFlow's `fused_ops` attribute uses.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "Relu" => Self::Relu,
            "Relu6" => Self::Relu6,
            "Elu" => Self::Elu,
            "LeakyRelu" => Self::LeakyRelu,
            "Tanh" => Self::Tanh,
            "Sigmoid" => Self::Sigmoid,
            "GeluApproximate" => Self::GeluApproximate,
            "GeluExact" => Self::GeluExact,
            _ => return None,
        })
    }

    /// Whether it can follow at once, or needs a pass of its own (`sum_parts.comp`).
    pub fn in_tile(self) -> bool {
        self != Self::GeluExact
    }
}

/// Along which index of the product the bias lies; the number is the shader's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum BiasAlong {
    #[default]
    None = 0,
    N = 1,
    M = 2,
}

/// What follows a product.
#[derive(Clone, Debug, Default)]
pub struct Epilogue {
    /// One element per row or column of the product, of its element type.
    pub bias: Option<Tensor>,
    /// Whether rows (M) or columns (N).
    pub along: BiasAlong,
    /// The activation.
    pub activation: Activation,
    /// The slope of LeakyRelu below 0.
    pub alpha: f32,
}

impl Epilogue {
    /// Nothing follows.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether anything does.
    pub fn is_none(&self) -> bool {
        self.along == BiasAlong::None && self.activation == Activation::None
    }

    /// The values of constants 16 and 17.
    pub fn constants(&self) -> [u32; 2] {
        [self.along as u32, self.activation as u32]
    }
}

/// The `fused_ops` of a fused node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FusedOps {
    /// Whether the list starts with FusedBatchNorm instead of BiasAdd.
    pub batch_norm: bool,
    /// The activation.
    pub activation: Activation,
    /// `leakyrelu_alpha`.
    pub alpha: f32,
    /// `epsilon`, of FusedBatchNorm.
    pub epsilon: f32,
}

impl FusedOps {
    /// Reads the attributes `fused_ops`, `leakyrelu_alpha`, `epsilon`. Errors: a list that is not [BiasAdd] or, where
    /// allowed, [FusedBatchNorm], followed by at most one activation.
    pub fn from_node(node: &dyn OpKernelConstruction, batch_norm_allowed: bool) -> Result<Self> {
        let list = node.strings("fused_ops")?;
        let names: Vec<&str> = list.iter().map(String::as_str).collect();
        let bad = || Error::unimplemented(format!("fused_ops: expected BiasAdd and an activation, got {names:?}"));
        let (first, rest) = names.split_first().ok_or_else(bad)?;
        let batch_norm = *first == "FusedBatchNorm" && batch_norm_allowed;
        if !batch_norm && *first != "BiasAdd" {
            return Err(bad());
        }
        let activation = match rest {
            [] => Activation::None,
            [name] => Activation::from_name(name).ok_or_else(bad)?,
            _ => return Err(bad()),
        };
        let or = |name: &str, default: f32| if node.has(name) { node.f32(name) } else { Ok(default) };
        Ok(Self { batch_norm, activation, alpha: or("leakyrelu_alpha", 0.2)?, epsilon: or("epsilon", 1e-4)? })
    }
}
