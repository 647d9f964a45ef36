//! What use found about intents, each as a test through the real executables.

use crate::intents_host::{Host, commit_all, entries, orchestration, shell, workspace};
use dispatch_support::TestContext;
use ext_intents::contract::testing::content_hash;
use ext_intents::contract::{Concurrency, MutationClass, ScopeValidation};
use serde_json::{Value, json};
use std::fs;

const MODULES: [&str; 2] = ["session", "intents"];

fn repository() -> TestContext {
    let context = workspace(&MODULES);
    context.write("src/web/page.ts", "one\ntwo\n");
    context.write("src/hooks/a.ts", "a\n");
    commit_all(&context);
    context
}

#[test]
fn a_failing_command_whose_end_is_not_reported_is_recorded_at_the_next_event() {
    for event in ["Stop", "SessionEnd", "PreToolUse"] {
        let context = repository();
        let host = Host::claude(&context, "s");
        host.select("INT-001");
        // No name of the file: what the analysis sees is refused before it runs.
        let command = "python3 -c \"import os; n=[os.path.join(d, f) for d, _, fs in os.walk('src') for f in fs \
            if f[:4] == 'page'][0]; open(n,'a').write('X')\"; exit 1";
        assert_eq!(host.denied("Bash", "1", &json!({ "command": command })), None);
        assert!(!shell(&context, command));
        let next =
            json!({"tool_name": "Read", "tool_input": {"file_path": host.path("src/hooks/a.ts")}, "tool_use_id": "2"});
        host.fire(event, &next);
        let found = entries(&context);
        assert_eq!(found.len(), 1, "{event}: {found:?}");
        assert_eq!((found[0].path(), found[0].scope_validation), (Some("src/web/page.ts"), ScopeValidation::Fail));
        assert_eq!((found[0].tool_use_id.as_deref(), found[0].intent_id.as_str()), (Some("1"), "INT-001"));
    }
}

#[test]
fn another_session_finds_what_an_open_call_changed() {
    let context = repository();
    let (first, second) = (Host::claude(&context, "first"), Host::claude(&context, "second"));
    first.select("INT-001");
    second.select("INT-002");
    assert_eq!(first.denied("Bash", "1", &json!({"command": "node x.js"})), None);
    context.write("src/web/page.ts", "changed\n");
    assert_eq!(second.write("2", "src/weather/w.ts", "w\n"), None);
    let found = entries(&context);
    let page = found.iter().find(|entry| entry.path() == Some("src/web/page.ts")).expect("an entry");
    assert_eq!((page.intent_id.as_str(), page.scope_validation), ("INT-001", ScopeValidation::Fail));
    let weather = found.iter().find(|entry| entry.path() == Some("src/weather/w.ts")).expect("an entry");
    assert_eq!((weather.intent_id.as_str(), found.len()), ("INT-002", 2));
}

#[test]
fn what_a_process_in_the_background_writes_later_is_recorded() {
    let context = repository();
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    let input = json!({"command": "nohup node later.js > /dev/null &"});
    assert_eq!(host.denied("Bash", "1", &input), None);
    host.ended("Bash", "1", &input, &json!({"exit_code": 0}));
    context.write("src/web/page.ts", "one\ntwo\nx\n");
    host.fire("Stop", &json!({}));
    let found = entries(&context);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].path(), found[0].scope_validation), (Some("src/web/page.ts"), ScopeValidation::Fail));
    assert!(found[0].note.as_deref().is_some_and(|note| note.contains("background")), "{found:?}");
}

#[test]
fn a_tool_of_a_server_is_reconciled_whatever_its_name_says() {
    for tool in ["search_replace", "find_replace", "get_and_write", "list_things"] {
        let context = repository();
        let host = Host::claude(&context, "s");
        host.select("INT-001");
        let (tool, input) = (format!("mcp__files__{tool}"), json!({"query": "x"}));
        assert_eq!(host.denied(&tool, "1", &input), None, "{tool}");
        context.write("src/web/page.ts", "by a server\n");
        let told = host.ended(&tool, "1", &input, &json!([{"type": "text", "text": "done"}]));
        assert!(told.contains("src/web/page.ts"), "{tool}: {told}");
        assert_eq!(entries(&context)[0].scope_validation, ScopeValidation::Fail, "{tool}");
    }
}

