//! Reads the ids at the start of a log line without parsing the line, because a tail has many of them.

use super::search::Finder;

/// The part of a line in which its ids stand; everything of variable length comes later.
pub(super) const HEADER_BYTES: usize = 640;
const TURN_KEY: &[u8] = b"\"turnId\":";
/// What stands before the key of a delivery in a line.
pub(super) const DELIVERY_KEY: &str = ",\"delivery\":\"";

/// Finds where the turn stands in a line.
pub(super) fn turn_finder() -> Finder<'static> {
    Finder::new(TURN_KEY)
}

/// The start of one line of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header<'a> {
    head: &'a [u8],
}

impl<'a> Header<'a> {
    /// The start of this line.
    #[must_use]
    pub(crate) fn of(line: &'a [u8]) -> Self {
        Self { head: line.get(..HEADER_BYTES).unwrap_or(line) }
    }

    /// The turn, if the line is a record.
    #[must_use]
    pub(crate) fn turn_id(&self) -> Option<u64> {
        self.turn_id_by(&turn_finder())
    }

    /// The same with a finder that was made before, for many lines.
    pub(super) fn turn_id_by(&self, finder: &Finder<'_>) -> Option<u64> {
        let start = finder.find(self.head)? + TURN_KEY.len();
        let rest = self.head.get(start..)?;
        let (digits, after) = rest.split_at(rest.iter().position(|byte| !byte.is_ascii_digit())?);
        let digits = std::str::from_utf8(digits).ok()?;
        after.starts_with(b",\"event\":").then(|| digits.parse().ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use dispatch_hook_module::testing::TestInvocation;
    use dispatch_hook_module::{Decision, Record, RecordType};

    fn line(change: impl FnOnce(&mut Record)) -> Vec<u8> {
        let scene = TestInvocation::command("ls");
        let data = json!({"turnId": 99, "event": "x"});
        let mut record =
            Record::new("01".into(), "t".into(), &scene.ids, "PreToolUse", RecordType::HookRun, "pipeline", data);
        record.turn_id = 14;
        record.decision = Some(Decision::Allow);
        record.ms = Some(0.25);
        change(&mut record);
        serde_json::to_vec(&record).expect("serialisable")
    }

    #[test]
    fn ids_are_found_in_a_written_record() {
        let line = line(|record| record.delivery = Some("0123456789abcdef".to_owned()));
        assert_eq!(Header::of(&line).turn_id(), Some(14));
        assert!(Finder::new(format!("{DELIVERY_KEY}0123456789abcdef\"").as_bytes()).find(&line).is_some());
    }

    #[test]
    fn what_is_no_record_has_no_ids() {
        for bad in [&b""[..], b"{", b"\xff\xfe", b"{\"turnId\":5}", b"{\"turnId\":x,\"event\":1}"] {
            assert_eq!(Header::of(bad).turn_id(), None);
        }
    }
}
