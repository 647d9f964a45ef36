//! Every complete line once, whatever the sizes of blocks and lines, and never half a line.

use super::*;

fn forwards(cursor: &mut LogCursor) -> Vec<LogLine> {
    std::iter::from_fn(|| cursor.next_line().unwrap()).collect()
}

fn backwards(path: &Path, block_bytes: usize) -> (Vec<Vec<u8>>, u64) {
    let mut lines = Vec::new();
    let end = newest_first_by(path, block_bytes, &mut |line| {
        lines.push(line.to_vec());
        ControlFlow::Continue(())
    });
    lines.reverse();
    (lines, end.unwrap())
}

/// Content, its complete lines, and where they end.
type LogFileCase = (&'static [u8], &'static [&'static [u8]], u64);

#[test]
fn both_directions_find_the_same_complete_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let cases: [LogFileCase; 8] = [
        (b"", &[], 0),
        (b"torn", &[], 0),
        (b"a\n", &[b"a"], 2),
        (b"\n\n", &[], 2),
        (b"a\nbb\nccc\ntorn", &[b"a", b"bb", b"ccc"], 9),
        (b"\na\n\n\nbb\n\n", &[b"a", b"bb"], 9),
        (b"longer than a block\nx\n", &[b"longer than a block", b"x"], 22),
        (b"\xff\x00\nq\n", &[b"\xff\x00", b"q"], 5),
    ];
    for (content, expected, end) in cases {
        std::fs::write(&path, content).unwrap();
        for block_bytes in 1..=content.len() + 1 {
            let mut cursor = LogCursor { block_bytes, ..LogCursor::at_start(path.clone()) };
            let lines: Vec<LogLine> = expected.iter().map(|line| LogLine::Whole(line.to_vec())).collect();
            assert_eq!(forwards(&mut cursor), lines, "{content:?} by {block_bytes}");
            assert_eq!(backwards(&path, block_bytes), (expected.iter().map(|line| line.to_vec()).collect(), end));
        }
    }
}

#[test]
fn a_cursor_goes_on_where_the_log_grows_and_starts_again_when_it_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut cursor = LogCursor::at_start(path.clone());
    assert_eq!(forwards(&mut cursor), [], "a log that is not there yet has no lines");
    std::fs::write(&path, "one\ntw").unwrap();
    assert_eq!(forwards(&mut cursor), [LogLine::Whole(b"one".to_vec())]);
    std::fs::write(&path, "one\ntwo\n").unwrap();
    assert_eq!(forwards(&mut cursor), [LogLine::Whole(b"two".to_vec())]);
    std::fs::write(&path, "new\n").unwrap();
    assert_eq!(forwards(&mut cursor), [LogLine::Whole(b"new".to_vec())], "a shorter log is a new one");
    std::fs::write(&path, "another log, longer than before\n").unwrap();
    assert_eq!(forwards(&mut cursor), [LogLine::Whole(b"another log, longer than before".to_vec())]);
}

#[test]
fn a_line_without_end_costs_no_memory_and_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut content = b"first\n".to_vec();
    content.extend(vec![b'x'; 3 * LINE_LIMIT_BYTES]);
    content.extend(b"\nlast\n");
    std::fs::write(&path, content).unwrap();
    let mut cursor = LogCursor::at_start(path.clone());
    let lines = [LogLine::Whole(b"first".to_vec()), LogLine::TooLong, LogLine::Whole(b"last".to_vec())];
    assert_eq!(forwards(&mut cursor), lines);
    assert!(cursor.buffer.capacity() <= 3 * LINE_LIMIT_BYTES, "{}", cursor.buffer.capacity());
    assert_eq!(backwards(&path, BLOCK_BYTES).0, [b"first".to_vec(), b"last".to_vec()]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    assert_eq!(forwards(&mut LogCursor::at_start(link.clone())), []);
    assert_eq!(backwards(&link, 8), (Vec::new(), 0));
    assert_eq!(backwards(folder.path(), 8), (Vec::new(), 0));
}
