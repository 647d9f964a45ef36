//! A file's bytes as text and back, so that encoding, byte order mark and line ends survive an edit.
//!
//! Pure.

/// How the bytes of a file spell its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    Utf8,
    Utf8Mark,
    Utf16Little,
    Utf16Big,
    /// One byte, one character: also what any other one-byte encoding is carried through as.
    Latin1,
}

/// What ends most lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

/// A text and how its file spells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextDocument {
    /// With the line ends of the file, without its mark.
    pub(crate) text: String,
    pub(crate) encoding: TextEncoding,
    pub(crate) line_end: LineEnding,
}

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_LITTLE_MARK: &[u8] = b"\xff\xfe";
const UTF16_BIG_MARK: &[u8] = b"\xfe\xff";
/// A zero byte this early in a file means that it is not text.
const ZERO_SEARCH_BYTES: usize = 8 * 1024;

impl TextDocument {
    /// The text of a file; `None` if it is not text, or could not be written back byte for byte.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (text, encoding) = decode(bytes)?;
        let line_end = most_line_ends(&text);
        Some(Self { text, encoding, line_end })
    }

    /// The bytes of another text in the same spelling; the error is a character that has none in it.
    pub(crate) fn spell(&self, text: &str) -> Result<Vec<u8>, char> {
        Ok(match self.encoding {
            TextEncoding::Utf8 => text.as_bytes().to_vec(),
            TextEncoding::Utf8Mark => [UTF8_MARK, text.as_bytes()].concat(),
            TextEncoding::Utf16Little => utf16(UTF16_LITTLE_MARK, text, u16::to_le_bytes),
            TextEncoding::Utf16Big => utf16(UTF16_BIG_MARK, text, u16::to_be_bytes),
            TextEncoding::Latin1 => text
                .chars()
                .map(|character| u8::try_from(u32::from(character)).map_err(|_| character))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The text with this document's line ends, however it came.
    pub(crate) fn with_line_ends(&self, text: &str) -> String {
        let plain = text.replace("\r\n", "\n");
        match self.line_end {
            LineEnding::Lf => plain,
            LineEnding::CrLf => plain.replace('\n', "\r\n"),
        }
    }

    /// What is unusual about the spelling, in a few words.
    pub(crate) fn peculiarity(&self) -> Option<String> {
        let encoding = match self.encoding {
            TextEncoding::Utf8 => None,
            TextEncoding::Utf8Mark => Some("UTF-8 with a byte order mark"),
            TextEncoding::Utf16Little => Some("UTF-16, little endian"),
            TextEncoding::Utf16Big => Some("UTF-16, big endian"),
            TextEncoding::Latin1 => Some("not UTF-8, shown as Latin-1"),
        };
        let line_end = (self.line_end == LineEnding::CrLf).then_some("CRLF line ends");
        let parts: Vec<&str> = [encoding, line_end].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

fn decode(bytes: &[u8]) -> Option<(String, TextEncoding)> {
    if let Some(rest) = bytes.strip_prefix(UTF8_MARK) {
        return Some((String::from_utf8(rest.to_vec()).ok()?, TextEncoding::Utf8Mark));
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_LITTLE_MARK) {
        return Some((from_utf16(rest, u16::from_le_bytes)?, TextEncoding::Utf16Little));
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_BIG_MARK) {
        return Some((from_utf16(rest, u16::from_be_bytes)?, TextEncoding::Utf16Big));
    }
    if bytes.iter().take(ZERO_SEARCH_BYTES).any(|byte| *byte == 0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some((text.to_owned(), TextEncoding::Utf8)),
        Err(_) if bytes.iter().any(is_control) => None,
        Err(_) => Some((bytes.iter().map(|byte| char::from(*byte)).collect(), TextEncoding::Latin1)),
    }
}

/// Whether a byte is found in no text of any one-byte encoding.
fn is_control(byte: &u8) -> bool {
    *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1b)
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    if rest.is_empty() { String::from_utf16(&units).ok() } else { None }
}

fn utf16(mark: &[u8], text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    mark.iter().copied().chain(text.encode_utf16().flat_map(bytes)).collect()
}

fn most_line_ends(text: &str) -> LineEnding {
    let all = text.bytes().filter(|byte| *byte == b'\n').count();
    let with_return = text.matches("\r\n").count();
    if with_return * 2 > all { LineEnding::CrLf } else { LineEnding::Lf }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn encodings_are_told_apart() {
        type EncodingCase = (&'static [u8], Option<(&'static str, TextEncoding)>);
        let cases: [EncodingCase; 10] = [
            (b"", Some(("", TextEncoding::Utf8))),
            ("h\u{e9}\n".as_bytes(), Some(("h\u{e9}\n", TextEncoding::Utf8))),
            (b"\xef\xbb\xbfx", Some(("x", TextEncoding::Utf8Mark))),
            (b"\xff\xfex\0\n\0", Some(("x\n", TextEncoding::Utf16Little))),
            (b"\xfe\xff\0x", Some(("x", TextEncoding::Utf16Big))),
            (b"h\xe9\n", Some(("h\u{e9}\n", TextEncoding::Latin1))),
            (b"\xff\xfex", None),
            (b"\xff\xfe\x00\xd8", None),
            (b"\x7fELF\0\0", None),
            (b"\x89PNG\x01\x02", None),
        ];
        for (bytes, expected) in cases {
            let found = TextDocument::read(bytes);
            let found = found.as_ref().map(|document| (document.text.as_str(), document.encoding));
            assert_eq!(found, expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_character_without_a_spelling_is_named() {
        let document = TextDocument::read(b"h\xe9").unwrap();
        assert_eq!(document.spell("h\u{e8}"), Ok(b"h\xe8".to_vec()));
        assert_eq!(document.spell("\u{20ac}"), Err('\u{20ac}'));
    }

    #[test]
    fn line_ends_follow_the_majority() {
        let document = TextDocument::read(b"a\r\nb\r\nc\n").unwrap();
        assert_eq!(document.with_line_ends("x\ny\r\n"), "x\r\ny\r\n");
        assert_eq!(TextDocument::read(b"a\r\nb\n").unwrap().line_end, LineEnding::Lf);
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_written_back_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..64), mark in 0_usize..4) {
            let marks: [&[u8]; 4] = [b"", UTF8_MARK, UTF16_LITTLE_MARK, UTF16_BIG_MARK];
            let bytes = [marks[mark], &bytes].concat();
            if let Some(document) = TextDocument::read(&bytes) {
                prop_assert_eq!(document.spell(&document.text), Ok(bytes));
            }
        }
    }
}
