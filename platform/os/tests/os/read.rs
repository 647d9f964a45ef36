//! Bounded reads: limits, whole lines only, and the tail of a huge file.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use dispatch_os::OsError;
use dispatch_os::files::{read_at_most, read_complete_lines, read_stream_at_most, read_text_at_most, tail_lines};
use proptest::prelude::*;

fn file(folder: &Path, content: &[u8]) -> PathBuf {
    let path = folder.join("file");
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn a_read_holds_at_most_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), b"12345");
    assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
    let error = read_at_most(&path, 4).unwrap_err();
    assert!(matches!(error, OsError::TooLarge { size: 5, limit: 4, .. }), "{error}");
    assert!(error.to_string().ends_with("file holds 5 bytes, the limit is 4"));
    assert!(read_at_most(&folder.path().join("none"), 4).unwrap_err().is_not_found());
    let error = read_at_most(folder.path(), 4).unwrap_err();
    assert!(matches!(error, OsError::NotAFile { .. }), "{error}");
    assert!(matches!(read_at_most("/dev/zero".as_ref(), 4), Err(OsError::NotAFile { .. })));
}

#[test]
fn a_file_that_hides_its_size_is_bounded_too() {
    assert!(!read_at_most("/proc/self/status".as_ref(), 1 << 20).unwrap().is_empty());
    let error = read_at_most("/proc/self/status".as_ref(), 10).unwrap_err();
    assert!(matches!(error, OsError::TooLarge { size: 11, limit: 10, .. }), "{error}");
}

#[test]
fn an_endless_stream_is_cut_off() {
    let error = read_stream_at_most(std::io::repeat(b'x'), "stdin", 1_000).unwrap_err();
    assert_eq!(error.to_string(), "stdin holds 1001 bytes, the limit is 1000");
    assert_eq!(read_stream_at_most(&b"abc"[..], "stdin", 3).unwrap(), b"abc");
}

#[test]
fn text_must_be_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), b"ab\xff");
    let error = read_text_at_most(&path, 10).unwrap_err();
    assert!(matches!(error, OsError::NotUtf8 { valid_up_to: 2, .. }), "{error}");
}

#[test]
fn complete_lines_stop_at_the_last_line_feed_and_go_on_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), b"one\n\ntwo\nthr");
    let lines = read_complete_lines(&path, 0, 100).unwrap();
    assert_eq!(lines.iter().collect::<Vec<_>>(), [b"one", b"two"]);
    assert_eq!(lines.next_offset(), 9);
    std::fs::write(&path, b"one\n\ntwo\nthree\n").unwrap();
    let more = read_complete_lines(&path, lines.next_offset(), 100).unwrap();
    assert_eq!(more.iter().collect::<Vec<_>>(), [b"three"]);
    let none = read_complete_lines(&path, more.next_offset(), 100).unwrap();
    assert!(none.is_empty());
    assert_eq!(none.next_offset(), 15);
    assert!(read_complete_lines(&path, 1_000, 100).unwrap().is_empty());
}

#[test]
fn a_small_limit_gives_fewer_lines_and_never_sticks_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), b"one\ntwo\nthree\n");
    let lines = read_complete_lines(&path, 0, 9).unwrap();
    assert_eq!(lines.iter().count(), 2);
    let error = read_complete_lines(&path, lines.next_offset(), 5).unwrap_err();
    assert!(matches!(error, OsError::TooLarge { limit: 5, .. }), "{error}");
}

#[test]
fn the_tail_of_a_sparse_terabyte_is_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge");
    let mut huge = std::fs::File::create(&path).unwrap();
    huge.seek(SeekFrom::Start(1 << 40)).unwrap();
    huge.write_all(b"\nfirst\nsecond\ntorn").unwrap();
    let lines = tail_lines(&path, 2, 1 << 20).unwrap();
    assert_eq!(lines, [b"first".to_vec(), b"second".to_vec()]);
    // The line before is longer than the limit, so it is left out instead of being cut.
    assert_eq!(tail_lines(&path, 3, 1 << 20).unwrap().len(), 2);
}

proptest! {
    #[test]
    fn the_tail_equals_the_end_of_all_lines(
        lines in proptest::collection::vec("[ab]{0,9}", 0..40),
        torn in "[ab]{0,3}",
        count in 0_usize..12,
    ) {
        // Long lines, so that several blocks are needed.
        let lines: Vec<String> = lines.iter().map(|line| line.repeat(4_000)).collect();
        let mut content: String = lines.iter().map(|line| format!("{line}\n")).collect();
        content.push_str(&torn);
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), content.as_bytes());
        let whole: Vec<&String> = lines.iter().filter(|line| !line.is_empty()).collect();
        let expected: Vec<Vec<u8>> = whole[whole.len().saturating_sub(count)..]
            .iter()
            .map(|line| line.as_bytes().to_vec())
            .collect();
        prop_assert_eq!(tail_lines(&path, count, 1 << 30).unwrap(), expected);
    }
}
