//! Which kernel a product gets: the tile and how often K is split. Pure; knows shapes, types and limits only.

use tfvk_device::{Adapter, AdapterKind, DType};

/// The size of a product.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Number of matrices.
    pub batch: u64,
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Length of the sums.
    pub k: u64,
}

/// A kernel's tile, by the name of its variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// 128 x 128 by 256 threads.
    T128,
    /// 64 x 64 by 256 threads.
    T64,
    /// 32 x 64 by 128 threads: fits every adapter.
    T32,
    /// 128 x 256 by 256 threads, on matrix units.
    Matrix256,
    /// 64 x 64 by 128 threads, on matrix units.
    Matrix64,
    /// A row times a matrix whose columns lie along k: 4 columns by 128 threads.
    VectorAlongK,
    /// A row times a matrix whose rows lie along n: 128 columns by 128 threads.
    VectorAcross,
}

impl Tile {
    /// The variant's name.
    pub const fn word(self) -> &'static str {
        match self {
            Tile::T128 => "128",
            Tile::T64 => "64",
            Tile::T32 => "32",
            Tile::Matrix256 => "256",
            Tile::Matrix64 => "64",
            // That shader has one variant a type.
            Tile::VectorAlongK | Tile::VectorAcross => "",
        }
    }

    /// Rows and columns.
    pub const fn shape(self) -> (u64, u64) {
        match self {
            Tile::T128 => (128, 128),
            Tile::T64 | Tile::Matrix64 => (64, 64),
            Tile::T32 => (32, 64),
            Tile::Matrix256 => (128, 256),
            Tile::VectorAlongK => (1, 4),
            Tile::VectorAcross => (1, 128),
        }
    }

    /// Threads of a workgroup.
    pub const fn threads(self) -> u32 {
        match self {
            Tile::T128 | Tile::T64 | Tile::Matrix256 => 256,
            Tile::T32 | Tile::Matrix64 | Tile::VectorAlongK | Tile::VectorAcross => 128,
        }
    }

    /// Whether it is one of `matvec.comp`.
    pub const fn is_vector(self) -> bool {
        matches!(self, Tile::VectorAlongK | Tile::VectorAcross)
    }

    /// Whether it is a tile of `matmul_coop.comp`.
    pub const fn on_matrix_units(self) -> bool {
        matches!(self, Tile::Matrix256 | Tile::Matrix64)
    }

    /// Bytes of shared memory; the same for every type, because longer elements take shorter steps.
    const fn shared(self) -> u32 {
        let (m, n) = self.shape();
        let (m, n) = (m as u32, n as u32);
        match self {
            Tile::T64 => 2 * 16 * (m + n + 8) * 4,
            Tile::T128 | Tile::T32 => 16 * (m + n + 8) * 4,
            Tile::VectorAlongK | Tile::VectorAcross => 128 * 32,
            // Operands in rows of a step and 8 halves.
            Tile::Matrix256 => (m + n) * 80,
            Tile::Matrix64 => (m + n) * 144,
        }
    }

    /// Workgroups for a product.
    pub fn groups(self, s: Size) -> u64 {
        let (m, n) = self.shape();
        s.m.div_ceil(m) * s.n.div_ceil(n) * s.batch
    }

    /// Whether most of its outermost tiles lies inside the result.
    fn is_filled(self, s: Size) -> bool {
        let (m, n) = self.shape();
        let filled = |size: u64, tile: u64| size * 10 >= size.next_multiple_of(tile) * 6;
        filled(s.m, m) && filled(s.n, n)
    }

    /// How much of K one pass of the loop takes.
    pub fn step(self, dtype: DType) -> u64 {
        match dtype.size() {
            _ if matches!(self, Tile::Matrix256) => 32,
            _ if matches!(self, Tile::Matrix64) => 64,
            _ if self.is_vector() => 8,
            16 => 4,
            8 => 8,
            _ => 16,
        }
    }
}

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The tile.
    pub tile: Tile,
    /// Length of the parts that K is split into, a multiple of [`Tile::step`]; at least K where it is not.
    pub k_part: u64,
}

