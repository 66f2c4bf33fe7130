//! Element types, with TensorFlow's names and numbers.

use std::fmt;

/// An element type. The discriminant is TensorFlow's `TF_DataType` (tensorflow/c/tf_datatype.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum DType {
    F32 = 1,
    F64 = 2,
    I32 = 3,
    U8 = 4,
    I16 = 5,
    I8 = 6,
    C64 = 8,
    I64 = 9,
    Bool = 10,
    BF16 = 14,
    U16 = 17,
    C128 = 18,
    F16 = 19,
    /// A handle to a variable; host memory, opaque.
    Resource = 20,
    /// An opaque host object.
    Variant = 21,
    U32 = 22,
    U64 = 23,
}

impl DType {
    /// Every type whose elements a kernel can compute with.
    pub const NUMERIC: &'static [DType] = &[
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    /// The type with this `TF_DataType` number, if it is one of ours.
    pub fn from_tf(number: i32) -> Option<DType> {
        let handles = [DType::Resource, DType::Variant];
        Self::NUMERIC.iter().chain(&handles).copied().find(|d| *d as i32 == number)
    }

    /// Bytes of one element; 0 for handles.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
            DType::Resource | DType::Variant => 0,
        }
    }

    /// TensorFlow's name, as in `tf.float32.name`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::I32 => "int32",
            DType::U8 => "uint8",
            DType::I16 => "int16",
            DType::I8 => "int8",
            DType::C64 => "complex64",
            DType::I64 => "int64",
            DType::Bool => "bool",
            DType::BF16 => "bfloat16",
            DType::U16 => "uint16",
            DType::C128 => "complex128",
            DType::F16 => "float16",
            DType::Resource => "resource",
            DType::Variant => "variant",
            DType::U32 => "uint32",
            DType::U64 => "uint64",
        }
    }

    /// f16, bf16, f32 or f64.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
    }

    /// complex64 or complex128.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C64 | DType::C128)
    }

    /// A signed or unsigned integer (not bool).
    pub const fn is_integer(self) -> bool {
        self.is_signed_integer() || matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }

    /// A signed integer.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type whose memory layout is that of a [`DType`].
///
/// # Safety
/// Any bit pattern of `size_of::<Self>()` bytes must be a valid value, and the size must be that of `DTYPE`.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The element type.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),* $(,)?) => {$(
        // SAFETY: plain numbers; every bit pattern is valid and the size is the type's.
        unsafe impl Element for $rust { const DTYPE: DType = DType::$dtype; }
    )*};
}
elements! {
    f32 => F32, f64 => F64, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for &d in DType::NUMERIC {
            assert_eq!(DType::from_tf(d as i32), Some(d));
        }
        assert_eq!(DType::from_tf(7), None, "string is not ours");
    }
}
