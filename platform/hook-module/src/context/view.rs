//! Bounded reads that modules may ask for, behind a trait so that tests hand in values.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Effects;
use crate::record::{Record, RecordType};

/// The session and the workspace, read when asked and never beyond a bound.
///
/// Nothing here fails: what cannot be read is not there.
pub trait SessionView {
    /// The newest records of the session, oldest first: the last 64 KiB of the log.
    fn tail(&self) -> &[Record];

    /// The records of this turn, oldest first, within the last 1 MiB of the log.
    fn turn(&self, turn_id: u64) -> Vec<&Record>;

    /// The records of the last 8 MiB of the log, oldest first. Not for the hot path.
    fn history(&self) -> &[Record];

    /// The newest record of this type in the tail whose line holds `needle`.
    fn newest(&self, kind: &RecordType, needle: &str) -> Option<Record>;

    /// The last prompts, oldest first, as `p.jsonl` has them. Not for the hot path.
    fn prompts(&self, count: usize) -> Vec<Value>;

    /// A file of the workspace, links followed as long as they stay inside, if it is at most `limit_bytes` long.
    fn read(&self, path: &Path, limit_bytes: u64) -> Option<Vec<u8>>;

    /// When a file of the workspace was last changed, in Unix milliseconds; nothing if it does not exist.
    fn modified_ms(&self, path: &Path) -> Option<i64>;

    /// The names in a folder of the workspace, sorted, at most `limit`.
    fn list(&self, folder: &Path, limit: usize) -> Vec<String>;

    /// Where a path leads once links are followed; the path itself where that cannot be told.
    fn real_path(&self, path: &Path) -> PathBuf;

    /// The user's exceptions, expired ones included.
    fn exceptions(&self) -> &[RuleException];

    /// Whether the user approved this content of a file of the workspace, with `dispatch trust`.
    fn is_approved(&self, _path: &Path, _content: &[u8]) -> bool {
        false
    }

    /// Whether an exception for one call is left for this one. Whoever takes it with [`Effects::Commit`] has used it up.
    fn take_exception(&self, _exception: &RuleException, _effects: Effects) -> bool {
        true
    }
}

/// A rule that the user switched off for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleException {
    /// What lists and revocations call it.
    #[serde(default)]
    pub id: String,
    /// Whether it is used up by the first call that it lets pass.
    #[serde(default)]
    pub once: bool,
    /// The rule.
    pub code: String,
    /// Until when, in Unix milliseconds; RFC 3339 on disk.
    #[serde(deserialize_with = "read_time", serialize_with = "write_time")]
    pub until: i64,
    /// Why, in the user's words.
    #[serde(default)]
    pub reason: String,
}

impl RuleException {
    /// Whether it holds for this rule at this time.
    #[must_use]
    pub fn covers(&self, code: &str, now_ms: i64) -> bool {
        self.code.eq_ignore_ascii_case(code) && now_ms < self.until
    }
}

fn read_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => dispatch_os::time::parse_rfc3339(&text),
        _ => None,
    }
    .ok_or_else(|| serde::de::Error::custom("`until` is not a time"))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn write_time<S: serde::Serializer>(time: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&dispatch_os::time::rfc3339(*time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_exception_covers_its_rule_until_it_expires() {
        let text = json!({"id": "a1", "once": false, "code": "UB01", "until": "2026-01-02T03:04:05.678Z", "reason": "cleaning"});
        let exception: RuleException = serde_json::from_value(text.clone()).expect("readable");
        assert!(exception.covers("ub01", 1_767_323_045_677));
        assert!(!exception.covers("UB01", 1_767_323_045_678));
        assert!(!exception.covers("UB02", 0));
        assert_eq!(serde_json::to_value(&exception).expect("writable"), text);
        assert!(serde_json::from_value::<RuleException>(json!({"code": "X", "until": "soon"})).is_err());
    }
}
