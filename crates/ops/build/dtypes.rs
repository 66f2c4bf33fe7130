//! Element types as shaders see them: how each is stored, what it is computed in, how one becomes the other.

/// One element type. `{}` in an expression stands for the value to convert.
pub struct DType {
    pub name: &'static str,
    /// TensorFlow's number.
    pub id: u32,
    pub size: u32,
    /// What kernels compute in.
    pub compute: &'static str,
    /// Four of them; empty where there is no such vector.
    pub vec4: &'static str,
    /// What memory holds.
    pub store: &'static str,
    pub load: &'static str,
    pub save: &'static str,
    /// How four elements lie in memory, and the conversions.
    pub store4: &'static str,
    pub load4: &'static str,
    pub save4: &'static str,
    /// Smallest and largest value; infinities for floating-point types.
    pub lowest: &'static str,
    pub highest: &'static str,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    Complex,
}

const F32_LOWEST: &str = "uintBitsToFloat(0xff800000u)";
const F32_HIGHEST: &str = "uintBitsToFloat(0x7f800000u)";

#[allow(clippy::too_many_arguments)]
const fn dtype(
    name: &'static str,
    id: u32,
    size: u32,
    kind: Kind,
    one: [&'static str; 4],
    four: [&'static str; 4],
    range: [&'static str; 2],
) -> DType {
    let [compute, store, load, save] = one;
    let [vec4, store4, load4, save4] = four;
    let [lowest, highest] = range;
    DType { name, id, size, compute, vec4, store, load, save, store4, load4, save4, lowest, highest, kind }
}

pub const ALL: &[DType] = &[
    dtype(
        "bool",
        10,
        1,
        Kind::Bool,
        ["uint", "uint8_t", "min(uint({}), 1u)", "uint8_t({})"],
        ["uvec4", "uint", "min(tfvk_u8x4({}), 1u)", "tfvk_pack8({})"],
        ["0u", "1u"],
    ),
    dtype(
        "i8",
        6,
        1,
        Kind::Signed,
        ["int", "int8_t", "int({})", "int8_t({})"],
        ["ivec4", "uint", "tfvk_i8x4({})", "tfvk_pack8(uvec4({}))"],
        ["-128", "127"],
    ),
    dtype(
        "u8",
        4,
        1,
        Kind::Unsigned,
        ["uint", "uint8_t", "uint({})", "uint8_t({})"],
        ["uvec4", "uint", "tfvk_u8x4({})", "tfvk_pack8({})"],
        ["0u", "255u"],
    ),
    dtype(
        "i16",
        5,
        2,
        Kind::Signed,
        ["int", "int16_t", "int({})", "int16_t({})"],
        ["ivec4", "uvec2", "tfvk_i16x4({})", "tfvk_pack16(uvec4({}))"],
        ["-32768", "32767"],
    ),
    dtype(
        "u16",
        17,
        2,
        Kind::Unsigned,
        ["uint", "uint16_t", "uint({})", "uint16_t({})"],
        ["uvec4", "uvec2", "tfvk_u16x4({})", "tfvk_pack16({})"],
        ["0u", "65535u"],
    ),
    dtype(
        "i32",
        3,
        4,
        Kind::Signed,
        ["int", "int", "{}", "{}"],
        ["ivec4", "ivec4", "{}", "{}"],
        ["(-2147483647 - 1)", "2147483647"],
    ),
    dtype("u32", 22, 4, Kind::Unsigned, ["uint", "uint", "{}", "{}"], ["uvec4", "uvec4", "{}", "{}"], ["0u", "0xffffffffu"]),
    dtype(
        "i64",
        9,
        8,
        Kind::Signed,
        ["int64_t", "int64_t", "{}", "{}"],
        ["i64vec4", "i64vec4", "{}", "{}"],
        ["(-0x7fffffffffffffffL - 1L)", "0x7fffffffffffffffL"],
    ),
    dtype(
        "u64",
        23,
        8,
        Kind::Unsigned,
        ["uint64_t", "uint64_t", "{}", "{}"],
        ["u64vec4", "u64vec4", "{}", "{}"],
        ["0UL", "0xffffffffffffffffUL"],
    ),
    dtype(
        "f16",
        19,
        2,
        Kind::Float,
        ["float", "uint16_t", "unpackHalf2x16(uint({})).x", "uint16_t(tfvk_f16_bits({}))"],
        ["vec4", "uvec2", "tfvk_f16x4({})", "tfvk_pack_f16({})"],
        [F32_LOWEST, F32_HIGHEST],
    ),
    dtype(
        "bf16",
        14,
        2,
        Kind::Float,
        ["float", "uint16_t", "uintBitsToFloat(uint({}) << 16)", "uint16_t(tfvk_bf16_bits({}))"],
        ["vec4", "uvec2", "tfvk_bf16x4({})", "tfvk_pack_bf16({})"],
        [F32_LOWEST, F32_HIGHEST],
    ),
    dtype("f32", 1, 4, Kind::Float, ["float", "float", "{}", "{}"], ["vec4", "vec4", "{}", "{}"], [F32_LOWEST, F32_HIGHEST]),
    dtype(
        "f64",
        2,
        8,
        Kind::Float,
        ["double", "double", "{}", "{}"],
        ["dvec4", "dvec4", "{}", "{}"],
        ["packDouble2x32(uvec2(0u, 0xfff00000u))", "packDouble2x32(uvec2(0u, 0x7ff00000u))"],
    ),
    dtype("c64", 8, 8, Kind::Complex, ["vec2", "vec2", "{}", "{}"], [""; 4], ["", ""]),
    dtype("c128", 18, 16, Kind::Complex, ["dvec2", "dvec2", "{}", "{}"], [""; 4], ["", ""]),
    // A 64-bit integer read as an int, for indices on adapters without int64: what does not fit becomes the nearest int.
    dtype(
        "x64",
        9,
        8,
        Kind::Signed,
        ["int", "ivec2", "tfvk_narrow({})", "ivec2({}, {} >> 31)"],
        [""; 4],
        ["(-2147483647 - 1)", "2147483647"],
    ),
];

pub fn find(name: &str) -> Option<&'static DType> {
    ALL.iter().find(|d| d.name == name)
}

/// A name of a set of element types as its members; anything else as itself. The sets are those of `tfvk_ops::types`.
pub fn expand(word: &str) -> Vec<String> {
    let set = match word {
        "FLOAT_NN" => "f16 bf16 f32",
        "FLOAT" => "f16 bf16 f32 f64",
        "FLOAT_COMPLEX" => "f16 bf16 f32 f64 c64 c128",
        "INTEGER" => "i8 i16 i32 i64 u8 u16 u32 u64",
        "REAL" => "i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64",
        "NUMBER" => "i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128",
        "ALL" => "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128",
        "INDEX" => "i32 i64",
        other => other,
    };
    set.split_whitespace().map(String::from).collect()
}
