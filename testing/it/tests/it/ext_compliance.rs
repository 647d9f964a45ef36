//! The compliance suite on everything that ships with the program, and on a copy in TypeScript of one of it.

use dispatch_support::{Output, TestContext};
use serde_json::Value;
use std::collections::BTreeMap;

const TODO_COPY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/tool-todo");
/// How many suites run at once: they wait for deadlines more than they compute.
const AT_ONCE: usize = 6;

fn suite(extension: &str) -> Output {
    TestContext::new().dispatch(&["ext", "test", extension, "--json"])
}

/// How each check ended, by name.
fn outcomes(report: &Value) -> BTreeMap<String, String> {
    let checks = report["checks"].as_array().unwrap().iter();
    let outcome = |check: &Value| (check["name"].as_str().unwrap().to_owned(), check["outcome"].to_string());
    checks.map(outcome).collect()
}

#[test]
fn every_bundled_extension_passes_the_suite() {
    let listed = TestContext::new().dispatch(&["ext", "list", "--json"]).json();
    let ids: Vec<String> = listed.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    assert!(ids.len() > 15, "{ids:?}");
    for ids in ids.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for id in ids {
                scope.spawn(move || {
                    let output = suite(id);
                    let failed = |check: &&Value| check["outcome"] == "failed";
                    let report = output.json();
                    let failed: Vec<&Value> = report["checks"].as_array().unwrap().iter().filter(failed).collect();
                    assert_eq!(output.status, 0, "{id}: {failed:#?}");
                    let ran = outcomes(&report).values().filter(|outcome| *outcome == "\"passed\"").count();
                    assert!(ran >= 20, "{id}: only {ran} checks ran");
                });
            }
        });
    }
}

#[test]
fn one_suite_runs_on_a_compiled_extension_and_on_its_copy_in_typescript() {
    let [compiled, script] = std::thread::scope(|scope| {
        let runs = ["tool-todo", TODO_COPY].map(|extension| scope.spawn(move || suite(extension)));
        runs.map(|run| run.join().unwrap())
    });
    assert_eq!((compiled.status, script.status), (0, 0), "{compiled:?} {script:?}");
    let (compiled, script) = (outcomes(&compiled.json()), outcomes(&script.json()));
    let names = |all: &BTreeMap<String, String>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&compiled), names(&script));
    assert!(script.values().all(|outcome| outcome == "\"passed\""), "{script:#?}");
    for eight in ["module-throws", "activate-throws", "event-rejects", "before-tool-throws", "before-tool-hangs"] {
        assert_eq!(compiled[&format!("fault-{eight}")], "\"passed\"");
    }
    for eight in ["request-throws", "request-hangs", "later-throws"] {
        assert_eq!(compiled[&format!("fault-{eight}")], "\"passed\"");
    }
}

#[test]
fn the_copy_in_typescript_takes_the_place_of_the_compiled_one_and_answers_the_same() {
    let items =
        r#"call todo {"items": [{"text": "write it", "status": "done"}, {"text": "read it", "status": "pending"}]}"#;
    let said = "[x] write it\n[ ] read it\n1 done, 0 in progress, 1 pending.";
    let context = TestContext::new();
    let chat = || context.dispatch(&["--set", "model.provider=rehearsal", "chat", items]);
    assert!(chat().stdout.contains(said), "{:?}", chat());
    let installed = context.dispatch(&["ext", "install", TODO_COPY, "--grant"]);
    assert!(installed.stdout.contains("REPLACES the extension `tool-todo`"), "{installed:?}");
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    let todo = listed.as_array().unwrap().iter().find(|it| it["id"] == "tool-todo").unwrap().clone();
    assert_eq!((todo["tier"].as_str(), todo["state"].as_str()), (Some("external"), Some("active")), "{todo}");
    assert!(chat().stdout.contains(said), "{:?}", chat());
}
