//! A new user wires every host with one command, sees what differs, and can take all of it back.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dispatch_kernel::services::schema;
use dispatch_support::{Output, TestContext};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Settings as people have them: in their own layout, with their own hooks.
const EXISTING: [(&str, &str); 6] = [
    (
        ".claude/settings.json",
        "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"PreToolUse\": [\n            { \"matcher\": \"Bash\", \
         \"hooks\": [{ \"type\": \"command\", \"command\": \"./lint.sh\" }] }\n        ]\n    }\n}",
    ),
    (
        ".cursor/hooks.json",
        "{\n\t\"version\": 1,\n\t\"hooks\": {\n\t\t\"stop\": [{ \"command\": \"notify\" }]\n\t}\n}\n",
    ),
    (".gemini/settings.json", "{\r\n  \"theme\": \"dark\"\r\n}\r\n"),
    (
        ".codex/hooks.json",
        "{\"description\":\"mine\",\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"bell\"}]}]}}",
    ),
    (".windsurf/hooks.json", "{\"hooks\": {\"pre_run_command\": [{\"command\": \"audit\", \"show_output\": true}]}}\n"),
    ("crush.json", "{\n  \"$schema\": \"https://charm.land/crush.json\",\n  \"lsp\": {}\n}\n"),
];

/// Every file below a folder.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                found.insert(format!("{}/", path.strip_prefix(folder).unwrap().display()), Vec::new());
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn init(context: &TestContext, arguments: &[&str]) -> Output {
    context.dispatch(&[&["init"], arguments].concat())
}

fn read(context: &TestContext, path: &str) -> String {
    std::fs::read_to_string(context.project().join(path)).unwrap()
}

fn json_of(context: &TestContext, path: &str) -> Value {
    serde_json::from_str(&read(context, path)).unwrap()
}

fn with_settings() -> TestContext {
    let context = TestContext::new();
    for (path, text) in EXISTING {
        context.write(path, text);
    }
    context
}

