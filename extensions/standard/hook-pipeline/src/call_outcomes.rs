//! Which tool calls on record came to something: neither refused nor failed.

use std::collections::BTreeSet;

use dispatch_hook_module::{Decision, Record, RecordType};
use serde_json::Value;

/// What the log says about the calls in it.
pub(crate) struct CallOutcomes<'a> {
    refused: BTreeSet<Key<'a>>,
    asked: BTreeSet<Key<'a>>,
    failed: BTreeSet<&'a str>,
    ended: BTreeSet<&'a str>,
}

/// An invocation; two of the same millisecond are told apart by their call.
type Key<'a> = (&'a str, Option<&'a str>);

impl<'a> CallOutcomes<'a> {
    /// Reads the log once.
    pub(crate) fn of(records: &'a [Record]) -> Self {
        let mut outcomes =
            Self { refused: BTreeSet::new(), asked: BTreeSet::new(), failed: BTreeSet::new(), ended: BTreeSet::new() };
        for record in records {
            match record.kind {
                RecordType::HookRun => match decision_of(record) {
                    Decision::Deny => drop(outcomes.refused.insert(key(record))),
                    Decision::Ask => drop(outcomes.asked.insert(key(record))),
                    Decision::Allow => {}
                },
                RecordType::ToolResult => {
                    let Some(call) = text(&record.data, "toolUseId") else { continue };
                    outcomes.ended.insert(call);
                    if record.data.get("ok").and_then(Value::as_bool) == Some(false) {
                        outcomes.failed.insert(call);
                    }
                }
                _ => {}
            }
        }
        outcomes
    }

    /// Whether the call of a `TOOL_CALL` record was carried out, as far as anything is known against it.
    pub(crate) fn was_done(&self, call: &Record) -> bool {
        let key = key(call);
        let unanswered = self.asked.contains(&key) && key.1.is_some_and(|id| !self.ended.contains(id));
        let failed = key.1.is_some_and(|id| self.failed.contains(id));
        !self.refused.contains(&key) && !unanswered && !failed
    }
}

/// Whether a `HOOK_RUN` record refused something. A second delivery of an event is no second refusal.
pub(crate) fn is_refusal(record: &Record) -> bool {
    let again = record.data.get("redelivered").and_then(Value::as_bool) == Some(true);
    record.kind == RecordType::HookRun && !again && decision_of(record) == Decision::Deny
}

/// What a `HOOK_RUN` record decided.
fn decision_of(record: &Record) -> Decision {
    let told = record.data.get("decision").and_then(|decision| serde_json::from_value(decision.clone()).ok());
    record.decision.or(told).unwrap_or_default()
}

/// The paths that a call on record changes; patterns are left out.
pub(crate) fn changed_paths(data: &Value) -> impl Iterator<Item = (&str, &str)> {
    let paths = data.get("paths").and_then(Value::as_array).into_iter().flatten();
    paths.filter_map(|entry| {
        let access = text(entry, "access").filter(|access| *access != "read")?;
        let is_pattern = entry.get("glob").and_then(Value::as_bool).unwrap_or(false);
        text(entry, "path").filter(|_| !is_pattern).map(|path| (path, access))
    })
}

/// A text in the facts of a record.
pub(crate) fn text<'a>(data: &'a Value, name: &str) -> Option<&'a str> {
    data.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn key(record: &Record) -> Key<'_> {
    (&record.hook_run_id, text(&record.data, "toolUseId"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_hook_module::EventName;
    use dispatch_hook_module::testing::TestInvocation;
    use serde_json::json;

    #[test]
    fn a_call_counts_unless_something_is_known_against_it() {
        let scene = |more: &[(RecordType, Value)]| {
            let start =
                TestInvocation::new(EventName::PreToolUse).record(RecordType::ToolCall, json!({"toolUseId": "c"}));
            more.iter().fold(start, |scene, (kind, data)| scene.record(kind.clone(), data.clone()))
        };
        let run = |decision: &str| (RecordType::HookRun, json!({"decision": decision, "toolUseId": "c"}));
        let result = |ok: bool| (RecordType::ToolResult, json!({"ok": ok, "toolUseId": "c"}));
        let table = [
            (vec![], true),
            (vec![run("allow")], true),
            (vec![run("deny")], false),
            (vec![run("ask")], false),
            (vec![run("ask"), result(true)], true),
            (vec![result(false)], false),
            (vec![(RecordType::HookRun, json!({"decision": 7, "toolUseId": "c"}))], true),
            (vec![(RecordType::HookRun, json!({"decision": "deny", "toolUseId": "other"}))], true),
        ];
        for (more, expected) in table {
            let scene = scene(&more);
            let records = &scene.view.records;
            assert_eq!(CallOutcomes::of(records).was_done(&records[0]), expected, "{more:?}");
        }
    }

    #[test]
    fn only_named_files_that_change_are_changes() {
        let data = json!({"paths": [
            {"path": "/repo/a", "access": "write"}, {"path": "/repo/b", "access": "read"},
            {"path": "/repo/*.c", "access": "delete", "glob": true}, {"path": 7, "access": "write"}, "x",
        ]});
        assert_eq!(changed_paths(&data).collect::<Vec<_>>(), [("/repo/a", "write")]);
        assert_eq!(changed_paths(&json!(null)).count(), 0);
    }
}