impl Choice {
    /// Number of parts.
    pub fn parts(self, k: u64) -> u64 {
        k.div_ceil(self.k_part.max(1)).max(1)
    }
}

/// What the choice needs to know of an adapter.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Invocations of a workgroup.
    pub invocations: u32,
    /// Bytes of shared memory.
    pub shared: u32,
    /// Workgroups that should be there to keep every processor busy.
    pub busy: u64,
    /// Whether 16 x 16 x 16 matrices of subgroups of 32 can be multiplied: f16, bf16, with sums in f32.
    pub matrix_units: [bool; 2],
}

impl Machine {
    /// Of this adapter.
    pub fn of(adapter: &Adapter) -> Self {
        // Vulkan does not tell the number of processors. The largest GPUs have about 140; a smaller one loses little.
        let busy = match adapter.kind {
            AdapterKind::Discrete | AdapterKind::Virtual => 256,
            AdapterKind::Integrated => 32,
            AdapterKind::Software => 1,
        };
        let shapes = adapter.features.coopmat_khr.as_ref().map_or(&[][..], |c| &c.shapes);
        let has = |dtype| {
            let fits = |s: &tfvk_device::CoopMatShape| {
                (s.m, s.n, s.k, s.a, s.c, s.result) == (16, 16, 16, dtype, DType::F32, DType::F32)
            };
            adapter.features.subgroup_size == 32 && shapes.iter().any(fits)
        };
        let matrix_units = [adapter.features.f16 && has(DType::F16), adapter.features.bf16_coopmat && has(DType::BF16)];
        Self { invocations: adapter.limits.max_invocations, shared: adapter.limits.shared_memory, busy, matrix_units }
    }

    /// The same one, as if it had none.
    pub fn without_matrix_units(self) -> Self {
        Self { matrix_units: [false; 2], ..self }
    }

    /// How to multiply a row by a matrix, where there is a kernel for that.
    pub fn vector_tile(self, size: Size, dtype: DType, along_k: bool) -> Option<Choice> {
        let tile = if along_k { Tile::VectorAlongK } else { Tile::VectorAcross };
        let worth_it = size.m == 1 && size.n * size.k >= 4096 && dtype.is_float();
        // Its workgroups are small and wait for memory: it takes many to keep that busy.
        let many = Machine { busy: self.busy * 4, ..self };
        let longest = if self.busy == 1 { 4 * LONGEST_ON_SOFTWARE } else { u64::MAX };
        worth_it.then(|| Choice { tile, k_part: split(size, dtype, tile, many).min(longest) })
    }

    /// The tile on matrix units for a product of this type, if it has them.
    pub fn matrix_tile(self, size: Size, dtype: DType) -> Option<Choice> {
        let there = match dtype {
            DType::F16 => self.matrix_units[0],
            DType::BF16 => self.matrix_units[1],
            _ => false,
        };
        let large = Tile::Matrix256;
        let worth_it = large.groups(size) * 3 >= self.busy && large.is_filled(size);
        let tile = if self.fits(large) && worth_it { large } else { Tile::Matrix64 };
        // The large tile is only taken where it keeps a third of the processors busy; adding parts up costs more than the rest.
        let whole = Machine { busy: if tile == Tile::Matrix256 { 1 } else { self.busy }, ..self };
        (there && self.fits(tile)).then(|| Choice { tile, k_part: split(size, dtype, tile, whole) })
    }

    /// Processors, about.
    pub(crate) fn processors(self) -> u64 {
        (self.busy / 2).max(1)
    }

    fn fits(self, tile: Tile) -> bool {
        tile.threads() <= self.invocations && tile.shared() <= self.shared
    }
}

/// Partial sums take at most this many bytes.
const MAX_PARTIAL: u64 = 256 << 20;

