//! A node's attributes, read once from its NodeDef when its kernel is made: what the ops see as [`OpKernelConstruction`].

use std::collections::HashMap;

use tf_sys::TF_OpKernelConstruction;
use tfvk_device::{DType, Error, Result, Shape};
use tfvk_ops::OpKernelConstruction;

use crate::status::{Status, tf};
use crate::wire::{self, Value};

// NodeDef and AttrValue (tensorflow/core/framework/node_def.proto, attr_value.proto).
const NODE_OP: u32 = 2;
const NODE_ATTR: u32 = 5;
const ATTR_LIST: u32 = 1;
const ATTR_S: u32 = 2;
const ATTR_I: u32 = 3;
const ATTR_F: u32 = 4;
const ATTR_B: u32 = 5;
const ATTR_TYPE: u32 = 6;
const ATTR_SHAPE: u32 = 7;

/// A node: its op and its attributes, each an encoded `AttrValue`.
pub struct Node {
    op: String,
    attributes: HashMap<String, Vec<u8>>,
}

impl Node {
    /// The node that `raw` is making a kernel for.
    ///
    /// # Safety
    /// `raw` is what TensorFlow passed to a kernel's create function, during that call.
    pub unsafe fn of(raw: *mut TF_OpKernelConstruction) -> Result<Node> {
        let tf = tf()?;
        let status = Status::new(tf);
        // SAFETY: `raw` is live (the caller's promise); the buffer is ours to delete, after it was read.
        unsafe {
            let buffer = (tf.TF_OpKernelConstruction_GetNodeDef)(raw, status.raw());
            status.check()?;
            let node = match (*buffer).length {
                0 => Err(Error::internal("TensorFlow gave an empty NodeDef")),
                n => Node::parse(std::slice::from_raw_parts((*buffer).data.cast(), n)),
            };
            (tf.TF_DeleteBuffer)(buffer);
            node
        }
    }

    /// Reads an encoded NodeDef.
    pub fn parse(node_def: &[u8]) -> Result<Node> {
        let mut node = Node { op: String::new(), attributes: HashMap::new() };
        for field in wire::fields(node_def) {
            let field = field?;
            match field.number {
                NODE_OP => node.op = String::from_utf8_lossy(field.value.bytes()).into_owned(),
                NODE_ATTR => {
                    let (key, value) = map_entry(field.value.bytes())?;
                    node.attributes.insert(String::from_utf8_lossy(key).into_owned(), value.to_vec());
                }
                _ => {}
            }
        }
        Ok(node)
    }

    /// Its attributes, each an encoded `AttrValue`.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.attributes.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// A `list(shape)` attribute; `None` for an unknown rank.
    pub fn shapes(&self, name: &str) -> Result<Vec<Option<Shape>>> {
        self.list(name, ATTR_SHAPE, |v| Ok(vec![shape_of(v.bytes())?]))
    }

    /// The field `number` of attribute `name`; `None` if the attribute has another type.
    fn field(&self, name: &str, number: u32) -> Result<Option<Value<'_>>> {
        let attribute = self
            .attributes
            .get(name)
            .ok_or_else(|| Error::invalid_argument(format!("a {} node without attribute {name}", self.op)))?;
        let mut found = None;
        for field in wire::fields(attribute) {
            let field = field?;
            if field.number == number {
                found = Some(field.value);
            }
        }
        Ok(found)
    }

    fn scalar(&self, name: &str, number: u32, kind: &str) -> Result<Value<'_>> {
        self.field(name, number)?
            .ok_or_else(|| Error::invalid_argument(format!("attribute {name} of a {} node: expected {kind}", self.op)))
    }

    /// The values of a list attribute: field `number` of its ListValue, packed or not.
    fn list<T>(&self, name: &str, number: u32, mut read: impl FnMut(Value<'_>) -> Result<Vec<T>>) -> Result<Vec<T>> {
        let mut all = Vec::new();
        for field in wire::fields(self.scalar(name, ATTR_LIST, "a list")?.bytes()) {
            let field = field?;
            if field.number == number {
                all.extend(read(field.value)?);
            }
        }
        Ok(all)
    }
}

/// Key and value of a map field's entry.
pub fn map_entry(entry: &[u8]) -> Result<(&[u8], &[u8])> {
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    for field in wire::fields(entry) {
        let field = field?;
        match field.number {
            1 => key = field.value.bytes(),
            2 => value = field.value.bytes(),
            _ => {}
        }
    }
    Ok((key, value))
}

fn ints(value: Value<'_>) -> Result<Vec<i64>> {
    match value {
        Value::Bytes(packed) => wire::packed_varints(packed),
        one => Ok(vec![one.int()]),
    }
}

fn floats(value: Value<'_>) -> Result<Vec<f32>> {
    Ok(match value {
        Value::Bytes(packed) => packed.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
        Value::Fixed32(bits) => vec![f32::from_bits(bits)],
        _ => Vec::new(),
    })
}

