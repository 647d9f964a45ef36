//! `dispatch ext test` and `dispatch ext new`: what an author sees of good and of bad extensions.

use dispatch_support::TestContext;
use serde_json::Value;

pub(crate) const KINDS: [&str; 7] = ["tool", "provider", "command", "filter", "event", "route", "job"];

fn failed_checks(report: &Value) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["outcome"] == "failed");
    checks.map(|check| format!("{}: {}", check["name"], check["reason"])).collect()
}

#[test]
fn a_new_extension_of_every_kind_passes_its_tests_and_the_suite() {
    let context = TestContext::new();
    for kind in KINDS {
        let made = context.dispatch(&["ext", "new", &format!("my-{kind}"), "--kind", kind]);
        assert_eq!(made.status, 0, "{made:?}");
    }
    std::thread::scope(|scope| {
        for kind in KINDS {
            let context = &context;
            scope.spawn(move || {
                let folder = format!(".dispatch/extensions/my-{kind}");
                let tested = context.dispatch(&["ext", "test", &folder, "--json"]);
                let report = tested.json();
                assert_eq!(tested.status, 0, "{kind}: {:?} {}", failed_checks(&report), report["tests"]);
                assert!(!report["tests"].as_array().unwrap().is_empty(), "{kind} has no unit test");
                assert_eq!(report["passed"], true);
            });
        }
    });
    assert!(!context.home().join("cache").read_dir().is_ok_and(|mut left| left.next().is_some()), "nothing is left");
}

#[test]
fn a_failed_unit_test_is_told_with_its_name_its_line_and_what_was_expected() {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["ext", "new", "sums"]).status, 0);
    let tests = "import { equal, ok, rejects, test, throws } from 'dispatch:test';
import { greet } from './logic.ts';
test('is right', () => equal(greet('Hi', 'you'), 'Hi, you!'));
test('is wrong', () => {
  equal({ a: [1, 2] }, { a: [1, 3] }, 'the sums');
});
test('throws as expected', () => throws(() => { throw new Error('no luck'); }, /luck/));
test('waits', async () => rejects(Promise.reject(new Error('later')), 'later'));
test('needs more', () => ok(0, 'something'));
";
    context.write_cloned(".dispatch/extensions/sums/logic.test.ts", tests);
    context.write_cloned(
        ".dispatch/extensions/sums/broken.test.ts",
        "import { nothing } from './nowhere.ts';\nnothing();\n",
    );
    context.write_cloned(".dispatch/extensions/sums/empty.test.ts", "export {};\n");
    let tested = context.dispatch(&["ext", "test", ".dispatch/extensions/sums"]);
    assert_eq!(tested.status, 1, "{tested:?}");
    for said in [
        "ok    logic.test.ts: is right",
        "FAIL  logic.test.ts:5: is wrong\n      the sums: expected {\"a\":[1,3]}, got {\"a\":[1,2]}",
        "ok    logic.test.ts: throws as expected",
        "ok    logic.test.ts: waits",
        "FAIL  logic.test.ts:9: needs more\n      something: expected something true, got 0",
        "FAIL  broken.test.ts",
        "there is no file `nowhere.ts`",
        "FAIL  empty.test.ts: empty.test.ts\n      the file has no test",
        "`sums` 0.1.0: FAILS",
    ] {
        assert!(tested.stdout.contains(said), "{said}: {}", tested.stdout);
    }
}

#[test]
fn what_an_extension_promises_and_does_not_keep_is_named() {
    let context = TestContext::new();
    let manifest = r#"{"id":"liar","name":"Liar","version":"1.0.0","apiVersion":"^0.2.0","tier":"external",
        "contributes":{"tools":["there","missing"]}}"#;
    context.write_cloned("liar/manifest.json", manifest);
    let code = "export function activate(host) {
        host.defineTool({ name: 'there', description: 'x', timeoutMs: 300, execute(args) { if (args.compliance) for (;;); } });
    }
    export function deactivate() { throw new Error('not yet'); }";
    context.write_cloned("liar/index.ts", code);
    let tested = context.dispatch(&["ext", "test", "liar", "--json"]);
    assert_eq!(tested.status, 1, "{tested:?}");
    let failed = failed_checks(&tested.json());
    for said in [
        "\"activates\": \"the manifest names what it does not add: tool missing\"",
        "\"deactivates\": \"extension `liar` in deactivation",
        "\"tools-answer\": \"`there` with",
    ] {
        assert!(failed.iter().any(|failed| failed.starts_with(said)), "{said}: {failed:#?}");
    }
    assert_eq!(failed.len(), 3, "{failed:#?}");
}

#[test]
fn what_cannot_be_tested_is_said() {
    let context = TestContext::new();
    context.write_cloned("empty/notes.md", "");
    let no_manifest = context.dispatch(&["ext", "test", "empty"]);
    assert_eq!(no_manifest.status, 3);
    assert!(no_manifest.stderr.contains("empty/manifest.json: there is no such file"), "{no_manifest:?}");
    let unknown = context.dispatch(&["ext", "test", "tool-tod"]);
    assert!(unknown.stderr.contains("did you mean `tool-todo`?"), "{unknown:?}");
    context.write_cloned("typo/manifest.json", "{\n \"id\": 1,\n}");
    let typo = context.dispatch(&["ext", "test", "typo"]);
    assert!(typo.stderr.contains("typo/manifest.json: the file is not JSON"), "{typo:?}");
}
