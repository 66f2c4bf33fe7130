//! Random numbers: TensorFlow's own streams, bit for bit (Philox 4x32-10), so that a program draws the same dropout masks
//! and initial weights as on the CPU. Element-to-counter mapping and distributions: `random_fill.comp`.

mod fill;
mod multinomial;
mod philox;
mod samples;
mod shape;
mod shuffle;
mod state;
mod stateful;
mod stateless;

use tfvk_device::DType::{self, I32, I64, U32, U64};

pub(crate) use fill::{Distribution, Source, fill};
pub(crate) use philox::Generator;

use crate::{KernelDef, t, types};

const FULL_INT: &[DType] = &[I32, I64, U32, U64];

/// The family's kernels.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("StatelessRandomGetKeyCounter", SEED, stateless::key_counter),
    KernelDef::kernel("StatelessRandomGetKeyCounterAlg", SEED, stateless::key_counter_alg).host(&["alg"]),
    KernelDef::kernel("StatelessRandomGetAlg", &[], stateless::alg).host(&["alg"]),
    KernelDef::kernel("StatelessRandomUniformV2", FLOATS, stateless::uniform_v2).host(SHAPE_ALG),
    KernelDef::kernel("StatelessRandomNormalV2", FLOATS, stateless::normal_v2).host(SHAPE_ALG),
    KernelDef::kernel("StatelessTruncatedNormalV2", FLOATS, stateless::truncated_v2).host(SHAPE_ALG),
    KernelDef::kernel("StatelessRandomUniformIntV2", INTS, stateless::int_v2).host(&["shape", "alg", "minval", "maxval"]),
    KernelDef::kernel("StatelessRandomUniformFullIntV2", FULL, stateless::full_int_v2).host(SHAPE_ALG),
    KernelDef::kernel("StatelessRandomUniform", FLOATS, stateless::uniform).host(&["shape"]),
    KernelDef::kernel("StatelessRandomNormal", FLOATS, stateless::normal).host(&["shape"]),
    KernelDef::kernel("StatelessTruncatedNormal", FLOATS, stateless::truncated).host(&["shape"]),
    KernelDef::kernel("StatelessRandomUniformInt", INTS, stateless::int).host(&["shape", "minval", "maxval"]),
    KernelDef::kernel("StatelessRandomUniformFullInt", FULL, stateless::full_int).host(&["shape"]),
    KernelDef::kernel("StatelessMultinomial", LOGITS, multinomial::stateless).host(&["num_samples"]),
    KernelDef::kernel("Multinomial", LOGITS, multinomial::stateful).host(&["num_samples"]),
    KernelDef::kernel("StatelessRandomGammaV2", GAMMA, samples::of_seed).host(&["shape"]),
    KernelDef::kernel("StatelessRandomGammaV3", GAMMA, samples::of_key).host(SHAPE_ALG),
    KernelDef::kernel("RandomGamma", &[t("S", types::INDEX), t("T", SAMPLED)], samples::stateful).host(&["shape"]),
    KernelDef::kernel("RandomPoissonV2", &[t("S", types::INDEX), t("R", SAMPLED), t("dtype", COUNTED)], samples::stateful)
        .host(&["shape"]),
    KernelDef::kernel("StatelessRandomPoisson", &[t("Rtype", SAMPLED), t("dtype", COUNTED)], samples::of_seed).host(&["shape"]),
    KernelDef::kernel("RandomShuffle", &[t("T", types::ALL)], shuffle::stateful),
    KernelDef::kernel("StatelessShuffle", &[t("T", types::ALL)], shuffle::stateless).host(&["key", "counter", "alg"]),
    KernelDef::kernel("RandomUniform", FLOATS, stateful::uniform).host(&["shape"]),
    KernelDef::kernel("RandomStandardNormal", FLOATS, stateful::normal).host(&["shape"]),
    KernelDef::kernel("TruncatedNormal", FLOATS, stateful::truncated).host(&["shape"]),
    KernelDef::kernel("RandomUniformInt", &[t("Tout", types::INDEX)], stateful::int).host(&["shape", "minval", "maxval"]),
    KernelDef::kernel("StatefulUniform", FLOATS, state::uniform).host(STATE),
    KernelDef::kernel("StatefulStandardNormalV2", FLOATS, state::normal).host(STATE),
    KernelDef::kernel("StatefulTruncatedNormal", FLOATS, state::truncated).host(STATE),
    KernelDef::kernel("StatefulUniformInt", INTS, state::int).host(&["resource", "algorithm", "shape", "minval", "maxval"]),
    KernelDef::kernel("StatefulUniformFullInt", FULL, state::full_int).host(STATE),
    KernelDef::kernel("RngReadAndSkip", &[], state::read_and_skip).host(&["resource", "alg", "delta"]),
    KernelDef::kernel("RngSkip", &[], state::skip_only).host(&["resource", "algorithm", "delta"]),
    KernelDef::kernel("NonDeterministicInts", FULL, state::non_deterministic).host(&["shape"]),
];

const SEED: &[crate::TypeConstraint] = &[t("Tseed", types::INDEX)];
const FLOATS: &[crate::TypeConstraint] = &[t("dtype", types::FLOAT)];
const SAMPLED: &[DType] = &[DType::F16, DType::F32, DType::F64];
const COUNTED: &[DType] = &[DType::F16, DType::F32, DType::F64, I32, I64];
const GAMMA: &[crate::TypeConstraint] = &[t("dtype", SAMPLED)];
const INTS: &[crate::TypeConstraint] = &[t("dtype", types::INDEX)];
const FULL: &[crate::TypeConstraint] = &[t("dtype", FULL_INT)];
const LOGITS: &[crate::TypeConstraint] = &[t("T", types::FLOAT), t("output_dtype", types::INDEX)];
const SHAPE_ALG: &[&str] = &["shape", "alg"];
const STATE: &[&str] = &["resource", "algorithm", "shape"];

#[cfg(test)]
mod tests;
