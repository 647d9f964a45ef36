//! What must hold for any payload and any decision: a valid reply, and no permission given away.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use dispatch_hook_dialects::dialect::{self, Dialect, Hints, TEXT_LIMIT_BYTES};
use dispatch_hook_dialects::{Answer, Reply};
use dispatch_hook_module::{Decision, EventName};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

const BY_EXIT_CODE: [&str; 3] = ["windsurf", "kiro", "goose"];

fn any_dialect() -> impl Strategy<Value = &'static Dialect> {
    proptest::sample::select(dialect::ALL.to_vec())
}

fn any_event() -> impl Strategy<Value = (&'static Dialect, String)> {
    any_dialect().prop_flat_map(|dialect| {
        let mut names: Vec<String> = dialect.support().events.iter().map(|row| row.host_event.to_owned()).collect();
        names.extend(EventName::KNOWN.iter().map(ToString::to_string));
        names.push("SomethingNew".to_owned());
        (Just(dialect), proptest::sample::select(names))
    })
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é\n]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Keys that some dialect reads, so that random payloads reach the reading code.
fn key() -> impl Strategy<Value = String> {
    let known = [
        "hook_event_name",
        "hookEventName",
        "hookName",
        "event",
        "agent_action_name",
        "session_id",
        "sessionId",
        "conversation_id",
        "generation_id",
        "cursor_version",
        "taskId",
        "clineVersion",
        "timestamp",
        "cwd",
        "workspace_roots",
        "workspaceRoots",
        "working_dir",
        "transcript_path",
        "tool_name",
        "toolName",
        "tool_input",
        "toolArgs",
        "tool_response",
        "tool_result",
        "tool_use_id",
        "prompt",
        "stop_hook_active",
        "loop_count",
        "tool_info",
        "preToolUse",
        "postToolUse",
        "tool_call",
        "input",
        "output",
        "matcher_context",
        "turn_id",
        "permission_mode",
        "error",
        "type",
        "properties",
        "info",
        "parts",
        "model",
        "agent_id",
        "result_json",
    ];
    prop_oneof![
        8 => proptest::sample::select(known.to_vec()).prop_map(ToOwned::to_owned),
        1 => "[a-z_]{1,8}",
    ]
}

fn any_payload() -> impl Strategy<Value = String> {
    proptest::collection::vec((key(), any_json()), 0..12).prop_map(|pairs| {
        let object: Map<String, Value> = pairs.into_iter().collect();
        Value::Object(object).to_string()
    })
}

fn any_text() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(prop_oneof![
        4 => "[ -~é\n\"\\\\]{0,40}",
        1 => "é{6000}",
    ])
}

fn any_answer(decisions: &'static [(Decision, bool)]) -> impl Strategy<Value = Answer> {
    (
        proptest::sample::select(decisions),
        any_text(),
        proptest::option::of("[A-Z_]{1,10}"),
        proptest::collection::vec("[ -~é\n]{0,30}", 0..3),
        any_text(),
        proptest::option::of(any_json()),
        proptest::option::of(any_json()),
        any_text(),
    )
        .prop_map(
            |((decision, grant), reason, code, context, system_message, updated_input, updated_output, halt)| Answer {
                decision,
                grant,
                reason,
                code,
                context,
                system_message,
                updated_input,
                updated_output,
                halt,
            },
        )
}

/// The reply's JSON, after checking that the reply is one its host can read.
fn checked(dialect: &Dialect, event: &str, reply: &Reply) -> Value {
    let id = dialect.id();
    let where_ = format!("{id} {event}: {reply:?}");
    match reply.exit_code {
        0 => assert_eq!(reply.stderr, b"", "{where_}"),
        2 => {
            assert!(BY_EXIT_CODE.contains(&id), "{where_}");
            assert!(!reply.stderr.trim_ascii().is_empty(), "{where_}");
            assert!(reply.stderr.len() <= 2 * TEXT_LIMIT_BYTES + 8, "{where_}");
        }
        _ => panic!("{where_}"),
    }
    let silent = reply.stdout.is_empty() && (["windsurf", "kiro"].contains(&id) || event == "WorktreeCreate");
    if silent || (id == "kiro" && !reply.stdout.starts_with(b"{\"decision\":")) {
        return Value::Null;
    }
    let wire: Value = serde_json::from_slice(&reply.stdout).unwrap_or_else(|_| panic!("{where_}"));
    assert!(wire.is_object(), "{where_}");
    if id == "codex" {
        check_codex(event, &wire);
    }
    if let Some(name) = wire.pointer("/hookSpecificOutput/hookEventName") {
        assert_eq!(name, event, "{where_}");
    }
    wire
}

