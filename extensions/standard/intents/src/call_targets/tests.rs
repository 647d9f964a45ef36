//! What calls reach in a real folder with links.

use std::fs;

use dispatch_hook_module::EventName;
use dispatch_toolcall::ReportedCall;
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for path in ["src/a.rs", "src/b.rs", "src/deep/c.rs", "docs/a.md", "secret.txt"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    folder
}

fn ask(folder: &Path, tool: &str, input: Value) -> CallTargets {
    let mut event = HookEvent::new(EventName::PreToolUse, "claude-code", "PreToolUse".to_owned(), Value::Null);
    event.tool_name = Some(tool.to_owned());
    event.cwd = Some(folder.to_string_lossy().into_owned());
    event.tool_input = input;
    let cwd = folder.to_string_lossy();
    let call = ToolCall::classify(&ReportedCall {
        host: "claude-code",
        tool,
        input: &event.tool_input,
        cwd: &cwd,
        home: None,
    });
    targets_of_call(folder, &event, &call)
}

fn told(reach: &CallTargets) -> Vec<String> {
    let mut all: Vec<String> = reach
        .targets
        .iter()
        .map(|target| match target {
            CallTarget::Inside { path, extent: TargetExtent::File } => path.clone(),
            CallTarget::Inside { path, extent: TargetExtent::Folder } => format!("{path}/"),
            CallTarget::Outside { .. } => "outside".to_owned(),
        })
        .collect();
    all.sort();
    if reach.certainty == TargetCertainty::Unknown {
        all.push("?".to_owned());
    }
    all
}

#[test]
fn commands_reach_what_they_name() {
    let folder = place();
    fs::write(folder.path().join(".hidden"), "x").unwrap();
    let table: [(&str, &[&str]); 20] = [
        ("ls", &[]),
        ("rm -rf .*", &["./", "?"]),
        ("rm -rf *.txt", &["secret.txt"]),
        ("rm -rf ./*.nothing", &["*.nothing"]),
        ("cat secret.txt", &[]),
        ("curl https://example.org", &[]),
        ("echo x > src/new.rs", &["src/new.rs"]),
        ("cd src && echo x > ../secret.txt", &["secret.txt"]),
        ("cp src/a.rs docs", &["docs/"]),
        ("mkdir -p lib/x", &["lib/x/"]),
        ("rm -rf src", &["src/a.rs", "src/b.rs", "src/deep/c.rs"]),
        ("rm src/*.rs", &["src/a.rs", "src/b.rs"]),
        ("mv src/a.rs lib.rs", &["lib.rs", "src/a.rs"]),
        ("echo x > /etc/outside", &["outside"]),
        ("echo x > .git/config", &[]),
        ("echo x > .ai/tmp/x", &[]),
        ("python3 -c 'open(1)'", &["?"]),
        ("make", &["?"]),
        ("make > src/log", &["src/log", "?"]),
        ("dispatch intent select INT-001", &[]),
    ];
    for (command, expected) in table {
        let found = ask(folder.path(), "Bash", json!({ "command": command }));
        assert_eq!(told(&found), expected, "{command}");
    }
}

#[test]
fn tools_reach_what_their_input_names() {
    let folder = place();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let table: [(&str, Value, &[&str]); 9] = [
        ("Write", json!({"file_path": path("src/../secret.txt"), "content": ""}), &["secret.txt"]),
        ("Edit", json!({"file_path": "src/a.rs", "old_string": "x", "new_string": "y"}), &["src/a.rs"]),
        ("Read", json!({"file_path": path("src/a.rs")}), &[]),
        ("Write", json!({}), &["?"]),
        ("TodoWrite", json!({"todos": []}), &[]),
        ("mcp__fs__write_file", json!({"path": "secret.txt", "content": ""}), &["secret.txt"]),
        ("mcp__fs__move_file", json!({"source": "src/a.rs", "destination": "b"}), &["b", "src/a.rs"]),
        ("mcp__fs__read_file", json!({"path": "secret.txt"}), &[]),
        ("mcp__dispatch__select_active_intent", json!({"intent_id": "INT-001"}), &[]),
    ];
    for (tool, input, expected) in table {
        assert_eq!(told(&ask(folder.path(), tool, input.clone())), expected, "{tool} {input}");
    }
    assert!(is_select_tool("mcp_dispatch_select_active_intent") && is_select_tool(SELECT_TOOL));
    assert!(!is_select_tool("preselect_active_intent") && !is_select_tool("select_active_intents"));
}

#[cfg(unix)]
#[test]
fn links_are_followed_where_a_write_would_follow_them() {
    use std::os::unix::fs::symlink;
    let folder = place();
    let root = folder.path();
    symlink("../secret.txt", root.join("src/link")).unwrap();
    symlink("../docs", root.join("src/folder")).unwrap();
    symlink("../not-there", root.join("src/dangling")).unwrap();
    symlink("/", root.join("src/away")).unwrap();
    symlink("loop", root.join("src/loop")).unwrap();
    let write = |path: &str| told(&ask(root, "Write", json!({"file_path": path, "content": ""})));
    assert_eq!(write("src/link"), ["secret.txt"]);
    assert_eq!(write("src/folder/new.md"), ["docs/new.md"]);
    assert_eq!(write("src/dangling"), ["not-there"]);
    assert_eq!(write("src/away/etc/passwd"), ["outside"]);
    assert_eq!(write("src/loop"), ["outside"]);
    assert_eq!(told(&ask(root, "Bash", json!({"command": "rm src/link"}))), ["src/link"]);
    assert_eq!(told(&ask(root, "Bash", json!({"command": "echo x > src/link"}))), ["secret.txt"]);
    assert_eq!(ask(root, "Write", json!({"file_path": "src/a.rs", "content": ""})).reconcile, Reconciliation::Targets);
    fs::hard_link(root.join("secret.txt"), root.join("src/twin")).unwrap();
    assert_eq!(ask(root, "Write", json!({"file_path": "src/twin", "content": ""})).reconcile, Reconciliation::Tree);
}
