//! What `dispatch ext install SOURCE` can mean.
//!
//! Pure.

/// Where an extension comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InstallSource {
    /// A package of the npm registry, with a version if one is wanted.
    Npm(String),
    /// A packed package on this machine.
    Tarball(String),
    /// A git repository, at a branch, tag or commit if one is wanted.
    Git { url: String, reference: Option<String> },
    /// A folder on this machine.
    Folder(String),
}

const GIT_SCHEMES: [&str; 5] = ["git+", "git://", "ssh://", "git@", "file://"];
const TARBALLS: [&str; 2] = [".tgz", ".tar.gz"];

/// Reads a source; an error says what is wrong with it.
pub(super) fn parse(text: &str) -> Result<InstallSource, String> {
    if let Some(name) = text.strip_prefix("npm:") {
        return if is_package(name) {
            Ok(InstallSource::Npm(name.to_owned()))
        } else {
            Err(format!("invalid package name `{name}`"))
        };
    }
    let (address, reference) = match text.rsplit_once('#') {
        Some((address, reference)) if !reference.is_empty() => (address, Some(reference.to_owned())),
        _ => (text, None),
    };
    let is_web = address.starts_with("https://") || address.starts_with("http://");
    if GIT_SCHEMES.iter().any(|scheme| address.starts_with(scheme)) || (is_web && address.ends_with(".git")) {
        let url = address.strip_prefix("git+").unwrap_or(address).to_owned();
        return if url.starts_with('-') || reference.as_deref().is_some_and(|it| it.starts_with('-')) {
            Err(format!("invalid git address `{text}`"))
        } else {
            Ok(InstallSource::Git { url, reference })
        };
    }
    if is_web {
        return Err(format!("invalid source `{text}`: a git address ends in `.git` or begins with `git+`"));
    }
    if TARBALLS.iter().any(|ending| text.ends_with(ending)) {
        return Ok(InstallSource::Tarball(text.to_owned()));
    }
    Ok(InstallSource::Folder(text.to_owned()))
}

/// A name as npm allows it, in a scope or not, with a version or tag or not; never an option or an address.
fn is_package(text: &str) -> bool {
    let is_word = |word: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'^' | b'+');
        !word.is_empty() && !word.starts_with(['-', '.']) && word.bytes().all(plain)
    };
    let (scope, rest) = match text.strip_prefix('@').map(|text| text.split_once('/')) {
        Some(Some((scope, rest))) => (Some(scope), rest),
        Some(None) => return false,
        None => (None, text),
    };
    let (name, version) = rest.split_once('@').map_or((rest, None), |(name, version)| (name, Some(version)));
    scope.is_none_or(is_word) && is_word(name) && version.is_none_or(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_source_is_told_apart() {
        let git = |url: &str, reference: Option<&str>| InstallSource::Git {
            url: url.to_owned(),
            reference: reference.map(str::to_owned),
        };
        let table = [
            ("npm:dispatch-ext-clock", InstallSource::Npm("dispatch-ext-clock".to_owned())),
            ("npm:@me/clock@1.2.0", InstallSource::Npm("@me/clock@1.2.0".to_owned())),
            ("./clock-1.0.0.tgz", InstallSource::Tarball("./clock-1.0.0.tgz".to_owned())),
            ("../clock", InstallSource::Folder("../clock".to_owned())),
            ("https://example.org/clock.git", git("https://example.org/clock.git", None)),
            ("git+https://example.org/clock#v1", git("https://example.org/clock", Some("v1"))),
            ("git@example.org:me/clock.git#main", git("git@example.org:me/clock.git", Some("main"))),
            ("file:///tmp/clock", git("file:///tmp/clock", None)),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn nothing_becomes_an_option_of_another_program() {
        for text in [
            "npm:--registry=x",
            "npm:",
            "npm:a b",
            "npm:../x",
            "npm:@me",
            "git+--upload-pack=x",
            "file:///x#--y",
            "https://example.org/x",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
