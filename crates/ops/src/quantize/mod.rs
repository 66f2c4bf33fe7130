//! Training with simulated quantisation: FakeQuant* and QuantizeAndDequantize*. Values stay floats; they are moved to the
//! nearest of a few levels.

mod fake;
mod range;

use tfvk_device::DType::{F32, F64};

use crate::{KernelDef, TypeConstraint, t};

const T: &[TypeConstraint] = &[t("T", &[F32, F64])];

/// The declarations.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("FakeQuantWithMinMaxArgs", &[], fake::Args::forward).forwards(&[0]),
    KernelDef::kernel("FakeQuantWithMinMaxArgsGradient", &[], fake::Args::gradient).forwards(&[0, 1]),
    KernelDef::kernel("FakeQuantWithMinMaxVars", &[], fake::Vars::forward).forwards(&[0]),
    KernelDef::kernel("FakeQuantWithMinMaxVarsGradient", &[], fake::Vars::gradient),
    KernelDef::kernel("FakeQuantWithMinMaxVarsPerChannel", &[], fake::Vars::forward).forwards(&[0]),
    KernelDef::kernel("FakeQuantWithMinMaxVarsPerChannelGradient", &[], fake::Vars::gradient),
    KernelDef::kernel("QuantizeAndDequantizeV2", T, range::Quantize::v2).forwards(&[0]),
    KernelDef::kernel("QuantizeAndDequantizeV3", T, range::Quantize::v3).host(&["num_bits"]).forwards(&[0]),
    KernelDef::kernel("QuantizeAndDequantizeV4", T, range::Quantize::v2).forwards(&[0]),
    KernelDef::kernel("QuantizeAndDequantizeV4Grad", T, range::Gradient::make).forwards(&[0]),
];
