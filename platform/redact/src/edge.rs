//! Where a word starts in text that may be escaped, percent-encoded or coloured.
//!
//! Pure.

/// Whether `byte` belongs to an identifier.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The byte before `at`.
pub(crate) fn before(text: &[u8], at: usize) -> Option<u8> {
    at.checked_sub(1).and_then(|i| text.get(i)).copied()
}

/// Whether a token may start at `at`: nothing that belongs to the same word stands before it.
pub(crate) fn starts_word(text: &[u8], at: usize) -> bool {
    match before(text, at) {
        None => true,
        Some(byte) if !is_word(byte) => true,
        Some(byte) => ends_escape(text, at, byte),
    }
}

/// Whether the word byte before `at` is the end of `\n`, `%3D` or a terminal colour code.
fn ends_escape(text: &[u8], at: usize, byte: u8) -> bool {
    let head = text.get(..at).unwrap_or_default();
    let escaped = matches!(byte, b'n' | b'r' | b't') && head.ends_with(&[b'\\', byte]);
    let percent = matches!(head, [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    escaped || percent || (byte == b'm' && ends_colour(head))
}

fn ends_colour(head: &[u8]) -> bool {
    const LONGEST: usize = 24;
    let tail = head.get(head.len().saturating_sub(LONGEST)..).unwrap_or_default();
    let Some(bracket) = tail.iter().rposition(|&byte| byte == b'[') else {
        return false;
    };
    let (intro, code) = tail.split_at(bracket);
    let parameters = code.get(1..code.len() - 1).unwrap_or_default();
    parameters.iter().all(|byte| byte.is_ascii_digit() || *byte == b';')
        && (intro.ends_with(b"\x1b") || intro.ends_with(b"u001b") || intro.ends_with(b"x1b") || intro.ends_with(b"033"))
}
