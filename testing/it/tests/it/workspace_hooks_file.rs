//! `.akira/hooks.json` through the real binary: what is wrong with it, what of it runs, and who approved it.

use dispatch_support::TestContext;

const FILE: &str = ".akira/hooks.json";

const WRONG: &str = r#"{
  "schemaVersion": 1,
  "limits": { "concurency": 4 },
  "hooks": [
    { "id": "fmt", "trigger": "onDidSaveTextDocument", "pattern": "**/*.rs", "command": ["cargo", "fmt"] },
    { "id": "fmt", "trigger": "onSave", "prompt": "review", "timeoutMs": 0 },
    { "id": "commit", "trigger": "gitCommit", "prompt": "é", "secretPatterns": ["(?<=x)y"], "timeout": 1 },
    { "id": "both", "trigger": "manual", "prompt": "a", "command": ["b"], "concurrency": 0, }
  ]
}
"#;

const RIGHT: &str = r#"{ "hooks": [
  { "id": "fmt", "trigger": "onDidSaveTextDocument", "pattern": "**/*.rs", "command": ["cargo", "fmt"] },
  { "id": "ask", "trigger": "manual", "prompt": "review" }
] }
"#;

#[test]
fn check_tells_every_problem_at_its_place() {
    let context = TestContext::new();
    context.write(FILE, WRONG);
    let output = context.dispatch(&["workspace-hooks", "check"]);
    assert_eq!(output.status, 1);
    let expected = "\
.akira/hooks.json:3:15: nobody reads the key `concurency`
  hint: did you mean `concurrency`?
.akira/hooks.json:6:13: the hook /hooks/0 has the id `fmt` too
  hint: give every hook an id of its own
.akira/hooks.json:6:31: `onSave` is no trigger
  hint: it is called `onDidSaveTextDocument`
.akira/hooks.json:6:74: `timeoutMs` is 0, and a run without a limit is not possible
  hint: there is always a limit: leave `timeoutMs` out for a minute, or write up to 86400000 for a day
.akira/hooks.json:7:34: a hook that git starts needs `allowGit: true`
  hint: write \"allowGit\": true if git may start it
.akira/hooks.json:7:34: a hook that git starts needs `repoRoot`
  hint: write \"repoRoot\": \".\" if the workspace is the repository
.akira/hooks.json:7:81: the pattern is no regular expression: look-around, including look-ahead and look-behind, is not supported
  hint: look-around and references back are not known, so that no pattern takes for ever
.akira/hooks.json:7:93: nobody reads the key `timeout`
  hint: it is called `timeoutMs`
.akira/hooks.json:8:68: a hook has `prompt` or `command`, not both
  hint: keep one of them, or make two hooks
.akira/hooks.json:8:90: `concurrency` is 0; it goes from 1 to 256
.akira/hooks.json:8:91: a comma before the end
  hint: JSON has no comma after the last entry
1 of 4 hooks are valid
";
    assert_eq!(output.stdout, expected);
    let json = context.dispatch(&["workspace-hooks", "check", "--json"]);
    assert_eq!(json.status, 1);
    let problems = json.json();
    assert_eq!(problems.as_array().map(Vec::len), Some(11));
    assert_eq!(problems[1]["rule"], "duplicate-id");
    assert_eq!((&problems[1]["line"], &problems[1]["column"]), (&6.into(), &13.into()));
    assert_eq!((&problems[1]["pointer"], &problems[1]["file"]), (&"/hooks/1/id".into(), &FILE.into()));
}

#[test]
fn a_good_file_and_none_are_both_fine() {
    let context = TestContext::new();
    let none = context.dispatch(&["workspace-hooks", "check"]);
    assert_eq!((none.status, none.stdout.as_str()), (0, "there is no .akira/hooks.json here\n"));
    context.write(FILE, RIGHT);
    let good = context.dispatch(&["workspace-hooks", "check"]);
    assert_eq!((good.status, good.stdout.as_str()), (0, "2 hooks are valid\n"));
    assert_eq!(context.dispatch(&["workspace-hooks", "check", "--json"]).json(), serde_json::json!([]));
}

#[test]
fn the_schema_is_printed() {
    let schema = TestContext::new().dispatch(&["workspace-hooks", "schema"]).json();
    assert_eq!(schema["properties"]["hooks"]["items"]["properties"]["concurrency"]["default"], 4);
    let shipped = TestContext::new().dispatch(&["schema", "workspace-hooks"]).json();
    assert_eq!(schema, shipped);
}

/// Each hook with why it does not run.
fn standing(context: &TestContext) -> Vec<String> {
    let listed = context.dispatch(&["workspace-hooks", "list", "--json"]).json();
    let row = |hook: &serde_json::Value| {
        let reason = hook["reason"].as_str().and_then(|text| text.split([';', ' ']).next()).unwrap_or("runs");
        format!("{} {reason}", hook["id"].as_str().unwrap())
    };
    listed["hooks"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn hooks_that_came_with_a_project_wait_for_trust_and_a_changed_one_asks_again() {
    let context = TestContext::new();
    context.write(FILE, RIGHT);
    assert_eq!(standing(&context), ["fmt nobody", "ask nobody"]);
    let waiting = context.dispatch(&["trust", "--list", "--json"]).json();
    assert_eq!(waiting["waiting"][0]["state"], "waiting");

    assert_eq!(context.dispatch(&["trust"]).status, 0);
    assert_eq!(standing(&context), ["fmt runs", "ask runs"]);

    context.write(FILE, RIGHT.replace("review", "delete everything"));
    assert_eq!(standing(&context), ["fmt runs", "ask it"]);
    assert_eq!(context.dispatch(&["trust", FILE]).status, 0);
    assert_eq!(standing(&context), ["fmt runs", "ask runs"]);

    assert_eq!(context.dispatch(&["trust", "--revoke", FILE]).status, 0);
    assert_eq!(standing(&context), ["fmt nobody", "ask nobody"]);
}
