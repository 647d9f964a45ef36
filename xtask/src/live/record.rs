//! What Dispatch wrote down about a run.

use serde_json::Value;

/// The records of every session of a project.
pub(super) struct SessionRecords(Vec<Value>);

/// How a failed command stands in the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureRecord {
    /// Nothing after the call.
    Nothing,
    /// The call's end, not marked as a failure.
    Ended,
    /// The call's end, as a failure.
    Failed,
}

impl SessionRecords {
    /// From the output of `dispatch events --json`, one record per line.
    pub(super) fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Whether a call with this text in its input was judged before it ran.
    pub(super) fn judged(&self, text: &str) -> bool {
        self.runs("PreToolUse", text).next().is_some()
    }

    /// How a failed command with this text in its input stands in the records.
    pub(super) fn failure(&self, text: &str) -> FailureRecord {
        let ends: Vec<&str> = self.runs("PostToolUse", text).filter_map(|run| run["hookRunId"].as_str()).collect();
        if ends.is_empty() {
            return FailureRecord::Nothing;
        }
        let is_failed = |record: &&Value| {
            let of_end = record["hookRunId"].as_str().is_some_and(|id| ends.contains(&id));
            of_end && record["type"] == "TOOL_RESULT" && record["data"]["ok"] == false
        };
        if self.0.iter().any(|record| is_failed(&record)) { FailureRecord::Failed } else { FailureRecord::Ended }
    }

    fn runs<'a>(&'a self, event: &'a str, text: &'a str) -> impl Iterator<Item = &'a Value> {
        let is_wanted = move |record: &&Value| {
            record["type"] == "HOOK_RUN"
                && record["event"] == event
                && record["data"]["subject"]["toolInput"].to_string().contains(text)
        };
        self.0.iter().filter(is_wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_is_found_by_its_run() {
        let run = |event: &str| {
            format!(
                r#"{{"type":"HOOK_RUN","event":"{event}","hookRunId":"{event}-1","data":{{"subject":{{"toolInput":{{"command":"ls gone"}}}}}}}}"#
            )
        };
        let result = r#"{"type":"TOOL_RESULT","event":"PostToolUse","hookRunId":"PostToolUse-1","data":{"ok":false}}"#;
        let check = |lines: &[&str], expected| {
            assert_eq!(SessionRecords::parse(&lines.join("\n")).failure("ls gone"), expected, "{lines:?}");
        };
        check(&[&run("PreToolUse")], FailureRecord::Nothing);
        check(&[&run("PostToolUse")], FailureRecord::Ended);
        check(&[&run("PostToolUse"), result], FailureRecord::Failed);
        assert!(SessionRecords::parse(&run("PreToolUse")).judged("ls gone"));
    }
}
