//! Gather, scatter and segment ops: rows read and combined by index.

mod bincount;
#[allow(clippy::module_inception)]
mod gather;
mod scatter;
mod segment;
mod segment_ops;
mod sparse_grad;
mod sparse_matmul;
mod sparse_to_dense;
mod stitch;

pub(crate) use g::rows;

use crate::types::{ALL, ALL_BUT_INT32, FLOAT, FLOAT_COMPLEX, INDEX, NUMBER, REAL};
use crate::{KernelDef, TypeConstraint, t};
use gather as g;
use scatter::scatter;
use segment_ops::segment;
use tfvk_device::DType::{self, *};

type Make = fn(&dyn crate::OpKernelConstruction) -> tfvk_device::Result<Box<dyn crate::OpKernel>>;
const fn k(op: &'static str, types: &'static [TypeConstraint], make: Make) -> KernelDef {
    KernelDef::kernel(op, types, make)
}

/// Numbers, but for the int32 that TensorFlow serves in host memory itself.
const NUMBER_BUT_INT32: &[DType] = &[I8, I16, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128];
const REAL_BUT_INT32: &[DType] = &[I8, I16, I64, U8, U16, U32, U64, F16, BF16, F32, F64];

const PARAMS: &[TypeConstraint] = &[t("Tparams", ALL)];
const VARIABLE: &[TypeConstraint] = &[t("dtype", ALL_BUT_INT32)];
const VARIABLE_NUMBER: &[TypeConstraint] = &[t("dtype", NUMBER_BUT_INT32)];
const VARIABLE_REAL: &[TypeConstraint] = &[t("dtype", REAL_BUT_INT32)];
const RESOURCE_T: &[TypeConstraint] = &[t("T", ALL_BUT_INT32)];
const RESOURCE_T_NUMBER: &[TypeConstraint] = &[t("T", NUMBER_BUT_INT32)];
const RESOURCE_T_REAL: &[TypeConstraint] = &[t("T", REAL_BUT_INT32)];
const T_ALL: &[TypeConstraint] = &[t("T", ALL)];
const T_COUNTED: &[TypeConstraint] = &[t("T", &[I32, I64, F32, F64])];
const T_NUMBER: &[TypeConstraint] = &[t("T", NUMBER)];
const T_REAL: &[TypeConstraint] = &[t("T", REAL)];
const T_FLOAT: &[TypeConstraint] = &[t("T", FLOAT)];

/// The family.
pub const OPS: &[KernelDef] = &[
    k("Gather", PARAMS, g::gather),
    k("GatherV2", PARAMS, g::gather_v2).host(&["axis"]),
    k("GatherNd", PARAMS, g::gather_nd),
    k("ResourceGather", VARIABLE, g::resource_gather),
    k("ResourceGatherNd", VARIABLE, g::resource_gather_nd),
    // Scatter. int32 is TensorFlow's own.
    k("ScatterNd", RESOURCE_T, scatter).host(&["shape"]),
    k("ScatterNdNonAliasingAdd", RESOURCE_T, scatter).forwards(&[0]),
    k("TensorScatterUpdate", RESOURCE_T, scatter).forwards(&[0]),
    k("TensorScatterAdd", RESOURCE_T_NUMBER, scatter).forwards(&[0]),
    k("TensorScatterSub", RESOURCE_T_NUMBER, scatter).forwards(&[0]),
    k("TensorScatterMax", RESOURCE_T_REAL, scatter).forwards(&[0]),
    k("TensorScatterMin", RESOURCE_T_REAL, scatter).forwards(&[0]),
    k("ResourceScatterAdd", VARIABLE_NUMBER, scatter),
    k("ResourceScatterSub", VARIABLE_NUMBER, scatter),
    k("ResourceScatterMul", VARIABLE_NUMBER, scatter),
    k("ResourceScatterDiv", VARIABLE_NUMBER, scatter),
    k("ResourceScatterMin", VARIABLE_REAL, scatter),
    k("ResourceScatterMax", VARIABLE_REAL, scatter),
    k("ResourceScatterUpdate", VARIABLE, scatter),
    k("ResourceScatterNdUpdate", RESOURCE_T, scatter),
    k("ResourceScatterNdAdd", RESOURCE_T_NUMBER, scatter),
    k("ResourceScatterNdSub", RESOURCE_T_NUMBER, scatter),
    k("ResourceScatterNdMin", RESOURCE_T_REAL, scatter),
    k("ResourceScatterNdMax", RESOURCE_T_REAL, scatter),
    k("DynamicStitch", T_ALL, stitch::dynamic_stitch).host(&["indices"]),
    k("DynamicPartition", T_ALL, stitch::dynamic_partition),
    k("SparseToDense", T_ALL, sparse_to_dense::sparse_to_dense).host(&["output_shape", "default_value"]),
    k("Bincount", T_COUNTED, bincount::bincount).host(&["size"]),
    k("DenseBincount", T_COUNTED, bincount::dense_bincount).host(&["size"]),
    k("SparseTensorDenseMatMul", &[t("T", FLOAT_COMPLEX), t("Tindices", INDEX)], sparse_matmul::sparse_tensor_dense_mat_mul)
        .host(&["a_shape"]),
    // Segments.
    k("UnsortedSegmentSum", T_NUMBER, segment).host(&["num_segments"]),
    k("UnsortedSegmentProd", T_NUMBER, segment).host(&["num_segments"]),
    k("UnsortedSegmentMax", T_REAL, segment).host(&["num_segments"]),
    k("UnsortedSegmentMin", T_REAL, segment).host(&["num_segments"]),
    k("SegmentSum", T_NUMBER, segment),
    k("SegmentMean", T_NUMBER, segment),
    k("SegmentProd", T_NUMBER, segment),
    k("SegmentMax", T_REAL, segment),
    k("SegmentMin", T_REAL, segment),
    k("SparseSegmentSum", T_REAL, segment),
    k("SparseSegmentMean", T_FLOAT, segment),
    k("SparseSegmentSqrtN", T_FLOAT, segment),
    k("SparseSegmentSumGrad", T_FLOAT, sparse_grad::sparse_segment_grad).host(&["output_dim0"]),
    k("SparseSegmentMeanGrad", T_FLOAT, sparse_grad::sparse_segment_grad).host(&["output_dim0"]),
    k("SparseSegmentSqrtNGrad", T_FLOAT, sparse_grad::sparse_segment_grad).host(&["output_dim0"]),
    k("SparseSegmentSumWithNumSegments", T_REAL, segment).host(&["num_segments"]),
    k("SparseSegmentMeanWithNumSegments", T_FLOAT, segment).host(&["num_segments"]),
    k("SparseSegmentSqrtNWithNumSegments", T_FLOAT, segment).host(&["num_segments"]),
];
