//! What every host's tools do: the calls of recorded hook events, and one row per tool and field spelling.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]

use dispatch_toolcall::{Access, ReportedCall, ToolCall, ToolKind};
use serde::Deserialize;
use serde_json::{Value, json};

/// One recorded event, reduced to its call and what is expected of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedCall {
    from: String,
    host: String,
    tool: String,
    #[serde(default)]
    mcp_event: bool,
    cwd: String,
    input: Value,
    kind: ToolKind,
    paths: Vec<String>,
    command: Option<String>,
}

const EVENTS: &str = include_str!("../testdata/host_events.jsonl");

fn classify(host: &str, tool: &str, input: &Value) -> ToolCall {
    ToolCall::classify(&ReportedCall { host, tool, input, cwd: "/w", home: Some("/home/dev") })
}

#[test]
fn recorded_events_are_classified() {
    for line in EVENTS.lines() {
        let event: RecordedCall = serde_json::from_str(line).expect(line);
        let call =
            ReportedCall { host: &event.host, tool: &event.tool, input: &event.input, cwd: &event.cwd, home: None };
        let found = if event.mcp_event { ToolCall::mcp(&call) } else { ToolCall::classify(&call) };
        assert_eq!(found.kind, event.kind, "{}", event.from);
        assert_eq!(found.command, event.command, "{}", event.from);
        if event.command.is_none() {
            let paths: Vec<&str> = found.paths.iter().map(|path| path.path.as_str()).collect();
            assert_eq!(paths, event.paths, "{}", event.from);
        }
    }
}

