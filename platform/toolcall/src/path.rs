//! Makes paths absolute by their text alone, for Unix, Windows, UNC and `file://` spellings.
//!
//! Pure.

/// Resolves `path` against `cwd` without looking at the disk.
///
/// `~` is expanded only when `home` is known. Drive and UNC paths are kept as
/// they are, a `file://` URI is decoded, and with an empty `cwd` a relative
/// path stays relative.
#[must_use]
pub fn resolve(path: &str, cwd: &str, home: Option<&str>) -> String {
    if let Some(rest) = strip_file_scheme(path) {
        return from_file_uri(rest);
    }
    if let Some(drive) = slash_before_drive(path) {
        return drive.to_owned();
    }
    if is_windows_absolute(path) {
        return path.to_owned();
    }
    if let Some(expanded) = expand_home(path, home) {
        return normalize(&expanded);
    }
    if path.starts_with('/') {
        return normalize(path);
    }
    join(path, cwd)
}

/// Whether `path` starts at a drive (`C:\x`, `C:/x`) or at a UNC share (`\\host\x`).
pub(crate) fn is_windows_absolute(path: &str) -> bool {
    if path.starts_with("\\\\") {
        return true;
    }
    let bytes = path.as_bytes();
    matches!(bytes, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic())
}

/// Removes `.` and `..` and doubled slashes from a Unix path.
pub(crate) fn normalize(path: &str) -> String {
    let mut whole = String::with_capacity(path.len() + 1);
    append(&mut whole, path.starts_with('/'), path);
    finished(whole, path.starts_with('/'))
}

/// A relative path seen from a folder, whatever its first letters would mean elsewhere.
pub(crate) fn join(path: &str, cwd: &str) -> String {
    if cwd.is_empty() {
        return normalize(path);
    }
    if is_windows_absolute(cwd) {
        return join_windows(path, cwd);
    }
    let absolute = cwd.starts_with('/');
    let mut whole = String::with_capacity(cwd.len() + path.len() + 2);
    append(&mut whole, absolute, cwd);
    append(&mut whole, absolute, path);
    finished(whole, absolute)
}

/// Adds the parts of a path to one that has no `.` and no doubled slash.
fn append(whole: &mut String, absolute: bool, path: &str) {
    let mut rest = path;
    while !rest.is_empty() {
        let end = rest.bytes().position(|byte| byte == b'/').unwrap_or(rest.len());
        let part = rest.get(..end).unwrap_or_default();
        rest = rest.get(end + 1..).unwrap_or_default();
        match part {
            "" | "." => {}
            ".." if !whole.is_empty() && *whole != ".." && !whole.ends_with("/..") => {
                whole.truncate(whole.rfind('/').unwrap_or_default());
            }
            ".." if absolute => {}
            _ => {
                if absolute || !whole.is_empty() {
                    whole.push('/');
                }
                whole.push_str(part);
            }
        }
    }
}

fn finished(whole: String, absolute: bool) -> String {
    match (whole.is_empty(), absolute) {
        (true, true) => "/".to_owned(),
        (true, false) => ".".to_owned(),
        (false, _) => whole,
    }
}

fn join_windows(path: &str, cwd: &str) -> String {
    let separator = if cwd.contains('\\') { '\\' } else { '/' };
    let mut parts: Vec<&str> = cwd.trim_end_matches(['\\', '/']).split(['\\', '/']).collect();
    let root = if cwd.starts_with("\\\\") { 4 } else { 1 };
    for part in path.split(['\\', '/']) {
        match part {
            "" | "." => {}
            ".." if parts.len() > root => {
                parts.pop();
            }
            ".." => {}
            other => parts.push(other),
        }
    }
    parts.join(separator.encode_utf8(&mut [0; 4]))
}

fn expand_home(path: &str, home: Option<&str>) -> Option<String> {
    let home = home?;
    match path {
        "~" => Some(home.to_owned()),
        _ => path.strip_prefix("~/").map(|rest| format!("{home}/{rest}")),
    }
}

/// Some hosts write a Windows path as `/c:/dir/file`.
fn slash_before_drive(path: &str) -> Option<&str> {
    let rest = path.strip_prefix('/')?;
    (is_windows_absolute(rest) && !rest.starts_with('\\')).then_some(rest)
}

fn strip_file_scheme(path: &str) -> Option<&str> {
    let scheme = path.get(..7)?;
    scheme.eq_ignore_ascii_case("file://").then(|| &path[7..])
}

fn from_file_uri(rest: &str) -> String {
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let decoded = percent_decode(&rest[..end]);
    if let Some(drive) = slash_before_drive(&decoded) {
        return drive.to_owned();
    }
    match decoded.strip_prefix("localhost/") {
        Some(local) => normalize(&format!("/{local}")),
        None if decoded.starts_with('/') => normalize(&decoded),
        None => format!("\\\\{}", decoded.replace('/', "\\")),
    }
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match tail {
            [high, low, after @ ..] if *first == b'%' => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = after;
                }
                _ => {
                    bytes.push(*first);
                    rest = tail;
                }
            },
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn paths_become_absolute_by_their_text() {
        let table = [
            ("src/a.ts", "/w", "/w/src/a.ts"),
            ("./src/../b", "/w", "/w/b"),
            ("../../../x", "/w/a", "/x"),
            ("/a//b/./c/..", "/w", "/a/b"),
            ("~/x", "/w", "/home/dev/x"),
            ("~", "/w", "/home/dev"),
            ("~root/x", "/w", "/w/~root/x"),
            ("C:\\p\\a.ts", "/w", "C:\\p\\a.ts"),
            ("C:/p/a.ts", "/w", "C:/p/a.ts"),
            ("\\\\host\\share\\a", "/w", "\\\\host\\share\\a"),
            ("/c:/p/a.ts", "/w", "c:/p/a.ts"),
            ("a.ts", "C:\\p", "C:\\p\\a.ts"),
            ("..\\..\\..\\a.ts", "C:\\p\\q", "C:\\a.ts"),
            ("../a", "\\\\host\\share\\d", "\\\\host\\share\\a"),
            ("file:///w/a%20b.ts", "/x", "/w/a b.ts"),
            ("file:///c%3A/p/a.ts", "/x", "c:/p/a.ts"),
            ("file://localhost/w/a", "/x", "/w/a"),
            ("file://host/share/a", "/x", "\\\\host\\share\\a"),
            ("FILE:///w/a%zz", "/x", "/w/a%zz"),
            ("a/b", "", "a/b"),
            ("..", "", ".."),
            ("", "/w", "/w"),
        ];
        for (path, cwd, expected) in table {
            assert_eq!(resolve(path, cwd, Some("/home/dev")), expected, "{path} in {cwd}");
        }
    }

    #[test]
    fn tilde_needs_a_home() {
        assert_eq!(resolve("~/x", "/w", None), "/w/~/x");
    }
}
