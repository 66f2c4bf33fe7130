//! The sets of element types that the tables name, as constraints on the attribute `T`.

use tfvk_device::DType::{self, *};

use crate::{TypeConstraint, t, types};

macro_rules! sets {
    ($($(#[$doc:meta])* $name:ident = $dtypes:expr;)*) => {$(
        $(#[$doc])*
        pub const $name: &[TypeConstraint] = &[t("T", $dtypes)];
    )*};
}

const NUMBER_BUT_I32: &[DType] = &[I8, I16, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128];
const REAL_BUT_I32: &[DType] = &[I8, I16, I64, U8, U16, U32, U64, F16, BF16, F32, F64];

sets! {
    /// float16, bfloat16, float32, float64.
    FLOAT = types::FLOAT;
    /// The floats that TensorFlow gives to rarer functions.
    FLOAT_32_64 = &[F32, F64];
    /// The same with float16.
    FLOAT_16_32_64 = &[F16, F32, F64];
    /// Floats and complex.
    FLOAT_COMPLEX = types::FLOAT_COMPLEX;
    /// Complex.
    COMPLEX_ONLY = types::COMPLEX;
    /// What `Bucketize` has.
    BUCKETS = &[I32, I64, F32, F64];
    /// All integers.
    INTEGER = types::INTEGER;
    /// All integers and floats.
    REAL = types::REAL;
    /// The same without int32.
    REAL_NOT_INT32 = REAL_BUT_I32;
    /// Integers, floats, complex; without int32.
    NUMBER_NOT_INT32 = NUMBER_BUT_I32;
    /// All but int32.
    ALL_NOT_INT32 = types::ALL_BUT_INT32;
    /// All.
    ALL = types::ALL;
    /// int32.
    INT32 = types::INT32;
    /// Signed integers and floats; without int32.
    SIGNED_NOT_INT32 = &[I8, I16, I64, F16, BF16, F32, F64];
    /// Signed integers, floats, complex; without int32.
    SIGNED_COMPLEX_NOT_INT32 = &[I8, I16, I64, F16, BF16, F32, F64, C64, C128];
    /// What `Add` has.
    ADD = &[I8, I16, I64, U8, F16, BF16, F32, F64, C64, C128];
    /// int64, floats, complex.
    INT64_FLOAT_COMPLEX = &[I64, F16, BF16, F32, F64, C64, C128];
    /// int32, int64, floats.
    INDEX_FLOAT = &[I32, I64, F16, BF16, F32, F64];
    /// What `Mod` and `TruncateMod` have, without int32.
    MOD = &[I64, F32, F64];
    /// What `Pow` has.
    POW = &[I8, I16, I32, I64, F16, BF16, F32, F64, C64, C128];
    /// What `ClipByValue` has, without int32.
    CLIP = &[I8, I16, I64, U8, U16, F16, BF16, F32, F64];
}
