//! Linear algebra on the matrices of a batch, each by one workgroup: factorisations, solving, determinants.

mod eig;
mod factor;
mod qr;
mod solve;
mod svd;
#[cfg(test)]
mod tests;
mod tridiagonal;

use tfvk_device::{DType, Error, Result, Shape};

use crate::shader::Value;
use crate::{KernelDef, TypeConstraint, t};

/// Threads of a workgroup; the shaders' shared arrays have as many elements.
const THREADS: u32 = 128;

const T: &[TypeConstraint] = &[t("T", &[DType::F32, DType::F64])];
const NUMBERS: &[TypeConstraint] = &[t("T", &[DType::F32, DType::F64, DType::C64, DType::C128])];
const LU: &[TypeConstraint] = &[t("T", &[DType::F32, DType::F64, DType::C64, DType::C128]), t("output_idx_type", &[DType::I32])];

/// The family's kernels.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("Qr", NUMBERS, qr::make),
    KernelDef::kernel("SelfAdjointEigV2", NUMBERS, eig::make),
    KernelDef::kernel("Svd", T, svd::make),
    KernelDef::kernel("TridiagonalSolve", NUMBERS, tridiagonal::solve),
    KernelDef::kernel("TridiagonalMatMul", NUMBERS, tridiagonal::product),
    KernelDef::kernel("Cholesky", NUMBERS, factor::cholesky),
    KernelDef::kernel("Lu", LU, factor::lu),
    KernelDef::kernel("MatrixDeterminant", NUMBERS, factor::determinant),
    KernelDef::kernel("LogMatrixDeterminant", NUMBERS, factor::log_determinant),
    KernelDef::kernel("MatrixInverse", NUMBERS, solve::inverse),
    KernelDef::kernel("MatrixSolve", NUMBERS, solve::solve),
    KernelDef::kernel("MatrixTriangularSolve", NUMBERS, solve::triangular),
];

/// How often each thread of a workgroup goes round a loop over `n` elements.
fn turns(n: u64) -> u64 {
    n.div_ceil(u64::from(THREADS))
}

/// A batch of matrices: how many, rows, columns.
#[derive(Clone, Copy)]
struct Matrices {
    batch: u32,
    rows: u32,
    columns: u32,
}

/// The first parameters of this family's shaders: the type of the elements, and of their parts.
fn number(dtype: DType) -> [Value; 2] {
    [dtype.into(), eig::real(dtype).into()]
}

/// Splits a shape into its batch and its two inner dimensions.
fn matrices(shape: &Shape, name: &str) -> Result<Matrices> {
    let Some(split) = shape.rank().checked_sub(2) else {
        return Err(Error::invalid_argument(format!("{name} must have rank >= 2, got {shape}")));
    };
    let small = |n: i64| u32::try_from(n).ok().filter(|&n| n < 1 << 31);
    let batch = small(shape[..split].iter().product());
    match (batch, small(shape[split]), small(shape[split + 1]), small(shape[split] * shape[split + 1])) {
        (Some(batch), Some(rows), Some(columns), Some(_)) => Ok(Matrices { batch, rows, columns }),
        _ => Err(Error::unimplemented(format!("{name} of {shape}"))),
    }
}

/// The same; the matrices must be square.
fn square(shape: &Shape, name: &str) -> Result<Matrices> {
    let m = matrices(shape, name)?;
    if m.rows != m.columns {
        return Err(Error::invalid_argument(format!("{name} matrices must be square, got {} != {}", m.rows, m.columns)));
    }
    Ok(m)
}

/// The dimensions before the inner two, and then these.
fn batch_shape(shape: &Shape, inner: &[i64]) -> Shape {
    let outer = shape.rank().saturating_sub(2);
    shape[..outer].iter().chain(inner).copied().collect()
}