fn dtype_of(number: i64, name: &str) -> Result<DType> {
    i32::try_from(number).ok().and_then(DType::from_tf).ok_or_else(|| {
        Error::unimplemented(format!("attribute {name}: TensorFlow's element type number {number} is not supported"))
    })
}

/// A TensorShapeProto; `None` for an unknown rank.
fn shape_of(proto: &[u8]) -> Result<Option<Shape>> {
    let mut shape = Shape::scalar();
    for field in wire::fields(proto) {
        let field = field?;
        match (field.number, field.value) {
            (2, Value::Bytes(dim)) => {
                // A dimension of 0 is not written.
                let size = wire::fields(dim).find_map(|f| f.ok().filter(|f| f.number == 1));
                shape.push(size.map_or(0, |f| f.value.int()));
            }
            (3, Value::Varint(1)) => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(shape))
}

impl OpKernelConstruction for Node {
    fn op(&self) -> &str {
        &self.op
    }

    fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    fn i64(&self, name: &str) -> Result<i64> {
        Ok(self.scalar(name, ATTR_I, "an int")?.int())
    }

    fn f32(&self, name: &str) -> Result<f32> {
        match self.scalar(name, ATTR_F, "a float")? {
            Value::Fixed32(bits) => Ok(f32::from_bits(bits)),
            other => Err(Error::internal(format!("attribute {name}: {other:?} is not a float"))),
        }
    }

    fn bool(&self, name: &str) -> Result<bool> {
        Ok(self.scalar(name, ATTR_B, "a bool")?.int() != 0)
    }

    fn dtype(&self, name: &str) -> Result<DType> {
        dtype_of(self.scalar(name, ATTR_TYPE, "a type")?.int(), name)
    }

    fn string(&self, name: &str) -> Result<String> {
        Ok(String::from_utf8_lossy(self.scalar(name, ATTR_S, "a string")?.bytes()).into_owned())
    }

    fn shape(&self, name: &str) -> Result<Option<Shape>> {
        shape_of(self.scalar(name, ATTR_SHAPE, "a shape")?.bytes())
    }

    fn i64s(&self, name: &str) -> Result<Vec<i64>> {
        self.list(name, ATTR_I, ints)
    }

    fn f32s(&self, name: &str) -> Result<Vec<f32>> {
        self.list(name, ATTR_F, floats)
    }

    fn dtypes(&self, name: &str) -> Result<Vec<DType>> {
        self.list(name, ATTR_TYPE, ints)?.into_iter().map(|number| dtype_of(number, name)).collect()
    }

    fn strings(&self, name: &str) -> Result<Vec<String>> {
        self.list(name, ATTR_S, |v| Ok(vec![String::from_utf8_lossy(v.bytes()).into_owned()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{put_bytes, put_int};

    fn node(attributes: &[(&str, Vec<u8>)]) -> Node {
        let mut def = Vec::new();
        put_bytes(&mut def, 1, b"name");
        put_bytes(&mut def, NODE_OP, b"MyOp");
        for (key, value) in attributes {
            let mut entry = Vec::new();
            put_bytes(&mut entry, 1, key.as_bytes());
            put_bytes(&mut entry, 2, value);
            put_bytes(&mut def, NODE_ATTR, &entry);
        }
        Node::parse(&def).unwrap()
    }

    #[test]
    fn reads_each_kind() {
        let mut int = Vec::new();
        put_int(&mut int, ATTR_I, -7);
        let mut dtype = Vec::new();
        put_int(&mut dtype, ATTR_TYPE, 14);
        let mut list = Vec::new();
        let mut packed = Vec::new();
        put_bytes(&mut packed, ATTR_I, &[1, 2, 2, 1]);
        put_bytes(&mut list, ATTR_LIST, &packed);
        let mut empty = Vec::new();
        put_bytes(&mut empty, ATTR_LIST, &[]);
        let mut float = vec![(ATTR_F << 3 | 5) as u8];
        float.extend_from_slice(&0.5f32.to_le_bytes());
        let mut dims = Vec::new();
        put_bytes(&mut dims, 2, &[8, 3]);
        put_bytes(&mut dims, 2, &[]);
        let mut shape = Vec::new();
        put_bytes(&mut shape, ATTR_SHAPE, &dims);
        let n = node(&[("i", int), ("T", dtype), ("l", list), ("e", empty), ("f", float), ("s", shape)]);
        assert_eq!((n.op(), n.i64("i"), n.dtype("T")), ("MyOp", Ok(-7), Ok(DType::BF16)));
        assert_eq!((n.i64s("l"), n.i64s("e"), n.f32("f")), (Ok(vec![1, 2, 2, 1]), Ok(vec![]), Ok(0.5)));
        assert_eq!(n.shape("s"), Ok(Some(Shape::from([3, 0]))));
        let message = n.bool("nope").err().map(|e| e.message).unwrap_or_default();
        assert!(message.contains("MyOp") && message.contains("nope"));
        assert!(n.bool("i").is_err(), "of another type");
    }
}
