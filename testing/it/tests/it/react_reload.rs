//! Hooks that change while they are watched, and hooks that nobody approved.

use crate::react_world::{FILE, Workspace, hooks_of, sh};
use crate::run_world::wait_until;
use dispatch_support::TestContext;
use serde_json::{Value, json};

const SAVED: &str = "onDidSaveTextDocument";

fn hook(id: &str, says: &str) -> Value {
    json!({"id": id, "trigger": SAVED, "pattern": "*.txt", "command": sh(&format!("echo {says}"))})
}

#[test]
fn an_invalid_edit_leaves_the_last_valid_hooks_on_and_a_right_one_takes_over() {
    let workspace = Workspace::new(&json!([hook("h", "first")]));
    let watch = workspace.watch();
    workspace.save("1.txt", "1");
    assert_eq!(watch.wait_for_ended(1)[0]["logs"], "first\n");

    workspace.save(FILE, "{ \"hooks\": [\n  { \"id\": \"h\", \"trigger\": \"onSave\" }\n] }");
    watch.wait_for_words("the hooks cannot be used as they are now; those of before stay on: 1");
    watch.wait_for_words(".akira/hooks.json:2:27: `onSave` is no trigger");
    workspace.save("2.txt", "2");
    assert_eq!(watch.wait_for_ended(2)[1]["logs"], "first\n");

    // Half of a file, as an editor leaves it that does not write at once.
    workspace.save(FILE, "{ \"hooks\": [");
    watch.wait_for_words("the hooks cannot be used as they are now; those of before stay on: 1");
    // What is not approved is heard of before it is on.
    let changes = || watch.err().matches("the hooks have changed: ").count();
    workspace.set(&json!([hook("h", "second")]));
    wait_until("it is noticed", || changes() >= 1);
    workspace.save("3.txt", "3");
    assert_eq!(watch.wait_for_ended(3)[2]["logs"], "second\n");

    let before = changes();
    std::fs::remove_file(workspace.context.project().join(FILE)).unwrap();
    wait_until("it is gone", || changes() > before);
    workspace.save("4.txt", "4");
    let before = changes();
    workspace.set(&json!([hook("h", "third")]));
    wait_until("it is there again", || changes() > before);
    workspace.save("5.txt", "5");
    let last = watch.wait_for_ended(4).remove(3);
    assert_eq!((&last["logs"], &last["files"][0]["path"]), (&"third\n".into(), &"5.txt".into()));
    watch.stop();
    assert_eq!(workspace.runs().len(), 4);
}

#[test]
fn nothing_of_a_clone_runs_until_it_is_trusted_and_a_changed_hook_waits_again() {
    let workspace = Workspace { context: TestContext::new() };
    workspace.save(FILE, &json!({"hooks": [hook("one", "one"), hook("two", "two")]}).to_string());
    let watch = workspace.watch();
    assert_eq!(watch.first()["hooks"], 0);
    watch.wait_for_words("hook `one` does not run: ");
    workspace.save("1.txt", "1");
    for (event, status) in [(&["runs", "start", "one", "--wait"][..], 2), (&["event", "send", "one"], 1)] {
        let refused = workspace.context.dispatch(event);
        assert_eq!(refused.status, status, "{refused:?}");
    }
    workspace.approve();
    watch.wait_for_words("the hooks have changed: 2 are on");
    workspace.save("2.txt", "2");
    let runs = watch.wait_for_ended(2);
    assert_eq!(hooks_of(&runs), ["one", "two"]);
    assert!(runs.iter().all(|run| run["files"][0]["path"] == "2.txt"), "{runs:?}");

    workspace.save(FILE, &json!({"hooks": [hook("one", "one"), hook("two", "something else")]}).to_string());
    wait_until("it waits", || watch.err().contains("hook `two` does not run: it"));
    workspace.save("3.txt", "3");
    assert_eq!(watch.wait_for_ended(3)[2]["hookId"], "one");
    workspace.approve();
    workspace.save("4.txt", "4");
    let runs = watch.wait_for_ended(5);
    assert_eq!(hooks_of(&runs), ["one", "one", "one", "two", "two"]);
    assert!(runs.iter().any(|run| run["logs"] == "something else\n"), "{runs:?}");
    watch.stop();
    assert_eq!(workspace.runs().len(), 5);
}
