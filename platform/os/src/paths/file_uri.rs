//! Files as editors and protocols name them: `file:` addresses.
//!
//! Pure.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const SCHEME: &str = "file://";

/// The path of a `file:` address; `None` for every other address, as those of documents that were never saved.
#[must_use]
pub fn path_of_uri(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix(SCHEME)?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if !path.starts_with('/') {
        return None;
    }
    let path = percent_decoded(path).filter(|path| !path.contains('\0'))?;
    let windows = cfg!(windows) && path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if windows { path.trim_start_matches('/') } else { &path }))
}

/// The address of a file.
#[must_use]
pub fn uri_of_path(path: &Path) -> String {
    let mut text = SCHEME.to_owned();
    let path = path.to_string_lossy();
    let path = if cfg!(windows) { format!("/{}", path.replace('\\', "/")) } else { path.into_owned() };
    for byte in path.bytes() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~');
        if plain {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Undoes percent encoding; `None` when the result is not UTF-8.
#[must_use]
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_have_paths() {
        for (uri, expected) in [
            ("file:///home/dev/my%20shop/a.rs", Some("/home/dev/my shop/a.rs")),
            ("file:///home/dev/my%20shop", Some("/home/dev/my shop")),
            ("https://example.org/a", None),
            ("file://localhost/a", Some("/a")),
            ("file:///a%C3%A4", Some("/aä")),
            ("file:///a%zz", None),
            ("file:///a%2", None),
            ("file:///a%00b", None),
            ("file:///a%ff", None),
            ("file://server/share/a", None),
            ("untitled:Untitled-1", None),
            ("git:/a/b?x", None),
            ("", None),
        ] {
            assert_eq!(path_of_uri(uri), expected.map(PathBuf::from), "{uri}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_path_comes_back_from_its_address() {
        for path in ["/a b/ä#?%.rs", "/plain/a_b-c.rs", "/"] {
            assert_eq!(path_of_uri(&uri_of_path(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(uri_of_path(Path::new("/a b")), "file:///a%20b");
    }
}
