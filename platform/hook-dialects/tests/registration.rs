//! Registration edits other programs' files: nothing of theirs may be lost, and ours must be found.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use dispatch_hook_dialects::dialect;
use dispatch_hook_dialects::register::{
    self, CommandLine, Launch, Layout, RegisterError, Registered, Removal, Scope, System, Target,
};

use serde_json::{Value, json};

fn unix() -> CommandLine {
    CommandLine::new(["dispatch", "hook"], System::Unix)
}

fn target(host: &str) -> Target {
    let all = register::targets(host, Scope::Project, System::Unix, Layout::Current).expect("targets");
    all.into_iter().next_back().expect("at least one")
}

fn every_target() -> Vec<(&'static str, Target)> {
    let mut found = Vec::new();
    for dialect in dialect::ALL.iter().filter(|dialect| dialect.id() != "native") {
        for scope in [Scope::Project, Scope::User] {
            for system in [System::Unix, System::Windows] {
                let targets = register::targets(dialect.id(), scope, system, Layout::WithLegacy).expect("targets");
                found.extend(targets.into_iter().map(|target| (dialect.id(), target)));
            }
        }
    }
    found
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn merging_into_nothing_registers_and_twice_changes_nothing() {
    for (host, target) in every_target() {
        let text = target.merge(None, &unix()).expect("merge");
        assert_eq!(target.check(None, &unix()), Ok(Registered::Missing), "{host}");
        assert_eq!(target.check(Some(&text), &unix()), Ok(Registered::Yes), "{host} {}", target.path);
        assert_eq!(target.merge(Some(&text), &unix()).as_ref(), Ok(&text), "{host}");
        assert_eq!(target.remove(&text), Ok(Removal::Delete), "{host} {}", target.path);
    }
}

#[test]
fn every_registered_command_names_an_event_its_host_has() {
    for (host, target) in every_target() {
        let text = target.merge(None, &unix()).expect("merge");
        for line in text.split('"').filter(|piece| piece.starts_with("dispatch hook ")) {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, _, event, "--host", named] = words[..] else { panic!("{line}") };
            assert_eq!(named, host);
            let support = dialect::by_name(host).expect("a host").support();
            assert!(support.events.iter().any(|row| row.host_event == event), "{line}");
        }
    }
}

/// A file with other people's hooks, per shape.
fn others(host: &str) -> &'static str {
    match host {
        "devin" | "factory-droid" => {
            r#"{"PreToolUse":[{"matcher":"exec","hooks":[{"type":"command","command":"mine.sh"}]}],"Mine":[]}"#
        }
        "kiro" => {
            r#"{"version":"v1","hooks":[{"name":"lint","trigger":"PreToolUse","action":{"type":"command","command":"lint"}}]}"#
        }
        "vscode-copilot" | "copilot-cli" | "cursor" | "windsurf" | "crush" => {
            r#"{"version":1,"theme":{"a":[1,2.5,null]},"hooks":{"PreToolUse":[{"command":"mine.sh"}],"preToolUse":[{"command":"mine.sh"}],"pre_run_command":[{"command":"mine.sh"}]}}"#
        }
        _ => {
            r#"{"permissions":{"allow":["Bash(ls)"]},"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"mine.sh"}]}],"BeforeTool":[{"hooks":[{"type":"command","command":"mine.sh"}]}]}}"#
        }
    }
}

#[test]
fn merging_keeps_what_others_wrote_and_removing_restores_it() {
    for dialect in dialect::ALL {
        let host = dialect.id();
        if ["native", "cline", "opencode"].contains(&host) {
            continue;
        }
        let target = target(host);
        let before = others(host);
        let merged = target.merge(Some(before), &unix()).expect("merge");
        assert!(merged.contains("mine.sh") || merged.contains("lint"), "{host}: {merged}");
        assert_eq!(target.check(Some(&merged), &unix()), Ok(Registered::Yes), "{host}");
        assert_eq!(target.check(Some(before), &unix()), Ok(Registered::Missing), "{host}");
        let Ok(Removal::Keep(after)) = target.remove(&merged) else { panic!("{host}: kept nothing") };
        assert_eq!(parse(&after), parse(before), "{host}");
        assert_eq!(target.remove(before), Ok(Removal::Keep(before.to_owned())), "{host}");
    }
}

