//! Resource variables' own arithmetic. What only moves references (VarHandleOp, ReadVariableOp, AssignVariableOp, ...) is
//! served by TensorFlow's DEFAULT kernels; its DEFAULT AssignAdd and AssignSub compute on the host and must not win.

mod assign;
mod programs;

pub(crate) use programs::{shared, shared_with};

use crate::{KernelDef, t, types};

/// The family's kernels.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("AssignAddVariableOp", &[t("dtype", types::NUMBER)], assign::add).host(&["resource"]),
    KernelDef::kernel("AssignSubVariableOp", &[t("dtype", types::NUMBER)], assign::sub).host(&["resource"]),
];