fn word(value: Result<Value, serde_json::Error>) -> String {
    value.ok().as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// `kind` and then `access:path` for each path.
fn shown(call: &ToolCall) -> String {
    let mut text = word(serde_json::to_value(call.kind));
    for path in &call.paths {
        text += &format!(" {}:{}", word(serde_json::to_value(path.access)), path.path);
    }
    if let Some(command) = &call.command {
        text += &format!(" $ {command}");
    }
    text
}

#[test]
fn inputs_are_read_in_every_spelling() {
    let patch =
        "*** Begin Patch\n*** Add File: n\n+x\n*** Update File: u\n*** Move to: m\n*** Delete File: d\n*** End Patch";
    let patched = "write create:/w/n delete:/w/u create:/w/m delete:/w/d";
    let table = [
        ("claude-code", "Write", json!({"file_path": "a"}), "write write:/w/a"),
        ("claude-code", "MultiEdit", json!({"file_path": "a", "edits": [{"old_string": "x"}]}), "write write:/w/a"),
        ("claude-code", "NotebookEdit", json!({"notebook_path": "~/n.ipynb"}), "write write:/home/dev/n.ipynb"),
        ("claude-code", "Grep", json!({"pattern": "x", "path": "src"}), "search read:/w/src"),
        ("claude-code", "Glob", json!({"pattern": "**/*.rs"}), "search"),
        ("claude-code", "Bash", json!({"command": "rm a"}), "execute delete:/w/a $ rm a"),
        ("claude-code", "PowerShell", json!({"command": "rm a"}), "execute delete:/w/a $ rm a"),
        ("claude-code", "WebFetch", json!({"url": "https://x"}), "fetch"),
        ("claude-code", "TodoWrite", json!({"todos": []}), "other"),
        ("claude-code", "Task", json!({"prompt": "x"}), "agent"),
        ("claude-code", "mcp__fs__write", json!({"path": "/etc/x"}), "mcp write:/etc/x"),
        (
            "claude-code",
            "mcp__filesystem__read_file",
            json!({"path": "~/.ssh/id_rsa"}),
            "mcp read:/home/dev/.ssh/id_rsa",
        ),
        ("claude-code", "mcp__filesystem__delete_directory", json!({"path": "/"}), "mcp delete:/"),
        ("claude-code", "mcp__shell__run", json!({"command": "rm -r a"}), "mcp delete:/w/a $ rm -r a"),
        ("claude-code", "mcp__github__create_or_update_file", json!({"path": "a"}), "mcp"),
        ("claude-code", "mcp__web__get", json!({"path": "/etc/x"}), "mcp"),
        ("qwen-code", "edit", json!({"file_path": "a"}), "write write:/w/a"),
        ("qwen-code", "run_shell_command", json!({"command": "rm a"}), "execute delete:/w/a $ rm a"),
        ("claude-code", "Brand New", json!({"file_path": "/etc/x", "command": "rm a"}), "other"),
        ("vscode-copilot", "create_file", json!({"filePath": "/x/a"}), "write create:/x/a"),
        ("vscode-copilot", "create_file", json!({"filePath": "file:///x/a%20b"}), "write create:/x/a b"),
        ("vscode-copilot", "create_directory", json!({"dirPath": "d"}), "write create:/w/d"),
        (
            "vscode-copilot",
            "multi_replace_string_in_file",
            json!({"replacements": [{"filePath": "a"}, {"filePath": "b"}, {"filePath": "a"}]}),
            "write write:/w/a write:/w/b",
        ),
        ("vscode-copilot", "apply_patch", json!({"input": patch, "explanation": "x"}), patched),
        ("vscode-copilot", "get_errors", json!({"filePaths": ["a", "b"]}), "read read:/w/a read:/w/b"),
        ("vscode-copilot", "list_dir", json!({"path": "d"}), "read read:/w/d"),
        ("vscode-copilot", "memory", json!({"command": "view", "path": "/memories/a"}), "read read:/memories/a"),
        (
            "vscode-copilot",
            "memory",
            json!({"command": "rename", "old_path": "a", "new_path": "b"}),
            "write delete:/w/a create:/w/b",
        ),
        ("vscode-copilot", "memory", json!({"command": "delete", "path": "a"}), "write delete:/w/a"),
        (
            "vscode-copilot",
            "create_and_run_task",
            json!({"task": {"command": "rm", "args": ["a b"]}}),
            "execute delete:/w/a b $ rm 'a b'",
        ),
        ("vscode-copilot", "run_notebook_cell", json!({"filePath": "n.ipynb"}), "execute write:/w/n.ipynb"),
        ("vscode-copilot", "send_to_terminal", json!({"id": "1", "command": "y"}), "execute $ y"),
        ("vscode-copilot", "mcp_pylance_mcp_s_pylanceImports", json!({}), "mcp"),
        ("copilot-cli", "create", json!({"path": "a"}), "write create:/w/a"),
        ("copilot-cli", "edit", json!({"path": "a", "old_str": "x"}), "write write:/w/a"),
        ("copilot-cli", "apply_patch", json!(patch), patched),
        ("copilot-cli", "bash", json!("{\"command\":\"rm -rf dist\"}"), "execute delete:/w/dist $ rm -rf dist"),
        ("copilot-cli", "str_replace_editor", json!({"command": "view", "path": "a"}), "read read:/w/a"),
        ("copilot-cli", "str_replace_editor", json!({"command": "create", "path": "a"}), "write create:/w/a"),
        ("copilot-cli", "github-mcp-server-list_issues", json!({}), "mcp"),
        ("copilot-cli-pascal", "Edit", json!(patch), patched),
        ("copilot-cli-pascal", "Edit", json!({"path": "a"}), "write write:/w/a"),
        ("copilot-cli-pascal", "Read", json!({"path": "a"}), "read read:/w/a"),
        ("cursor", "StrReplace", json!({"path": "a"}), "write write:/w/a"),
        ("cursor", "Delete", json!({"path": "a"}), "write delete:/w/a"),
        ("cursor", "ApplyPatch", json!({"patch": patch}), patched),
        ("cursor", "ApplyPatch", json!(patch), patched),
        ("cursor", "Shell", json!({"command": "rm a", "working_directory": "/x"}), "execute delete:/x/a $ rm a"),
        ("cursor", "Read", json!({"file_path": "/c:/p/a.ts"}), "read read:c:/p/a.ts"),
        ("cursor", "TabWrite", json!({"filePath": "a"}), "write write:/w/a"),
        ("cursor", "MCP:search", json!({}), "mcp"),
        ("gemini-cli", "replace", json!({"file_path": "a"}), "write write:/w/a"),
        ("gemini-cli", "read_many_files", json!({"include": ["src/*.ts", "b"]}), "read read:/w/src/*.ts read:/w/b"),
        (
            "gemini-cli",
            "run_shell_command",
            json!({"command": "rm a", "dir_path": "sub"}),
            "execute delete:/w/sub/a $ rm a",
        ),
        ("gemini-cli", "list_directory", json!({"dir_path": "d"}), "read read:/w/d"),
        ("gemini-cli", "tracker_create_task", json!({}), "other"),
        ("codex", "apply_patch", json!({"command": patch}), patched),
        ("codex", "functions.apply_patch", json!({"input": patch}), patched),
        (
            "codex",
            "shell",
            json!({"command": ["bash", "-lc", "rm a && ls"], "workdir": "/x"}),
            "execute read:/x delete:/x/a $ bash -lc 'rm a && ls'",
        ),
        (
            "codex",
            "multi_tool_use.parallel",
            json!({"tool_uses": [{"recipient_name": "functions.Bash", "parameters": {"command": "rm a"}}, {"recipient_name": "functions.view_image", "parameters": {"path": "b"}}]}),
            "execute delete:/w/a read:/w/b $ rm a",
        ),
        ("codex", "update_plan", json!({}), "other"),
        ("windsurf", "write_code", json!({"file_path": "/x/a", "edits": []}), "write write:/x/a"),
        ("windsurf", "run_command", json!({"CommandLine": "rm a", "Cwd": "/x"}), "execute delete:/x/a $ rm a"),
        ("windsurf", "view_file", json!({"AbsolutePath": "/x/a"}), "read read:/x/a"),
        ("windsurf", "write_to_file", json!({"TargetFile": "/x/a"}), "write write:/x/a"),
        ("windsurf", "pre_mcp_tool_use", json!({"mcp_tool_name": "x"}), "mcp"),
        ("devin", "edit", json!({"file_path": "a"}), "write write:/w/a"),
        ("devin", "exec", json!({"command": "ls"}), "execute read:/w $ ls"),
        ("cline", "write_to_file", json!({"path": "src/a"}), "write write:/w/src/a"),
        ("cline", "read_files", json!({"paths": "[\"a\",\"b\"]"}), "read read:/w/a read:/w/b"),
        (
            "cline",
            "run_commands",
            json!({"commands": ["rm a", "touch b"]}),
            "execute create:/w/b delete:/w/a $ rm a\ntouch b",
        ),
        ("cline", "use_mcp_tool", json!({"server_name": "x"}), "mcp"),
        (
            "kiro",
            "fs_read",
            json!({"operations": [{"mode": "Line", "path": "a"}, {"path": "b"}]}),
            "read read:/w/a read:/w/b",
        ),
        ("kiro", "fs_write", json!({"command": "create", "path": "a"}), "write create:/w/a"),
        ("kiro", "fs_write", json!({"path": "a", "text": "x"}), "write write:/w/a"),
        ("kiro", "shell", json!({"command": "ls"}), "execute read:/w $ ls"),
        ("kiro", "@git/status", json!({}), "mcp"),
        ("factory-droid", "ApplyPatch", json!(patch), patched),
        ("factory-droid", "ApplyPatch", json!({"file_path": "a"}), "write write:/w/a"),
        ("factory-droid", "LS", json!({"directory_path": "x", "path": "d"}), "read read:/w/d"),
        ("crush", "multiedit", json!({"file_path": "a", "edits": []}), "write write:/w/a"),
        ("crush", "download", json!({"url": "https://x", "file_path": "a"}), "write write:/w/a"),
        ("crush", "ls", json!({"path": "d"}), "read read:/w/d"),
        ("goose", "developer__shell", json!({"command": "ls"}), "execute read:/w $ ls"),
        ("goose", "developer__text_editor", json!({"command": "view", "path": "a"}), "read read:/w/a"),
        ("goose", "developer__text_editor", json!({"command": "write", "path": "a"}), "write write:/w/a"),
        ("goose", "github__search", json!({}), "mcp"),
        ("opencode", "apply_patch", json!({"patchText": patch}), patched),
        ("opencode", "read", json!({"filePath": "a"}), "read read:/w/a"),
        ("dispatch", "edit_file", json!({"path": "a"}), "write write:/w/a"),
        ("dispatch", "run_shell", json!({"command": "rm a"}), "execute delete:/w/a $ rm a"),
        ("dispatch", "search_files", json!({"path": "src", "pattern": "x"}), "search read:/w/src"),
        ("dispatch", "todo", json!({}), "other"),
        ("native", "read_file", json!({"path": "a", "start_line": 3}), "read read:/w/a"),
        ("native", "write_file", json!({"path": "a", "content": "x"}), "write write:/w/a"),
        ("native", "edit_file", json!({"path": "a", "old_text": "x", "new_text": "y"}), "write write:/w/a"),
        ("native", "list_files", json!({"path": "src"}), "read read:/w/src"),
        ("native", "find_files", json!({"path": "src", "pattern": "*.rs"}), "search read:/w/src"),
        ("native", "search_files", json!({"path": "src", "pattern": "x", "glob": "*.rs"}), "search read:/w/src"),
        ("native", "run_shell", json!({"command": "rm a", "workdir": "src"}), "execute delete:/w/src/a $ rm a"),
        ("native", "shell_status", json!({"id": "sh1"}), "other"),
        ("native", "shell_output", json!({"id": "sh1"}), "other"),
        ("native", "shell_kill", json!({"id": "sh1"}), "other"),
        (
            "native",
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Add File: c\n+x\n*** End Patch"}),
            "write delete:/w/a create:/w/b create:/w/c",
        ),
        ("native", "Write", json!({"file_path": "a"}), "write write:/w/a"),
        ("native", "run_in_terminal", json!({"command": "ls"}), "execute read:/w $ ls"),
        ("some-new-host", "Bash", json!({"command": "ls"}), "execute read:/w $ ls"),
        ("roo", "apply_diff", json!({"path": "a"}), "write write:/w/a"),
        ("claude-code", "Write", json!(null), "write"),
        ("claude-code", "Write", json!({"file_path": 7}), "write"),
        ("claude-code", "Bash", json!({}), "execute"),
        ("claude-code", "", json!({}), "other"),
    ];
    let mut differences = Vec::new();
    for (host, tool, input, expected) in table {
        let found = shown(&classify(host, tool, &input));
        if found != expected {
            differences.push(format!("{host} {tool} {input}\n  - {expected}\n  + {found}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_json_shape_is_fixed() {
    let call = classify("claude-code", "Bash", &json!({"command": "rm *.o"}));
    let expected = json!({
        "name": "Bash",
        "kind": "execute",
        "paths": [{"path": "/w/*.o", "access": "delete", "glob": true}],
        "command": "rm *.o",
    });
    assert_eq!(serde_json::to_value(&call).expect("json"), expected);
    let call = classify("claude-code", "Read", &json!({"file_path": "a"}));
    let expected =
        json!({"name": "Read", "kind": "read", "paths": [{"path": "/w/a", "access": "read"}], "command": null});
    assert_eq!(serde_json::to_value(&call).expect("json"), expected);
}

#[test]
fn read_only_is_claimed_only_where_it_is_known() {
    let table = [
        ("Read", json!({"file_path": "a"}), true),
        ("Grep", json!({"pattern": "x"}), true),
        ("Bash", json!({"command": "git status && ls"}), true),
        ("Bash", json!({"command": "foo"}), false),
        ("Bash", json!({}), false),
        ("Write", json!({"file_path": "a"}), false),
        ("WebFetch", json!({"url": "https://x"}), false),
        ("PowerShell", json!({"command": "ls"}), false),
        ("mcp__a__b", json!({}), false),
        ("Nope", json!({}), false),
    ];
    for (tool, input, expected) in table {
        assert_eq!(classify("claude-code", tool, &input).is_read_only(), expected, "{tool} {input}");
    }
}

#[test]
fn urls_come_from_fields_or_from_the_prompt() {
    let call = classify("vscode-copilot", "fetch_webpage", &json!({"urls": ["https://a", "https://b"]}));
    assert_eq!(call.urls, ["https://a", "https://b"]);
    let call = classify("gemini-cli", "web_fetch", &json!({"prompt": "Read https://a/b, then (http://c)."}));
    assert_eq!(call.urls, ["https://a/b", "http://c"]);
}

#[test]
fn relative_paths_stay_relative_without_a_working_directory() {
    let input = json!({"file_path": "src/a"});
    let call =
        ToolCall::classify(&ReportedCall { host: "claude-code", tool: "Write", input: &input, cwd: "", home: None });
    assert_eq!((call.paths[0].path.as_str(), call.paths[0].access), ("src/a", Access::Write));
}