#[test]
fn a_missed_beginning_takes_the_content_before_from_git() {
    let context = repository();
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    context.write("src/hooks/a.ts", "a\nb\n");
    let input = json!({"file_path": host.path("src/hooks/a.ts"), "content": "a\nb\n"});
    host.ended("Write", "1", &input, &json!({"success": true}));
    let entry = &entries(&context)[0];
    assert_eq!(entry.mutation_class, MutationClass::IntentEvolution);
    assert_eq!(entry.file.as_ref().unwrap().pre_hash, Some(content_hash(b"a\n")));
    assert!(entry.note.as_deref().is_some_and(|note| note.contains("from the last commit")), "{entry:?}");
    let blame = context.dispatch(&["trace", "blame", "src/hooks/a.ts", "--json"]).json();
    assert_eq!((&blame[0]["by"], &blame[1]["by"]), (&json!("unknown"), &json!("agent")));
}

#[test]
fn a_persons_edit_that_a_reset_discards_is_recorded_as_that() {
    let context = repository();
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    context.write("src/hooks/a.ts", "by hand\n");
    assert!(host.run("1", "git reset --hard").is_ok());
    let found = entries(&context);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].concurrent, [Concurrency::DiscardedEdit]);
    assert_eq!(found[0].file.as_ref().unwrap().pre_hash, Some(content_hash(b"by hand\n")));
}

#[test]
fn everyday_git_build_folders_and_temporary_files_pass_under_an_intent() {
    let context = repository();
    context.write("dist/app.js", "built\n");
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    let commands =
        ["git checkout -b x", "git switch -c y", "git stash", "git pull", "rm -rf dist", "echo x > /tmp/dispatch-note"];
    for (number, command) in commands.iter().enumerate() {
        let denied = host.denied("Bash", &format!("c{number}"), &json!({ "command": command }));
        assert_eq!(denied, None, "{command}");
    }
    let denied = host.denied("Bash", "web", &json!({"command": "rm -rf src/web"}));
    assert!(denied.is_some_and(|reason| reason.contains("IN03")));
}

#[test]
fn the_modes_record_warn_or_refuse() {
    for (mode, own) in [
        ("observe", None),
        ("warn", None),
        ("enforce", None),
        ("enforce", Some("observe")),
        ("enforce", Some("warn")),
        ("observe", Some("enforce")),
    ] {
        let context = repository();
        context.write(".dispatch/dispatch.toml", format!("[intents]\nmode = \"{mode}\"\n"));
        assert_eq!(context.dispatch(&["trust"]).status, 0);
        if let Some(own) = own {
            assert_eq!(context.dispatch(&["intent", "edit", "INT-001", "--mode", own]).status, 0);
            if own != "enforce" {
                assert_eq!(context.dispatch(&["trust", ".orchestration/active_intents.yaml"]).status, 0);
            }
        }
        commit_all(&context);
        let host = Host::claude(&context, "s");
        host.select("INT-001");
        let call = json!({"tool_name": "Write", "tool_use_id": "1",
            "tool_input": {"file_path": host.path("src/web/page.ts"), "content": "x\n"}});
        let answer = host.fire("PreToolUse", &call).to_string();
        let effective = own.unwrap_or(mode);
        assert_eq!(answer.contains("\"deny\""), effective == "enforce", "{effective}: {answer}");
        assert_eq!(answer.contains("IN03"), effective != "observe", "{effective}: {answer}");
        if effective != "enforce" {
            context.write("src/web/page.ts", "x\n");
            host.fire("PostToolUse", &call);
            assert_eq!(entries(&context)[0].scope_validation, ScopeValidation::Fail, "{effective}");
        }
    }
}

#[test]
fn an_intent_loosens_nothing_before_a_person_approved_its_mode() {
    let context = repository();
    assert_eq!(context.dispatch(&["intent", "edit", "INT-001", "--mode", "observe"]).status, 0);
    commit_all(&context);
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    let outside =
        |id: &str| host.denied("Write", id, &json!({"file_path": host.path("src/web/page.ts"), "content": "x"}));
    let denied = outside("1").expect("the mode is not approved");
    assert!(denied.contains("active_intents.yaml asks for another mode"), "{denied}");
    let waiting = context.dispatch(&["trust", "--list"]).stdout;
    assert!(waiting.lines().any(|line| line.contains("waiting") && line.contains("active_intents.yaml")), "{waiting}");
    let approved = context.dispatch(&["trust"]);
    assert!(approved.stdout.contains("\n  INT-001 observe"), "{}", approved.stdout);
    assert_eq!(outside("2"), None);

    // What the work changes asks nothing; another mode does.
    assert_eq!(context.dispatch(&["intent", "edit", "INT-001", "--name", "Another title"]).status, 0);
    assert_eq!(outside("3"), None);
    assert_eq!(context.dispatch(&["intent", "edit", "INT-001", "--mode", "warn"]).status, 0);
    assert!(outside("4").is_some());
}

