//! Intents after a call: what the ledger says of it, whatever way the file was changed.

use crate::intents_host::{Host, commit_all, entries, orchestration, shell, workspace};
use ext_intents::contract::testing::{content_hash, line_hash};
use ext_intents::contract::{Concurrency, MutationClass, ScopeValidation};
use serde_json::{Value, json};
use std::fs;

const MODULES: [&str; 2] = ["session", "intents"];

#[test]
fn a_write_leaves_an_entry_with_every_field() {
    let context = workspace(&MODULES);
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    assert_eq!(host.write("1", "src/hooks/a.ts", "one\ntwo\n"), None);
    assert_eq!(host.write("2", "src/hooks/a.ts", "one\n2\n"), None);
    let text = fs::read_to_string(orchestration(&context).join("agent_trace.jsonl")).unwrap();
    let line: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    assert_eq!(line["intent_id"], "INT-001");
    assert_eq!(line["session_id"], crate::intents_host::session_folder("s"));
    assert_eq!(line["tool_name"], "Write");
    assert_eq!(line["mutation_class"], "INTENT_EVOLUTION");
    assert_eq!(line["file"]["relative_path"], "src/hooks/a.ts");
    assert_eq!(line["file"]["pre_hash"], content_hash(b"one\ntwo\n"));
    assert_eq!(line["file"]["post_hash"], content_hash(b"one\n2\n"));
    assert_eq!((&line["scope_validation"], &line["success"]), (&json!("PASS"), &json!(true)));
    assert_eq!(line["added"], json!([{"start": 2, "hashes": [line_hash(b"2")]}]));
    assert_eq!(line["id"].as_str().unwrap().len(), 36);
    assert!(line.get("error").is_none() && line.get("concurrent").is_none(), "{line}");
    let found = entries(&context);
    assert_eq!(found[0].mutation_class, MutationClass::FileCreation);
    assert_eq!(found[0].file.as_ref().unwrap().pre_hash, None);
    let map = fs::read_to_string(orchestration(&context).join("intent_map.md")).unwrap();
    assert!(map.contains(&format!("| `src/hooks/a.ts` | `{}` |", content_hash(b"one\n2\n"))), "{map}");
}

