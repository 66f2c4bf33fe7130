//! Which tile of `conv_coop.comp` a convolution gets and how often K is split. Pure; knows sizes, types and limits only.

use tfvk_device::DType;

use super::launch::Pass;
use crate::matmul::choice::{Machine, Size};

/// Partial sums take at most this many bytes.
const MAX_PARTIAL: u64 = 256 << 20;

/// A tile of `conv_coop.comp`, by the name of its variant, and how fast it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tile {
    /// The variant.
    pub word: &'static str,
    /// Rows, columns, and how much of K one pass of the loop takes.
    pub shape: [u64; 3],
    /// Threads of a workgroup.
    pub threads: u32,
    /// Operations a second of a processor, relative to each other.
    speed: f64,
    /// What filling the pipeline and storing the result cost, in steps of K of one.
    fill: u64,
    /// How many a processor has at a time: fewer take as long.
    together: u64,
    /// Whether more than that go in whole such rounds, too.
    rounds: bool,
    /// Whether it is for filter gradients: some gain nothing there.
    filter_gradients: bool,
}

const fn tile(word: &'static str, shape: [u64; 3], threads: u32, speed: f64, fill: u64, together: u64) -> Tile {
    Tile { word, shape, threads, speed, fill, together, rounds: true, filter_gradients: true }
}

/// All tiles. Speeds are fitted to times of ResNet-50's convolutions on an H200.
pub const TILES: &[Tile] = &[
    tile("256", [128, 256, 32], 256, 1.0, 200, 1),
    tile("128", [128, 128, 32], 128, 1.0, 200, 2),
    Tile { filter_gradients: false, ..tile("129", [128, 128, 64], 256, 0.96, 280, 1) },
    Tile { rounds: false, ..tile("96", [128, 64, 32], 128, 0.75, 184, 2) },
    tile("64", [64, 64, 64], 128, 0.7, 168, 3),
];

/// How a convolution is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The tile.
    pub tile: Tile,
    /// Length of the parts that K is split into, a multiple of the tile's step; at least K where it is not.
    pub k_part: u64,
    /// On matrix units, or with plain arithmetic, for tests.
    pub units: bool,
}

impl Tile {
    /// Bytes of shared memory.
    const fn shared(self) -> u64 {
        let [m, n, k] = self.shape;
        (m + n) * (k + 8) * 2
    }

    /// Whether a workgroup fits this adapter.
    pub fn fits(self, machine: Machine) -> bool {
        self.threads <= machine.invocations && self.shared() <= u64::from(machine.shared)
    }

    /// Workgroups for a product.
    pub fn groups(self, s: Size) -> u64 {
        s.m.div_ceil(self.shape[0]) * s.n.div_ceil(self.shape[1])
    }
}

/// The tile and split for a product of this size; of what lies apart K is not split.
pub fn choose(size: Size, pass: Pass, apart: bool, dtype: DType, machine: Machine) -> Option<Choice> {
    let there = match dtype {
        DType::F16 => machine.matrix_units[0],
        DType::BF16 => machine.matrix_units[1],
        _ => false,
    };
    let tiles = TILES.iter().filter(|t| there && t.fits(machine) && (t.filter_gradients || pass != Pass::FilterGradient));
    tiles.flat_map(|&tile| splits(tile, size, apart, machine)).min_by(|a, b| a.1.total_cmp(&b.1)).map(|c| c.0)
}

/// Ways to split K, and about how long each takes: operations that one processor does meanwhile.
fn splits(tile: Tile, size: Size, apart: bool, machine: Machine) -> impl Iterator<Item = (Choice, f64)> {
    // The largest GPUs have 132 and more; a smaller one has more tiles than processors anyway.
    let processors = (machine.busy * 33 / 64).max(1);
    let groups = tile.groups(size).max(1);
    let step = tile.shape[2];
    let room = MAX_PARTIAL / (size.m * size.n * 4).max(1);
    let most = if apart { 1 } else { (size.k / (4 * step)).min(room).clamp(1, 128) };
    let cost = move |parts: u64| {
        let k_part = size.k.div_ceil(parts).next_multiple_of(step).max(step);
        let parts = size.k.div_ceil(k_part).max(1);
        let tiles = (groups * parts).div_ceil(processors).max(tile.together);
        let tiles = if tile.rounds { tiles.next_multiple_of(tile.together) } else { tiles };
        let k = k_part.min(size.k) + tile.fill;
        let product = (tiles * 2 * tile.shape[0] * tile.shape[1] * k) as f64 / tile.speed;
        // Parts are written, read and added up, by another launch.
        let bytes = (2 * parts * size.m * size.n * 4) as f64;
        let adding = if parts == 1 { 0.0 } else { 6e6 + bytes * 66.0 / processors as f64 };
        (Choice { tile, k_part, units: true }, product + adding)
    };
    let parts = std::iter::once(1).chain((1..=6).map(move |tiles| tiles * processors / groups));
    parts.filter(move |p| (1..=most).contains(p)).map(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_and_splits() {
        let machine = Machine { invocations: 1024, shared: 49152, busy: 256, matrix_units: [true; 2] };
        let best = |m, n, k, pass| {
            let size = Size { batch: 1, m, n, k };
            let c = choose(size, pass, false, DType::BF16, machine).unwrap();
            (c.tile.word, k.div_ceil(c.k_part))
        };
        // ResNet-50's 3x3 of 64 images, forward.
        assert_eq!(best(200_704, 64, 576, Pass::Forward), ("96", 1));
        assert_eq!(best(50_176, 128, 1152, Pass::Forward), ("129", 1));
        assert_eq!(best(12_544, 256, 2304, Pass::Forward).1, 1);
        // The filter's gradients: few results, long sums.
        assert!(best(576, 64, 200_704, Pass::FilterGradient).1 > 16);
        assert!(best(4608, 512, 3136, Pass::FilterGradient).1 < 8);
        assert!(best(2304, 256, 12_544, Pass::FilterGradient).0 != "129");
        assert!(choose(Size { batch: 1, m: 8, n: 8, k: 8 }, Pass::Forward, false, DType::F32, machine).is_none());
        // No result at all, no sum at all.
        assert_eq!(best(8, 8, 0, Pass::FilterGradient).1, 0);
    }
}