#[test]
fn copies_of_contents_are_the_owners_alone_and_have_no_secrets() {
    use std::os::unix::fs::PermissionsExt;
    let context = repository();
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    let secret = format!("gh{}_{}", "p", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    assert_eq!(host.write("1", "src/hooks/a.ts", "plain\n"), None);
    assert_eq!(host.write("2", "src/hooks/key.ts", &format!("const key = \"{secret}\";\n")), None);
    let contents = orchestration(&context).join(".trace/contents");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&contents), 0o700);
    let mut count = 0;
    for folder in fs::read_dir(&contents).unwrap().flatten() {
        for file in fs::read_dir(folder.path()).unwrap().flatten() {
            count += 1;
            assert_eq!(mode(&file.path()), 0o600);
            assert!(!fs::read_to_string(file.path()).unwrap().contains(&secret));
        }
    }
    assert!(count > 0);
}

#[test]
fn an_automatic_trailer_covers_nothing_and_an_approval_is_a_persons() {
    let context = repository();
    context.write("src/web/page.ts", "one\ntwo\nby hand\n");
    assert!(shell(&context, "git commit -qam 'work\n\nIntent: INT-003'"));
    let found = context.dispatch(&["trace", "check", "--base", "HEAD~1", "--format", "github"]);
    assert_eq!(found.status, 1, "{found:?}");
    assert!(found.stdout.starts_with("::error file=src/web/page.ts,line=3,endLine=3,"), "{found:?}");
    assert!(shell(&context, "git commit -q --amend -m 'work\n\nIntent-Approved-By: A Person'"));
    assert_eq!(context.dispatch(&["trace", "check", "--base", "HEAD~1"]).status, 0);
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    let command = "git commit --amend -m 'x\n\nIntent-Approved-By: An Agent'";
    let denied = host.denied("Bash", "1", &json!({ "command": command }));
    assert!(denied.is_some_and(|reason| reason.contains("IN06")));
}

#[test]
fn generated_files_and_what_init_writes_are_not_checked() {
    let context = repository();
    assert_eq!(context.dispatch(&["init", "--host", "claude-code", "--intents"]).status, 0);
    context.write(".gitattributes", "*.lock linguist-generated\n");
    assert!(shell(&context, "git add -A && git commit -qm init"));
    context.write("app.lock", "generated\n");
    context.write("skip.txt", "excluded\n");
    assert!(shell(&context, "git add -A && git commit -qm generated"));
    let found = context.dispatch(&["trace", "check", "--base", "HEAD~1", "--exclude", "skip.txt"]);
    assert_eq!(found.status, 0, "{found:?}");
    let both = context.dispatch(&["trace", "check", "--base", "HEAD~2", "--exclude", "skip.txt"]);
    assert_eq!(both.status, 1, "attributes that came with the change exclude nothing: {both:?}");
    assert_eq!(both.stdout, ".gitattributes:1: no intent covers this\napp.lock:1: no intent covers this\n");
}

#[test]
fn an_export_knows_files_by_their_present_names() {
    let context = repository();
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    assert_eq!(host.write("1", "src/hooks/b.ts", "first();\nsecond();\n"), None);
    let paths = || {
        let output = context.dispatch(&["trace", "export", "--agent-trace"]);
        let records = output.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let files = records.flat_map(|record| record["files"].as_array().unwrap().clone());
        files.map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(), ["src/hooks/b.ts"]);
    assert!(shell(&context, "git add -A && git commit -qm work && git mv src/hooks/b.ts src/hooks/c.ts"));
    assert_eq!(paths(), ["src/hooks/c.ts"], "renamed and not committed");
    assert!(shell(&context, "git commit -qm rename && git mv src/hooks/c.ts src/d.ts && git commit -qm again"));
    assert_eq!(paths(), ["src/d.ts"]);
}