#[test]
fn the_sample_configurations_are_extended_not_replaced() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fixtures");
    for (host, file) in [
        ("claude-code", "claude-code/config/settings.json"),
        ("codex", "codex/config/hooks.json"),
        ("vscode-copilot", "vscode-copilot/config/github-hooks.json"),
        ("cursor", "cursor/config/hooks.json"),
        ("gemini-cli", "gemini-cli/config/settings.json"),
        ("windsurf", "windsurf/config/hooks.json"),
        ("devin", "devin/config/hooks.v1.json"),
        ("kiro", "kiro/config/v1-hook.json"),
        ("factory-droid", "factory-droid/config/hooks.json"),
        ("crush", "crush/config/crush.json"),
        ("goose", "goose/config/hooks.json"),
    ] {
        let before = fs::read_to_string(fixtures.join(file)).expect("a sample");
        let target = target(host);
        let merged = target.merge(Some(&before), &unix()).expect(host);
        assert!(merged.contains("hookd"), "{host}");
        let Ok(Removal::Keep(after)) = target.remove(&merged) else { panic!("{host}: kept nothing") };
        assert_eq!(parse(&after), parse(&before), "{host}");
    }
}

#[test]
fn another_program_is_a_difference_and_merging_repairs_it_without_touching_the_tuning() {
    let target = target("claude-code");
    let old = target.merge(None, &CommandLine::new(["/old/dispatch-hook"], System::Unix)).expect("merge");
    let tuned = old.replace("\"timeout\": 10", "\"timeout\": 99");
    let Ok(Registered::Differs(differences)) = target.check(Some(&tuned), &unix()) else { panic!("no difference") };
    assert_eq!(differences.len(), 10);
    assert!(differences[0].contains("/old/dispatch-hook SessionStart"), "{differences:?}");
    let merged = target.merge(Some(&tuned), &unix()).expect("merge");
    assert_eq!(target.check(Some(&merged), &unix()), Ok(Registered::Yes));
    assert!(merged.contains("\"timeout\": 99") && !merged.contains("/old/"));

    let mut partial = parse(&merged);
    partial["hooks"].as_object_mut().expect("hooks").remove("Stop");
    let Ok(Registered::Differs(missing)) = target.check(Some(&partial.to_string()), &unix()) else {
        panic!("complete")
    };
    assert_eq!(missing, ["Stop: not registered"]);
}

#[test]
fn a_program_of_another_name_is_registered_once() {
    let renamed = CommandLine::new(["/opt/policy"], System::Unix);
    for (host, target) in every_target() {
        let text = target.merge(None, &renamed).expect("merge");
        assert_eq!(target.check(Some(&text), &renamed), Ok(Registered::Yes), "{host}");
        assert_eq!(target.merge(Some(&text), &renamed).as_ref(), Ok(&text), "{host}");
    }
}

#[test]
fn vscode_and_copilot_share_one_entry() {
    let vscode = target("vscode-copilot");
    let copilot = target("copilot-cli");
    assert_eq!(vscode.path, ".github/hooks/dispatch.json");
    assert_eq!(vscode.path, copilot.path);
    let text = vscode.merge(None, &unix()).expect("merge");
    assert_eq!(copilot.check(Some(&text), &unix()), Ok(Registered::Yes));
    assert_eq!(copilot.merge(Some(&text), &unix()), Ok(text));
    let legacy = register::targets("vscode", Scope::Project, System::Unix, Layout::WithLegacy).expect("targets");
    let paths: Vec<&str> = legacy.iter().map(|target| target.path.as_str()).collect();
    assert_eq!(paths, [".github/hooks/dispatch.json", ".github/hooks.json"]);
}

#[test]
fn the_registration_of_vscode_has_the_documented_form() {
    let text = target("vscode-copilot").merge(None, &unix()).expect("merge");
    let stop = json!([{"type": "command", "command": "dispatch hook Stop --host vscode-copilot", "timeout": 15}]);
    let hooks = &parse(&text)["hooks"];
    assert_eq!(hooks["Stop"], stop);
    assert_eq!(hooks.as_object().map(serde_json::Map::len), Some(9));
    assert_eq!(hooks["PreToolUse"][0]["timeout"], 10);
}

