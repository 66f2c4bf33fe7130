//! Array ops: those that move elements, and those that make them from a shape. Element types matter by their size, so
//! every one of them serves every type that TensorFlow's own device kernels (of any device) do not already serve.
//!
//! int32 follows TensorFlow's GPU build: where that keeps int32 tensors in host memory, so does the declaration here.

mod band_part;
mod bitcast;
mod broadcast;
mod cross;
mod diag;
mod fill;
mod join;
mod mirror_pad_grad;
mod mover;
mod one_hot;
mod pad;
mod parts;
mod range;
mod reverse;
mod reverse_sequence;
mod slice;
mod slice_spec;
mod space;
mod split;
mod transpose;
mod view;

pub(crate) use fill::{fill, fill_bits, unit_word};
pub(crate) use mover::{copy_all, threads};
pub(crate) use one_hot::count;

use tfvk_device::DType::{self, *};

use crate::types::{ALL, ALL_BUT_INT32, INT32, NUMBER, REAL};
use crate::{KernelDef, t};

/// Everything but the int32 and int64 that TensorFlow serves in host memory itself.
const ALL_BUT_INDEX: &[DType] = &[Bool, I8, I16, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128];

const fn k(op: &'static str, types: &'static [crate::TypeConstraint], make: Make) -> KernelDef {
    KernelDef::kernel(op, types, make)
}
type Make = fn(&dyn crate::OpKernelConstruction) -> tfvk_device::Result<Box<dyn crate::OpKernel>>;

const T_ALL: &[crate::TypeConstraint] = &[t("T", ALL)];
const T_DEVICE: &[crate::TypeConstraint] = &[t("T", ALL_BUT_INT32)];
const T_INT32: &[crate::TypeConstraint] = &[t("T", INT32)];

/// What TensorFlow makes ranges of; int32 is its own.
const RANGE: &[DType] = &[I64, F16, BF16, F32, F64];

