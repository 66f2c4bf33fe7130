//! Fills a tensor with random numbers: the one launch behind every random op of this folder.

use tfvk_device::{Args, DType, Error, Result, Tensor};

use super::philox::Philox;
use crate::{Compute, shader};

/// What the numbers are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Floats in [0, 1).
    Uniform,
    /// Standard normal floats.
    Normal,
    /// Standard normal floats, those beyond two standard deviations drawn again.
    TruncatedNormal,
    /// Integers from `low` on, below `low + range` (64-bit pattern of the type; `range` is not 0).
    Int {
        /// The smallest.
        low: i64,
        /// How many there are.
        range: u64,
    },
    /// Integers of all bits.
    FullInt,
}

/// Where key and counter come from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// The host.
    Place(Philox),
    /// A `key` (uint64 [1]) and a `counter` (uint64 [2]) on the device.
    KeyCounter(&'a Tensor, &'a Tensor),
    /// A `seed` (int32 or int64 [2]) on the device.
    Seed(&'a Tensor),
    /// A generator's state (int64 [3 or more]) on the device: counter, then key.
    State(&'a Tensor),
}

/// The name of the shader's variant.
fn kind(distribution: Distribution, dtype: DType) -> Result<&'static str> {
    use DType::{BF16, F16, F32, F64, I32, I64, U32, U64};
    let of = |names: [&'static str; 4]| match dtype {
        F32 => Some(names[0]),
        F16 => Some(names[1]),
        BF16 => Some(names[2]),
        F64 => Some(names[3]),
        _ => None,
    };
    match (distribution, dtype) {
        (Distribution::Uniform, _) => of(["uniform_f32", "uniform_f16", "uniform_bf16", "uniform_f64"]),
        (Distribution::Normal, _) => of(["normal_f32", "normal_f16", "normal_bf16", "normal_f64"]),
        (Distribution::TruncatedNormal, _) => of(["truncated_f32", "truncated_f16", "truncated_bf16", "truncated_f64"]),
        (Distribution::Int { .. }, I32) => Some("int_32"),
        (Distribution::Int { .. }, I64) => Some("int_64"),
        (Distribution::FullInt, I32 | U32 | I64 | U64) => Some("full"),
        _ => None,
    }
    .ok_or_else(|| Error::internal(format!("no {distribution:?} of {dtype}")))
}

/// Threads of a workgroup, and groups of numbers that each makes.
const THREADS: u32 = 128;
const GROUPS_PER_THREAD: u64 = 4;

/// Fills `out`, which is not empty.
pub fn fill(ctx: &Compute<'_>, out: &Tensor, distribution: Distribution, source: Source<'_>) -> Result<()> {
    let kernel = shader::RANDOM_FILL.get(&[kind(distribution, out.dtype)?.into()])?;
    let elements = out.num_elements() as u64;
    let group = if out.dtype.size() == 8 { 2 } else { 4 };
    let groups = elements.div_ceil(group);
    let Ok(groups) = u32::try_from(groups) else {
        return Err(Error::unimplemented(format!("{elements} random numbers at once")));
    };
    // The shader writes words: half a 64-bit element each.
    let tail = (elements - u64::from(groups - 1) * group) * (4 / group);
    let (low, range) = match distribution {
        Distribution::Int { low, range } => (low, range),
        _ => (0, 1),
    };
    // floor(2^64 / range), or nearly so for 1: the shader corrects a quotient that is one too small.
    let reciprocal = if range <= 1 { u64::MAX } else { ((1u128 << 64) / u128::from(range)) as u64 };
    let mut args = Args::new();
    args.write(out)?;
    let (from, place) = source.addresses(&mut args)?;
    args.u32(groups).u32(tail as u32).u64(low as u64).u64(range).u64(reciprocal);
    place.words(&mut args);
    let workgroups = u64::from(groups).div_ceil(u64::from(THREADS) * GROUPS_PER_THREAD);
    ctx.stream().launch_linear(kernel, &[THREADS, 1, 1, from], &args, workgroups)
}

impl Source<'_> {
    /// Adds the two addresses of philox_source.glsl; the number of the source, and the place in the stream for
    /// `counter` and `key`.
    pub fn addresses(self, args: &mut Args) -> Result<(u32, Philox)> {
        match self {
            Source::Place(place) => {
                args.null().null();
                Ok((0, place))
            }
            Source::KeyCounter(key, counter) => {
                args.read(key)?.read(counter)?;
                Ok((1, Philox::default()))
            }
            Source::Seed(seed) => {
                args.read(seed)?.null();
                Ok((if seed.dtype == DType::I32 { 2 } else { 3 }, Philox::default()))
            }
            Source::State(state) => {
                args.read(state)?.null();
                Ok((4, Philox::default()))
            }
        }
    }
}