/// Codex voids a reply with one key too many, so its rules are checked to the letter.
fn check_codex(event: &str, wire: &Value) {
    let object = wire.as_object().expect("an object");
    for key in object.keys() {
        let known = ["continue", "stopReason", "systemMessage", "decision", "reason", "hookSpecificOutput"];
        assert!(known.contains(&key.as_str()), "{event}: {wire}");
    }
    assert!(object.contains_key("decision") || !object.contains_key("reason"), "{wire}");
    let specific = wire.get("hookSpecificOutput");
    let no_specific = ["Stop", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd", "Interrupt"];
    assert!(!no_specific.contains(&event) || specific.is_none(), "{event}: {wire}");
    if event == "PreToolUse" || event == "PermissionRequest" {
        assert!(wire.get("continue").is_none() && wire.get("stopReason").is_none(), "{wire}");
    }
    if event == "SessionEnd" {
        assert!(object.is_empty(), "{wire}");
    }
    let Some(specific) = specific else { return };
    let word = specific.get("permissionDecision").and_then(Value::as_str);
    match word {
        Some("deny") => {
            let reason = specific.get("permissionDecisionReason").and_then(Value::as_str);
            assert!(reason.is_some_and(|reason| !reason.trim().is_empty()), "{wire}");
        }
        Some("allow") => assert!(specific.get("updatedInput").is_some(), "{wire}"),
        Some(other) => panic!("{other}: {wire}"),
        None => assert!(specific.get("updatedInput").is_none(), "{wire}"),
    }
    if let Some(decision) = specific.get("decision") {
        assert_eq!(event, "PermissionRequest", "{wire}");
        for key in decision.as_object().expect("an object").keys() {
            assert!(["behavior", "message"].contains(&key.as_str()), "{wire}");
        }
    }
}

/// Whether a reply answers the host's permission prompt for the user.
fn grants(dialect: &Dialect, wire: &Value) -> bool {
    let is = |pointer: &str, word: &str| wire.pointer(pointer) == Some(&json!(word));
    let id = dialect.id();
    let allow = is("/permissionDecision", "allow")
        || is("/permission", "allow")
        || is("/behavior", "allow")
        || is("/hookSpecificOutput/decision/behavior", "allow")
        || is("/decision", "approve")
        || is("/decision", "grant")
        || wire.get("grant").is_some();
    // Only our own shape says `allow` for "no objection", and only Codex needs it to rewrite.
    allow
        || (id != "native" && is("/decision", "allow"))
        || (id != "codex" && is("/hookSpecificOutput/permissionDecision", "allow"))
}

fn render(dialect: &Dialect, event: &str, payload: &str, answer: &Answer) -> (Reply, String) {
    let parsed = dialect::parse(payload.as_bytes(), Some(dialect.id()), Some(event), &Hints::default())
        .expect("an object is always readable");
    let reply = parsed.dialect.render(&parsed.event, answer);
    (reply, parsed.event.host_event)
}

const NO_GRANT: &[(Decision, bool)] = &[(Decision::Allow, false), (Decision::Ask, false), (Decision::Deny, false)];
const ANY: &[(Decision, bool)] =
    &[(Decision::Allow, false), (Decision::Allow, true), (Decision::Ask, false), (Decision::Deny, false)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_bytes_yield_an_event_or_a_way_to_go_on(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        host in proptest::option::of(any_dialect()),
        event in proptest::option::of("[A-Za-z._]{0,12}"),
    ) {
        let host = host.map(Dialect::id);
        match dialect::parse(&bytes, host, event.as_deref(), &Hints::default()) {
            Ok(parsed) => {
                let reply = parsed.dialect.render(&parsed.event, &Answer::pass());
                checked(parsed.dialect, &parsed.event.host_event, &reply);
            }
            Err(failure) => {
                let wire = checked(failure.dialect, failure.name.as_str(), &failure.reply());
                prop_assert!(!grants(failure.dialect, &wire));
            }
        }
    }

    #[test]
    fn any_payload_and_decision_yield_a_reply_its_host_can_read(
        (dialect, event) in any_event(),
        payload in any_payload(),
        answer in any_answer(ANY),
    ) {
        let parsed = dialect::parse(payload.as_bytes(), Some(dialect.id()), Some(&event), &Hints::default())
            .expect("an object is always readable");
        let reply = parsed.dialect.render(&parsed.event, &answer);
        checked(parsed.dialect, &parsed.event.host_event, &reply);
    }

    #[test]
    fn detection_is_total(payload in any_payload(), answer in any_answer(ANY)) {
        let parsed = dialect::parse(payload.as_bytes(), None, None, &Hints::default())
            .expect("an object is always readable");
        let reply = parsed.dialect.render(&parsed.event, &answer);
        checked(parsed.dialect, &parsed.event.host_event, &reply);
    }

    #[test]
    fn only_a_grant_grants(
        (dialect, event) in any_event(),
        answer in any_answer(NO_GRANT),
    ) {
        let (reply, host_event) = render(dialect, &event, "{}", &answer);
        let wire = checked(dialect, &host_event, &reply);
        prop_assert!(!grants(dialect, &wire), "{} {event}: {wire}", dialect.id());
    }

    #[test]
    fn a_pass_with_nothing_to_say_is_the_go_on((dialect, event) in any_event(), payload in any_payload()) {
        let parsed = dialect::parse(payload.as_bytes(), Some(dialect.id()), Some(&event), &Hints::default())
            .expect("an object is always readable");
        let reply = parsed.dialect.render(&parsed.event, &Answer::pass());
        prop_assert_eq!(reply, parsed.dialect.go_on(&parsed.event.name));
    }
}

#[test]
fn a_deny_before_a_tool_reaches_every_host_that_can_refuse() {
    for dialect in dialect::ALL {
        for row in dialect.support().events {
            let can = row.abilities.has(dialect::Abilities::DENY);
            if row.name != EventName::PreToolUse || !can {
                continue;
            }
            let (reply, event) = render(dialect, row.host_event, "{}", &Answer::deny("because of X1"));
            checked(dialect, &event, &reply);
            let said = [reply.stdout.as_slice(), &reply.stderr].concat();
            let said = String::from_utf8(said).expect("UTF-8");
            let reasoned = said.contains("because of X1") || row.host_event == "beforeTabFileRead";
            assert!(reasoned && reply != dialect.go_on(&row.name), "{} {}: {said}", dialect.id(), row.host_event);
        }
    }
}
