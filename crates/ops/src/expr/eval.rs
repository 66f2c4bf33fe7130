//! The meaning of every operation of the graph, on the bits of its operands. The interpreter and constant folding use it;
//! the shader generator must agree with it.

use super::graph::{Binary, Ty, Unary};

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn of_f32(v: f32) -> u64 {
    u64::from(v.to_bits())
}

/// The bits of a value of type `ty` that is nearest to `v`.
pub fn bits_of_f64(ty: Ty, v: f64) -> u64 {
    match ty {
        Ty::Bool => u64::from(v != 0.0),
        Ty::I32 => u64::from(v as i64 as i32 as u32),
        Ty::U32 => u64::from(v as i64 as u32),
        Ty::I64 => v as i64 as u64,
        Ty::U64 => v as u64,
        Ty::F32 => of_f32(v as f32),
        Ty::F64 => v.to_bits(),
    }
}

/// The value as a float, for reports and tests.
pub fn f64_of_bits(ty: Ty, bits: u64) -> f64 {
    match ty {
        Ty::Bool | Ty::U64 => bits as f64,
        Ty::I32 => f64::from(bits as u32 as i32),
        Ty::U32 => f64::from(bits as u32),
        Ty::I64 => bits as i64 as f64,
        Ty::F32 => f64::from(f32_of(bits)),
        Ty::F64 => f64_of(bits),
    }
}

/// One operand.
pub fn unary(op: Unary, ty: Ty, a: u64) -> u64 {
    let float = |f: fn(f32) -> f32, d: fn(f64) -> f64| match ty {
        Ty::F32 => of_f32(f(f32_of(a))),
        _ => d(f64_of(a)).to_bits(),
    };
    match op {
        Unary::Neg => match ty {
            Ty::F32 => a ^ 0x8000_0000,
            Ty::F64 => a ^ (1 << 63),
            _ if ty.bits() == 32 => u64::from((a as u32).wrapping_neg()),
            _ => a.wrapping_neg(),
        },
        Unary::Not => match ty {
            Ty::Bool => a ^ 1,
            _ if ty.bits() == 32 => u64::from(!(a as u32)),
            _ => !a,
        },
        Unary::Abs => float(f32::abs, f64::abs),
        Unary::Floor => float(f32::floor, f64::floor),
        Unary::Ceil => float(f32::ceil, f64::ceil),
        Unary::Trunc => float(f32::trunc, f64::trunc),
        Unary::RoundEven => float(f32::round_ties_even, f64::round_ties_even),
        Unary::Sqrt => float(f32::sqrt, f64::sqrt),
        Unary::BitCount => u64::from((a as u32).count_ones()),
        Unary::FindMsb => u64::from((a as u32).checked_ilog2().unwrap_or(u32::MAX)),
    }
}

/// Two operands of type `ty`.
pub fn binary(op: Binary, ty: Ty, a: u64, b: u64) -> u64 {
    match ty {
        Ty::Bool => match op {
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor | Binary::Ne => a ^ b,
            Binary::Eq => a ^ b ^ 1,
            Binary::Lt => (a ^ 1) & b,
            _ => (a ^ 1) | b,
        },
        Ty::F32 => float32(op, f32_of(a), f32_of(b)),
        Ty::F64 => float64(op, f64_of(a), f64_of(b)),
        Ty::I32 => signed(op, i64::from(a as u32 as i32), i64::from(b as u32 as i32), 32),
        Ty::I64 => signed(op, a as i64, b as i64, 64),
        Ty::U32 => unsigned(op, a, b, 32),
        Ty::U64 => unsigned(op, a, b, 64),
    }
}

fn float32(op: Binary, a: f32, b: f32) -> u64 {
    match op {
        Binary::Add => of_f32(a + b),
        Binary::Sub => of_f32(a - b),
        Binary::Mul => of_f32(a * b),
        Binary::Eq => u64::from(a == b),
        Binary::Ne => u64::from(a != b),
        Binary::Lt => u64::from(a < b),
        Binary::Le => u64::from(a <= b),
        _ => of_f32(a / b),
    }
}

fn float64(op: Binary, a: f64, b: f64) -> u64 {
    match op {
        Binary::Add => (a + b).to_bits(),
        Binary::Sub => (a - b).to_bits(),
        Binary::Mul => (a * b).to_bits(),
        Binary::Eq => u64::from(a == b),
        Binary::Ne => u64::from(a != b),
        Binary::Lt => u64::from(a < b),
        Binary::Le => u64::from(a <= b),
        _ => (a / b).to_bits(),
    }
}

fn truncated(v: u64, bits: u32) -> u64 {
    if bits == 32 { u64::from(v as u32) } else { v }
}

fn signed(op: Binary, a: i64, b: i64, bits: u32) -> u64 {
    let v = match op {
        Binary::Div => a.checked_div(b).unwrap_or(a),
        Binary::Shr => a >> (b as u32 % bits),
        Binary::Lt => i64::from(a < b),
        Binary::Le => i64::from(a <= b),
        _ => return unsigned(op, truncated(a as u64, bits), truncated(b as u64, bits), bits),
    };
    truncated(v as u64, bits)
}

fn unsigned(op: Binary, a: u64, b: u64, bits: u32) -> u64 {
    let v = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div => a.checked_div(b).unwrap_or(a),
        Binary::MulHi => (a as u32 as u64).wrapping_mul(b as u32 as u64) >> 32,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => a << (b as u32 % bits),
        Binary::Shr => a >> (b as u32 % bits),
        Binary::Eq => u64::from(a == b),
        Binary::Ne => u64::from(a != b),
        Binary::Lt => u64::from(a < b),
        Binary::Le => u64::from(a <= b),
    };
    truncated(v, bits)
}

/// By value.
pub fn convert(from: Ty, to: Ty, a: u64) -> u64 {
    match (from, to) {
        (Ty::F32, Ty::F64) => f64::from(f32_of(a)).to_bits(),
        (Ty::F64, Ty::F32) => of_f32(f64_of(a) as f32),
        (Ty::F32 | Ty::F64, _) => {
            let v = if from == Ty::F32 { f64::from(f32_of(a)) } else { f64_of(a) };
            match to {
                Ty::Bool => u64::from(v != 0.0),
                Ty::U64 => v as u64,
                Ty::U32 => u64::from(v as u32),
                Ty::I32 => u64::from(v as i32 as u32),
                _ => v as i64 as u64,
            }
        }
        (_, Ty::Bool) => u64::from(a != 0),
        (Ty::I32, Ty::F32) => of_f32(a as u32 as i32 as f32),
        (Ty::I64, Ty::F32) => of_f32(a as i64 as f32),
        (_, Ty::F32) => of_f32(a as f32),
        (Ty::I32, Ty::F64) => f64::from(a as u32 as i32).to_bits(),
        (Ty::I64, Ty::F64) => (a as i64 as f64).to_bits(),
        (_, Ty::F64) => (a as f64).to_bits(),
        (Ty::I32, Ty::I64 | Ty::U64) => i64::from(a as u32 as i32) as u64,
        (_, Ty::I64 | Ty::U64) => a,
        (_, Ty::I32 | Ty::U32) => u64::from(a as u32),
    }
}