/// The family.
pub const OPS: &[KernelDef] = &[
    k("Bitcast", &[t("T", ALL), t("type", ALL)], bitcast::bitcast),
    k("Transpose", T_ALL, transpose::transpose).host(&["perm"]),
    k("ConjugateTranspose", T_ALL, transpose::conjugate_transpose).host(&["perm"]),
    // Slices.
    k("Slice", T_DEVICE, slice::slice).host(&["begin", "size"]),
    k("StridedSlice", T_DEVICE, slice::strided_slice).host(&["begin", "end", "strides"]),
    k("StridedSlice", T_INT32, slice::strided_slice).host(&["input", "begin", "end", "strides", "output"]),
    k("StridedSliceGrad", T_DEVICE, slice::strided_slice_grad).host(&["shape", "begin", "end", "strides"]),
    k("StridedSliceGrad", T_INT32, slice::strided_slice_grad).host(&["shape", "begin", "end", "strides", "dy", "output"]),
    k("TensorStridedSliceUpdate", T_DEVICE, slice::tensor_strided_slice_update).host(&["begin", "end", "strides"]).forwards(&[0]),
    k("TensorStridedSliceUpdate", T_INT32, slice::tensor_strided_slice_update)
        .host(&["input", "begin", "end", "strides", "value", "output"])
        .forwards(&[0]),
    k("ResourceStridedSliceAssign", T_ALL, slice::resource_strided_slice_assign).host(&["ref", "begin", "end", "strides"]),
    // Joining and cutting. int32: ConcatV2 and Concat are TensorFlow's own, Unpack also for int64.
    k("ConcatV2", T_DEVICE, join::concat_v2).host(&["axis"]),
    k("Concat", T_DEVICE, join::concat).host(&["concat_dim"]),
    k("Pack", T_DEVICE, join::pack),
    k("Pack", T_INT32, join::pack).host(&["values", "output"]),
    k("Unpack", &[t("T", ALL_BUT_INDEX)], split::unpack),
    k("Split", T_ALL, split::split).host(&["split_dim"]),
    k("SplitV", T_DEVICE, split::split_v).host(&["size_splits", "split_dim"]),
    k("SplitV", T_INT32, split::split_v).host(&["value", "size_splits", "split_dim", "output"]),
    // Borders.
    k("Pad", T_DEVICE, pad::pad).host(&["paddings"]),
    k("Pad", T_INT32, pad::pad).host(&["input", "paddings", "output"]),
    k("PadV2", T_DEVICE, pad::pad_v2).host(&["paddings", "constant_values"]),
    k("PadV2", T_INT32, pad::pad_v2).host(&["input", "paddings", "constant_values", "output"]),
    k("MirrorPad", T_ALL, pad::mirror_pad).host(&["paddings"]),
    k("MirrorPadGrad", &[t("T", NUMBER)], mirror_pad_grad::mirror_pad_grad).host(&["paddings"]),
    k("MatrixBandPart", T_ALL, band_part::band_part).host(&["num_lower", "num_upper"]),
    k("BatchMatrixBandPart", T_ALL, band_part::band_part).host(&["num_lower", "num_upper"]),
    k("OneHot", T_ALL, one_hot::one_hot).host(&["depth"]),
    k("Range", &[t("Tidx", RANGE)], range::range).host(&["start", "limit", "delta"]),
    // Repeating. int32 Fill is TensorFlow's own.
    k("BroadcastTo", T_DEVICE, broadcast::broadcast_to).host(&["shape"]),
    k("BroadcastTo", T_INT32, broadcast::broadcast_to).host(&["input", "shape", "output"]),
    k("Tile", T_ALL, broadcast::tile).host(&["multiples"]),
    k("Fill", &[t("T", ALL_BUT_INT32)], broadcast::fill).host(&["dims"]),
    k("Empty", &[t("dtype", ALL)], broadcast::empty).host(&["shape"]),
    k("Snapshot", T_ALL, broadcast::snapshot),
    k("DeepCopy", T_DEVICE, broadcast::deep_copy),
    // Reordering.
    k("Reverse", T_DEVICE, reverse::reverse).host(&["dims"]),
    k("Reverse", T_INT32, reverse::reverse).host(&["tensor", "dims", "output"]),
    k("ReverseV2", T_DEVICE, reverse::reverse_v2).host(&["axis"]),
    k("ReverseV2", T_INT32, reverse::reverse_v2).host(&["tensor", "axis", "output"]),
    k("ReverseSequence", T_ALL, reverse_sequence::reverse_sequence),
    k("Roll", T_ALL, reverse::roll).host(&["shift", "axis"]),
    k("SpaceToBatchND", T_ALL, space::space_to_batch_nd).host(&["block_shape", "paddings"]),
    k("BatchToSpaceND", T_ALL, space::batch_to_space_nd).host(&["block_shape", "crops"]),
    k("SpaceToBatch", T_ALL, space::space_to_batch).host(&["paddings"]),
    k("BatchToSpace", T_ALL, space::batch_to_space).host(&["crops"]),
    k("SpaceToDepth", T_ALL, space::space_to_depth),
    k("DepthToSpace", T_ALL, space::depth_to_space),
    k("Cross", &[t("T", REAL)], cross::cross),
    // Diagonals.
    k("Diag", T_ALL, diag::diag),
    k("DiagPart", T_ALL, diag::diag_part),
    k("MatrixDiag", T_ALL, diag::matrix_diag),
    k("MatrixDiagV2", T_ALL, diag::matrix_diag).host(&["k", "num_rows", "num_cols", "padding_value"]),
    k("MatrixDiagV3", T_ALL, diag::matrix_diag).host(&["k", "num_rows", "num_cols", "padding_value"]),
    k("MatrixDiagPart", T_ALL, diag::matrix_diag_part),
    k("MatrixDiagPartV2", T_ALL, diag::matrix_diag_part).host(&["k", "padding_value"]),
    k("MatrixDiagPartV3", T_ALL, diag::matrix_diag_part).host(&["k", "padding_value"]),
    k("MatrixSetDiag", T_ALL, diag::matrix_set_diag),
    k("MatrixSetDiagV2", T_ALL, diag::matrix_set_diag).host(&["k"]),
    k("MatrixSetDiagV3", T_ALL, diag::matrix_set_diag).host(&["k"]),
    k("BatchMatrixDiag", T_ALL, diag::matrix_diag),
    k("BatchMatrixDiagPart", T_ALL, diag::matrix_diag_part),
    k("BatchMatrixSetDiag", T_ALL, diag::matrix_set_diag),
];
