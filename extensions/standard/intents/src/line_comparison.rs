//! Finds the removed and added lines of a change, within a limit of time and size.

use std::time::Duration;

use dispatch_os::time;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::line_changes::LineChanges;

/// A text with more lines is not compared.
const MAX_LINES: usize = 50_000;
/// After this time, lines that are not matched yet count as changed.
const TIME_LIMIT: Duration = Duration::from_millis(60);
const BINARY_PROBE_BYTES: usize = 8 * 1024;

/// Compares two texts; `None` if one is too long or binary.
#[must_use]
pub(crate) fn line_changes<'a>(before: &'a [u8], after: &'a [u8]) -> Option<LineChanges<'a>> {
    if is_binary(before) || is_binary(after) {
        return None;
    }
    let (old, new) = (lines(before), lines(after));
    if old.len() > MAX_LINES || new.len() > MAX_LINES {
        return None;
    }
    let mut changes = LineChanges::default();
    for operation in capture_diff_slices_deadline(Algorithm::Myers, &old, &new, time::now().checked_add(TIME_LIMIT)) {
        if matches!(operation, DiffOp::Equal { .. }) {
            continue;
        }
        changes.removed.extend(old.get(operation.old_range()).unwrap_or_default());
        let range = operation.new_range();
        if !range.is_empty() {
            changes.added.push((range.start + 1, new.get(range).unwrap_or_default().to_vec()));
        }
    }
    Some(changes)
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn is_binary(bytes: &[u8]) -> bool {
    let probe = bytes.get(..BINARY_PROBE_BYTES).unwrap_or(bytes);
    memchr::memchr(0, probe).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::line_hash;
    use proptest::prelude::*;

    fn rebuilt(before: &[u8], after: &[u8]) -> bool {
        let changes = line_changes(before, after).unwrap();
        let new = lines(after);
        changes.added.iter().all(|(start, run)| new.get(start - 1..start - 1 + run.len()) == Some(run.as_slice()))
    }

    #[test]
    fn added_lines_have_their_place_in_the_new_text() {
        let changes = line_changes(b"a\nb\nc\n", b"a\nx\ny\nc\nz").unwrap();
        assert_eq!(changes.removed, [b"b\n"]);
        assert_eq!(changes.added, [(2, vec![b"x\n".as_slice(), b"y\n"]), (5, vec![b"z".as_slice()])]);
        assert_eq!(changes.hashes()[1].hashes, [line_hash(b"z\n")]);
        assert_eq!(line_changes(b"", b"").unwrap(), LineChanges::default());
        assert_eq!(line_changes(b"\0", b"a"), None);
        assert_eq!(line_changes(b"", &b"x\n".repeat(MAX_LINES + 1)), None);
    }

    proptest! {
        #[test]
        fn whatever_is_added_is_where_it_says(before in "[abc\n]{0,60}", after in "[abc\n]{0,60}") {
            prop_assert!(rebuilt(before.as_bytes(), after.as_bytes()));
        }
    }
}
