//! Tools other than the shell, the shells of other hosts, and the host's own limits.

use dispatch_hook_module::HookAction;
use dispatch_hook_module::testing::TestInvocation;
use serde_json::{Value, json};

use super::super::GraphPretooluse;
use super::code;

/// An index of git that claims this many entries.
fn index(entries: u32) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x02".to_vec();
    bytes.extend(entries.to_be_bytes());
    bytes.extend([0; 32]);
    bytes
}

fn on(host: &'static str, tool: &str, input: Value) -> TestInvocation {
    TestInvocation::before_tool(tool, input).with(|scene| scene.event.host = host)
}

#[test]
fn the_shells_of_other_hosts_are_judged_alike() {
    let calls = [
        on("codex", "shell", json!({"command": ["bash", "-lc", "rm -rf /"]})),
        on("gemini-cli", "run_shell_command", json!({"command": "rm -rf /"})),
        on("cursor", "Shell", json!({"command": "rm -rf /"})),
        on("vscode-copilot", "run_in_terminal", json!({"command": "rm -rf /"})),
        on("windsurf", "run_command", json!({"CommandLine": "rm -rf /"})),
        on("opencode", "bash", json!({"command": "rm -rf /"})),
        on("cline", "execute_command", json!({"command": "rm -rf /"})),
        on("crush", "bash", json!({"command": "rm -rf /"})),
        on("codex", "shell", json!({"command": ["rm", "-rf", ".."], "workdir": "/repo/src"})),
    ];
    let expected = ["UB01"; 8].into_iter().chain(["UB01"]);
    for (scene, expected) in calls.iter().zip(expected) {
        assert_eq!(code(scene), expected, "{} {:?}", scene.event.host, scene.event.tool_name);
    }
}

#[test]
fn the_hosts_own_limits_lift_endless_commands() {
    let with = |more: Value| {
        let mut input = json!({"command": "tail -f x"});
        if let (Some(input), Value::Object(more)) = (input.as_object_mut(), more) {
            input.extend(more);
        }
        code(&TestInvocation::before_tool("Bash", input))
    };
    assert_eq!(with(json!({})), "UB03");
    assert_eq!(with(json!({"run_in_background": true})), "");
    assert_eq!(with(json!({"run_in_background": false})), "UB03");
    assert_eq!(with(json!({"timeout": 5000})), "");
    assert_eq!(with(json!({"timeout": 0})), "UB03");
    assert_eq!(with(json!({"isBackground": true})), "");
    assert_eq!(with(json!({"Blocking": false})), "");
}

#[test]
fn queries_of_mcp_tools_are_judged() {
    let table = [
        ("mcp__neo4j__read_neo4j_cypher", json!({"query": "MATCH (n) RETURN n"}), "UB06"),
        ("mcp__neo4j__read_neo4j_cypher", json!({"query": "MATCH (n) RETURN n LIMIT 10"}), ""),
        ("mcp__neo4j__write_neo4j_cypher", json!({"query": "MATCH (a)-[*]-(b) DELETE a"}), "UB06"),
        ("mcp__graph__run", json!({"cypher": "MATCH (n) RETURN n"}), "UB06"),
        ("mcp__graph__run", json!({"statements": [{"statement": "MATCH (n) RETURN n"}]}), "UB06"),
        ("mcp__anything__ask", json!({"query": "MATCH (n:User) RETURN n"}), "UB06"),
        ("mcp__postgres__query", json!({"sql": "DELETE FROM users"}), "UB07"),
        ("mcp__postgres__query", json!({"sql": "DELETE FROM users WHERE id = 1"}), ""),
        ("mcp__postgres__query", json!({"query": "drop table users"}), "UB07"),
        ("mcp__sqlite__write_query", json!({"query": "UPDATE t SET a = 1"}), "UB07"),
        ("mcp__x__run", json!({"sql": ["SELECT 1", "TRUNCATE t"]}), "UB07"),
        ("mcp__web__search", json!({"query": "delete from list python"}), ""),
        ("mcp__web__search", json!({"query": "match socks and return them"}), ""),
        ("mcp__docs__ask", json!({"query": "drop table in sql"}), ""),
        ("mcp__postgres__query", json!({"sql": 5}), ""),
        ("mcp__postgres__query", json!("DELETE FROM t"), ""),
        ("WebSearch", json!({"query": "DELETE FROM t"}), ""),
        ("Write", json!({"file_path": "/repo/a.sql", "content": "DELETE FROM t", "query": "DELETE FROM t"}), ""),
    ];
    for (tool, input, expected) in table {
        assert_eq!(code(&TestInvocation::before_tool(tool, input.clone())), expected, "{tool} {input}");
    }
}