/// What one invocation of a software driver adds up: an iteration each at worst, and `loops.rs` says how many it may make.
const LONGEST_ON_SOFTWARE: u64 = 1 << 15;

/// The tile and split for a product whose result is `dtype`, of the tiles that its kernel has.
pub fn choose(size: Size, dtype: DType, tiles: &[Tile], machine: Machine) -> Choice {
    let usable = || tiles.iter().copied().filter(|t| machine.fits(*t));
    if machine.busy == 1 {
        let tile = usable().find(|t| t.is_filled(size)).unwrap_or(Tile::T32);
        return Choice { tile, k_part: k_part(size.k, size.k.div_ceil(LONGEST_ON_SOFTWARE).max(1), tile.step(dtype)) };
    }
    let processors = machine.processors();
    let mut best = (Choice { tile: Tile::T32, k_part: k_part(size.k, 1, Tile::T32.step(dtype)) }, f64::INFINITY);
    for tile in usable() {
        let most = most_parts(size, dtype, tile);
        // One part, and as many as give every processor one tile, two tiles...
        let rounds = (1..=6).map(|tiles| (tiles * processors / tile.groups(size).max(1)).min(most));
        let mut last = 0;
        for parts in std::iter::once(1).chain(rounds).filter(|&p| p > 0) {
            if parts == last {
                continue;
            }
            last = parts;
            let choice = Choice { tile, k_part: k_part(size.k, parts, tile.step(dtype)) };
            let cost = cost(size, choice, machine);
            if cost < best.1 {
                best = (choice, cost);
            }
        }
    }
    best.0
}

/// About how long it takes: operations that one processor does meanwhile, multiplying large tiles. Fitted to times of f32
/// products on an H200, whose ratios of arithmetic to bandwidth and to launch cost are those of most GPUs.
fn cost(size: Size, choice: Choice, machine: Machine) -> f64 {
    let Choice { tile, .. } = choice;
    let (m, n) = tile.shape();
    let parts = choice.parts(size.k);
    let processors = machine.processors();
    // Tiles of the processor that has most. Two large ones at a time share one well, a last one alone does not use it all;
    // it takes more of the smaller ones.
    let tiles = (tile.groups(size) * parts).div_ceil(processors) as f64;
    let (tiles, speed) = match tile {
        Tile::T128 => (tiles + 0.25 * (tiles % 2.0), 1.0),
        Tile::T64 => (tiles.max(1.5), 0.7),
        _ => (tiles.max(3.0), 0.5),
    };
    // Filling the pipeline costs as much as a few dozen steps of K.
    let k = choice.k_part.min(size.k) as f64 + 48.0;
    let product = tiles * (2 * m * n) as f64 * k / speed;
    if parts == 1 {
        return product;
    }
    // Parts are written, read and added up, by another launch.
    let bytes = (2 * parts * size.batch * size.m * size.n * 4) as f64;
    product + 1e6 + bytes * 12.0 / processors as f64
}

fn k_part(k: u64, parts: u64, step: u64) -> u64 {
    k.div_ceil(parts).next_multiple_of(step).max(step)
}

/// The length of the parts of K.
pub fn split(size: Size, dtype: DType, tile: Tile, machine: Machine) -> u64 {
    let step = tile.step(dtype);
    let whole = size.k.next_multiple_of(step).max(step);
    let groups = tile.groups(size).max(1);
    let parts = (machine.busy / groups).min(most_parts(size, dtype, tile));
    if parts < 2 { whole } else { size.k.div_ceil(parts).next_multiple_of(step) }
}

