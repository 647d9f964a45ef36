//! Turns the bytes a host wrote into JSON, forgiving what hosts are known to get wrong.

use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

/// The largest payload that is looked at.
pub const INPUT_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// What stands for half a surrogate pair.
const REPLACEMENT_UNIT: u16 = 0xfffd;

/// Why a payload could not become a hook event. Never carries the payload's text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InputError {
    /// Nothing arrived.
    #[error("the host sent no payload")]
    Empty,
    /// The host had not finished writing when the time for reading was over.
    #[error("the payload did not arrive in time")]
    Unfinished,
    /// More arrived than is looked at.
    #[error("the payload is larger than {INPUT_LIMIT_BYTES} bytes")]
    TooLarge,
    /// It is nested deeper than is looked at.
    #[error("the payload is nested too deeply")]
    TooDeep,
    /// It is not JSON, even read leniently.
    #[error("the payload is not JSON (line {line}, column {column})")]
    NotJson {
        /// Line of the first fault.
        line: usize,
        /// Column of the first fault.
        column: usize,
    },
    /// It is JSON, but not an object.
    #[error("the payload is not a JSON object")]
    NotAnObject,
}

/// Reads the first JSON object of `bytes`; whatever follows it is ignored.
pub(crate) fn decode(bytes: &[u8]) -> Result<Map<String, Value>, InputError> {
    if bytes.len() > INPUT_LIMIT_BYTES {
        return Err(InputError::TooLarge);
    }
    let text = to_text(bytes);
    let text = text.trim_start_matches(['\u{feff}', '\0', ' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Err(InputError::Empty);
    }
    let value = first_value(text).or_else(|error| {
        // What does not begin as an object is no payload, however deep it is.
        let is_object = text.starts_with('{');
        if is_object && is_too_deep(&error) {
            return Err(InputError::TooDeep);
        }
        first_value(&repair(text)).map_err(|repaired| match is_object && is_too_deep(&repaired) {
            true => InputError::TooDeep,
            false => InputError::NotJson { line: error.line(), column: error.column() },
        })
    })?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(InputError::NotAnObject),
    }
}

fn first_value(text: &str) -> Result<Value, serde_json::Error> {
    Value::deserialize(&mut serde_json::Deserializer::from_str(text))
}

/// The parser gives up at a depth of its own, and only its words tell.
fn is_too_deep(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit exceeded")
}

fn to_text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes).into(),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes).into(),
        // JSON starts with an ASCII character, so a zero beside it means two bytes per unit.
        [first, 0, ..] if *first != 0 => utf16(bytes, u16::from_le_bytes).into(),
        [0, second, ..] if *second != 0 => utf16(bytes, u16::from_be_bytes).into(),
        _ => String::from_utf8_lossy(bytes),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
        .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// Escapes what hosts leave raw inside strings: control characters, lone halves of a surrogate
/// pair, and backslashes that begin no escape.
fn repair(text: &str) -> String {
    let mut fixed = String::with_capacity(text.len() + 64);
    let mut in_string = false;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '"' => {
                in_string = !in_string;
                fixed.push('"');
            }
            '\\' if in_string => repair_escape(&mut rest, &mut fixed),
            control if in_string && control < ' ' => {
                fixed.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => fixed.push(other),
        }
    }
    fixed
}

fn repair_escape(rest: &mut std::str::Chars<'_>, fixed: &mut String) {
    match rest.as_str().chars().next() {
        Some(simple @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {
            rest.next();
            fixed.push('\\');
            fixed.push(simple);
        }
        Some('u') => match hex_unit(rest.as_str()) {
            Some(high @ 0xd800..=0xdbff) => {
                let after = rest.as_str().get(5..).unwrap_or_default();
                match after.strip_prefix('\\').and_then(hex_unit) {
                    Some(low @ 0xdc00..=0xdfff) => {
                        take_unit(rest, high, fixed);
                        rest.next();
                        take_unit(rest, low, fixed);
                    }
                    _ => take_unit(rest, REPLACEMENT_UNIT, fixed),
                }
            }
            Some(0xdc00..=0xdfff) => take_unit(rest, REPLACEMENT_UNIT, fixed),
            Some(unit) => take_unit(rest, unit, fixed),
            None => fixed.push_str("\\\\"),
        },
        _ => fixed.push_str("\\\\"),
    }
}

/// The unit of an escape, from its `u` on.
fn hex_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix('u')?.get(..4)?;
    let all_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    all_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

fn take_unit(rest: &mut std::str::Chars<'_>, unit: u16, fixed: &mut String) {
    rest.by_ref().take(5).for_each(drop);
    fixed.push_str(&format!("\\u{unit:04x}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(bytes: &[u8], expected: Value) {
        assert_eq!(decode(bytes).map(Value::Object), Ok(expected));
    }

    #[test]
    fn encodings_and_surroundings() {
        let utf16le: Vec<u8> = "{\"a\":\"é\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf16be: Vec<u8> = "{\"a\":\"é\"}".encode_utf16().flat_map(u16::to_be_bytes).collect();
        check(b"\xef\xbb\xbf{\"a\":1}", json!({"a": 1}));
        check(b"\r\n {\"a\":1}\n\n", json!({"a": 1}));
        check(b"{\"a\":1} trailing }{ text", json!({"a": 1}));
        check(b"{\"a\":1}{\"b\":2}", json!({"a": 1}));
        check(b"{\"a\":1}\0\0", json!({"a": 1}));
        check(b"{\"a\":1,\"a\":2}", json!({"a": 2}));
        check(b"{\"a\":\"\xff\"}", json!({"a": "\u{fffd}"}));
        check(&utf16le, json!({"a": "é"}));
        check(&[b"\xff\xfe".as_slice(), &utf16le].concat(), json!({"a": "é"}));
        check(&[b"\xfe\xff".as_slice(), &utf16be].concat(), json!({"a": "é"}));
        check(&utf16be, json!({"a": "é"}));
    }

    #[test]
    fn strings_that_hosts_leave_raw() {
        check(b"{\"a\":\"x\ny\tz\"}", json!({"a": "x\ny\tz"}));
        check(br#"{"a":"\ud83d"}"#, json!({"a": "\u{fffd}"}));
        check(br#"{"a":"\ude00x"}"#, json!({"a": "\u{fffd}x"}));
        check(b"{\"a\":\"\\ud83d\\ude00\n\"}", json!({"a": "😀\n"}));
        check(br#"{"a":"C:\Users\dev"}"#, json!({"a": "C:\\Users\\dev"}));
        check(b"{\"a\":\"\\\"\x01\\\\\"}", json!({"a": "\"\u{1}\\"}));
    }

    #[test]
    fn what_is_no_event_has_a_cause() {
        let deep = "[".repeat(100_000);
        let nested = format!("{{\"a\":{deep}");
        assert_eq!(decode(b""), Err(InputError::Empty));
        assert_eq!(decode(b" \n\0"), Err(InputError::Empty));
        assert_eq!(decode(b"[1]"), Err(InputError::NotAnObject));
        assert_eq!(decode(b"\"text\""), Err(InputError::NotAnObject));
        assert!(matches!(decode(b"{\"a\":"), Err(InputError::NotJson { .. })));
        assert_eq!(decode(nested.as_bytes()), Err(InputError::TooDeep));
        let raw = format!("{{\"a\":\"x\ny\",\"b\":{deep}");
        assert_eq!(decode(raw.as_bytes()), Err(InputError::TooDeep), "also where the text needs repair");
        let huge = vec![b' '; INPUT_LIMIT_BYTES + 1];
        assert_eq!(decode(&huge), Err(InputError::TooLarge));
    }
}