#[test]
fn windows_gets_its_own_line_where_the_quoting_differs() {
    let command = CommandLine::new([r"C:\Program Files\Dispatch\dispatch-hook.exe"], System::Windows);
    let line = |host: &str, pointer: &str| {
        let text = target(host).merge(None, &command).expect("merge");
        parse(&text).pointer(pointer).and_then(Value::as_str).map(ToOwned::to_owned)
    };
    let powershell = "& 'C:/Program Files/Dispatch/dispatch-hook.exe' PreToolUse --host vscode-copilot";
    assert_eq!(line("vscode-copilot", "/hooks/PreToolUse/0/windows").as_deref(), Some(powershell));
    assert_eq!(
        line("codex", "/hooks/PreToolUse/0/hooks/0/commandWindows").as_deref(),
        Some("\"C:/Program Files/Dispatch/dispatch-hook.exe\" PreToolUse --host codex")
    );
    assert_eq!(
        line("gemini-cli", "/hooks/BeforeTool/0/hooks/0/command").as_deref(),
        Some("& 'C:/Program Files/Dispatch/dispatch-hook.exe' BeforeTool --host gemini-cli")
    );
    let plain = target("codex").merge(None, &CommandLine::new(["dispatch", "hook"], System::Windows)).expect("merge");
    assert!(!plain.contains("commandWindows"));
}

#[test]
fn layout_is_kept() {
    let target = target("claude-code");
    let before = "{\r\n\t\"a\": 1\r\n}";
    let merged = target.merge(Some(before), &unix()).expect("merge");
    assert!(merged.starts_with("{\r\n\t\"a\": 1,\r\n\t\"hooks\"") && merged.ends_with('}'), "{merged}");
    assert_eq!(target.remove(&merged), Ok(Removal::Keep(before.to_owned())));
    assert!(target.merge(Some("  \n"), &unix()).is_ok(), "a blank file counts as none");
}

#[test]
fn comments_and_trailing_commas_stay_where_they_are() {
    let files = [
        "{ // why\n}",
        "{\n  // the theme\n  \"theme\": \"dark\", /* not light */\n  \"list\": [1, 2,],\n}\n",
        "{\r\n    // x\r\n    \"url\": \"http://x\" // not a comment: http\r\n}\r\n",
        "{\n  \"hooks\": {\n    // mine\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]} // mine\n    ] // last\n  }\n}\n",
    ];
    for host in ["claude-code", "gemini-cli", "qwen-code"] {
        let target = target(host);
        for before in files {
            let merged =
                target.merge(Some(before), &unix()).unwrap_or_else(|error| panic!("{host}: {error}: {before}"));
            for line in before.lines().filter(|line| line.contains("//") || line.contains("/*")) {
                let comment = line.find("/*").or_else(|| line.rfind("//")).and_then(|at| line.get(at..));
                assert!(merged.contains(comment.unwrap_or_default()), "{host}: {merged}");
            }
            assert_eq!(target.check(Some(&merged), &unix()), Ok(Registered::Yes), "{host}: {merged}");
            assert_eq!(target.merge(Some(&merged), &unix()).as_deref(), Ok(merged.as_str()), "{host}: twice");
            assert_eq!(target.remove(&merged), Ok(Removal::Keep(before.to_owned())), "{host}: {merged}");
        }
    }
    let twice = target("gemini-cli").merge(Some("{\"a\": 1, // x\n\"a\": 2}"), &unix());
    assert_eq!(twice, Err(RegisterError::DuplicateKey { key: "a".to_owned() }));
}

#[test]
fn a_file_that_cannot_be_edited_safely_is_left_alone() {
    let target = target("gemini-cli");
    let merge = |text: &str| target.merge(Some(text), &unix()).expect_err(text);
    assert!(matches!(merge("{\"a\": tru}"), RegisterError::Syntax { line: 1, .. }));
    assert!(matches!(merge("{} {}"), RegisterError::Syntax { .. }));
    assert!(matches!(merge("[]"), RegisterError::Shape { .. }));
    assert!(matches!(merge("{\"hooks\": []}"), RegisterError::Shape { .. }));
    assert!(matches!(merge("{\"hooks\": {\"BeforeTool\": {}}}"), RegisterError::Shape { .. }));
    assert_eq!(merge("{\"x\":{\"a\":1,\"a\":2}}"), RegisterError::DuplicateKey { key: "a".to_owned() });
    let script = register::targets("cline", Scope::Project, System::Unix, Layout::Current).expect("targets");
    let script = script.first().expect("a script");
    assert!(script.executable);
    assert_eq!(script.merge(Some("#!/bin/sh\necho mine\n"), &unix()), Err(RegisterError::ForeignFile));
    assert!(matches!(
        register::targets("native", Scope::Project, System::Unix, Layout::Current),
        Err(RegisterError::NothingToRegister { host: "native" })
    ));
    assert!(matches!(
        register::targets("emacs", Scope::Project, System::Unix, Layout::Current),
        Err(RegisterError::UnknownHost { .. })
    ));
}