#[test]
fn a_tool_that_fails_is_recorded_as_that() {
    let context = workspace(&MODULES);
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    let input = json!({"file_path": host.path("src/hooks/a.ts"), "old_string": "a", "new_string": "b"});
    assert_eq!(host.denied("Edit", "1", &input), None);
    let secret = format!("gh{}_{}", "p", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let call = json!({"tool_name": "Edit", "tool_input": input, "tool_use_id": "1", "error": format!("no {secret}")});
    host.fire("PostToolUseFailure", &call);
    let found = entries(&context);
    assert_eq!(found.len(), 1);
    assert!(!found[0].success && found[0].error.is_some());
    assert!(!format!("{:?}", found[0]).contains("ghp_A1b2"));
    assert!(!orchestration(&context).join("intent_map.md").exists());
}

#[test]
fn a_call_whose_beginning_was_missed_is_still_recorded() {
    let context = workspace(&MODULES);
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    context.write("src/hooks/a.ts", "x");
    let input = json!({"file_path": host.path("src/hooks/a.ts"), "content": "x"});
    host.ended("Write", "1", &input, &json!({"success": true}));
    context.write("src/hooks/a.ts", "y");
    host.ended("Write", "2", &input, &json!({"success": true}));
    let found = entries(&context);
    let hashes: Vec<_> = found.iter().map(|entry| entry.file.as_ref().unwrap().pre_hash.clone()).collect();
    assert_eq!(hashes, [None, Some(content_hash(b"x"))]);
    assert!(found.iter().all(|entry| entry.note.as_ref().is_some_and(|note| note.contains("was not recorded"))));
}

#[test]
fn two_sessions_on_one_file_are_told_apart_and_together() {
    let context = workspace(&MODULES);
    let (first, second) = (Host::claude(&context, "first"), Host::claude(&context, "second"));
    first.select("INT-002");
    second.select("INT-002");
    let input = |content: &str| json!({"file_path": context.project().join("shared.txt"), "content": content});
    assert_eq!(first.denied("Write", "1", &input("one")), None);
    assert_eq!(second.denied("Write", "2", &input("two")), None);
    context.write("shared.txt", "one");
    context.write("shared.txt", "two");
    second.ended("Write", "2", &input("two"), &json!({"success": true}));
    first.ended("Write", "1", &input("one"), &json!({"success": true}));
    let found = entries(&context);
    assert_eq!(found[0].concurrent, [Concurrency::Overlap]);
    assert_eq!(found[1].concurrent, [Concurrency::Overlap, Concurrency::Drift, Concurrency::Content]);
    assert_eq!(found[1].file.as_ref().unwrap().post_hash, Some(content_hash(b"two")));
    context.write("shared.txt", "by hand");
    assert_eq!(first.write("3", "shared.txt", "three"), None);
    assert_eq!(entries(&context)[2].concurrent, [Concurrency::Drift]);
}

#[test]
fn an_escape_by_shell_is_recorded_told_and_put_back() {
    for (on_escape, git) in [("record", true), ("revert", true), ("record", false), ("revert", false)] {
        let context = workspace(&MODULES);
        context.write(".ai/hooks/config.json", json!({"intents": {"onEscape": on_escape}}).to_string());
        context.write("secret.txt", "secret\n");
        context.write(
            "write.py",
            "open('secret.txt','w').write('x'); open('src/hooks/new.ts','w').write('y'); open('n','w')",
        );
        fs::create_dir_all(context.project().join("src/hooks")).unwrap();
        if git {
            commit_all(&context);
        } else {
            fs::remove_dir_all(context.project().join(".git")).unwrap();
        }
        let host = Host::claude(&context, "s");
        host.select("INT-001");
        let told = host.run("1", "python3 write.py").expect("it may run");
        assert!(told.contains("outside INT-001's owned_scope") && told.contains("secret.txt"), "{told}");
        let found = entries(&context);
        let of = |path: &str| found.iter().find(|entry| entry.path() == Some(path)).expect("an entry");
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(of("src/hooks/new.ts").scope_validation, ScopeValidation::Pass);
        assert_eq!(of("secret.txt").scope_validation, ScopeValidation::Fail);
        assert_eq!(of("secret.txt").file.as_ref().unwrap().pre_hash, Some(content_hash(b"secret\n")));
        let reverts = on_escape == "revert";
        assert_eq!((of("secret.txt").reverted, of("n").reverted), (reverts, reverts), "{on_escape} {git}");
        let content = fs::read_to_string(host.path("secret.txt")).unwrap();
        assert_eq!(content, if reverts { "secret\n" } else { "x" });
        assert_eq!(host.path("n").exists(), !reverts);
        assert_eq!(fs::read_to_string(host.path("src/hooks/new.ts")).unwrap(), "y");
    }
}

#[test]
fn what_another_session_writes_meanwhile_is_not_this_commands() {
    let context = workspace(&MODULES);
    context.write(".ai/hooks/config.json", json!({"intents": {"onEscape": "revert"}}).to_string());
    commit_all(&context);
    let (shell_user, writer) = (Host::claude(&context, "shell"), Host::claude(&context, "writer"));
    shell_user.select("INT-001");
    writer.select("INT-002");
    let command = json!({"command": "make"});
    assert_eq!(shell_user.denied("Bash", "1", &command), None);
    assert_eq!(writer.write("2", "src/weather/a.ts", "kept"), None);
    let input = json!({"file_path": context.project().join("src/weather/b.ts"), "content": "kept"});
    assert_eq!(writer.denied("Write", "3", &input), None);
    context.write("src/weather/b.ts", "kept");
    shell_user.ended("Bash", "1", &command, &json!({"exit_code": 0}));
    writer.ended("Write", "3", &input, &json!({"success": true}));
    let found = entries(&context);
    let paths: Vec<_> = found.iter().filter_map(|entry| entry.path()).collect();
    assert_eq!(paths, ["src/weather/a.ts", "src/weather/b.ts"]);
    assert!(found.iter().all(|entry| entry.scope_validation == ScopeValidation::Pass), "{found:?}");
    assert_eq!(fs::read_to_string(context.project().join("src/weather/b.ts")).unwrap(), "kept");
}

#[test]
fn a_link_made_between_the_check_and_the_write_is_found() {
    let context = workspace(&MODULES);
    context.write("secret.txt", "secret\n");
    fs::create_dir_all(context.project().join("src/hooks")).unwrap();
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    let input = json!({"file_path": host.path("src/hooks/a.ts"), "content": "x"});
    assert_eq!(host.denied("Write", "1", &input), None);
    assert!(shell(&context, "ln -s ../../secret.txt src/hooks/a.ts && echo x > src/hooks/a.ts"));
    let told = host.ended("Write", "1", &input, &json!({"success": true}));
    assert!(told.contains("secret.txt"), "{told}");
    let found = entries(&context);
    let escape = found.iter().find(|entry| entry.path() == Some("secret.txt")).expect("an entry");
    assert_eq!(escape.scope_validation, ScopeValidation::Fail);
}

#[test]
fn a_command_that_cannot_be_compared_says_so() {
    let context = workspace(&MODULES);
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    host.ended("Bash", "1", &json!({"command": "make"}), &json!({"exit_code": 0}));
    let found = entries(&context);
    assert_eq!((found.len(), &found[0].file), (1, &None));
    assert!(found[0].note.as_ref().unwrap().starts_with("not determined"), "{:?}", found[0].note);
}
