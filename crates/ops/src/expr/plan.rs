//! From shapes to launches: broadcasting, collapsing of dimensions, the choice of a kernel variant and the words that its
//! index arithmetic needs. Knows neither SPIR-V nor the device.

use smallvec::{SmallVec, smallvec};
use tfvk_device::{DType, Error, Result, Shape};

/// One stride a dimension, in elements; 0 where an operand is repeated.
pub type Strides = SmallVec<[i64; 8]>;

/// Dimensions that are left after collapsing; more is an error.
pub const MAX_RANK: usize = 8;

/// Elements that one launch computes at most: indices stay below 2^31 with room for rounding up.
pub const MAX_ELEMENTS: i64 = 1 << 30;

/// Nodes that one thread evaluates at most, all lanes together; more lanes would make enormous shaders.
const MAX_COST: usize = 3000;

/// How a kernel reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Not at all.
    Unused,
    /// The element with the result's index.
    Full,
    /// Always the first element.
    One,
    /// From the launch's arguments: the one element of a tensor in host memory.
    Host,
    /// By strides, in units of `lanes` elements.
    Strided,
    /// By strides, in elements; all lanes get the same one.
    Splat,
}

impl Access {
    /// Whether the kernel gets a pointer for it.
    pub fn is_pointer(self) -> bool {
        !matches!(self, Access::Unused | Access::Host)
    }
}

/// What a kernel is compiled for, besides its program. Sizes and strides are not part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Elements a thread computes.
    pub lanes: u8,
    /// Dimensions of the index arithmetic; 0 where results are indexed linearly alone.
    pub rank: u8,
    /// Per operand.
    pub access: SmallVec<[Access; 4]>,
}

/// One launch.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Threads that it needs.
    pub threads: u64,
    /// Where each operand starts, in elements.
    pub inputs: SmallVec<[i64; 4]>,
    /// Where the results start, in elements.
    pub output: i64,
    /// The words of the index arithmetic, in the order in which the shader reads them.
    pub words: SmallVec<[u32; 32]>,
}

/// How to compute a result: one variant, one or more launches.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The variant.
    pub variant: Variant,
    /// The launches.
    pub pieces: SmallVec<[Piece; 1]>,
}

/// An operand or result as the plan sees it.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: &'a Shape,
    /// The lower bits of its address; `None` in host memory.
    pub address: Option<u64>,
    /// Whether the program reads it.
    pub used: bool,
}

/// The shape that two shapes broadcast to.
pub fn broadcast(a: &Shape, b: &Shape) -> Result<Shape> {
    if a == b {
        return Ok(a.clone());
    }
    let rank = a.rank().max(b.rank());
    let dim = |s: &Shape, i: usize| if i + s.rank() < rank { 1 } else { s[i + s.rank() - rank] };
    (0..rank)
        .map(|i| match (dim(a, i), dim(b, i)) {
            (x, y) if x == y || y == 1 => Ok(x),
            (1, y) => Ok(y),
            _ => Err(Error::invalid_argument(format!("Incompatible shapes: {a} vs. {b}"))),
        })
        .collect()
}

/// The strides of a dense tensor of shape `from` along each dimension of `to`, which it broadcasts to.
pub fn broadcast_strides(from: &Shape, to: &Shape) -> Result<Strides> {
    if from.rank() > to.rank() {
        return Err(Error::invalid_argument(format!("Incompatible shapes: {from} vs. {to}")));
    }
    let lead = to.rank() - from.rank();
    let own = from.strides();
    (0..to.rank())
        .map(|i| match i.checked_sub(lead) {
            None => Ok(0),
            Some(j) if from[j] == to[i] => Ok(if from[j] == 1 { 0 } else { own[j] }),
            Some(j) if from[j] == 1 => Ok(0),
            Some(_) => Err(Error::invalid_argument(format!("Incompatible shapes: {from} vs. {to}"))),
        })
        .collect()
}

/// Plans the computation of a non-empty result of shape `shape`, `max` elements a launch at most.
pub fn plan(shape: &Shape, inputs: &[Item<'_>], outputs: &[Item<'_>], cost: usize, max: i64) -> Result<Plan> {
    plan_lanes(shape, inputs, outputs, cost, max, usize::MAX)
}

