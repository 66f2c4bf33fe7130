//! Loads and stores: elements of every type to and from 32-bit words, up to 16 bytes at a time.

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, GlslStd450Op, MemoryAccess, Word};
use tfvk_device::DType;

use super::Built;
use super::module::Module;
use crate::expr::graph::Ty;

/// What `bytes` are loaded as: its type, the number of words, and whether it is narrower than a word.
fn unit(m: &mut Module, bytes: usize) -> (Word, usize, bool) {
    match bytes {
        1 => {
            m.need(Capability::StorageBuffer8BitAccess);
            (m.b.type_int(8, 0), 1, true)
        }
        2 => {
            m.need(Capability::StorageBuffer16BitAccess);
            (m.b.type_int(16, 0), 1, true)
        }
        4 => (m.types.u32, 1, false),
        8 => (m.types.uvec2, 2, false),
        _ => (m.types.uvec4, 4, false),
    }
}

fn aligned(bytes: usize) -> (Option<MemoryAccess>, [Operand; 1]) {
    (Some(MemoryAccess::ALIGNED), [Operand::LiteralBit32(bytes as u32)])
}

/// The words of `lanes` elements, the `index`-th such group behind pointer `number`.
pub(super) fn load(m: &mut Module, number: u32, dtype: DType, index: Word, lanes: usize) -> Built<Vec<Word>> {
    let bytes = lanes * dtype.size();
    let (ty, words, narrow) = unit(m, bytes);
    let place = m.place(number, ty, bytes as u32, index)?;
    let (access, operands) = aligned(bytes);
    let loaded = m.b.load(ty, None, place, access, operands)?;
    let u32 = m.types.u32;
    match words {
        1 if narrow => Ok(vec![m.b.u_convert(u32, None, loaded)?]),
        1 => Ok(vec![loaded]),
        n => (0..n as u32).map(|i| m.b.composite_extract(u32, None, loaded, [i])).collect(),
    }
}

/// Stores elements as the `index`-th group of as many behind pointer `number`.
pub(super) fn store(m: &mut Module, number: u32, dtype: DType, index: Word, elements: &[[Word; 2]]) -> Built<()> {
    let bytes = elements.len() * dtype.size();
    let (ty, words, narrow) = unit(m, bytes);
    let place = m.place(number, ty, bytes as u32, index)?;
    let packed = encode(m, dtype, elements)?;
    let value = match words {
        1 if narrow => m.b.u_convert(ty, None, packed[0])?,
        1 => packed[0],
        _ => m.b.composite_construct(ty, None, packed.iter().copied())?,
    };
    let (access, operands) = aligned(bytes);
    m.b.store(place, value, access, operands)
}

/// Real and imaginary part of element `lane`, in the types that they are computed in.
pub(super) fn decode(m: &mut Module, dtype: DType, words: &[Word], lane: usize) -> Built<[Word; 2]> {
    let size = dtype.size();
    let u32 = m.types.u32;
    let word = words[(lane * size / 4).min(words.len() - 1)];
    let one = |v| Ok([v, v]);
    match size {
        1 | 2 if dtype == DType::F16 => {
            let both = m.glsl(m.types.vec2, GlslStd450Op::UnpackHalf2x16, &[word])?;
            one(m.b.composite_extract(m.types.f32, None, both, [lane as u32 % 2])?)
        }
        2 if dtype == DType::BF16 => {
            let bits = if lane % 2 == 0 {
                let by = m.u32(16);
                m.b.shift_left_logical(u32, None, word, by)?
            } else {
                let mask = m.u32(0xffff_0000);
                m.b.bitwise_and(u32, None, word, mask)?
            };
            one(m.b.bitcast(m.types.f32, None, bits)?)
        }
        1 | 2 => {
            let per_word = 4 / size;
            let offset = m.u32((lane % per_word * size * 8) as u32);
            let bits = m.u32(size as u32 * 8);
            let v = if dtype.is_signed_integer() {
                m.b.bit_field_s_extract(u32, None, word, offset, bits)?
            } else {
                m.b.bit_field_u_extract(u32, None, word, offset, bits)?
            };
            if dtype != DType::Bool {
                return one(v);
            }
            let zero = m.u32(0);
            one(m.b.i_not_equal(m.types.bool, None, v, zero)?)
        }
        _ => {
            let ty = Ty::of(dtype);
            let part = (ty.bits() / 32) as usize;
            let first = lane * size / 4;
            let re = decode_computed(m, ty, &words[first..first + part])?[0];
            let im = if dtype.is_complex() { decode_computed(m, ty, &words[first + part..first + 2 * part])?[0] } else { re };
            Ok([re, im])
        }
    }
}