#[test]
fn a_changed_indentation_keeps_the_writer() {
    let context = repository();
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    assert_eq!(host.write("1", "src/hooks/b.ts", "if (x) {\nfirst();\nsecond();\n}\n"), None);
    context.write("src/hooks/b.ts", "if (x) {\n    first();\n    second();\n    third();\n}\n");
    let blame = context.dispatch(&["trace", "blame", "src/hooks/b.ts", "--json"]).json();
    let by: Vec<&str> = blame.as_array().unwrap().iter().map(|line| line["by"].as_str().unwrap()).collect();
    assert_eq!(by, ["agent", "agent", "agent", "human", "agent"]);
}

#[test]
fn two_active_sessions_are_ambiguous_for_a_bare_select() {
    let context = repository();
    for session in ["one", "two"] {
        Host::claude(&context, session).select("INT-001");
    }
    let output = context.dispatch(&["intent", "select", "INT-002"]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.stderr.contains("2 sessions are active here"), "{output:?}");
    for session in ["one", "two"] {
        assert!(output.stderr.contains(&crate::intents_host::session_folder(session)), "{output:?}");
    }
}

#[test]
fn a_scope_excludes_and_the_name_is_found_behind_it() {
    let context = repository();
    let new = ["intent", "new", "--scope", "src/**", "!src/web/**", "Sources"];
    let output = context.dispatch(&new);
    assert_eq!(output.status, 0, "{output:?}");
    let host = Host::claude(&context, "s");
    host.select("INT-004");
    let write = |path: &str| json!({"file_path": host.path(path), "content": "x"});
    assert_eq!(host.denied("Write", "1", &write("src/api.ts")), None);
    assert!(host.denied("Write", "2", &write("src/web/page.ts")).is_some());
    assert!(context.dispatch(&["intent", "list"]).stdout.contains("Sources"));
}

#[test]
fn a_persons_move_of_an_agents_file_gets_no_trailer() {
    let context = repository();
    assert_eq!(context.dispatch(&["trace", "hook", "install"]).status, 0);
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    assert_eq!(host.write("1", "src/hooks/new.ts", "one\ntwo\nthree\n"), None);
    assert!(shell(&context, "git add -A && git commit -qm agent"));
    assert!(shell(&context, "git mv src/hooks/new.ts src/hooks/moved.ts && git commit -qm move"));
    let log = std::process::Command::new("git")
        .args(["log", "-2", "--format=%(trailers:key=Intent,valueonly)|"])
        .current_dir(context.project())
        .output()
        .unwrap();
    let text: String = String::from_utf8_lossy(&log.stdout).split_whitespace().collect();
    assert_eq!(text, "|INT-001|");
}

#[test]
fn a_clone_tightens_at_once_and_loosens_only_when_approved() {
    let observed = ["[intents]\nmode = \"observe\"\n", "[intents]\nmode = \"warn\"\n"];
    for settings in observed {
        let context = repository();
        context.write(".dispatch/dispatch.toml", settings);
        let listed = context.dispatch(&["trust", "--list", "--json"]).json();
        assert!(listed["waiting"][0]["path"].to_string().contains("dispatch.toml"), "{listed}");
        let host = Host::claude(&context, "s");
        let write = json!({"file_path": host.path("src/hooks/a.ts"), "content": "x"});
        let denied = host.denied("Write", "1", &write).expect("refused");
        assert!(denied.contains("IN01") && denied.contains("dispatch trust"), "{denied}");
        assert_eq!(context.dispatch(&["trust"]).status, 0);
        assert_eq!(host.denied("Write", "2", &write), None, "{settings}");
        context.write(".dispatch/dispatch.toml", format!("{settings}# changed\n"));
        assert!(host.denied("Write", "3", &write).is_some(), "{settings}");
    }
    let context = repository();
    let loose = json!({"intents": {"mode": "observe", "free": ["src/**"]}}).to_string();
    context.write_cloned(".ai/hooks/config.json", loose);
    let host = Host::claude(&context, "s");
    let write = json!({"file_path": host.path("src/hooks/a.ts"), "content": "x"});
    assert!(host.denied("Write", "1", &write).is_some());
    assert_eq!(context.dispatch(&["trust"]).status, 0);
    assert_eq!(host.denied("Write", "2", &write), None);
}

