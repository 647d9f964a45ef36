//! An event that is delivered twice has one effect and one answer.

use dispatch_hook_module::RecordType;
use serde_json::json;

use super::workspace::Workspace;

#[test]
fn a_second_delivery_gets_the_stored_answer_and_has_no_second_effect() {
    let workspace = Workspace::new();
    for command in ["ls", "deny me", "rewrite me"] {
        let first = workspace.command(command, command);
        let calls = workspace.of_type(RecordType::ToolCall).len();
        let second = workspace.command(command, command);
        assert_eq!(first.reply, second.reply, "{command}");
        assert_eq!(workspace.of_type(RecordType::ToolCall).len(), calls, "{command}");
        let last = workspace.records().pop().expect("a record");
        assert_eq!((last.kind, &last.data["redelivered"]), (RecordType::HookRun, &json!(true)), "{command}");
    }
    assert_eq!(workspace.of_type(RecordType::HookRun).len(), 6, "every invocation is on record");
}

#[test]
fn another_input_id_event_or_configuration_is_another_event() {
    let workspace = Workspace::new();
    workspace.command("ls", "1");
    workspace.command("pwd", "1");
    workspace.command("ls", "2");
    workspace.write(".ai/hooks/config.json", "{}");
    workspace.command("ls", "1");
    workspace.fire("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    workspace.fire("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    assert_eq!(workspace.of_type(RecordType::ToolCall).len(), 6);
}

#[test]
fn a_refusal_is_looked_at_again_when_the_world_has_changed() {
    let workspace = Workspace::new();
    let denied = workspace.command("deny me", "1");
    let until = dispatch_os::time::rfc3339(dispatch_os::time::unix_ms() + 60_000);
    workspace.write(".ai/tmp/exceptions.json", &json!([{"code": "G01", "until": until}]).to_string());
    let allowed = workspace.command("deny me", "1");
    assert_ne!(denied.reply, allowed.reply);
    assert_eq!(workspace.of_type(RecordType::ExceptionUsed).len(), 1);
}

#[test]
fn two_deliveries_at_once_have_one_effect() {
    for round in 0..5 {
        let workspace = Workspace::new();
        let replies: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| workspace.command("ls", "same").reply)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(replies.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(workspace.of_type(RecordType::ToolCall).len(), 1, "round {round}");
    }
}