#[test]
fn every_host_is_registered_once_and_undo_restores_every_byte() {
    let context = with_settings();
    let before = tree(&context.project());
    let first = init(&context, &["--all"]);
    assert_eq!(first.status, 0, "{first:?}");
    assert!(first.stdout.contains("updated  .claude/settings.json"), "{first:?}");
    assert!(first.stdout.contains("wrote    .github/hooks/dispatch.json"), "{first:?}");
    assert!(first.stderr.contains("Cursor: switch off its import of third-party hooks"), "{first:?}");
    let after = tree(&context.project());

    let second = init(&context, &["--all"]);
    assert_eq!(second.status, 0, "{second:?}");
    assert!(!second.stdout.contains("wrote") && !second.stdout.contains("updated"), "{second:?}");
    assert_eq!(tree(&context.project()), after, "a second run changes nothing");
    assert_eq!(init(&context, &["--check"]).status, 0);

    let undone = init(&context, &["--undo"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    assert_eq!(tree(&context.project()), before);
    let nothing = init(&context, &["--undo"]);
    assert!(nothing.stdout.contains("nothing to undo"), "{nothing:?}");
}

#[test]
fn what_people_had_in_their_settings_stays_and_works() {
    let context = with_settings();
    assert_eq!(init(&context, &["--all"]).status, 0);
    let claude = json_of(&context, ".claude/settings.json");
    assert_eq!(claude["model"], "opus");
    assert_eq!(claude["hooks"]["PreToolUse"][0]["hooks"][0]["command"], "./lint.sh");
    let ours = claude["hooks"]["PreToolUse"][1]["hooks"][0]["command"].as_str().unwrap();
    assert!(ours.ends_with("PreToolUse --host claude-code"), "{ours}");
    assert!(ours.contains("exec dispatch-hook "), "a project names the program, not its place: {ours}");
    assert!(read(&context, ".claude/settings.json").contains("\n    \"model\""), "the indent stays");
    assert!(!read(&context, ".claude/settings.json").ends_with('\n'), "and so does the end of the file");
    assert_eq!(json_of(&context, ".cursor/hooks.json")["hooks"]["stop"][0]["command"], "notify");
    assert!(read(&context, ".gemini/settings.json").contains("\"theme\": \"dark\",\r\n"));
    assert_eq!(json_of(&context, ".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"], "bell");
    assert_eq!(json_of(&context, ".windsurf/hooks.json")["hooks"]["pre_run_command"][0]["command"], "audit");
    assert_eq!(json_of(&context, "crush.json")["lsp"], json!({}));
}

#[test]
fn a_file_that_cannot_be_merged_stops_everything_before_anything_is_written() {
    let broken = [
        (".claude/settings.json", "{ \"hooks\": ", "not valid JSON"),
        (".cursor/hooks.json", "{ // mine\n \"version\": }", "not valid JSON"),
        (".codex/hooks.json", "{\"hooks\": []}", "is not an object"),
        (".windsurf/hooks.json", "{\"a\": 1, \"a\": 2}", "twice"),
        (".opencode/plugins/dispatch.js", "export default 1;\n", "did not write"),
        (".clinerules/hooks/PreToolUse", "#!/bin/sh\nexit 0\n", "did not write"),
    ];
    for (path, text, why) in broken {
        let context = TestContext::new();
        context.write(path, text);
        let before = tree(&context.project());
        let output = init(&context, &["--all"]);
        assert_eq!(output.status, 3, "{path}: {output:?}");
        assert!(output.stderr.contains(path) && output.stderr.contains(why), "{path}: {output:?}");
        assert!(output.stderr.contains("hint: nothing was changed"), "{output:?}");
        assert_eq!(tree(&context.project()), before, "{path}");
    }
    let context = TestContext::new();
    context.write(".claude/settings.json", b"\xff\xfe{}");
    assert_eq!(init(&context, &["--all"]).status, 3);
    assert_eq!(init(&context, &["--host", "cursor"]).status, 0, "the other hosts can still be registered");
}

#[test]
fn a_failure_midway_takes_back_what_was_written() {
    let context = with_settings();
    context.write(".factory", "a file where a folder should be");
    let before = tree(&context.project());
    let output = init(&context, &["--all"]);
    assert_ne!(output.status, 0, "{output:?}");
    assert!(output.stderr.contains(".factory"), "{output:?}");
    assert!(output.stderr.contains("nothing was changed"), "{output:?}");
    assert_eq!(tree(&context.project()), before);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_of_the_project_is_not_followed() {
    let context = TestContext::new();
    context.write_home("elsewhere/settings.json", "{}");
    std::fs::create_dir_all(context.project().join(".claude")).unwrap();
    let target = context.home().join("elsewhere/settings.json");
    std::os::unix::fs::symlink(&target, context.project().join(".claude/settings.json")).unwrap();
    let output = init(&context, &["--host", "claude-code"]);
    assert_eq!(output.status, 3, "{output:?}");
    assert!(output.stderr.contains("a link leads out of the project"), "{output:?}");
    assert_eq!(std::fs::read_to_string(target).unwrap(), "{}");
}

#[test]
fn others_who_wrote_since_lose_nothing_when_it_is_undone() {
    let context = with_settings();
    assert_eq!(init(&context, &["--host", "cursor", "--host", "claude-code"]).status, 0);
    let mut cursor = json_of(&context, ".cursor/hooks.json");
    cursor["hooks"]["afterFileEdit"] = json!([{"command": "format"}]);
    context.write(".cursor/hooks.json", serde_json::to_string_pretty(&cursor).unwrap());
    context.write(".ai/hooks/config.json", "{\"prompts\": \"hash\"}");
    let undone = init(&context, &["--undo"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    assert!(undone.stdout.contains("only our entries were taken out"), "{undone:?}");
    assert!(undone.stdout.contains("kept      .ai/hooks/config.json"), "{undone:?}");
    let cursor = json_of(&context, ".cursor/hooks.json");
    assert_eq!(cursor["hooks"], json!({"stop": [{"command": "notify"}], "afterFileEdit": [{"command": "format"}]}));
    assert_eq!(read(&context, ".ai/hooks/config.json"), "{\"prompts\": \"hash\"}");
    assert_eq!(read(&context, ".claude/settings.json"), EXISTING[0].1);
}

#[test]
fn one_host_of_several_can_be_taken_back() {
    let context = TestContext::new();
    assert_eq!(init(&context, &["--all"]).status, 0);
    assert_eq!(init(&context, &["--undo", "--host", "cursor"]).status, 0);
    assert!(!context.project().join(".cursor").exists());
    assert!(context.project().join(".ai/hooks/dispatch.manifest.json").exists());
    let shared = init(&context, &["--undo", "--host", "copilot-cli"]);
    assert!(shared.stdout.contains("it serves vscode-copilot too"), "{shared:?}");
    assert!(context.project().join(".github/hooks/dispatch.json").exists());
    let check = init(&context, &["--check"]);
    assert_eq!(check.status, 0, "{check:?}");
}

#[test]
fn a_clone_without_the_restore_file_is_undone_as_far_as_it_is_known() {
    let context = TestContext::new();
    assert_eq!(init(&context, &["--host", "claude-code"]).status, 0);
    std::fs::remove_file(context.project().join(".ai/hooks/restore.json")).unwrap();
    let undone = init(&context, &["--undo"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    assert!(!context.project().join(".claude/settings.json").exists());
    assert!(undone.stdout.contains("no restore file"), "{undone:?}");
    context.write(".ai/hooks/restore.json", "{");
    let damaged = init(&context, &["--undo"]);
    assert_eq!(damaged.status, 3, "{damaged:?}");
}

#[test]
fn a_check_names_every_difference_and_changes_nothing() {
    let context = TestContext::new();
    let fresh = init(&context, &["--check"]);
    assert_eq!(fresh.status, 1, "{fresh:?}");
    assert!(fresh.stderr.contains("hint: `dispatch init`"), "{fresh:?}");
    assert_eq!(init(&context, &["--host", "cursor", "--host", "kiro"]).status, 0);
    let mut hooks = json_of(&context, ".cursor/hooks.json");
    hooks["hooks"]["preToolUse"][0]["command"] = "/old/dispatch-hook preToolUse --host cursor".into();
    hooks["hooks"].as_object_mut().unwrap().remove("stop");
    context.write(".cursor/hooks.json", hooks.to_string());
    std::fs::remove_file(context.project().join(".ai/hooks/schema/state.schema.json")).unwrap();
    let before = tree(&context.project());
    let output = init(&context, &["--check", "--json"]);
    assert_eq!(output.status, 1, "{output:?}");
    let files = output.json()["files"].clone();
    let of = |path: &str| -> Vec<String> {
        let rows = files.as_array().unwrap().iter().filter(|row| row["path"] == path);
        rows.map(|row| format!("{}: {}", row["action"].as_str().unwrap(), row["detail"].as_str().unwrap())).collect()
    };
    let cursor = of(".cursor/hooks.json");
    assert!(
        cursor.iter().any(|line| line.starts_with("differs: preToolUse: ") && line.contains("/old/dispatch-hook")),
        "{cursor:?}"
    );
    assert!(cursor.contains(&"differs: stop: not registered".to_owned()), "{cursor:?}");
    assert_eq!(of(".ai/hooks/schema/state.schema.json"), ["missing: "]);
    assert_eq!(tree(&context.project()), before);
    assert_eq!(init(&context, &["--host", "cursor"]).status, 0);
    assert_eq!(init(&context, &["--check"]).status, 0);
}

#[test]
fn hosts_are_found_by_what_they_leave_behind() {
    let context = TestContext::new();
    let empty = [("PATH", "/nonexistent")];
    let none = context.run("dispatch", &["init"], b"", &empty);
    assert_eq!(none.status, 2, "{none:?}");
    assert!(none.stderr.contains("name one: `dispatch init --host claude-code`"), "{none:?}");
    context.write(".clinerules/rules.md", "");
    context.write_home(".gemini/settings.json", "{}");
    let found = context.run("dispatch", &["init", "--json"], b"", &empty).json();
    assert_eq!(
        found["hosts"],
        json!([
            {"host": "gemini-cli", "because": "~/.gemini exists"},
            {"host": "cline", "because": ".clinerules is here"},
        ])
    );
    assert!(context.project().join(".clinerules/hooks/PreToolUse").exists());
    let unknown = init(&context, &["--host", "emacs"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("the hosts are: vscode-copilot, claude-code"), "{unknown:?}");
}

#[test]
fn the_full_set_is_switched_on_without_losing_a_tuned_manifest() {
    let context = TestContext::new();
    let modules = || -> Vec<String> {
        let manifest = json_of(&context, ".ai/hooks/dispatch.manifest.json");
        manifest["modules"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(init(&context, &["--host", "kiro"]).status, 0);
    assert_eq!(modules(), ["session", "self-guard", "graph-pretooluse", "intents", "planGraph-exec"]);
    let mut manifest = json_of(&context, ".ai/hooks/dispatch.manifest.json");
    manifest["budgets"]["PreToolUse"] = 250.into();
    context.write(".ai/hooks/dispatch.manifest.json", manifest.to_string());
    assert_eq!(init(&context, &["--host", "kiro", "--check"]).status, 0, "a tuned manifest is no difference");
    assert_eq!(init(&context, &["--host", "kiro", "--full", "--check"]).status, 1);
    assert_eq!(init(&context, &["--host", "kiro", "--full"]).status, 0);
    assert_eq!(modules().len(), 11);
    assert_eq!(json_of(&context, ".ai/hooks/dispatch.manifest.json")["budgets"]["PreToolUse"], 250);
}

#[test]
fn registering_for_all_projects_touches_only_the_home() {
    let context = TestContext::new();
    context.write_home(".claude/settings.json", "{\"model\": \"opus\"}");
    let before = tree(&context.project());
    let output = init(&context, &["--user", "--host", "claude-code", "--host", "windsurf"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(tree(&context.project()), before);
    let home = context.home();
    assert!(home.join(".codeium/windsurf/hooks.json").exists());
    assert_eq!(init(&context, &["--user", "--undo"]).status, 0);
    assert_eq!(std::fs::read_to_string(home.join(".claude/settings.json")).unwrap(), "{\"model\": \"opus\"}");
    assert!(!home.join(".codeium").exists());
}

#[test]
fn a_folder_without_a_project_is_not_written_to() {
    let context = TestContext::new();
    std::fs::remove_dir(context.project().join(".git")).unwrap();
    let output = init(&context, &["--all"]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.stderr.contains("hint: run this inside a git repository"), "{output:?}");
    assert!(tree(&context.project()).is_empty());
}

/// Everything that was written fits the schema that was written beside it.
#[test]
fn every_file_fits_its_schema() {
    let context = TestContext::new();
    assert_eq!(init(&context, &["--all", "--full"]).status, 0);
    let root = context.project().display().to_string();
    let events = [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "/new fix the form"})),
        ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1"})),
        (
            "PreToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf /x/y"}, "tool_use_id": "toolu_2"}),
        ),
        (
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1", "tool_response": {"stdout": "a"}}),
        ),
        ("SubagentStart", json!({"agent_id": "x", "agent_type": "Plan"})),
        ("Stop", json!({"stop_hook_active": false})),
    ];
    for (event, fields) in events {
        let mut payload = json!({"session_id": "s-1", "cwd": root, "hook_event_name": event});
        payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let text = payload.to_string();
        let output = context.run("dispatch-hook", &[event, "--host", "claude-code"], text.as_bytes(), &[]);
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
        fits(&context, "hook-input", &payload, event);
        let native = context.run("dispatch-hook", &[event, "--host", "native"], text.as_bytes(), &[]);
        fits(&context, "hook-output", &native.json(), event);
    }
    for (name, file) in [
        ("config", "config.json"),
        ("manifest", "dispatch.manifest.json"),
        ("rlm-policy", "rlm-policy.json"),
        ("followup-rules", "followup-rules.json"),
    ] {
        fits(&context, name, &json_of(&context, &format!(".ai/hooks/{file}")), file);
    }
    let mut lines = 0;
    let mut warnings = Vec::new();
    for (path, bytes) in tree(&context.project().join(".ai/tmp")) {
        let text = String::from_utf8(bytes).unwrap();
        if path.ends_with("state.json") {
            fits(&context, "state", &serde_json::from_str(&text).unwrap(), &path);
        }
        for (file, name) in [("events.jsonl", "event-record"), ("registry.jsonl", "artifact-record")] {
            for line in text.lines().filter(|_| path.ends_with(file)) {
                fits(&context, name, &serde_json::from_str(line).unwrap(), line);
                lines += 1;
                warnings.extend(line.contains("\"WARNING\"").then(|| line.to_owned()));
            }
        }
    }
    assert!(lines >= 14, "{lines}");
    assert_eq!(warnings, [""; 0], "what is written by default is understood by every module");
}

fn fits(context: &TestContext, name: &str, value: &Value, about: &str) {
    let schema = json_of(context, &format!(".ai/hooks/schema/{name}.schema.json"));
    assert_eq!(schema::check(&schema, value), [], "{about}: {value:#}");
}

#[test]
fn a_schema_is_printed_by_name_and_all_are_listed() {
    let context = TestContext::new();
    let listed = context.dispatch(&["schema"]).stdout;
    assert_eq!(listed.lines().count(), 13, "{listed}");
    for name in listed.lines().filter_map(|line| line.split_whitespace().next()) {
        let printed = context.dispatch(&["schema", name]);
        assert_eq!(printed.status, 0);
        assert!(printed.json()["$schema"].is_string(), "{name}");
    }
    assert_eq!(context.dispatch(&["schema", "state.schema.json"]).status, 0);
    assert_eq!(context.dispatch(&["schema", "nothing"]).status, 2);
}
