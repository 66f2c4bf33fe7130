//! TensorFlow's signatures of ops, read from `signatures.txt` (written by `scripts/signatures.py` from TensorFlow's own
//! OpDefs): argument names, their types, attributes and defaults. For hosts that have no TensorFlow to ask, and for the
//! tests that hold the declarations against it.

use std::collections::HashMap;
use std::sync::OnceLock;

use tfvk_device::DType;

/// The type of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgType {
    /// Always this type; `None` for one that no kernel here computes with (string).
    Fixed(Option<DType>),
    /// The value of this type attribute.
    Attr(&'static str),
    /// One tensor for each type in this list attribute.
    List(&'static str),
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Its name in the OpDef.
    pub name: &'static str,
    /// Its element type.
    pub dtype: ArgType,
    /// The int attribute that says how many tensors it stands for; `None`: one (or one a type of the list).
    pub number: Option<&'static str>,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttrDef {
    /// Its name.
    pub name: &'static str,
    /// Its kind: `int`, `float`, `bool`, `type`, `string`, `shape`, `tensor`, `func` or `list(...)` of one.
    pub kind: &'static str,
    /// Its default, as text.
    pub default: Option<&'static str>,
}

/// An op's signature.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The op.
    pub op: &'static str,
    /// Inputs in order.
    pub inputs: Vec<Arg>,
    /// Outputs in order.
    pub outputs: Vec<Arg>,
    /// Attributes.
    pub attrs: Vec<AttrDef>,
}

/// The ops that are not TensorFlow's, in the table's format.
const OWN: &str = "\
_VkElementwise|args:[Tin] axes:A*int32|results:[Tout]|A:int Tin:list(type) Tout:list(type) program:string
_VkUpdate|variables:N*resource args:[Tin] axes:A*int32|results:[Tout]|N:int A:int Tin:list(type) Tout:list(type) program:string";

/// The signature of an op, if the table has it.
pub fn signature(op: &str) -> Option<&'static Signature> {
    static TABLE: OnceLock<HashMap<&'static str, Signature>> = OnceLock::new();
    TABLE
        .get_or_init(|| include_str!("signatures.txt").lines().chain(OWN.lines()).filter_map(parse).map(|s| (s.op, s)).collect())
        .get(op)
}

fn parse(line: &'static str) -> Option<Signature> {
    let mut parts = line.splitn(4, '|');
    let op = parts.next()?;
    let args = |text: &'static str| text.split_whitespace().filter_map(parse_arg).collect();
    let (inputs, outputs) = (args(parts.next()?), args(parts.next()?));
    let attrs = parts.next()?.split_whitespace().filter_map(parse_attr).collect();
    Some(Signature { op, inputs, outputs, attrs })
}

fn parse_arg(text: &'static str) -> Option<Arg> {
    let (name, kind) = text.split_once(':')?;
    let kind = kind.trim_start_matches('&');
    let (number, kind) = match kind.split_once('*') {
        Some((number, kind)) => (Some(number), kind),
        None => (None, kind),
    };
    let fixed = DType::NUMERIC.iter().chain(&[DType::Resource, DType::Variant]).find(|d| d.name() == kind);
    let dtype = match (kind.strip_prefix('['), fixed) {
        (Some(list), _) => ArgType::List(list.trim_end_matches(']')),
        (None, Some(&d)) => ArgType::Fixed(Some(d)),
        (None, None) if kind == "string" => ArgType::Fixed(None),
        (None, None) => ArgType::Attr(kind),
    };
    Some(Arg { name, dtype, number })
}

fn parse_attr(text: &'static str) -> Option<AttrDef> {
    let (name, rest) = text.split_once(':')?;
    let (kind, default) = match rest.split_once('=') {
        Some((kind, default)) => (kind, Some(default)),
        None => (rest, None),
    };
    Some(AttrDef { name, kind, default })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn reads_lists_defaults_and_fixed_types() {
        let split = signature("Split").unwrap();
        assert_eq!(split.inputs[0].dtype, ArgType::Fixed(Some(DType::I32)));
        assert_eq!((split.outputs[0].number, split.outputs[0].dtype), (Some("num_split"), ArgType::Attr("T")));
        let conv = signature("Conv2D").unwrap();
        assert_eq!(conv.attrs.iter().find(|a| a.name == "dilations").unwrap().default, Some("[1,1,1,1]"));
        assert_eq!(signature("IdentityN").unwrap().inputs[0].dtype, ArgType::List("T"));
    }

    /// Each declaration names an op, type attributes and arguments that TensorFlow has.
    #[test]
    fn declarations_match_tensorflow() {
        for def in registry::all() {
            let s = signature(def.op)
                .unwrap_or_else(|| panic!("{}: no such op in signatures.txt; run scripts/signatures.py", def.op));
            for c in def.types {
                assert!(s.attrs.iter().any(|a| a.name == c.attr && a.kind == "type"), "{}: no type attribute {}", def.op, c.attr);
            }
            for h in def.host_memory {
                assert!(s.inputs.iter().chain(&s.outputs).any(|a| a.name == *h), "{}: no argument {h}", def.op);
            }
        }
    }
}