#[test]
fn init_says_what_happens_next_and_begins_in_the_mode_that_was_asked_for() {
    for (mode, refuses) in [(None, true), (Some("enforce"), true), (Some("warn"), false), (Some("observe"), false)] {
        let context = TestContext::new();
        commit_all(&context);
        let mut arguments = vec!["init", "--host", "claude-code", "--intents"];
        arguments.extend(mode.into_iter().flat_map(|mode| ["--intents-mode", mode]));
        let output = context.dispatch(&arguments);
        assert_eq!(output.status, 0, "{output:?}");
        let said = if refuses { "changes without an intent are refused" } else { "none is refused" };
        assert!(output.stdout.contains(said), "{mode:?}: {output:?}");
        let host = Host::claude(&context, "s");
        let write = json!({"file_path": host.path("src/a.ts"), "content": "x"});
        assert_eq!(host.denied("Write", "1", &write).is_some(), refuses, "{mode:?}");
        let branch = host.denied("Bash", "2", &json!({"command": "git checkout -b x"}));
        assert_eq!(branch.is_some(), refuses, "{mode:?}: {branch:?}");
    }
}

#[test]
fn a_mode_that_refuses_nothing_is_a_persons_choice() {
    let context = TestContext::new();
    let output = context.run_shell("dispatch init --host claude-code --intents --intents-mode observe");
    assert_eq!(output.status, 2, "{output:?}");
    assert!(!context.project().join(".dispatch/dispatch.toml").exists());
    // What a clone brought is not approved in passing.
    context.write(".dispatch/dispatch.toml", "# from elsewhere\n");
    let output = context.dispatch(&["init", "--host", "claude-code", "--intents", "--intents-mode", "observe"]);
    assert_eq!(output.status, 0, "{output:?}");
    let host = Host::claude(&context, "s");
    assert!(host.denied("Write", "1", &json!({"file_path": host.path("a.ts"), "content": "x"})).is_some());
}

#[test]
fn a_persons_indentation_is_no_change_and_a_persons_deletion_is_one() {
    let context = workspace(&MODULES);
    context.write("src/hooks/a.ts", "if (x) {\nfirst();\nsecond();\nthird();\n}\n");
    commit_all(&context);
    let check = || context.dispatch(&["trace", "check", "--base", "HEAD", "--json"]).json()["uncovered"].clone();
    context.write("src/hooks/a.ts", "if (x) {\n    first();\n\tsecond();\n  third();\n}\n");
    assert_eq!(check(), json!([]), "spaces alone");
    assert!(shell(&context, "git checkout -q src/hooks/a.ts"));
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    assert_eq!(host.write("1", "src/hooks/a.ts", "if (x) {\nfirst();\nthird();\n}\nlast();\n"), None);
    assert_eq!(check(), json!([]), "the agent's own deletion");
    context.write("src/hooks/a.ts", "if (x) {\nthird();\n}\nlast();\n");
    assert_eq!(check(), json!([{"file": "src/hooks/a.ts", "start": 1, "end": 1}]), "a person's deletion");
    fs::remove_dir_all(orchestration(&context).join(".trace")).unwrap();
    assert_eq!(check(), json!([{"file": "src/hooks/a.ts", "start": 1, "end": 1}]), "as in a clone");
    assert!(shell(&context, "git add -A && git commit -qm 'less\n\nIntent-Approved-By: A Person'"));
    let approved = context.dispatch(&["trace", "check", "--base", "HEAD~1"]);
    assert_eq!(approved.status, 0, "{approved:?}");
}

#[test]
fn the_settings_of_the_base_exclude_files_and_a_change_does_not_exclude_itself() {
    let context = repository();
    let settings = "[intents]\nexclude = [\"vendor/**\", \".dispatch/**\"]\n";
    context.write(".dispatch/dispatch.toml", settings);
    assert!(shell(&context, "git add -A && git commit -qm settings"));
    context.write("vendor/x.ts", "by others\n");
    context.write(".dispatch/dispatch.toml", settings.replace("vendor", "src"));
    context.write("src/web/page.ts", "by hand\n");
    assert!(shell(&context, "git add -A && git commit -qm work"));
    let found = context.dispatch(&["trace", "check", "--base", "HEAD~1", "--json"]).json();
    assert_eq!(found["uncovered"], json!([{"file": "src/web/page.ts", "start": 1, "end": 1}]));
}
