//! Elements in memory, on the host: how the bytes of each element type become the bits that the graph computes with, and back.

use tfvk_device::DType;

/// The float32 that has a float16's value.
pub fn f16_to_f32(h: u16) -> f32 {
    let magnitude = u32::from(h & 0x7fff);
    let v = if magnitude >= 0x7c00 {
        f32::from_bits(0x7f80_0000 | ((magnitude & 0x3ff) << 13))
    } else {
        f32::from_bits(magnitude << 13) * 2f32.powi(112)
    };
    if h & 0x8000 != 0 { -v } else { v }
}

/// The bits of the float16 that has this value; values that are none are truncated.
pub fn f32_to_f16(v: f32) -> u16 {
    let bits = v.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    sign | match magnitude {
        0x7f80_0001.. => 0x7e00 | (magnitude >> 13 & 0x3ff) as u16,
        0x4780_0000.. => 0x7c00,
        0x3880_0000.. => ((magnitude - 0x3800_0000) >> 13) as u16,
        _ => (v.abs() * 2f32.powi(24)) as u16,
    }
}

/// The bits of one part (0 real, 1 imaginary) of element `index`; 0 out of range.
pub fn load(dtype: DType, bytes: &[u8], index: usize, part: usize) -> u64 {
    let size = dtype.size() / if dtype.is_complex() { 2 } else { 1 };
    let at = index * dtype.size() + part * size;
    let mut word = [0u8; 8];
    let Some(source) = bytes.get(at..at + size) else { return 0 };
    word[..size].copy_from_slice(source);
    let raw = u64::from_le_bytes(word);
    match dtype {
        DType::Bool => u64::from(raw != 0),
        DType::I8 => u64::from(raw as u8 as i8 as i32 as u32),
        DType::I16 => u64::from(raw as u16 as i16 as i32 as u32),
        DType::F16 => u64::from(f16_to_f32(raw as u16).to_bits()),
        DType::BF16 => raw << 16,
        _ => raw,
    }
}

/// Stores the bits of one part of element `index`; does nothing out of range.
pub fn store(dtype: DType, bytes: &mut [u8], index: usize, part: usize, bits: u64) {
    let size = dtype.size() / if dtype.is_complex() { 2 } else { 1 };
    let at = index * dtype.size() + part * size;
    let raw = match dtype {
        DType::F16 => u64::from(f32_to_f16(f32::from_bits(bits as u32))),
        DType::BF16 => bits >> 16,
        _ => bits,
    };
    if let Some(target) = bytes.get_mut(at..at + size) {
        target.copy_from_slice(&raw.to_le_bytes()[..size]);
    }
}