/// How many parts K may be split into.
fn most_parts(size: Size, dtype: DType, tile: Tile) -> u64 {
    let room = MAX_PARTIAL / (size.batch * size.m * size.n * dtype.size().max(4) as u64).max(1);
    // A part shorter than 16 steps costs more to add up than it saves.
    (size.k / (16 * tile.step(dtype))).min(room).clamp(1, 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Tile] = &[Tile::T128, Tile::T64, Tile::T32];
    const H200: Machine = Machine { invocations: 1024, shared: 49152, busy: 256, matrix_units: [true; 2] };
    const WEAK: Machine = Machine { invocations: 128, shared: 16384, busy: 32, matrix_units: [false; 2] };

    fn pick(m: u64, n: u64, k: u64, machine: Machine) -> (Tile, u64) {
        let c = choose(Size { batch: 1, m, n, k }, DType::F32, ALL, machine);
        (c.tile, c.parts(k))
    }

    #[test]
    fn large_products_get_the_large_tile_whole() {
        assert_eq!(pick(4096, 4096, 4096, H200), (Tile::T128, 1));
        assert_eq!(pick(2048, 2048, 2048, H200), (Tile::T128, 1));
        assert_eq!(pick(512, 512, 512, H200), (Tile::T64, 2));
    }

    #[test]
    fn long_sums_of_few_results_are_split() {
        let (tile, parts) = pick(64, 64, 1 << 17, H200);
        assert!(tile == Tile::T64 && parts > 32, "{tile:?} {parts}");
        let (tile, parts) = pick(16, 512, 4096, H200);
        assert!(tile != Tile::T128 && parts > 4, "{tile:?} {parts}");
    }

    #[test]
    fn long_sums_keep_the_large_tile() {
        assert_eq!(pick(1024, 1024, 1024, H200), (Tile::T128, 4));
        // The gradient of a 3x3 filter, 256 to 256 channels, 32 images of 14 x 14.
        assert_eq!(pick(2304, 256, 6272, H200), (Tile::T128, 7));
    }

    /// The products of a transformer's layer: 2,048 tokens, width 768.
    #[test]
    fn processors_are_filled_evenly() {
        assert_eq!(pick(2048, 768, 768, H200), (Tile::T64, 1));
        assert_eq!(pick(2048, 3072, 768, H200), (Tile::T128, 1));
        let (tile, parts) = pick(2048, 768, 3072, H200);
        assert!(tile == Tile::T128 && parts >= 4, "{tile:?} {parts}");
        let (tile, parts) = pick(768, 3072, 2048, H200);
        assert!(tile == Tile::T128 && parts >= 3, "{tile:?} {parts}");
    }

    #[test]
    fn weak_devices_get_what_fits() {
        for (m, n, k) in [(1, 1, 1), (4096, 4096, 4096), (33, 1000, 7)] {
            let c = choose(Size { batch: 1, m, n, k }, DType::F32, ALL, WEAK);
            assert_eq!(c.tile, Tile::T32);
            assert!(c.tile.shared() <= WEAK.shared);
        }
    }

    #[test]
    fn matrix_units_where_they_are() {
        let of = |n: u64, machine: Machine, dtype| machine.matrix_tile(Size { batch: 1, m: n, n, k: n }, dtype).map(|c| c.tile);
        assert_eq!(of(4096, H200, DType::F16), Some(Tile::Matrix256));
        assert_eq!(of(512, H200, DType::BF16), Some(Tile::Matrix64));
        let c = H200.matrix_tile(Size { batch: 1, m: 2048, n: 2048, k: 2048 }, DType::F16);
        assert_eq!(c.map(|c| (c.tile, c.parts(2048))), Some((Tile::Matrix256, 1)));
        assert_eq!(of(4096, H200, DType::F32), None);
        assert_eq!(of(4096, WEAK, DType::F16), None);
    }

    #[test]
    fn parts_cover_k() {
        for k in [0, 1, 15, 16, 17, 255, 4096, 100_003] {
            let c = choose(Size { batch: 1, m: 3, n: 5, k }, DType::F64, ALL, H200);
            assert!(c.k_part % c.tile.step(DType::F64) == 0 && c.k_part * c.parts(k) >= k);
            assert!(c.parts(k) == 1 || c.k_part * (c.parts(k) - 1) < k, "no empty part");
        }
    }
}
