//! The protocol buffer wire format: just enough to read attributes of a node and to rewrite a graph.
//!
//! Knows no message of TensorFlow's; field numbers are the caller's.

use tfvk_device::{Error, Result};

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer, a bool or an enum.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// A string, a message or packed numbers.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

impl<'a> Value<'a> {
    /// The bytes of a string or message; none for a number.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Bytes(b) => b,
            _ => &[],
        }
    }

    /// An integer.
    pub fn int(self) -> i64 {
        match self {
            Value::Varint(v) | Value::Fixed64(v) => v as i64,
            Value::Fixed32(v) => i64::from(v),
            Value::Bytes(_) => 0,
        }
    }
}

fn malformed() -> Error {
    Error::invalid_argument("a malformed protocol buffer")
}

/// A field with its number and its raw bytes, tag included.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The field's number.
    pub number: u32,
    /// Its value.
    pub value: Value<'a>,
    /// The whole field as it was.
    pub raw: &'a [u8],
}

/// The fields of a message, in order.
pub struct Fields<'a> {
    rest: &'a [u8],
}

/// Reads a message.
pub fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or_else(malformed)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(malformed())
    }

    fn take(&mut self, n: u64) -> Result<&'a [u8]> {
        let n = usize::try_from(n).map_err(|_| malformed())?;
        let (head, rest) = self.rest.split_at_checked(n).ok_or_else(malformed)?;
        self.rest = rest;
        Ok(head)
    }

    fn field(&mut self) -> Result<Field<'a>> {
        let start = self.rest;
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| malformed())?)),
            2 => {
                let n = self.varint()?;
                Value::Bytes(self.take(n)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| malformed())?)),
            _ => return Err(malformed()),
        };
        let raw = &start[..start.len() - self.rest.len()];
        Ok(Field { number: u32::try_from(tag >> 3).map_err(|_| malformed())?, value, raw })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The integers of a packed field.
pub fn packed_varints(bytes: &[u8]) -> Result<Vec<i64>> {
    let mut reader = fields(bytes);
    let mut all = Vec::new();
    while !reader.rest.is_empty() {
        all.push(reader.varint()? as i64);
    }
    Ok(all)
}

/// Appends a varint.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a string or message field.
pub fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(out, u64::from(number) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends an integer field.
pub fn put_int(out: &mut Vec<u8>, number: u32, value: i64) {
    put_varint(out, u64::from(number) << 3);
    put_varint(out, value as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = Vec::new();
        put_int(&mut message, 3, -1);
        put_bytes(&mut message, 300, b"abc");
        let read: Vec<_> = fields(&message).map(|f| f.map(|f| (f.number, f.value))).collect::<Result<_>>().unwrap();
        assert_eq!(read, [(3, Value::Varint(u64::MAX)), (300, Value::Bytes(b"abc"))]);
        let again: Vec<u8> = fields(&message).flat_map(|f| f.unwrap().raw.to_vec()).collect();
        assert_eq!(again, message);
        assert_eq!(packed_varints(&[1, 0xac, 2]).unwrap(), [1, 300]);
    }

    #[test]
    fn damage_is_an_error() {
        for bad in [&[0x0a, 5, 1][..], &[0x80], &[0x0b], &[0x09, 1]] {
            assert!(fields(bad).last().unwrap().is_err(), "{bad:?}");
        }
    }
}
