//! A file's bytes as text and back, so that encoding, byte order mark and line ends survive an edit.

/// How the bytes of a file spell its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8Mark,
    Utf16Little,
    Utf16Big,
    /// One byte, one character: also what any other one-byte encoding is carried through as.
    Latin1,
}

/// What ends most lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

/// A text and how its file spells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// With the line ends of the file, without its mark.
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
    pub(crate) line_end: LineEnd,
}

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_LITTLE_MARK: &[u8] = b"\xff\xfe";
const UTF16_BIG_MARK: &[u8] = b"\xfe\xff";
/// A zero this early in a file tells that it is no text.
const ZERO_SEARCH_BYTES: usize = 8 * 1024;

impl Document {
    /// The text of a file; `None` if it is none, or could not be written back byte for byte.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (text, encoding) = decode(bytes)?;
        let line_end = most_line_ends(&text);
        Some(Self { text, encoding, line_end })
    }

    /// The bytes of another text in the same spelling; the error is a character that has none in it.
    pub(crate) fn spell(&self, text: &str) -> Result<Vec<u8>, char> {
        Ok(match self.encoding {
            Encoding::Utf8 => text.as_bytes().to_vec(),
            Encoding::Utf8Mark => [UTF8_MARK, text.as_bytes()].concat(),
            Encoding::Utf16Little => utf16(UTF16_LITTLE_MARK, text, u16::to_le_bytes),
            Encoding::Utf16Big => utf16(UTF16_BIG_MARK, text, u16::to_be_bytes),
            Encoding::Latin1 => text
                .chars()
                .map(|character| u8::try_from(u32::from(character)).map_err(|_| character))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The text with this document's line ends, however it came.
    pub(crate) fn with_line_ends(&self, text: &str) -> String {
        let plain = text.replace("\r\n", "\n");
        match self.line_end {
            LineEnd::Lf => plain,
            LineEnd::CrLf => plain.replace('\n', "\r\n"),
        }
    }

    /// What is unusual about the spelling, in a few words.
    pub(crate) fn peculiarity(&self) -> Option<String> {
        let encoding = match self.encoding {
            Encoding::Utf8 => None,
            Encoding::Utf8Mark => Some("UTF-8 with a byte order mark"),
            Encoding::Utf16Little => Some("UTF-16, little endian"),
            Encoding::Utf16Big => Some("UTF-16, big endian"),
            Encoding::Latin1 => Some("not UTF-8, shown as Latin-1"),
        };
        let line_end = (self.line_end == LineEnd::CrLf).then_some("CRLF line ends");
        let parts: Vec<&str> = [encoding, line_end].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

fn decode(bytes: &[u8]) -> Option<(String, Encoding)> {
    if let Some(rest) = bytes.strip_prefix(UTF8_MARK) {
        return Some((String::from_utf8(rest.to_vec()).ok()?, Encoding::Utf8Mark));
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_LITTLE_MARK) {
        return Some((from_utf16(rest, u16::from_le_bytes)?, Encoding::Utf16Little));
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_BIG_MARK) {
        return Some((from_utf16(rest, u16::from_be_bytes)?, Encoding::Utf16Big));
    }
    if bytes.iter().take(ZERO_SEARCH_BYTES).any(|byte| *byte == 0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some((text.to_owned(), Encoding::Utf8)),
        Err(_) if bytes.iter().any(is_control) => None,
        Err(_) => Some((bytes.iter().map(|byte| char::from(*byte)).collect(), Encoding::Latin1)),
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

fn most_line_ends(text: &str) -> LineEnd {
    let all = text.bytes().filter(|byte| *byte == b'\n').count();
    let with_return = text.matches("\r\n").count();
    if with_return * 2 > all { LineEnd::CrLf } else { LineEnd::Lf }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn encodings_are_told_apart() {
        type Case = (&'static [u8], Option<(&'static str, Encoding)>);
        let cases: [Case; 10] = [
            (b"", Some(("", Encoding::Utf8))),
            ("h\u{e9}\n".as_bytes(), Some(("h\u{e9}\n", Encoding::Utf8))),
            (b"\xef\xbb\xbfx", Some(("x", Encoding::Utf8Mark))),
            (b"\xff\xfex\0\n\0", Some(("x\n", Encoding::Utf16Little))),
            (b"\xfe\xff\0x", Some(("x", Encoding::Utf16Big))),
            (b"h\xe9\n", Some(("h\u{e9}\n", Encoding::Latin1))),
            (b"\xff\xfex", None),
            (b"\xff\xfe\x00\xd8", None),
            (b"\x7fELF\0\0", None),
            (b"\x89PNG\x01\x02", None),
        ];
        for (bytes, expected) in cases {
            let found = Document::read(bytes);
            let found = found.as_ref().map(|document| (document.text.as_str(), document.encoding));
            assert_eq!(found, expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_character_without_a_spelling_is_named() {
        let document = Document::read(b"h\xe9").unwrap();
        assert_eq!(document.spell("h\u{e8}"), Ok(b"h\xe8".to_vec()));
        assert_eq!(document.spell("\u{20ac}"), Err('\u{20ac}'));
    }

    #[test]
    fn line_ends_follow_the_majority() {
        let document = Document::read(b"a\r\nb\r\nc\n").unwrap();
        assert_eq!(document.with_line_ends("x\ny\r\n"), "x\r\ny\r\n");
        assert_eq!(Document::read(b"a\r\nb\n").unwrap().line_end, LineEnd::Lf);
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_written_back_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..64), mark in 0_usize..4) {
            let marks: [&[u8]; 4] = [b"", UTF8_MARK, UTF16_LITTLE_MARK, UTF16_BIG_MARK];
            let bytes = [marks[mark], &bytes].concat();
            if let Some(document) = Document::read(&bytes) {
                prop_assert_eq!(document.spell(&document.text), Ok(bytes));
            }
        }
    }
}
