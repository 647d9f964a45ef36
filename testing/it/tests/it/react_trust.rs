//! An approval covers what runs: the folder, the hook and the files that its command names.

use crate::react_lsp::LspProcess;
use crate::react_workspace::{FILE, Watch, Workspace};
use crate::run_workspace::wait_until;
use dispatch_support::{Served, TestContext};
use serde_json::{Value, json};
use std::path::Path;

const SAVED: &str = "onDidSaveTextDocument";

fn with_script(text: &str) -> Workspace {
    let workspace = Workspace { context: TestContext::new() }.with_marker_hook();
    write_script(&workspace.context.project(), text);
    workspace.set(&json!([{"id": "fmt", "trigger": SAVED, "pattern": "*.txt", "command": ["./scripts/fmt.sh"]}]));
    workspace
}

fn write_script(project: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let script = project.join("scripts/fmt.sh");
    std::fs::create_dir_all(script.parent().unwrap()).unwrap();
    std::fs::write(&script, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_clone_with_the_same_hooks_and_another_script_runs_nothing() {
    let workspace = with_script("echo approved");
    let clone = tempfile::tempdir().unwrap();
    let clone = clone.path().canonicalize().unwrap();
    std::fs::create_dir(clone.join(".akira")).unwrap();
    std::fs::copy(workspace.context.project().join(FILE), clone.join(FILE)).unwrap();
    write_script(&clone, "touch stolen");

    let mut command = workspace.context.command("dispatch");
    let watch = Watch::start(command.args(["watch", "--json", "--project"]).arg(&clone).current_dir(&clone));
    assert_eq!(watch.first()["hooks"], 1, "the user's own hook alone");
    watch.wait_for_words("hook `fmt` does not run: it is not approved");
    std::fs::write(clone.join("a.txt"), "a").unwrap();
    // The user's own hook runs for a later save, so the one before has met the hooks.
    std::fs::write(clone.join("0.marker"), "0").unwrap();
    wait_until("the marker hook has run", || watch.out().contains("\"marker\""));
    assert!(!watch.out().contains("\"fmt\""), "{}", watch.out());
    let project = clone.to_str().unwrap();
    let started = workspace.context.dispatch(&["runs", "start", "fmt", "--wait", "--project", project]);
    assert_eq!(started.status, 2, "{started:?}");
    watch.stop();
    assert!(!clone.join("stolen").exists());

    let here = workspace.start("fmt", &[]);
    assert_eq!((here.status, &here.json()["logs"]), (0, &"approved\n".into()), "{here:?}");
}

#[test]
fn a_changed_script_waits_for_approval_again() {
    let workspace = with_script("echo one");
    let watch = workspace.watch();
    workspace.save("1.txt", "1");
    assert_eq!(watch.wait_for_ended(1)[0]["logs"], "one\n");

    write_script(&workspace.context.project(), "echo two");
    watch.wait_for_words("hook `fmt` does not run: `scripts/fmt.sh`, which its command names, has changed");
    workspace.save("2.txt", "2");
    watch.wait_until_handled(&workspace);
    let refused = workspace.start("fmt", &[]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert_eq!(workspace.runs().len(), 1);
    let listed = workspace.context.dispatch(&["trust", "--list", "--json"]).json();
    assert_eq!(listed["approved"][0]["state"], "changed", "{listed}");

    workspace.approve();
    watch.wait_for_words("the hooks have changed: 2 are on");
    workspace.save("3.txt", "3");
    assert_eq!(watch.wait_for_ended(2)[1]["logs"], "two\n");
    watch.stop();
}

#[test]
fn trust_shows_what_is_approved_and_the_difference_to_before() {
    let workspace = with_script("echo one");
    let again = workspace.context.dispatch(&["trust", FILE]);
    assert!(again.stdout.contains("already approved: "), "{again:?}");
    assert!(again.stdout.contains("hook `fmt`: as approved before\n    with scripts/fmt.sh"), "{again:?}");

    write_script(&workspace.context.project(), "echo two");
    let script = workspace.context.dispatch(&["trust", FILE]).stdout;
    for line in ["  hook `fmt`: changed", "    with scripts/fmt.sh:", "    - echo one", "    + echo two"] {
        assert!(script.lines().any(|found| found == line), "{line:?} in {script}");
    }

    workspace.save(
        FILE,
        &json!({"hooks": [{"id": "fmt", "trigger": SAVED, "pattern": "*.txt",
        "command": ["./scripts/fmt.sh"], "timeoutMs": 9000}]})
        .to_string(),
    );
    let hook = workspace.context.dispatch(&["trust", FILE]).stdout;
    for line in ["    -   \"timeoutMs\": 60000,", "    +   \"timeoutMs\": 9000,", "    with scripts/fmt.sh, unchanged"]
    {
        assert!(hook.lines().any(|found| found == line), "{line:?} in {hook}");
    }
}

/// A project with one hook that nobody has approved.
fn unapproved() -> Workspace {
    let workspace = Workspace { context: TestContext::new() };
    workspace.save(FILE, &json!({"hooks": [{"id": "h", "trigger": "manual", "command": ["true"]}]}).to_string());
    workspace
}

fn waits(workspace: &Workspace) -> bool {
    let listed = workspace.context.dispatch(&["workspace-hooks", "list", "--json"]).json();
    listed["hooks"][0]["reason"].as_str().is_some_and(|reason| reason.contains("not approved"))
}

/// What `dispatch lsp` answers to a review and to the approval of what it showed.
fn approve_in_an_editor(workspace: &Workspace, variables: &[(&str, &str)]) -> String {
    let mut editor = LspProcess::open_with(workspace, variables);
    let review = json!({"command": "dispatch.approvals.review", "arguments": [{}]});
    editor.say(json!({"jsonrpc": "2.0", "id": 2, "method": "workspace/executeCommand", "params": review}));
    wait_until("it shows the hooks", || editor.output.so_far().contains("\"token\":\""));
    let shown = editor.output.so_far();
    let token = shown.split("\"token\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    let approve = json!({"command": "dispatch.approvals.approve", "arguments": [{ "token": token }]});
    editor.say(json!({"jsonrpc": "2.0", "id": 3, "method": "workspace/executeCommand", "params": approve}));
    wait_until("it answers", || editor.output.so_far().contains("\"id\":3"));
    editor.say(json!({"jsonrpc": "2.0", "id": 4, "method": "shutdown"}));
    editor.say(json!({"jsonrpc": "2.0", "method": "exit"}));
    assert!(editor.process.wait().unwrap().success());
    editor.output.whole()
}

#[test]
fn an_agent_cannot_approve_hooks_through_the_language_server() {
    let workspace = unapproved();
    let refused = approve_in_an_editor(&workspace, &[("CLAUDECODE", "1")]);
    assert!(refused.contains("an agent cannot approve hooks"), "{refused}");
    assert!(waits(&workspace));
    let person = unapproved();
    let approved = approve_in_an_editor(&person, &[]);
    assert!(approved.contains("\"approved\":true"), "{approved}");
    assert!(!waits(&person));
}

#[test]
fn hooks_are_approved_over_http_with_the_approval_token_alone() {
    let workspace = unapproved();
    let served = Served::start(&workspace.context, &[], &[]);
    let path = "/v1/workspace-hooks/approvals";
    let shown: Value = serde_json::from_str(&served.client.get(path).body).unwrap();
    assert_eq!((&shown["hooks"][0]["hookId"], &shown["hooks"][0]["state"]), (&"h".into(), &"new".into()), "{shown}");
    let body = json!({ "token": shown["token"] });
    assert_eq!(served.client.post(path, &body).status, 403, "the token of the server is not enough");
    let mut person = served.client.clone();
    let token = std::fs::read_to_string(workspace.context.home().join("approval-token")).expect("its token");
    person.token = Some(token.trim().to_owned());
    assert_eq!(person.post(path, &json!({})).status, 400);
    assert_eq!(person.post(path, &json!({ "token": "of another text" })).status, 409);
    assert!(waits(&workspace));
    assert_eq!(person.post(path, &body).status, 200);
    assert!(!waits(&workspace));
}
