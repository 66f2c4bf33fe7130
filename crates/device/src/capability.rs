//! Which SPIR-V capabilities a device's features bear, so that a kernel which needs more is an error and not a crash.

use crate::Features;

type Has = fn(&Features) -> bool;

/// The capabilities that depend on a feature; what a user is told of it, number, and where it is known.
const OPTIONAL: &[(&str, u32, Has)] = &[
    ("16-bit float arithmetic (shaderFloat16)", 9, |f| f.f16),
    ("64-bit float arithmetic (shaderFloat64)", 10, |f| f.f64),
    ("64-bit integer arithmetic (shaderInt64)", 11, |f| f.int64),
    ("Int64Atomics", 12, |f| f.int64_atomics),
    ("16-bit integer arithmetic (shaderInt16)", 22, |f| f.int16),
    ("8-bit integer arithmetic (shaderInt8)", 39, |f| f.int8),
    ("GroupNonUniformVote", 62, |f| f.subgroup_vote),
    ("GroupNonUniformBallot", 64, |f| f.subgroup_ballot),
    ("GroupNonUniformShuffle", 65, |f| f.subgroup_shuffle),
    ("GroupNonUniformShuffleRelative", 66, |f| f.subgroup_shuffle_relative),
    ("GroupNonUniformClustered", 67, |f| f.subgroup_clustered),
    ("StoragePushConstant16", 4435, |f| f.push_constant_16),
    ("VariablePointersStorageBuffer", 4441, |f| f.variable_pointers),
    ("VariablePointers", 4442, |f| f.variable_pointers),
    ("StoragePushConstant8", 4450, |f| f.push_constant_8),
    ("DenormPreserve", 4464, |f| f.denorm_preserve_f16 || f.denorm_preserve_f32 || f.denorm_preserve_f64),
    ("DenormFlushToZero", 4465, |f| f.denorm_flush_f32),
    ("SignedZeroInfNanPreserve", 4466, |f| f.nan_preserve_f16 || f.nan_preserve_f32 || f.nan_preserve_f64),
    ("RoundingModeRTE", 4467, |f| f.round_even_f16 || f.round_even_f32),
    ("BFloat16TypeKHR", 5116, |f| f.bf16),
    ("BFloat16DotProductKHR", 5117, |f| f.bf16_dot),
    ("BFloat16CooperativeMatrixKHR", 5118, |f| f.bf16_coopmat),
    ("VulkanMemoryModel", 5345, |f| f.memory_model),
    ("VulkanMemoryModelDeviceScope", 5346, |f| f.memory_model),
    ("CooperativeMatrixReductionsNV", 5430, |f| f.coopmat_nv2),
    ("CooperativeMatrixConversionsNV", 5431, |f| f.coopmat_nv2),
    ("CooperativeMatrixPerElementOperationsNV", 5432, |f| f.coopmat_nv2),
    ("CooperativeMatrixTensorAddressingNV", 5433, |f| f.coopmat_nv2),
    ("CooperativeMatrixBlockLoadsNV", 5434, |f| f.coopmat_nv2),
    ("TensorAddressingNV", 5439, |f| f.coopmat_nv2),
    ("DotProductInputAll", 6016, |f| f.integer_dot),
    ("DotProductInput4x8Bit", 6017, |f| f.integer_dot),
    ("DotProductInput4x8BitPacked", 6018, |f| f.integer_dot),
    ("DotProduct", 6019, |f| f.integer_dot),
    ("CooperativeMatrixKHR", 6022, |f| f.coopmat_khr.is_some()),
    ("AtomicFloat32AddEXT", 6033, |f| f.atomic_f32_add),
];

/// What every device has: Matrix, Shader, GroupNonUniform and its arithmetic, 16- and 8-bit storage, buffer addresses.
const ALWAYS: &[u32] = &[0, 1, 61, 63, 4433, 4434, 4448, 4449, 5347];

/// The first of these capabilities that the features do not bear.
pub(crate) fn lacking(capabilities: &[u32], features: &Features) -> Option<String> {
    let bears = |c: u32| ALWAYS.contains(&c) || OPTIONAL.iter().any(|&(_, n, has)| n == c && has(features));
    let &missing = capabilities.iter().find(|&&c| !bears(c))?;
    let known = OPTIONAL.iter().find(|(_, n, _)| *n == missing);
    let name = known.map_or_else(|| format!("number {missing}"), |(name, ..)| (*name).to_string());
    Some(if name.contains(' ') && known.is_some() { name } else { format!("the capability {name}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_is_missing() {
        let none = Features::default();
        assert_eq!(lacking(&[1, 5347, 63], &none), None);
        assert_eq!(lacking(&[1, 11], &none).as_deref(), Some("64-bit integer arithmetic (shaderInt64)"));
        assert_eq!(lacking(&[1, 11], &Features { int64: true, ..none.clone() }), None);
        assert_eq!(lacking(&[2], &none).as_deref(), Some("the capability number 2"));
        assert_eq!(lacking(&[6019], &none).as_deref(), Some("the capability DotProduct"));
    }

    #[test]
    fn no_number_twice() {
        let all: Vec<u32> = OPTIONAL.iter().map(|o| o.1).chain(ALWAYS.iter().copied()).collect();
        for (i, n) in all.iter().enumerate() {
            assert!(!all[..i].contains(n), "{n}");
        }
    }
}
