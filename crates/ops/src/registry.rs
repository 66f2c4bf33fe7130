//! Every op that this crate serves: the one list that hosts register from and that the tests walk.

use crate::KernelDef;

/// The op families, each a table in its own module.
#[rustfmt::skip] // One a line: every family's author adds one.
pub const FAMILIES: &[&[KernelDef]] = &[
    &crate::elementwise::ARITHMETIC,
    &crate::elementwise::ARITHMETIC_HOST,
    crate::elementwise::ARITHMETIC_DEVICE,
    crate::elementwise::BITWISE,
    &crate::elementwise::COMPARE,
    &crate::elementwise::COMPARE_HOST,
    crate::elementwise::LOGICAL,
    crate::elementwise::SELECT,
    crate::elementwise::SELECT_HOST,
    crate::elementwise::ACTIVATIONS,
    crate::elementwise::CAST,
    crate::elementwise::COMPLEX,
    crate::elementwise::FUSED,
    crate::elementwise::GRADIENTS,
    crate::elementwise::UNARY,
    crate::array::OPS,
    crate::conv::KERNELS,
    crate::conv::DEPTHWISE_KERNELS,
    crate::matmul::KERNELS,
    crate::matmul::einsum::KERNELS,
    crate::gather::OPS,
    crate::image::KERNELS,
    crate::linalg::KERNELS,
    crate::optimizer::KERNELS,
    crate::pool::OPS,
    crate::sort::OPS,
    crate::spectral::KERNELS,
    crate::random::KERNELS,
    crate::variable::KERNELS,
    crate::reduce::OPS,
    crate::reduce::ARG_OPS,
    crate::reduce::cumulative::OPS,
    crate::reduce::check::OPS,
    crate::reduce::histogram::OPS,
    crate::nn::softmax::OPS,
    crate::nn::cross_entropy::OPS,
    crate::nn::bias::OPS,
    crate::nn::ctc::OPS,
    crate::nn::batch_norm::OPS,
    crate::nn::lrn::OPS,
    crate::rnn::KERNELS,
    crate::quantize::KERNELS,
];

/// All kernels.
pub fn all() -> impl Iterator<Item = &'static KernelDef> {
    FAMILIES.iter().flat_map(|family| family.iter())
}
