//! Texts between double quotes, with their escapes.
//!
//! Pure.

use super::{JsonAbort, JsonPath, JsonReader};

/// Code units from here on come in pairs.
const FIRST_HIGH: u32 = 0xd800;
const FIRST_LOW: u32 = 0xdc00;
const AFTER_LOW: u32 = 0xe000;

impl JsonReader<'_> {
    /// A text; the reader stands at its first quote.
    pub(super) fn string(&mut self, path: &JsonPath<'_>) -> Result<String, JsonAbort> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let from = self.at;
            while matches!(self.peek(), Some(byte) if byte != b'"' && byte != b'\\' && byte >= 0x20) {
                self.at += 1;
            }
            text.push_str(self.text.get(from..self.at).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => self.escape(path, &mut text),
                Some(b'\n' | b'\r') | None => {
                    let hint = Some("close it on the same line; a line break inside a text is written `\\n`");
                    return Err(self.stop(path, start, "unterminated text", hint));
                }
                Some(control) => {
                    let message = format!("control character U+{control:04X} in a text");
                    self.syntax(path, self.at, message, Some("write it as an escape, such as `\\t`"));
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self, path: &JsonPath<'_>, text: &mut String) {
        let start = self.at;
        let plain = match self.bytes.get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(path, text),
            _ => {
                self.at += 1;
                let hint = Some("a backslash is written `\\\\`");
                return self.syntax(path, start, "unknown escape", hint);
            }
        };
        self.at += 2;
        text.push(plain);
    }

    fn unicode(&mut self, path: &JsonPath<'_>, text: &mut String) {
        let start = self.at;
        let Some(first) = self.code_unit(start) else {
            self.at += 2;
            return self.syntax(path, start, "`\\u` needs four hexadecimal digits", None);
        };
        self.at += 6;
        let low = (FIRST_HIGH..FIRST_LOW).contains(&first).then(|| self.code_unit(self.at)).flatten();
        let code = match low {
            Some(low) if (FIRST_LOW..AFTER_LOW).contains(&low) => {
                self.at += 6;
                0x1_0000 + ((first - FIRST_HIGH) << 10) + (low - FIRST_LOW)
            }
            _ => first,
        };
        match char::from_u32(code) {
            Some(character) => text.push(character),
            None => self.syntax(path, start, "unpaired surrogate", Some("write both halves of the pair")),
        }
    }

    /// The number of a `\uXXXX` at this place.
    fn code_unit(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
        let all_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if all_digits { u32::from_str_radix(digits, 16).ok() } else { None }
    }
}
