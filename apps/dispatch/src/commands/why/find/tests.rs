//! An id finds its run, or says what it could stand for.

use super::*;
use serde_json::json;

fn line(kind: &str, id: &str, run: &str, ts: &str, decision: Option<&str>) -> String {
    let mut line = json!({
        "v": 1, "id": id, "ts": ts, "hookRunId": run, "sessionId": "s", "workId": "w001", "agentId": "u00", "turnId": 1,
        "event": "PreToolUse", "type": kind, "module": "pipeline", "data": {"message": id},
    });
    if let Some(decision) = decision {
        line["decision"] = decision.into();
    }
    format!("{line}\n")
}

fn logs(folder: &tempfile::TempDir) -> Vec<SessionLog> {
    let one = [
        line("HOOK_RUN", "01A", "PreToolUse-1-5", "2026-01-01T00:00:01.000Z", Some("deny")),
        line("WARNING", "01B", "PreToolUse-1-6", "2026-01-01T00:00:02.000Z", None),
        line("TOOL_CALL", "01C", "PreToolUse-1-6", "2026-01-01T00:00:02.000Z", None),
        line("ERROR_MODULE", "01D", "PreToolUse-1-6", "2026-01-01T00:00:02.000Z", None),
        line("HOOK_RUN", "01E", "PreToolUse-1-6", "2026-01-01T00:00:02.000Z", Some("allow")),
        "{\"torn\": ".to_owned(),
    ];
    let two = [line("HOOK_RUN", "02A", "PreToolUse-1-66", "2026-01-01T00:00:01.500Z", Some("allow"))];
    let write = |name: &str, text: String| {
        let events_file = folder.path().join(name);
        std::fs::write(&events_file, text).unwrap();
        SessionLog { id: name.to_owned(), events_file, modified_ms: 0 }
    };
    vec![write("one", one.concat()), write("two", two.concat())]
}

#[test]
fn the_last_run_comes_with_its_notes_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let run = last(&logs(&folder)).unwrap();
    assert_eq!(run.record.id, "01E");
    assert_eq!(run.notes.iter().map(|note| note.id.as_str()).collect::<Vec<_>>(), ["01B", "01D"]);
    assert_eq!(last_objection(&logs(&folder)).unwrap().unwrap().record.id, "01A");
}

#[test]
fn an_id_of_any_record_or_the_start_of_one_finds_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let logs = logs(&folder);
    for (id, expected) in [("PreToolUse-1-6", "01E"), ("01C", "01E"), ("02", "02A"), ("PreToolUse-1-66", "02A")] {
        assert_eq!(by_id(&logs, id).unwrap().record.id, expected, "{id}");
    }
    let many = by_id(&logs, "PreToolUse-1").unwrap_err();
    assert!(many.messages[0].contains("is ambiguous: 3 events match"), "{many:?}");
    for wrong in ["", "03", "pipeline", "message"] {
        assert!(by_id(&logs, wrong).is_err(), "{wrong:?}");
    }
}
