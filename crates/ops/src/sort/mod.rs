//! Prefix sums and sorts over the whole device, and the ops that are made of them.

mod radix;
mod scan;

pub(crate) use radix::{Sorted, sort};
#[allow(unused_imports)] // Where, Unique and DynamicPartition come with the rest of the family.
pub(crate) use scan::exclusive_scan;
