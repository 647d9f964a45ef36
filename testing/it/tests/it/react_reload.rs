//! Hooks that change while they are watched, and hooks that nobody approved.

use crate::react_workspace::{FILE, Workspace, hooks_of, sh};
use crate::run_workspace::wait_until;
use dispatch_support::TestContext;
use serde_json::{Value, json};

const SAVED: &str = "onDidSaveTextDocument";

fn hook(id: &str, says: &str) -> Value {
    json!({"id": id, "trigger": SAVED, "pattern": "*.txt", "command": sh(&format!("echo {says}"))})
}

#[test]
fn an_invalid_edit_leaves_the_last_valid_hooks_on_and_a_right_one_takes_over() {
    let workspace = Workspace::new(&json!([hook("h", "first")])).with_marker_hook();
    let watch = workspace.watch();
    workspace.save("1.txt", "1");
    assert_eq!(watch.wait_for_ended(1)[0]["logs"], "first\n");

    const INVALID: &str = "the hook files are invalid; the last valid hooks stay on: 2";
    workspace.save(FILE, "{ \"hooks\": [\n  { \"id\": \"h\", \"trigger\": \"onSave\" }\n] }");
    watch.wait_for_words(INVALID);
    watch.wait_for_words(".akira/hooks.json:2:27: unknown trigger `onSave`");
    workspace.save("2.txt", "2");
    assert_eq!(watch.wait_for_ended(2)[1]["logs"], "first\n");

    // Half of a file, as an editor leaves it that does not write at once.
    let before = watch.count_words(INVALID);
    workspace.save(FILE, "{ \"hooks\": [");
    wait_until("the half file is noticed", || watch.count_words(INVALID) > before);
    // Until it is approved, only the user's own hook is on.
    const BOTH: &str = "the hooks have changed: 2 are on";
    const MARKER_ALONE: &str = "the hooks have changed: 1 is on";
    workspace.set(&json!([hook("h", "second")]));
    watch.wait_for_words(BOTH);
    workspace.save("3.txt", "3");
    assert_eq!(watch.wait_for_ended(3)[2]["logs"], "second\n");

    let before = watch.count_words(MARKER_ALONE);
    std::fs::remove_file(workspace.context.project().join(FILE)).unwrap();
    wait_until("it is gone", || watch.count_words(MARKER_ALONE) > before);
    workspace.save("4.txt", "4");
    watch.wait_until_handled(&workspace);
    workspace.set(&json!([hook("h", "third")]));
    wait_until("it is there again", || watch.count_words(BOTH) == 2);
    workspace.save("5.txt", "5");
    let last = watch.wait_for_ended(4).remove(3);
    assert_eq!((&last["logs"], &last["files"][0]["path"]), (&"third\n".into(), &"5.txt".into()));
    watch.stop();
    assert_eq!(workspace.runs().len(), 4);
}

#[test]
fn nothing_of_a_clone_runs_until_it_is_trusted_and_a_changed_hook_waits_again() {
    let workspace = Workspace { context: TestContext::new() }.with_marker_hook();
    workspace.save(FILE, &json!({"hooks": [hook("one", "one"), hook("two", "two")]}).to_string());
    let watch = workspace.watch();
    assert_eq!(watch.first()["hooks"], 1, "the user's own");
    watch.wait_for_words("hook `one` does not run: ");
    workspace.save("1.txt", "1");
    watch.wait_until_handled(&workspace);
    for (event, status) in [(&["runs", "start", "one", "--wait"][..], 2), (&["event", "send", "one"], 1)] {
        let refused = workspace.context.dispatch(event);
        assert_eq!(refused.status, status, "{refused:?}");
    }
    workspace.approve();
    watch.wait_for_words("the hooks have changed: 3 are on");
    workspace.save("2.txt", "2");
    let runs = watch.wait_for_ended(2);
    assert_eq!(hooks_of(&runs), ["one", "two"]);
    assert!(runs.iter().all(|run| run["files"][0]["path"] == "2.txt"), "{runs:?}");

    workspace.save(FILE, &json!({"hooks": [hook("one", "one"), hook("two", "something else")]}).to_string());
    wait_until("it waits", || watch.err().contains("hook `two` does not run: it has changed"));
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
