//! Tables and properties for path texts of both styles.

use super::*;
use proptest::prelude::*;

#[test]
fn unix_texts() {
    let cases = [
        ("", "."),
        (".", "."),
        ("./", "."),
        ("..", ".."),
        ("/", "/"),
        ("//", "/"),
        ("///a", "/a"),
        ("a", "a"),
        ("a/", "a"),
        ("./a", "a"),
        ("a/.", "a"),
        ("a//b", "a/b"),
        ("a/./b", "a/b"),
        ("a/../b", "b"),
        ("a/..", "."),
        ("a/../..", ".."),
        ("../a", "../a"),
        ("../../a/../b", "../../b"),
        ("/..", "/"),
        ("/../../etc", "/etc"),
        ("/a/b/../../../c", "/c"),
        ("/a/b/.././/c/", "/a/c"),
        ("a\\b", "a\\b"),
        ("c:/x", "c:/x"),
        (" /a", " /a"),
        ("...", "..."),
        ("a/.../b", "a/.../b"),
        ("ż/../ó", "ó"),
    ];
    for (text, clean) in cases {
        assert_eq!(normalise_text(text, PathStyle::Unix), clean, "{text:?}");
    }
}

#[test]
fn windows_texts() {
    let cases = [
        ("", "."),
        ("a/b\\c", r"a\b\c"),
        (r"a\..\b", "b"),
        (r"..\a", r"..\a"),
        (r"\a", r"\a"),
        (r"\..\a", r"\a"),
        (r"c:\a\..\b", r"C:\b"),
        ("C:/Users//me/", r"C:\Users\me"),
        (r"C:\", r"C:\"),
        (r"C:\..\..", r"C:\"),
        ("C:", "C:"),
        ("c:a", "C:a"),
        (r"C:..\a", r"C:..\a"),
        (r"C:a\..\..\b", r"C:..\b"),
        (r"\\server\share", r"\\server\share\"),
        (r"\\server\share\", r"\\server\share\"),
        (r"\\server\share\a\..\..\b", r"\\server\share\b"),
        ("//server/share/a", r"\\server\share\a"),
        (r"\\?\C:\a\.\b", r"C:\a\b"),
        (r"\\?\c:\..\x", r"C:\x"),
        (r"\\?\UNC\server\share\a", r"\\server\share\a"),
        (r"\\?\unc\server\share\..\a", r"\\server\share\a"),
        (r"\\?\Volume{1}\a\..\b", r"\\?\Volume{1}\b"),
        (r"\\.\COM1", r"\\.\COM1\"),
        (r"\\.\pipe\name", r"\\.\pipe\name"),
        (r"\\\a", r"\a"),
        (r".\c:x", r".\c:x"),
        (r"a\..\c:x", r".\c:x"),
        ("file.txt:stream", "file.txt:stream"),
        (r"a\b. ", r"a\b. "),
    ];
    for (text, clean) in cases {
        assert_eq!(normalise_text(text, PathStyle::Windows), clean, "{text:?}");
    }
}

#[cfg(unix)]
#[test]
fn native_paths_keep_bytes_that_are_not_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(OsStr::from_bytes(b"/a/\xff/../\xfe//b"));
    let clean = Path::new(OsStr::from_bytes(b"/a/\xfe/b"));
    assert_eq!(normalise_path(path), clean);
}

fn windows_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("\\"),
        Just("/"),
        Just("."),
        Just(".."),
        Just("a"),
        Just("c:"),
        Just("?"),
        Just("UNC"),
        Just("\\\\"),
        Just("b c"),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn normalising_twice_changes_nothing_more(text in any::<String>()) {
        for style in [PathStyle::Unix, PathStyle::Windows] {
            let once = normalise_text(&text, style);
            prop_assert_eq!(normalise_text(&once, style), once.clone());
        }
    }

    #[test]
    fn windows_prefixes_are_stable_too(text in windows_text()) {
        let once = normalise_text(&text, PathStyle::Windows);
        prop_assert_eq!(normalise_text(&once, PathStyle::Windows), once.clone());
        prop_assert!(!once.contains('/'));
    }

    #[cfg(unix)]
    #[test]
    fn text_and_native_path_agree_on_unix(text in "[a./]{0,16}") {
        let by_text = normalise_text(&text, PathStyle::Unix);
        let by_path = normalise_path(Path::new(&text));
        prop_assert_eq!(Path::new(&by_text).as_os_str(), by_path.as_os_str());
    }

    #[test]
    fn an_absolute_path_never_keeps_a_parent_step(text in "/[a./]{0,16}") {
        let clean = normalise_text(&text, PathStyle::Unix);
        prop_assert!(clean.starts_with('/'));
        prop_assert!(clean.split('/').all(|name| name != ".." && name != "."));
    }
}
