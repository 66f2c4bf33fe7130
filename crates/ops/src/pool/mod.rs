//! Pooling ops.

mod dilation;
#[allow(clippy::module_inception)]
mod pool;
mod window;

use crate::types::{FLOAT, REAL};
use crate::{KernelDef, TypeConstraint, t};
use pool::pool;
use tfvk_device::DType::*;

const fn k(op: &'static str, types: &'static [TypeConstraint]) -> KernelDef {
    KernelDef::kernel(op, types, pool)
}

const T_REAL: &[TypeConstraint] = &[t("T", REAL)];
const T_FLOAT: &[TypeConstraint] = &[t("T", FLOAT)];

/// What TensorFlow's OpDef allows.
const T_MAX_POOL: &[TypeConstraint] = &[t("T", &[I8, I16, I32, I64, U8, U16, F16, BF16, F32, F64])];

/// The family.
pub const OPS: &[KernelDef] = &[
    k("MaxPool", T_MAX_POOL),
    k("MaxPoolV2", T_MAX_POOL).host(&["ksize", "strides"]),
    k("MaxPoolGrad", T_REAL),
    k("MaxPoolGradV2", T_REAL).host(&["ksize", "strides"]),
    k("MaxPoolGradGrad", T_REAL),
    k("MaxPoolGradGradV2", T_REAL).host(&["ksize", "strides"]),
    k("MaxPoolWithArgmax", T_REAL),
    k("MaxPoolGradWithArgmax", T_REAL),
    k("MaxPoolGradGradWithArgmax", T_REAL),
    k("MaxPool3D", T_FLOAT),
    k("MaxPool3DGrad", T_FLOAT),
    k("MaxPool3DGradGrad", T_FLOAT),
    k("AvgPool", T_FLOAT),
    k("AvgPoolGrad", T_FLOAT).host(&["orig_input_shape"]),
    k("AvgPool3D", T_FLOAT),
    k("AvgPool3DGrad", T_FLOAT).host(&["orig_input_shape"]),
    KernelDef::kernel("Dilation2D", T_REAL, dilation::make),
    KernelDef::kernel("Dilation2DBackpropInput", T_FLOAT, dilation::make),
    KernelDef::kernel("Dilation2DBackpropFilter", T_FLOAT, dilation::make),
];