/// As [`plan`], with `most` lanes at most.
pub fn plan_lanes(shape: &Shape, inputs: &[Item<'_>], outputs: &[Item<'_>], cost: usize, max: i64, most: usize) -> Result<Plan> {
    let mut strides = Vec::with_capacity(inputs.len());
    for (i, item) in inputs.iter().enumerate() {
        if item.used && item.address.is_none() && item.shape.num_elements() != 1 {
            return Err(Error::internal(format!(
                "input {i} is a {}{} in host memory; only a single element can be read from there",
                item.dtype, item.shape
            )));
        }
        strides.push(broadcast_strides(item.shape, shape)?);
    }
    let (dims, strides) = collapse(shape, &strides);
    if dims.len() > MAX_RANK {
        return Err(Error::unimplemented(format!("broadcasting over {} dimensions (at most {MAX_RANK})", dims.len())));
    }
    let dense = Shape::new(&dims).strides();
    let mut access: SmallVec<[Access; 4]> = SmallVec::new();
    for (item, s) in inputs.iter().zip(&strides) {
        access.push(match () {
            () if !item.used => Access::Unused,
            () if item.address.is_none() => Access::Host,
            () if s.iter().all(|&s| s == 0) => Access::One,
            () if *s == dense => Access::Full,
            () => Access::Strided,
        });
    }
    let linear = !access.contains(&Access::Strided);
    let mut lanes = widest(inputs, outputs, &access, cost).min(most);
    while lanes > 1 && !fits(lanes, linear, &dims, inputs, outputs, &strides, &access) {
        lanes /= 2;
    }
    if lanes > 1 {
        for (a, s) in access.iter_mut().zip(&strides) {
            if *a == Access::Strided && s.last() == Some(&0) {
                *a = Access::Splat;
            }
        }
    }
    let variant = Variant { lanes: lanes as u8, rank: if linear { 0 } else { dims.len() as u8 }, access };
    let mut pieces = SmallVec::new();
    if linear {
        linear_pieces(shape.num_elements(), lanes as i64, &variant, max, &mut pieces);
    } else {
        let start = Start { inputs: smallvec![0; inputs.len()], output: 0 };
        strided_pieces(&dims, &strides, lanes as i64, &variant, max, &start, &mut pieces);
    }
    Ok(Plan { variant, pieces })
}

/// Drops dimensions of size 1 and merges neighbours that every operand walks through as one.
fn collapse(shape: &Shape, strides: &[Strides]) -> (Strides, Vec<Strides>) {
    let mut dims = Strides::new();
    let mut out: Vec<Strides> = vec![Strides::new(); strides.len()];
    for (i, &d) in shape.iter().enumerate().filter(|(_, d)| **d != 1) {
        let merges = !dims.is_empty() && strides.iter().zip(&out).all(|(s, o)| o.last() == Some(&(s[i] * d)));
        if merges {
            if let Some(last) = dims.last_mut() {
                *last *= d;
            }
        } else {
            dims.push(d);
        }
        for (o, s) in out.iter_mut().zip(strides) {
            if merges {
                o.pop();
            }
            o.push(s[i]);
        }
    }
    (dims, out)
}

/// The most lanes whose loads and stores are at most 16 bytes and whose shader is not too large.
fn widest(inputs: &[Item<'_>], outputs: &[Item<'_>], access: &[Access], cost: usize) -> usize {
    let walked = inputs.iter().zip(access).filter(|(_, a)| matches!(a, Access::Full | Access::Strided)).map(|(i, _)| i);
    let size = walked.chain(outputs).map(|i| i.dtype.size()).max().unwrap_or(16).clamp(1, 16);
    let mut lanes = 16 / size;
    while lanes > 1 && lanes * cost > MAX_COST {
        lanes /= 2;
    }
    lanes
}

