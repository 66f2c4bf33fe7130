//! Prefix sums and sorts over the whole device, and the ops that are made of them.

mod find;
mod in_top_k;
mod radix;
mod scan;
mod search;
mod topk;

pub(crate) use find::read_u32;
pub(crate) use radix::{Sorted, sort};
pub(crate) use search::search;

use crate::types::{ALL_BUT_INT32, INDEX, REAL};
use crate::{KernelDef, t};

/// The family. int32 Where is TensorFlow's own.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel("Where", &[t("T", ALL_BUT_INT32)], find::find),
    KernelDef::kernel("LowerBound", &[t("T", REAL)], search::lower_bound),
    KernelDef::kernel("UpperBound", &[t("T", REAL)], search::upper_bound),
    KernelDef::kernel("InTopKV2", &[t("T", INDEX)], in_top_k::in_top_k_v2).host(&["k"]),
    KernelDef::kernel("TopK", &[t("T", REAL)], topk::top_k),
    KernelDef::kernel("TopKV2", &[t("T", REAL)], topk::top_k_v2).host(&["k"]),
];
