//! Every op that this crate serves: the one list that hosts register from and that the tests walk.

use crate::KernelDef;

/// The op families, each a table in its own module.
pub const FAMILIES: &[&[KernelDef]] = &[crate::random::KERNELS];

/// All kernels.
pub fn all() -> impl Iterator<Item = &'static KernelDef> {
    FAMILIES.iter().flat_map(|family| family.iter())
}
