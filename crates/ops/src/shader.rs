//! The GLSL kernels that `build.rs` compiled: one [`Shader`] constant per `.comp` file, with all its variants.
//!
//! An [`OpKernel`](crate::OpKernel) picks its variant once, when it is made:
//! `shader::SOFTMAX.get(&[dtype.into()])?` gives a `&'static Kernel` to launch. A file that does not exist is a compile
//! error, a variant that does not exist an [`unimplemented`](tfvk_device::Error::unimplemented) error that names it.

use std::fmt;
use std::sync::OnceLock;

use tfvk_device::{DType, Error, Kernel, Result};

use crate::packing;

include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

/// One `.comp` file.
pub struct Shader {
    /// The file's stem.
    pub name: &'static str,
    /// The parameters of its `variants:` lines, in order.
    pub params: &'static [&'static str],
    variants: &'static [Variant],
    /// The modules of all variants (see `packing.rs`).
    packed: &'static [u8],
    modules: OnceLock<Result<Vec<Vec<u32>>>>,
}

/// One variant of a shader.
pub struct Variant {
    /// `stem.f32.sum`.
    pub name: &'static str,
    values: &'static [&'static str],
    index: usize,
    kernel: OnceLock<Kernel>,
}

/// A parameter's value: an element type or a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An element type.
    Type(DType),
    /// A word or a number, as the file spells it.
    Word(&'static str),
}

impl From<DType> for Value {
    fn from(d: DType) -> Self {
        Self::Type(d)
    }
}

impl From<&'static str> for Value {
    fn from(w: &'static str) -> Self {
        Self::Word(w)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Word(if b { "1" } else { "0" })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spelling())
    }
}

impl Value {
    /// As a shader file spells it.
    pub fn spelling(self) -> &'static str {
        match self {
            Value::Word(w) => w,
            Value::Type(d) => match d {
                DType::F32 => "f32",
                DType::F64 => "f64",
                DType::I32 => "i32",
                DType::U8 => "u8",
                DType::I16 => "i16",
                DType::I8 => "i8",
                DType::C64 => "c64",
                DType::I64 => "i64",
                DType::Bool => "bool",
                DType::BF16 => "bf16",
                DType::U16 => "u16",
                DType::C128 => "c128",
                DType::F16 => "f16",
                DType::U32 => "u32",
                DType::U64 => "u64",
                DType::Resource | DType::Variant => "handle",
            },
        }
    }
}

impl Variant {
    const fn new(name: &'static str, values: &'static [&'static str], index: usize) -> Self {
        Self { name, values, index, kernel: OnceLock::new() }
    }
}

impl Shader {
    const fn new(
        name: &'static str,
        params: &'static [&'static str],
        variants: &'static [Variant],
        packed: &'static [u8],
    ) -> Self {
        Self { name, params, variants, packed, modules: OnceLock::new() }
    }

    /// The kernel with these values of the parameters, in the file's order.
    pub fn get(&'static self, values: &[Value]) -> Result<&'static Kernel> {
        let same = |v: &&Variant| v.values.len() == values.len() && v.values.iter().zip(values).all(|(a, b)| *a == b.spelling());
        let variant = self.variants.iter().find(same).ok_or_else(|| self.missing(values))?;
        if let Some(kernel) = variant.kernel.get() {
            return Ok(kernel);
        }
        let words = self.module(variant)?;
        Ok(variant.kernel.get_or_init(|| Kernel::new(variant.name, words)))
    }

    /// Every variant.
    pub fn variants(&'static self) -> &'static [Variant] {
        self.variants
    }

    /// The SPIR-V of one variant.
    pub fn module(&'static self, variant: &Variant) -> Result<&'static [u32]> {
        let modules = self.modules.get_or_init(|| unpack(self.packed)).as_ref().map_err(|e| e.clone().context(self.name))?;
        let module = modules.get(variant.index);
        module.map(Vec::as_slice).ok_or_else(|| Error::internal(format!("shader {}: a module is missing", self.name)))
    }

    fn missing(&self, values: &[Value]) -> Error {
        let got: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(i, v)| format!("{} = {v}", self.params.get(i).unwrap_or(&"(no such parameter)")))
            .collect();
        Error::unimplemented(format!("shader {} has no variant with {}", self.name, got.join(", ")))
    }
}

fn unpack(packed: &[u8]) -> Result<Vec<Vec<u32>>> {
    let broken = |why: String| Error::internal(format!("the packed modules do not unpack: {why}"));
    let bytes = miniz_oxide::inflate::decompress_to_vec(packed).map_err(|e| broken(e.to_string()))?;
    let (mut rest, mut modules) = (bytes.as_slice(), Vec::new());
    while !rest.is_empty() {
        let (words, after) = packing::decode(rest).ok_or_else(|| broken("a module is cut short".into()))?;
        modules.push(words);
        rest = after;
    }
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_unpacks_to_spirv() {
        for shader in ALL {
            for v in shader.variants() {
                let words = shader.module(v).unwrap();
                let file = format!("{}/spv/{}.spv", env!("OUT_DIR"), v.name);
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                assert!(words[0] == 0x0723_0203 && bytes == std::fs::read(&file).unwrap(), "{file}");
            }
        }
    }

    #[test]
    fn a_missing_variant_is_named() {
        let e = ALL[0].get(&["nonsense".into()]).err().unwrap();
        assert!(e.message.contains("nonsense") && e.message.contains(ALL[0].name), "{e}");
    }
}
