//! Fourier transforms. `ops.rs` has the ops and their shape rules, `axis.rs` transforms one axis of a tensor (directly or by
//! Bluestein's way), `pass.rs` launches one pass of one, `plan.rs` says which passes.

mod axis;
mod ops;
mod pass;
mod plan;

use tfvk_device::DType;

use crate::{KernelDef, TypeConstraint, t};
use ops::make;

const COMPLEX: &[TypeConstraint] = &[t("Tcomplex", &[DType::C64, DType::C128])];
const SINGLE: &[TypeConstraint] = &[t("Treal", &[DType::F32]), t("Tcomplex", &[DType::C64])];
const DOUBLE: &[TypeConstraint] = &[t("Treal", &[DType::F64]), t("Tcomplex", &[DType::C128])];

const fn complex(op: &'static str) -> KernelDef {
    KernelDef::kernel(op, COMPLEX, make)
}

const fn batch(op: &'static str) -> KernelDef {
    KernelDef::kernel(op, &[], make)
}

const fn real(op: &'static str, types: &'static [TypeConstraint]) -> KernelDef {
    KernelDef::kernel(op, types, make).host(&["fft_length"])
}

const fn over_axes(op: &'static str, types: &'static [TypeConstraint]) -> KernelDef {
    KernelDef::kernel(op, types, make).host(&["fft_length", "axes"])
}

/// The family's kernels.
pub const KERNELS: &[KernelDef] = &[
    complex("FFT"),
    complex("FFT2D"),
    complex("FFT3D"),
    complex("IFFT"),
    complex("IFFT2D"),
    complex("IFFT3D"),
    batch("BatchFFT"),
    batch("BatchFFT2D"),
    batch("BatchFFT3D"),
    batch("BatchIFFT"),
    batch("BatchIFFT2D"),
    batch("BatchIFFT3D"),
    real("RFFT", SINGLE),
    real("RFFT", DOUBLE),
    real("RFFT2D", SINGLE),
    real("RFFT2D", DOUBLE),
    real("RFFT3D", SINGLE),
    real("RFFT3D", DOUBLE),
    real("IRFFT", SINGLE),
    real("IRFFT", DOUBLE),
    real("IRFFT2D", SINGLE),
    real("IRFFT2D", DOUBLE),
    real("IRFFT3D", SINGLE),
    real("IRFFT3D", DOUBLE),
    over_axes("FFTND", COMPLEX),
    over_axes("IFFTND", COMPLEX),
    over_axes("RFFTND", SINGLE),
    over_axes("RFFTND", DOUBLE),
    over_axes("IRFFTND", SINGLE),
    over_axes("IRFFTND", DOUBLE),
];
