//! The part of PackStream that a check needs: what Bolt messages are made of, written and read.

use serde_json::{Map, Number, Value};

use super::Neo4jError;

/// Deeper nesting is refused.
const MAX_DEPTH: usize = 16;

/// A message: its kind and its fields.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) tag: u8,
    pub(super) fields: Vec<Value>,
}

impl Message {
    /// The bytes of a message, without the framing. At most 15 fields.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0xB0 | size_nibble(self.fields.len()), self.tag];
        for field in &self.fields {
            write(field, &mut bytes);
        }
        bytes
    }

    /// The message in these bytes, all of them.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Neo4jError> {
        let mut reader = Reader { rest: bytes };
        let marker = reader.byte()?;
        if marker & 0xF0 != 0xB0 {
            return Err(Neo4jError::Malformed("a message is no structure"));
        }
        let tag = reader.byte()?;
        let fields = (0..marker & 0x0F).map(|_| reader.value(0)).collect::<Result<_, _>>()?;
        if !reader.rest.is_empty() {
            return Err(Neo4jError::Malformed("a message is longer than its fields"));
        }
        Ok(Self { tag, fields })
    }
}

fn size_nibble(size: usize) -> u8 {
    u8::try_from(size.min(15)).unwrap_or(15)
}

fn write(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Null => bytes.push(0xC0),
        Value::Bool(false) => bytes.push(0xC2),
        Value::Bool(true) => bytes.push(0xC3),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => write_integer(whole, bytes),
            None => {
                bytes.push(0xC1);
                bytes.extend(number.as_f64().unwrap_or_default().to_be_bytes());
            }
        },
        Value::String(text) => {
            write_size(text.len(), [0x80, 0xD0, 0xD1, 0xD2], bytes);
            bytes.extend(text.as_bytes());
        }
        Value::Array(items) => {
            write_size(items.len(), [0x90, 0xD4, 0xD5, 0xD6], bytes);
            items.iter().for_each(|item| write(item, bytes));
        }
        Value::Object(fields) => {
            write_size(fields.len(), [0xA0, 0xD8, 0xD9, 0xDA], bytes);
            for (key, field) in fields {
                write(&Value::String(key.clone()), bytes);
                write(field, bytes);
            }
        }
    }
}

fn write_integer(whole: i64, bytes: &mut Vec<u8>) {
    if let Ok(tiny) = i8::try_from(whole) {
        if tiny < -16 {
            bytes.push(0xC8);
        }
        bytes.extend(tiny.to_be_bytes());
    } else if let Ok(small) = i16::try_from(whole) {
        bytes.push(0xC9);
        bytes.extend(small.to_be_bytes());
    } else if let Ok(middle) = i32::try_from(whole) {
        bytes.push(0xCA);
        bytes.extend(middle.to_be_bytes());
    } else {
        bytes.push(0xCB);
        bytes.extend(whole.to_be_bytes());
    }
}

/// A size behind the shortest of the markers for up to 15, and for one, two and four bytes.
fn write_size(size: usize, [tiny, one, two, four]: [u8; 4], bytes: &mut Vec<u8>) {
    if size <= 15 {
        bytes.push(tiny | size_nibble(size));
    } else if let Ok(size) = u8::try_from(size) {
        bytes.extend([one, size]);
    } else if let Ok(size) = u16::try_from(size) {
        bytes.push(two);
        bytes.extend(size.to_be_bytes());
    } else {
        bytes.push(four);
        bytes.extend(u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
    }
}

struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], Neo4jError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Neo4jError::Malformed("a message is cut off"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Neo4jError> {
        self.take(N)?.try_into().map_err(|_| Neo4jError::Malformed("a message is cut off"))
    }

    fn byte(&mut self) -> Result<u8, Neo4jError> {
        Ok(self.array::<1>()?[0])
    }

    fn size(&mut self, width: u8) -> Result<usize, Neo4jError> {
        Ok(match width {
            0 => usize::from(self.byte()?),
            1 => usize::from(u16::from_be_bytes(self.array()?)),
            _ => usize::try_from(u32::from_be_bytes(self.array()?)).unwrap_or(usize::MAX),
        })
    }

    fn value(&mut self, depth: usize) -> Result<Value, Neo4jError> {
        if depth > MAX_DEPTH {
            return Err(Neo4jError::Malformed("a message is nested too deeply"));
        }
        let marker = self.byte()?;
        let small = usize::from(marker & 0x0F);
        Ok(match marker {
            0x00..=0x7F | 0xF0..=0xFF => i64::from(i8::from_be_bytes([marker])).into(),
            0x80..=0x8F => self.text(small)?,
            0x90..=0x9F => self.list(small, depth)?,
            0xA0..=0xAF => self.map(small, depth)?,
            0xC0 => Value::Null,
            0xC1 => Number::from_f64(f64::from_be_bytes(self.array()?)).map_or(Value::Null, Value::Number),
            0xC2 => false.into(),
            0xC3 => true.into(),
            0xC8 => i64::from(i8::from_be_bytes(self.array()?)).into(),
            0xC9 => i64::from(i16::from_be_bytes(self.array()?)).into(),
            0xCA => i64::from(i32::from_be_bytes(self.array()?)).into(),
            0xCB => i64::from_be_bytes(self.array()?).into(),
            0xD0..=0xD2 => self.size(marker - 0xD0).and_then(|size| self.text(size))?,
            0xD4..=0xD6 => self.size(marker - 0xD4).and_then(|size| self.list(size, depth))?,
            0xD8..=0xDA => self.size(marker - 0xD8).and_then(|size| self.map(size, depth))?,
            _ => return Err(Neo4jError::Malformed("a message holds a type that no check asks for")),
        })
    }

    fn text(&mut self, size: usize) -> Result<Value, Neo4jError> {
        let text = std::str::from_utf8(self.take(size)?).map_err(|_| Neo4jError::Malformed("a text is not UTF-8"))?;
        Ok(text.into())
    }

    /// Each item takes a byte at least, so a size that lies ends at the end of the bytes.
    fn list(&mut self, size: usize, depth: usize) -> Result<Value, Neo4jError> {
        (0..size).map(|_| self.value(depth + 1)).collect()
    }

    fn map(&mut self, size: usize, depth: usize) -> Result<Value, Neo4jError> {
        let mut fields = Map::new();
        for _ in 0..size {
            let Value::String(key) = self.value(depth + 1)? else {
                return Err(Neo4jError::Malformed("a key is no text"));
            };
            fields.insert(key, self.value(depth + 1)?);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests;