#[test]
fn what_was_registered_is_found_again_as_the_host_would_start_it() {
    let program = "/opt/my tools/dispatch-hook";
    let command = CommandLine::new([program], System::Unix);
    for (host, target) in every_target() {
        let text = target.merge(None, &command).expect("merge");
        let found = target.commands(&text, System::Unix).expect("readable");
        if target.path.ends_with("plugin.json") {
            assert!(found.is_empty());
            continue;
        }
        assert!(!found.is_empty(), "{host} {}", target.path);
        for one in found {
            match one.launch {
                Launch::Line { line, .. } => {
                    assert!(line.contains(program) && line.contains(one.event), "{host}: {line}");
                    assert!(line.ends_with(&format!("--host {host}")), "{host}: {line}");
                }
                Launch::Words(words) => assert_eq!(words, [program, one.event, "--host", host]),
                Launch::File { .. } => assert_eq!(host, "cline"),
            }
        }
        let stripped = text.replace("dispatch", "another");
        let emptied = target.commands(&stripped.replace("Managed", "Written"), System::Unix).expect("readable");
        assert!(emptied.is_empty(), "{host}: {emptied:?}");
    }
}

#[test]
fn a_time_limit_below_ours_is_a_difference_and_is_raised() {
    let target = target("claude-code");
    let text = target.merge(None, &unix()).expect("merge").replace("\"timeout\": 10", "\"timeout\": 1");
    let Ok(Registered::Differs(differences)) = target.check(Some(&text), &unix()) else { panic!("no difference") };
    assert!(differences.iter().any(|line| line == "PreToolUse: `timeout` is 1, and should be 10"), "{differences:?}");
    let merged = target.merge(Some(&text), &unix()).expect("merge");
    assert_eq!(target.check(Some(&merged), &unix()), Ok(Registered::Yes));
}

#[test]
fn droid_has_its_events_at_the_root_and_loses_the_wrapped_form_of_before() {
    let target = target("factory-droid");
    let text = target.merge(None, &unix()).expect("merge");
    assert!(parse(&text)["PreToolUse"].is_array() && parse(&text).get("hooks").is_none(), "{text}");
    let wrapped = json!({"hooks": parse(&text)}).to_string();
    let merged = target.merge(Some(&wrapped), &unix()).expect("merge");
    assert_eq!(parse(&merged), parse(&text));
    assert_eq!(target.remove(&wrapped), Ok(Removal::Delete));
}

#[cfg(unix)]
#[test]
fn a_registered_line_goes_on_where_the_program_is_missing_and_says_so_once() {
    let command = CommandLine::on_path("dispatch-hook", System::Unix);
    for dialect in dialect::ALL.iter().filter(|dialect| !["native", "opencode"].contains(&dialect.id())) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut said = Vec::new();
        for target in register::targets(dialect.id(), Scope::Project, System::Unix, Layout::Current).expect("targets") {
            let text = target.merge(None, &command).expect("merge");
            let script = folder.path().join("script");
            fs::write(&script, &text).expect("a script");
            for registered in target.commands(&text, System::Unix).expect("commands") {
                let mut shell = std::process::Command::new("/bin/sh");
                match &registered.launch {
                    Launch::Line { line, .. } => shell.args(["-c", line]),
                    _ => shell.arg(&script),
                };
                let mut run = || {
                    let output =
                        shell.env("PATH", "/usr/bin:/bin").env("TMPDIR", folder.path()).output().expect("a shell");
                    let told = [&output.stdout, &output.stderr]
                        .iter()
                        .any(|text| String::from_utf8_lossy(text).contains("not on PATH"));
                    (told, output)
                };
                let name = dialect.event_name(registered.event);
                let (first, second) = (run(), run());
                if first.0 {
                    said.push(registered.event);
                    assert!(!second.0 || name.as_str() == "SessionStart", "{}: {}", dialect.id(), registered.event);
                }
                for (told, output) in [first, second] {
                    if !told {
                        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{registered:?}");
                        assert_eq!(
                            output.stdout.trim_ascii(),
                            dialect.go_on_bytes(&name).trim_ascii(),
                            "{registered:?}"
                        );
                    }
                }
            }
        }
        assert_eq!(said.len(), 1, "{}: {said:?}", dialect.id());
    }
}
