//! What is kept of a run and said about it: every attempt, the first beginning, a patch until it is applied, why it waits.

use crate::react_workspace::{PipeText, Workspace, sh};
use crate::run_workspace::wait_until;
use dispatch_support::Served;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

const SAVED: &str = "onDidSaveTextDocument";

#[test]
fn every_attempt_keeps_its_output_and_the_first_beginning_stays() {
    let script =
        "date -u +%Y-%m-%dT%H:%M:%S.%3NZ >> begun; echo attempt number $(wc -l < begun); [ $(wc -l < begun) = 3 ]";
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": sh(script),
        "retry": {"count": 2, "backoffMs": 10}}]));
    let run = workspace.start("h", &[]).json();
    assert_eq!((&run["status"], &run["attempts"]), (&"success".into(), &3.into()), "{run}");
    let logs = run["logs"].as_str().unwrap();
    let expected =
        ["attempt number 1", "--- attempt 2 ---", "attempt number 2", "--- attempt 3 ---", "attempt number 3"];
    assert_eq!(logs.lines().collect::<Vec<_>>(), expected);
    let begun = workspace.read("begun");
    let times: Vec<&str> = begun.lines().collect();
    assert!(run["startTs"].as_str().unwrap() < times[1], "it began before its second attempt: {run} {times:?}");
}

#[test]
fn a_patch_is_offered_until_it_is_applied_and_one_that_does_not_fit_changes_nothing() {
    let workspace = Workspace::new(&json!([]));
    workspace.save("a.txt", "one\n");
    workspace.save(".gitignore", ".akira\n");
    workspace.make_repository();
    workspace
        .set(&json!([{"id": "fix", "trigger": "manual", "place": "patch", "command": sh("sed -i s/one/two/ a.txt")}]));
    let [first, second] = [(); 2].map(|()| workspace.start("fix", &[]).json()["id"].as_str().unwrap().to_owned());
    let applied = workspace.context.dispatch(&["runs", "apply", &first]);
    assert_eq!((applied.status, workspace.read("a.txt").as_str()), (0, "two\n"), "{applied:?}");
    assert_eq!(workspace.show(&first)["patch"], false);
    let shown = workspace.context.dispatch(&["runs", "show", &first]);
    assert!(!shown.stdout.contains("runs apply"), "{shown:?}");
    let again = workspace.context.dispatch(&["runs", "apply", &first]);
    assert!(again.status == 2 && again.stderr.contains("was already applied"), "{again:?}");
    assert!(workspace.context.dispatch(&["runs", "apply", &first, "--show"]).stdout.contains("+two"));

    workspace.save("a.txt", "something else\n");
    let conflict = workspace.context.dispatch(&["runs", "apply", &second]);
    assert!(conflict.status == 1 && conflict.stderr.contains("nothing was changed"), "{conflict:?}");
    assert_eq!(workspace.read("a.txt"), "something else\n");
    assert_eq!(workspace.show(&second)["patch"], true);
}

#[test]
fn whoever_waits_for_a_run_is_told_what_it_waits_for() {
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": ["true"],
        "rateLimit": {"runs": 1, "perMs": 3_600_000}}]));
    assert_eq!(workspace.start("h", &[]).status, 0);
    let mut command = workspace.context.command("dispatch");
    let mut waiting = command
        .args(["runs", "start", "h", "--wait"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = PipeText::gather(waiting.stderr.take().unwrap());
    wait_until("it says why", || said.so_far().contains(" waits: "));
    assert!(said.so_far().contains("rateLimit"), "{}", said.so_far());
    assert!(Command::new("kill").args(["-TERM", &waiting.id().to_string()]).status().unwrap().success());
    assert!(!waiting.wait().unwrap().success(), "it was taken back");
}

#[test]
fn watch_shows_what_runs_print_as_it_comes() {
    let script = "echo first line; until [ -e release ]; do sleep 0.02; done; echo last line";
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": SAVED, "pattern": "a.txt", "debounceMs": 0,
        "command": sh(script)}]));
    let mut command = workspace.context.command("dispatch");
    command.args(["watch", "--output", "always"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut watch = command.spawn().unwrap();
    let out = PipeText::gather(watch.stdout.take().unwrap());
    wait_until("it watches", || out.so_far().contains("watching"));
    workspace.save("a.txt", "one");
    wait_until("the first line is shown", || out.so_far().contains("h | first line\n"));
    assert!(!out.so_far().contains("last line"));
    workspace.save("release", "");
    wait_until("the run is over", || out.so_far().contains("success"));
    watch.kill().unwrap();
    watch.wait().unwrap();
    let text = out.so_far();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert!(matches!(lines.as_slice(), ["h | first line", "h | last line", end] if end.contains("success")), "{text}");
}

#[test]
fn changes_after_a_clean_stop_are_handled_when_asked() {
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": SAVED, "pattern": "*.txt", "debounceMs": 0,
        "command": ["true"]}]));
    workspace.watch().stop();
    workspace.save("meanwhile.txt", "one");
    let silent = workspace.watch();
    silent.wait_for_words("`dispatch watch --catch-up` handles them too");
    silent.stop();
    assert_eq!(workspace.runs().len(), 0);
    workspace.save("meanwhile.txt", "two");
    let mut command = workspace.context.command("dispatch");
    let watch = crate::react_workspace::Watch::start(command.args(["watch", "--json", "--catch-up"]));
    let runs = watch.wait_for_ended(1);
    assert_eq!((runs.len(), &runs[0]["files"][0]["path"]), (1, &"meanwhile.txt".into()), "{runs:?}");
    watch.stop();
}

#[test]
fn a_file_has_the_same_form_on_standard_input_and_in_the_record() {
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": sh("cat > event.json")}]));
    workspace.save("a.txt", "one");
    let run = workspace.start("h", &["--file", "a.txt"]).json();
    let event: Value = serde_json::from_str(&workspace.read("event.json")).unwrap();
    let (given, kept) = (&event["files"][0], &run["files"][0]);
    assert_eq!((&given["path"], &given["change"]), (&kept["path"], &kept["change"]), "{given} {kept}");
    assert_eq!(given["kind"], kept["change"]["kind"], "the short form stays");
}

#[test]
fn the_output_of_a_run_that_goes_is_streamed_and_a_malformed_event_is_refused() {
    let script = "echo first line; until [ -e release ]; do sleep 0.02; done; echo last line";
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": sh(script)}]));
    let served = Served::start(&workspace.context, &[], &[]);
    let started = workspace.context.dispatch(&["runs", "start", "h", "--json"]).json();
    let id = started["id"].as_str().unwrap();
    wait_until("it prints", || workspace.show(id)["logs"] == "first line\n");
    let stream = std::thread::scope(|scope| {
        let reading = scope.spawn(|| served.client.ask("GET", &format!("/v1/runs/{id}/output"), &[], "").unwrap().body);
        workspace.save("release", "");
        reading.join().unwrap()
    });
    let order = ["first line", "last line", "event: end"].map(|words| stream.find(words));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{stream}");
    for body in ["{", "[]", r#"{"name": "a b"}"#, r#"{"name": "ok", "unknown": 1}"#] {
        let answer = served.client.ask("POST", "/v1/workspace-hooks/events", &[], body).unwrap();
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
    }
}
