//! The shader's index arithmetic: from the thread's number to the place of every operand's element.

use rspirv::spirv::Word;

use super::module::Module;
use super::{Built, Layout};
use crate::expr::plan::{Access, Variant};

/// Indices in units of what is loaded at once.
pub(super) struct Places {
    pub inputs: Vec<Word>,
    pub output: Word,
}

/// How many index words the variant needs: the number of threads; the tail; or divisors and strides.
pub(super) fn words(variant: &Variant) -> u32 {
    let rank = u32::from(variant.rank);
    if rank == 0 {
        return if variant.lanes > 1 { 2 } else { 1 };
    }
    1 + 3 * (rank - 1) + rank * variant.access.iter().filter(|a| strided(**a)).count() as u32
}

fn strided(a: Access) -> bool {
    matches!(a, Access::Strided | Access::Splat)
}

/// The same index for all operands that are walked linearly; the first element of the others.
pub(super) fn same(m: &mut Module, variant: &Variant, at: Word) -> Places {
    let zero = m.u32(0);
    let place = |a: &Access| if *a == Access::One { zero } else { at };
    Places { inputs: variant.access.iter().map(place).collect(), output: at }
}

/// The element that thread `id` of the tail computes.
pub(super) fn tail(m: &mut Module, vectors: Word, lanes: u32, id: Word) -> Built<Word> {
    let lanes = m.u32(lanes);
    let whole = m.mul(vectors, lanes)?;
    m.add(whole, id)
}

/// The places of thread `id`'s vectors.
pub(super) fn places(m: &mut Module, layout: &Layout, variant: &Variant, id: Word) -> Built<Places> {
    let zero = m.u32(0);
    let mut places = same(m, variant, id);
    let rank = u32::from(variant.rank);
    if rank == 0 {
        return Ok(places);
    }
    // Coordinates, innermost first.
    let (mut rest, mut coordinates) = (id, Vec::new());
    for i in 0..rank - 1 {
        let base = layout.index + 1 + 3 * i;
        let (d, multiplier, shift) = (m.word(base)?, m.word(base + 1)?, m.word(base + 2)?);
        let high = m.mul_hi(rest, multiplier)?;
        let sum = m.add(high, rest)?;
        let q = m.shift_right(sum, shift)?;
        let whole = m.mul(q, d)?;
        coordinates.push(m.sub(rest, whole)?);
        rest = q;
    }
    coordinates.push(rest);
    let mut word = layout.index + 1 + 3 * (rank - 1);
    for (p, _) in places.inputs.iter_mut().zip(&variant.access).filter(|(_, a)| strided(**a)) {
        let mut at = zero;
        for (i, &c) in coordinates.iter().enumerate() {
            let stride = m.word(word + i as u32)?;
            let step = m.mul(c, stride)?;
            at = m.add(at, step)?;
        }
        word += rank;
        *p = at;
    }
    Ok(places)
}
