//! How SPIR-V modules are embedded: ids as small differences, words as variable-length integers, then deflated. Variants of
//! one kernel differ in few places, so they are packed together. `build.rs` uses this file to encode, `shader.rs` to decode.
//!
//! Any table of result positions gives back the same words; a good one only packs better.

/// Words of a module before its first instruction.
const HEADER: usize = 5;

/// The word of an instruction that holds its result id, by opcode.
fn result_position(opcode: u32) -> Option<usize> {
    match opcode {
        // OpName.., decorations, entry points, modes, stores, barriers, branches: no result.
        5 | 6 | 10 | 14..=17 | 62 | 63 | 71 | 72 | 224 | 225 | 246 | 247 | 249..=255 => None,
        // OpString, OpExtInstImport, types, OpLabel: a result without a type.
        7 | 11 | 19..=33 | 39 | 248 => Some(1),
        _ => Some(2),
    }
}

/// Packed words, before deflation.
#[allow(dead_code, reason = "used by build.rs")]
pub fn encode(words: &[u32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(words.len() * 2);
    put(&mut out, words.len() as u32);
    let header = words.len().min(HEADER);
    words[..header].iter().for_each(|&w| put(&mut out, w));
    let (mut at, mut last) = (header, 0u32);
    while at < words.len() {
        let len = ((words[at] >> 16) as usize).clamp(1, words.len() - at);
        let position = result_position(words[at] & 0xffff).filter(|&p| p < len);
        for k in 0..len {
            let w = words[at + k];
            match position {
                _ if k == 0 => put(&mut out, w),
                Some(p) if k == p => {
                    put(&mut out, zigzag(w.wrapping_sub(last)));
                    last = w;
                }
                Some(p) if k < p => put(&mut out, w),
                _ => put(&mut out, zigzag(last.wrapping_sub(w))),
            }
        }
        at += len;
    }
    out
}

/// The words of the module at the start of `bytes`, and the rest of `bytes`. `None`: not what [`encode`] gave.
#[allow(dead_code, reason = "used by shader.rs")]
pub fn decode(mut bytes: &[u8]) -> Option<(Vec<u32>, &[u8])> {
    let n = take(&mut bytes)? as usize;
    let mut words = Vec::with_capacity(n.min(1 << 20));
    for _ in 0..n.min(HEADER) {
        words.push(take(&mut bytes)?);
    }
    let mut last = 0u32;
    while words.len() < n {
        let first = take(&mut bytes)?;
        let len = ((first >> 16) as usize).clamp(1, n - words.len());
        let position = result_position(first & 0xffff).filter(|&p| p < len);
        words.push(first);
        for k in 1..len {
            let v = take(&mut bytes)?;
            words.push(match position {
                Some(p) if k == p => {
                    last = last.wrapping_add(unzigzag(v));
                    last
                }
                Some(p) if k < p => v,
                _ => last.wrapping_sub(unzigzag(v)),
            });
        }
    }
    Some((words, bytes))
}

fn zigzag(v: u32) -> u32 {
    (v << 1) ^ ((v as i32 >> 31) as u32)
}

fn unzigzag(v: u32) -> u32 {
    (v >> 1) ^ (v & 1).wrapping_neg()
}

fn put(out: &mut Vec<u8>, mut v: u32) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u32> {
    let mut v = 0u32;
    for shift in (0..35).step_by(7) {
        let (&b, rest) = bytes.split_first()?;
        *bytes = rest;
        v |= u32::from(b & 0x7f).checked_shl(shift).unwrap_or(0);
        if b < 0x80 {
            return Some(v);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        // A header, OpTypeFloat %7 32, OpFAdd %6 = %5 + %900, a broken length, a lone word.
        let words = [0x0723_0203, 0x10500, 11, 8, 0, 3 << 16 | 22, 7, 32, 5 << 16 | 129, 7, 6, 5, 900, 0xffff_0001, u32::MAX, 0];
        for n in 0..words.len() {
            let mut bytes = encode(&words[..n]);
            bytes.push(42);
            let (back, rest) = decode(&bytes).unwrap();
            assert_eq!((back.as_slice(), rest), (&words[..n], [42].as_slice()));
        }
        assert_eq!(decode(&encode(&words)[..20]), None);
    }
}
