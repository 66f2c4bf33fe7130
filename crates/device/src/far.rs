//! Indices into device memory widened to 64 bits, in a module's own words. Some drivers multiply a 32-bit index by the size of
//! an element in 32 bits, and so are wrong 4 GiB past the start of a tensor; a 64-bit index they multiply in 64.
//!
//! Only launches whose tensors are that large get such a module (`Stream::launch`). An index of signed type is extended by its
//! sign, one of unsigned type by zeros. Knows no device.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::spirv::instructions;

/// Tensors of more bytes than this are reached with 64-bit indices.
pub(crate) const NEAR: u64 = 1 << 32;

/// OpCapability Int64; the storage class PhysicalStorageBuffer.
const INT64: u32 = 11;
const PHYSICAL: u32 = 5349;

/// The opcodes that matter here.
mod op {
    pub const NAME: u32 = 5;
    pub const MEMBER_NAME: u32 = 6;
    pub const CAPABILITY: u32 = 17;
    pub const TYPE_INT: u32 = 21;
    pub const TYPE_POINTER: u32 = 32;
    pub const CONSTANTS: std::ops::RangeInclusive<u32> = 41..=52;
    pub const FUNCTION: u32 = 54;
    pub const ACCESS_CHAIN: u32 = 65;
    pub const IN_BOUNDS_ACCESS_CHAIN: u32 = 66;
    pub const DECORATE: u32 = 71;
    pub const MEMBER_DECORATE: u32 = 72;
    pub const U_CONVERT: u32 = 113;
    pub const S_CONVERT: u32 = 114;
}

/// The module with 64-bit indices into physical storage buffers. One that has no such indices, or is not understood, is returned
/// as it is.
pub(crate) fn widen(words: &[u32]) -> Cow<'_, [u32]> {
    widened(words).map_or(Cow::Borrowed(words), Cow::Owned)
}

/// What the module says of its types and values.
#[derive(Default)]
struct Ids {
    /// The 32-bit integer types; whether they are signed.
    ints: HashMap<u32, bool>,
    /// Values of those types that are no constants; whether they are signed.
    values: HashMap<u32, bool>,
    /// Pointer types into physical storage buffers.
    pointers: Vec<u32>,
    /// The 64-bit integer type, unsigned: only to that may an index be extended by zeros.
    long: Option<u32>,
    has_int64: bool,
}

/// `None` for a module that is not understood.
fn ids(words: &[u32]) -> Option<Ids> {
    let mut ids = Ids::default();
    for instruction in instructions(words) {
        let i = instruction.ok()?;
        match (i.opcode, i.operands) {
            (op::CAPABILITY, &[INT64]) => ids.has_int64 = true,
            (op::TYPE_INT, &[id, 32, signed]) => drop(ids.ints.insert(id, signed != 0)),
            (op::TYPE_INT, &[id, 64, 0]) => ids.long = Some(id),
            (op::TYPE_POINTER, &[id, PHYSICAL, _]) => ids.pointers.push(id),
            (op::NAME | op::MEMBER_NAME | op::DECORATE | op::MEMBER_DECORATE, _) => {}
            (code, _) if op::CONSTANTS.contains(&code) => {}
            // What else starts with the id of a type is an instruction with a result of that type.
            (_, &[ty, id, ..]) => {
                if let Some(&signed) = ids.ints.get(&ty) {
                    ids.values.insert(id, signed);
                }
            }
            _ => {}
        }
    }
    Some(ids)
}

fn widened(words: &[u32]) -> Option<Vec<u32>> {
    let bound = *words.get(3)?;
    let ids = ids(words)?;
    let mut next = bound;
    let mut fresh = || {
        next += 1;
        next - 1
    };
    let long = ids.long.unwrap_or_else(&mut fresh);
    let mut out = words[..5].to_vec();
    if !ids.has_int64 {
        out.extend([2 << 16 | op::CAPABILITY, INT64]);
    }
    let mut declared = ids.long.is_some();
    let mut any = false;
    for i in instructions(words).flatten() {
        if i.opcode == op::FUNCTION && !declared {
            out.extend([4 << 16 | op::TYPE_INT, long, 64, 0]);
            declared = true;
        }
        let chain = matches!(i.opcode, op::ACCESS_CHAIN | op::IN_BOUNDS_ACCESS_CHAIN) && i.all.len() > 4;
        if !chain || !ids.pointers.contains(&i.all[1]) {
            out.extend_from_slice(i.all);
            continue;
        }
        let mut chain = i.all.to_vec();
        for index in &mut chain[4..] {
            let Some(&signed) = ids.values.get(index) else { continue };
            let wide = fresh();
            out.extend([4 << 16 | if signed { op::S_CONVERT } else { op::U_CONVERT }, long, wide, *index]);
            *index = wide;
            any = true;
        }
        out.extend(chain);
    }
    out[3] = next;
    any.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chains(words: &[u32]) -> Vec<Vec<u32>> {
        instructions(words).flatten().filter(|i| i.opcode == op::ACCESS_CHAIN).map(|i| i.all.to_vec()).collect()
    }

    /// A kernel of this crate's tests, which indexes two buffers.
    fn kernel() -> Vec<u32> {
        let bytes = include_bytes!("../tests/device/kernels/affine.spv");
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    #[test]
    fn indices_into_buffers_become_wide() {
        let words = kernel();
        let wide = widen(&words);
        let (before, after) = (ids(&words).unwrap(), ids(&wide).unwrap());
        assert!(!before.has_int64 && after.has_int64);
        let (old, new) = (chains(&words), chains(&wide));
        assert_eq!(old.len(), new.len());
        let changed: Vec<_> = old.iter().zip(&new).filter(|(o, n)| o != n).collect();
        assert!(changed.len() >= 2, "{old:?}");
        for (o, n) in changed {
            assert!(before.pointers.contains(&o[1]));
            let index = n[n.len() - 1];
            let made = instructions(&wide).flatten().find(|i| i.all.len() == 4 && i.all[2] == index).unwrap();
            assert!(made.opcode == op::U_CONVERT || made.opcode == op::S_CONVERT);
            assert_eq!((made.all[1], made.all[3]), (after.long.unwrap(), o[o.len() - 1]));
        }
        assert!(matches!(widen(&wide), Cow::Borrowed(_)), "there is nothing left to widen");
    }

    #[test]
    fn what_is_not_understood_stays() {
        for words in [&[][..], &[0x0723_0203, 0x1_0500, 0, 9, 0], &[1, 2, 3, 4, 5, 9 << 16 | 65, 1]] {
            assert_eq!(*widen(words), *words);
        }
    }
}