#[test]
fn a_server_named_by_the_event_makes_any_tool_an_mcp_tool() {
    let scene = on("cursor", "read_cypher", json!({"query": "MATCH (n) RETURN n"}));
    let scene = scene.with(|scene| scene.event.mcp_server = Some("neo4j".to_owned()));
    assert_eq!(code(&scene), "UB06");
}

#[test]
fn other_tools_write_no_device_and_search_no_disk() {
    let table = [
        ("Write", json!({"file_path": "/dev/sda", "content": ""}), "UB05"),
        ("Edit", json!({"file_path": "/boot/grub/grub.cfg"}), "UB05"),
        ("Write", json!({"file_path": "/repo/src/a.rs", "content": "rm -rf /"}), ""),
        ("Read", json!({"file_path": "/boot/grub/grub.cfg"}), ""),
        ("Grep", json!({"pattern": "x", "path": "/"}), "UB02"),
        ("Grep", json!({"pattern": "x", "path": "~"}), "UB02"),
        ("Glob", json!({"pattern": "**/*.rs", "path": ".."}), "UB02"),
        ("Grep", json!({"pattern": "x", "path": "src"}), ""),
        ("Grep", json!({"pattern": "x", "path": "/usr/include"}), ""),
        ("Grep", json!({"pattern": "rm -rf /"}), ""),
    ];
    for (tool, input, expected) in table {
        assert_eq!(code(&TestInvocation::before_tool(tool, input.clone())), expected, "{tool} {input}");
    }
}

#[test]
fn a_search_of_a_large_workspace_needs_a_pattern() {
    let large =
        |tool: &str, input: Value| code(&TestInvocation::before_tool(tool, input).file(".git/index", index(60_000)));
    assert_eq!(large("Grep", json!({"pattern": "x"})), "UB08");
    assert_eq!(large("Grep", json!({"pattern": "x", "path": "/repo"})), "UB08");
    assert_eq!(large("Grep", json!({"pattern": "x", "glob": "*"})), "UB08");
    assert_eq!(large("Grep", json!({"pattern": "x", "glob": "*.rs"})), "");
    assert_eq!(large("Grep", json!({"pattern": "x", "type": "rust"})), "");
    assert_eq!(large("Grep", json!({"pattern": "x", "path": "src"})), "");
    assert_eq!(large("Glob", json!({"pattern": "**/*"})), "UB08");
    assert_eq!(large("Glob", json!({"pattern": "**/*.rs"})), "");
    assert_eq!(large("WebSearch", json!({"query": "x"})), "");
    assert_eq!(large("Bash", json!({"command": "grep -rn x ."})), "UB08");
    assert_eq!(large("Bash", json!({"command": "rg x"})), "UB08");
    assert_eq!(large("Bash", json!({"command": "rg -g '*.rs' x"})), "");
    assert_eq!(large("Bash", json!({"command": "grep -r --include='*.rs' x ."})), "");
    assert_eq!(large("Bash", json!({"command": "grep -r x src"})), "");
    assert_eq!(large("Bash", json!({"command": "find . -name x"})), "");
}

#[test]
fn the_number_of_files_is_an_estimate_that_is_kept() {
    let search = || TestInvocation::before_tool("Grep", json!({"pattern": "x"}));
    assert_eq!(search().handle(&GraphPretooluse), HookAction::none());
    assert_eq!(code(&search().file(".git/index", index(40_000))), "");
    assert_eq!(code(&search().file(".git/index", index(40_000)).config(json!({"maxFiles": 100}))), "UB08");
    assert_eq!(code(&search().file(".git/index", "not an index")), "");
    let huge = vec![0; 300];
    assert_eq!(code(&search().file(".git/index", huge).config(json!({"maxFiles": 1}))), "UB08");

    let counted = search().file(".git/index", index(7)).handle(&GraphPretooluse);
    let Some(patch) = counted.state_patch else { panic!("the estimate is kept") };
    assert_eq!(patch["graph-pretooluse"]["trackedFiles"], 7);
    let kept = search().file(".git/index", index(60_000)).state(patch);
    assert_eq!(kept.handle(&GraphPretooluse), HookAction::none());
}
