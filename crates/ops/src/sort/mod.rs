//! Prefix sums and sorts over the whole device, and the ops that are made of them.

mod find;
mod radix;
mod scan;
mod search;
mod topk;

pub(crate) use radix::{Sorted, sort};
pub(crate) use search::search;

use crate::types::{ALL_BUT_INT32, REAL};
use crate::{KernelDef, t};

/// The family. int32 Where is TensorFlow's own.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel("Where", &[t("T", ALL_BUT_INT32)], find::find),
    KernelDef::kernel("LowerBound", &[t("T", REAL)], search::lower_bound),
    KernelDef::kernel("UpperBound", &[t("T", REAL)], search::upper_bound),
    KernelDef::kernel("TopK", &[t("T", REAL)], topk::top_k),
    KernelDef::kernel("TopKV2", &[t("T", REAL)], topk::top_k_v2).host(&["k"]),
];
