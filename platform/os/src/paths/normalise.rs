//! Cleans a path by its text alone: no disk is asked, so a link can still lead elsewhere.
//!
//! Pure.

use std::path::{Component, Path, PathBuf};

/// Whose rules a path text follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStyle {
    /// `/` separates, everything else is a name.
    Unix,
    /// `\` and `/` separate; drives, UNC shares and device prefixes exist.
    Windows,
}

impl PathStyle {
    /// The style of the system this runs on.
    pub const NATIVE: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };

    fn separator(self) -> char {
        match self {
            Self::Unix => '/',
            Self::Windows => '\\',
        }
    }

    fn is_separator(self, character: char) -> bool {
        character == '/' || (self == Self::Windows && character == '\\')
    }
}

/// The path without `.`, inner `..`, repeated and trailing separators; nothing left is `.`.
///
/// A `..` above the root is dropped; above the start of a relative path it stays. On Windows the
/// separators become `\`, a drive letter becomes upper case, and `\\?\C:\x` becomes `C:\x`, which
/// names the same file. Dots and spaces at the end of a Windows name, stream names and letter case
/// are left alone. Idempotent.
pub fn normalise_text(text: &str, style: PathStyle) -> String {
    let (prefix, rest) = match style {
        PathStyle::Unix => (Prefix::none(), text),
        PathStyle::Windows => split_prefix(text),
    };
    let rooted = prefix.is_share || rest.starts_with(|first| style.is_separator(first));
    let mut names: Vec<&str> = Vec::new();
    for name in rest.split(|character| style.is_separator(character)) {
        match name {
            "" | "." => {}
            ".." if rooted => {
                names.pop();
            }
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            _ => names.push(name),
        }
    }
    assemble(&prefix.text, rooted, &names, style)
}

/// The same for a native path, byte for byte, so that names which are not UTF-8 survive.
pub fn normalise_path(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match clean.components().next_back() {
                Some(Component::Normal(_)) => {
                    clean.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                Some(Component::ParentDir | Component::CurDir) | None => clean.push(".."),
            },
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                clean.push(component);
            }
        }
    }
    if clean.as_os_str().is_empty() {
        clean.push(".");
    }
    clean
}

struct Prefix {
    text: String,
    is_share: bool,
}

impl Prefix {
    fn none() -> Self {
        Self { text: String::new(), is_share: false }
    }
}

fn assemble(prefix: &str, rooted: bool, names: &[&str], style: PathStyle) -> String {
    let separator = style.separator();
    let mut clean = prefix.to_owned();
    if rooted {
        clean.push(separator);
    }
    clean.push_str(&names.join(&separator.to_string()));
    // A relative first name that reads as a drive would become one: `.\c:x` is not `c:x`.
    let reads_as_drive = style == PathStyle::Windows && prefix.is_empty() && !rooted;
    if reads_as_drive && drive_letter(&clean).is_some() {
        clean.insert_str(0, ".\\");
    }
    if clean.is_empty() {
        clean.push('.');
    }
    clean
}

/// Takes a drive, a share or a device off the front; the prefix comes back in its usual spelling.
fn split_prefix(text: &str) -> (Prefix, &str) {
    if let Some(letter) = drive_letter(text) {
        return (drive(letter), text.get(2..).unwrap_or_default());
    }
    let is_separator = |character| PathStyle::Windows.is_separator(character);
    let Some(after) = text.strip_prefix(is_separator).and_then(|rest| rest.strip_prefix(is_separator)) else {
        return (Prefix::none(), text);
    };
    let (first, rest) = split_name(after);
    match first {
        "?" => split_verbatim(rest),
        "." => split_device(rest),
        // Three and more separators are no share, only a root written badly.
        "" => (Prefix::none(), text),
        server => split_share(server, rest),
    }
}

fn split_verbatim(rest: &str) -> (Prefix, &str) {
    if let Some(letter) = drive_letter(rest) {
        return (drive(letter), rest.get(2..).unwrap_or_default());
    }
    match split_name(rest) {
        (unc, share) if unc.eq_ignore_ascii_case("unc") => {
            let (server, rest) = split_name(share);
            split_share(server, rest)
        }
        (device, rest) => (share_like(format!(r"\\?\{device}")), rest),
    }
}

fn split_device(rest: &str) -> (Prefix, &str) {
    let (device, rest) = split_name(rest);
    (share_like(format!(r"\\.\{device}")), rest)
}

fn split_share<'text>(server: &str, rest: &'text str) -> (Prefix, &'text str) {
    let (share, rest) = split_name(rest);
    (share_like(format!(r"\\{server}\{share}")), rest)
}

fn drive(letter: char) -> Prefix {
    Prefix { text: format!("{}:", letter.to_ascii_uppercase()), is_share: false }
}

fn share_like(text: String) -> Prefix {
    Prefix { text, is_share: true }
}

fn drive_letter(text: &str) -> Option<char> {
    let mut characters = text.chars();
    let letter = characters.next().filter(char::is_ascii_alphabetic)?;
    (characters.next() == Some(':')).then_some(letter)
}

/// The text up to the next separator, and what follows that separator.
fn split_name(text: &str) -> (&str, &str) {
    text.split_once(|character| PathStyle::Windows.is_separator(character)).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
