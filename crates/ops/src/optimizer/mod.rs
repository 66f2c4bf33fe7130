//! Optimiser updates: TensorFlow's ResourceApply* (`dense.rs`, formulas in `rules.rs`) and ResourceSparseApply* (`sparse.rs`).
//! All are deterministic, in place, and read no scalar on the host.

mod dense;
mod rules;
mod sparse;

use crate::{KernelDef, TypeConstraint, t, types};

const T: &[TypeConstraint] = &[t("T", types::FLOAT)];
const SPARSE: &[TypeConstraint] = &[t("T", types::FLOAT), t("Tindices", types::INDEX)];

/// The family's kernels.
pub const KERNELS: &[KernelDef] = &[
    apply("ResourceApplyGradientDescent", &["var"]),
    apply("ResourceApplyMomentum", &["var", "accum"]),
    apply("ResourceApplyKerasMomentum", &["var", "accum"]),
    apply("ResourceApplyAdam", &["var", "m", "v"]),
    apply("ResourceApplyAdamWithAmsgrad", &["var", "m", "v", "vhat"]),
    apply("ResourceApplyAdaMax", &["var", "m", "v"]),
    apply("ResourceApplyAdagrad", &["var", "accum"]),
    apply("ResourceApplyAdagradV2", &["var", "accum"]),
    apply("ResourceApplyAdagradDA", &["var", "gradient_accumulator", "gradient_squared_accumulator"]),
    apply("ResourceApplyAdadelta", &["var", "accum", "accum_update"]),
    apply("ResourceApplyRMSProp", &["var", "ms", "mom"]),
    apply("ResourceApplyCenteredRMSProp", &["var", "mg", "ms", "mom"]),
    apply("ResourceApplyFtrl", &["var", "accum", "linear"]),
    apply("ResourceApplyFtrlV2", &["var", "accum", "linear"]),
    apply("ResourceApplyProximalGradientDescent", &["var"]),
    apply("ResourceApplyProximalAdagrad", &["var", "accum"]),
    apply("ResourceApplyAddSign", &["var", "m"]),
    apply("ResourceApplyPowerSign", &["var", "m"]),
    sparse("ResourceSparseApplyAdadelta", &["var", "accum", "accum_update"]),
    sparse("ResourceSparseApplyAdagrad", &["var", "accum"]),
    sparse("ResourceSparseApplyAdagradV2", &["var", "accum"]),
    sparse("ResourceSparseApplyAdagradDA", &["var", "gradient_accumulator", "gradient_squared_accumulator"]),
    sparse("ResourceSparseApplyCenteredRMSProp", &["var", "mg", "ms", "mom"]),
    sparse("ResourceSparseApplyFtrl", &["var", "accum", "linear"]),
    sparse("ResourceSparseApplyFtrlV2", &["var", "accum", "linear"]),
    sparse("ResourceSparseApplyKerasMomentum", &["var", "accum"]),
    sparse("ResourceSparseApplyMomentum", &["var", "accum"]),
    sparse("ResourceSparseApplyProximalAdagrad", &["var", "accum"]),
    sparse("ResourceSparseApplyProximalGradientDescent", &["var"]),
    sparse("ResourceSparseApplyRMSProp", &["var", "ms", "mom"]),
];

const fn apply(op: &'static str, variables: &'static [&'static str]) -> KernelDef {
    KernelDef::kernel(op, T, dense::make).host(variables)
}

const fn sparse(op: &'static str, variables: &'static [&'static str]) -> KernelDef {
    KernelDef::kernel(op, SPARSE, sparse::make).host(variables)
}
