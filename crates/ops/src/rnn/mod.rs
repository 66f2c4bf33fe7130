//! Recurrent layers: whole sequences in one op (TensorFlow's Cudnn* ops, which Keras emits for every device of type GPU).
//!
//! `config.rs` reads attributes and sizes, `params.rs` knows the layout of the weights, `forward.rs` and `backward.rs` walk
//! layers and directions, `sweep.rs` launches the steps. What the products cost is [`crate::matmul`]'s business.
//!
//! Beside them the older block ops with a weight matrix of their own (`block.rs`, `block_grad.rs`, `gru_cell.rs`).

mod backward;
mod block;
mod block_grad;
mod config;
mod forward;
mod gru_cell;
mod params;
mod reserve;
mod sweep;
#[cfg(test)]
mod tests;

use tfvk_device::DType::{self, F16, F32};

use crate::{KernelDef, TypeConstraint, t, types};

const T: &[TypeConstraint] = &[t("T", types::FLOAT)];
/// What the block ops exist for.
const BLOCK: &[TypeConstraint] = &[t("T", &[F16, F32])];
const STEPS: &[&str] = &["seq_len_max"];
const SIZES: &[&str] = &["num_layers", "num_units", "input_size"];

/// The declarations.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("CudnnRNN", T, forward::Forward::v1),
    KernelDef::kernel("CudnnRNNV2", T, forward::Forward::v2).host(&["host_reserved"]),
    KernelDef::kernel("CudnnRNNV3", T, forward::Forward::v3).host(&["sequence_lengths", "host_reserved"]),
    KernelDef::kernel("CudnnRNNBackprop", T, backward::Backward::v1),
    KernelDef::kernel("CudnnRNNBackpropV2", T, backward::Backward::v2).host(&["host_reserved"]),
    KernelDef::kernel("CudnnRNNBackpropV3", T, backward::Backward::v3).host(&["sequence_lengths", "host_reserved"]),
    KernelDef::kernel("CudnnRNNParamsSize", &[t("T", types::FLOAT), t("S", types::INT32)], params::Size::make).host(&[
        "num_layers",
        "num_units",
        "input_size",
        "params_size",
    ]),
    KernelDef::kernel("CudnnRNNParamsSize", &[t("T", types::FLOAT), t("S", &[DType::I64])], params::Size::make).host(&[
        "num_layers",
        "num_units",
        "input_size",
        "params_size",
    ]),
    KernelDef::kernel("CudnnRNNCanonicalToParams", T, params::Convert::to_params).host(SIZES),
    KernelDef::kernel("CudnnRNNCanonicalToParamsV2", T, params::Convert::to_params_v2).host(SIZES),
    KernelDef::kernel("CudnnRNNParamsToCanonical", T, params::Convert::to_canonical).host(SIZES),
    KernelDef::kernel("CudnnRNNParamsToCanonicalV2", T, params::Convert::to_canonical_v2).host(SIZES),
    KernelDef::kernel("LSTMBlockCell", BLOCK, block::Forward::make),
    KernelDef::kernel("LSTMBlockCellGrad", BLOCK, block_grad::Backward::make),
    KernelDef::kernel("BlockLSTM", BLOCK, block::Forward::make).host(STEPS),
    KernelDef::kernel("BlockLSTMV2", BLOCK, block::Forward::make).host(STEPS),
    KernelDef::kernel("BlockLSTMGrad", BLOCK, block_grad::Backward::make).host(STEPS),
    KernelDef::kernel("BlockLSTMGradV2", BLOCK, block_grad::Backward::make).host(STEPS),
    KernelDef::kernel("GRUBlockCell", &[t("T", &[F32])], gru_cell::Forward::make),
    KernelDef::kernel("GRUBlockCellGrad", &[t("T", &[F32])], gru_cell::Backward::make),
];