fn fits(
    lanes: usize,
    linear: bool,
    dims: &[i64],
    inputs: &[Item<'_>],
    outputs: &[Item<'_>],
    strides: &[Strides],
    access: &[Access],
) -> bool {
    let aligned = |i: &Item<'_>| i.address.unwrap_or(0) % (lanes * i.dtype.size()).min(16) as u64 == 0;
    let whole = |s: i64| s % lanes as i64 == 0;
    if !outputs.iter().all(aligned) || (!linear && !dims.last().is_some_and(|&d| whole(d))) {
        return false;
    }
    inputs.iter().zip(strides).zip(access).all(|((item, s), a)| match (a, s.split_last()) {
        (Access::Full, _) => aligned(item),
        (Access::Strided, Some((&1, outer))) => aligned(item) && outer.iter().all(|&s| whole(s)),
        (Access::Strided, Some((&inner, _))) => inner == 0,
        _ => true,
    })
}

fn linear_pieces(n: i64, lanes: i64, variant: &Variant, max: i64, pieces: &mut SmallVec<[Piece; 1]>) {
    let step = (max / lanes).max(1) * lanes;
    let mut start = 0;
    while start < n {
        let len = step.min(n - start);
        let (vectors, tail) = (len / lanes, len % lanes);
        let inputs = variant.access.iter().map(|a| if *a == Access::Full { start } else { 0 }).collect();
        let mut words: SmallVec<[u32; 32]> = smallvec![vectors as u32];
        if lanes > 1 {
            words.push(tail as u32);
        }
        pieces.push(Piece { threads: vectors.max(tail) as u64, inputs, output: start, words });
        start += len;
    }
}

#[derive(Clone)]
struct Start {
    inputs: SmallVec<[i64; 4]>,
    output: i64,
}

/// Splits along the outermost dimensions until each piece is small enough.
fn strided_pieces(
    dims: &[i64],
    strides: &[Strides],
    lanes: i64,
    variant: &Variant,
    max: i64,
    start: &Start,
    pieces: &mut SmallVec<[Piece; 1]>,
) {
    let n: i64 = dims.iter().product();
    if n <= max {
        pieces.push(strided_piece(dims, strides, lanes, variant, start));
        return;
    }
    let first = dims.iter().position(|&d| d > 1).unwrap_or(0);
    let inner: i64 = dims[first + 1..].iter().product();
    // The innermost dimension is cut in whole vectors.
    let grain = if first + 1 == dims.len() { lanes } else { 1 };
    let step = ((max / inner.max(1)) / grain).max(1) * grain;
    let mut at = 0;
    while at < dims[first] {
        let len = step.min(dims[first] - at);
        let mut part: Strides = dims.into();
        part[first] = len;
        let mut from = start.clone();
        from.output += at * inner;
        for ((o, s), a) in from.inputs.iter_mut().zip(strides).zip(&variant.access) {
            if matches!(a, Access::Full | Access::Strided | Access::Splat) {
                *o += at * s[first];
            }
        }
        strided_pieces(&part, strides, lanes, variant, max, &from, pieces);
        at += len;
    }
}

fn strided_piece(dims: &[i64], strides: &[Strides], lanes: i64, variant: &Variant, start: &Start) -> Piece {
    let n: i64 = dims.iter().product();
    let threads = n / lanes;
    let mut words: SmallVec<[u32; 32]> = smallvec![threads as u32];
    let last = dims.len() - 1;
    for i in (1..dims.len()).rev() {
        let d = if i == last { dims[i] / lanes } else { dims[i] };
        words.extend(divisor(d as u32));
    }
    for (s, a) in strides.iter().zip(&variant.access) {
        for i in (0..dims.len()).rev() {
            match a {
                Access::Strided if i == last && lanes > 1 => words.push(1),
                Access::Strided => words.push((s[i] / lanes) as u32),
                Access::Splat => words.push(s[i] as u32),
                _ => {}
            }
        }
    }
    Piece { threads: threads as u64, inputs: start.inputs.clone(), output: start.output, words }
}

/// `d`, and multiplier and shift such that `n / d == (mulhi(n, multiplier) + n) >> shift` for n below 2^31.
pub fn divisor(d: u32) -> [u32; 3] {
    let d = d.max(1);
    let shift = d.next_power_of_two().trailing_zeros();
    let multiplier = ((1u64 << 32) * ((1u64 << shift) - u64::from(d)) / u64::from(d) + 1) as u32;
    [d, multiplier, shift]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(d: &[i64]) -> Shape {
        Shape::new(d)
    }

    fn items(shapes: &[Shape]) -> Vec<Item<'_>> {
        shapes.iter().map(|s| Item { dtype: DType::F32, shape: s, address: Some(0), used: true }).collect()
    }

    fn planned(inputs: &[&[i64]], max: i64) -> Plan {
        let shapes: Vec<Shape> = inputs.iter().map(|d| shape(d)).collect();
        let out = shapes.iter().skip(1).fold(shapes[0].clone(), |a, b| broadcast(&a, b).unwrap());
        let outs = [out.clone()];
        plan(&out, &items(&shapes), &items(&outs), 1, max).unwrap()
    }

    #[test]
    fn broadcasting() {
        assert_eq!(broadcast(&shape(&[2, 1, 3]), &shape(&[4, 1])).unwrap(), shape(&[2, 4, 3]));
        let e = broadcast(&shape(&[2, 3]), &shape(&[4])).unwrap_err();
        assert_eq!(e.message, "Incompatible shapes: [2,3] vs. [4]");
        assert_eq!(broadcast(&shape(&[0, 3]), &shape(&[1, 3])).unwrap(), shape(&[0, 3]));
        assert!(broadcast(&shape(&[0, 3]), &shape(&[2, 3])).is_err());
    }

    #[test]
    fn variants() {
        use Access::*;
        let p = planned(&[&[2, 3, 4], &[2, 3, 4]], MAX_ELEMENTS);
        assert_eq!((p.variant.lanes, p.variant.rank, p.variant.access.as_slice()), (4, 0, [Full, Full].as_slice()));
        assert_eq!(p.pieces[0].words.as_slice(), [6, 0]);
        let p = planned(&[&[5, 7], &[1]], MAX_ELEMENTS);
        assert_eq!(p.variant.access.as_slice(), [Full, One]);
        assert_eq!(p.pieces[0].words.as_slice(), [8, 3]);
        let p = planned(&[&[6, 5, 8], &[8]], MAX_ELEMENTS);
        assert_eq!((p.variant.lanes, p.variant.rank, p.variant.access.as_slice()), (4, 2, [Full, Strided].as_slice()));
        let p = planned(&[&[6, 5, 8], &[6, 5, 1]], MAX_ELEMENTS);
        assert_eq!((p.variant.lanes, p.variant.rank, p.variant.access.as_slice()), (4, 2, [Full, Splat].as_slice()));
        let p = planned(&[&[6, 5, 7], &[6, 1, 7]], MAX_ELEMENTS);
        assert_eq!((p.variant.lanes, p.variant.rank), (1, 3));
    }

    #[test]
    fn pieces_cover_everything_once() {
        for (a, b, max) in [(&[40, 6, 8][..], &[40, 1, 8][..], 100), (&[3, 64], &[64], 32), (&[100], &[1], 32)] {
            let p = planned(&[a, b], max);
            let n: i64 = a.iter().product();
            let mut next = 0;
            for piece in &p.pieces {
                assert_eq!(piece.output, next);
                let lanes = i64::from(p.variant.lanes);
                let tail = if p.variant.rank == 0 && lanes > 1 { i64::from(piece.words[1]) } else { 0 };
                let len = i64::from(piece.words[0]) * lanes + tail;
                assert!(len <= max);
                next += len;
            }
            assert_eq!(next, n);
        }
    }

    #[test]
    fn fast_division() {
        for d in [1u32, 2, 3, 5, 7, 10, 641, 65535, 65536, 1 << 30, (1 << 30) + 1, 0x7fff_ffff] {
            let [_, m, s] = divisor(d);
            for n in [0u32, 1, d - 1, d, d.wrapping_add(1), 12_345_678, 0x7fff_fffe, 0x7fff_ffff] {
                let n = n & 0x7fff_ffff;
                let q = (((u64::from(n) * u64::from(m)) >> 32) + u64::from(n)) >> s;
                assert_eq!(q as u32, n / d, "{n} / {d}");
            }
        }
    }
}