/// A value of a compute type from its one or two words.
pub(super) fn decode_computed(m: &mut Module, ty: Ty, words: &[Word]) -> Built<[Word; 2]> {
    let v = match ty {
        Ty::Bool => {
            let zero = m.u32(0);
            m.b.i_not_equal(m.types.bool, None, words[0], zero)?
        }
        _ if ty.bits() == 64 => {
            let t = m.ty(ty);
            let pair = m.b.composite_construct(m.types.uvec2, None, words[..2].iter().copied())?;
            m.b.bitcast(t, None, pair)?
        }
        _ => {
            let t = m.ty(ty);
            m.bitcast(m.types.u32, t, words[0])?
        }
    };
    Ok([v, v])
}

/// The words of elements, packed as in memory.
fn encode(m: &mut Module, dtype: DType, elements: &[[Word; 2]]) -> Built<Vec<Word>> {
    let u32 = m.types.u32;
    let size = dtype.size();
    if dtype == DType::F16 {
        let zero = m.constant(Ty::F32, 0);
        return elements
            .chunks(2)
            .map(|pair| {
                let high = pair.get(1).map_or(zero, |v| v[0]);
                let both = m.b.composite_construct(m.types.vec2, None, [pair[0][0], high])?;
                m.glsl(u32, GlslStd450Op::PackHalf2x16, &[both])
            })
            .collect();
    }
    if size >= 4 {
        let ty = Ty::of(dtype);
        let mut words = Vec::new();
        for e in elements {
            for &part in if dtype.is_complex() { &e[..] } else { &e[..1] } {
                let t = m.ty(ty);
                if ty.bits() == 64 {
                    let pair = m.b.bitcast(m.types.uvec2, None, part)?;
                    words.push(m.b.composite_extract(u32, None, pair, [0])?);
                    words.push(m.b.composite_extract(u32, None, pair, [1])?);
                } else {
                    words.push(m.bitcast(t, u32, part)?);
                }
            }
        }
        return Ok(words);
    }
    let bits = m.u32(size as u32 * 8);
    elements
        .chunks(4 / size)
        .map(|chunk| {
            let mut word = None;
            for (i, e) in chunk.iter().enumerate() {
                let v = narrow(m, dtype, e[0])?;
                word = Some(match word {
                    None => v,
                    Some(w) => {
                        let offset = m.u32((i * size * 8) as u32);
                        m.b.bit_field_insert(u32, None, w, v, offset, bits)?
                    }
                });
            }
            Ok(word.unwrap_or_default())
        })
        .collect()
}

/// The bits of an element of at most two bytes, in a word whose upper bits don't matter.
fn narrow(m: &mut Module, dtype: DType, v: Word) -> Built<Word> {
    let u32 = m.types.u32;
    match dtype {
        DType::Bool => {
            let (zero, one) = (m.u32(0), m.u32(1));
            m.b.select(u32, None, v, one, zero)
        }
        DType::BF16 => {
            let bits = m.b.bitcast(u32, None, v)?;
            let by = m.u32(16);
            m.b.shift_right_logical(u32, None, bits, by)
        }
        _ => Ok(v),
    }
}
