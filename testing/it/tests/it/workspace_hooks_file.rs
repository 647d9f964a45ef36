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
.akira/hooks.json:3:15: unknown key `concurency`
  hint: did you mean `concurrency`?
.akira/hooks.json:6:13: duplicate id `fmt`, also used by /hooks/0
  hint: give each hook a unique id
.akira/hooks.json:6:31: unknown trigger `onSave`
  hint: use `onDidSaveTextDocument`
.akira/hooks.json:6:74: invalid `timeoutMs` 0: every run has a time limit
  hint: omit `timeoutMs` for the default of 60000 (a minute); the most is 86400000 (a day)
.akira/hooks.json:7:34: a hook started by git needs `allowGit: true`
  hint: write \"allowGit\": true if git may start it
.akira/hooks.json:7:34: a hook started by git needs `repoRoot`
  hint: write \"repoRoot\": \".\" if the workspace is the repository
.akira/hooks.json:7:81: invalid regular expression: look-around, including look-ahead and look-behind, is not supported
  hint: look-around and backreferences are not supported, so that no pattern takes exponential time
.akira/hooks.json:7:93: unknown key `timeout`
  hint: use `timeoutMs`
.akira/hooks.json:8:68: a hook cannot have both `prompt` and `command`
  hint: keep one of them, or make two hooks
.akira/hooks.json:8:90: invalid `concurrency` 0: expected 1 to 256
.akira/hooks.json:8:91: trailing comma
  hint: JSON does not allow a comma after the last entry
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
    assert_eq!((none.status, none.stdout.as_str()), (0, "no .akira/hooks.json found\n"));
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
        let words = hook["reason"].as_str().unwrap_or("runs").split_whitespace().take(4);
        format!("{}: {}", hook["id"].as_str().unwrap(), words.collect::<Vec<_>>().join(" "))
    };
    listed["hooks"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn hooks_that_came_with_a_project_wait_for_trust_and_a_changed_one_asks_again() {
    let context = TestContext::new();
    context.write(FILE, RIGHT);
    assert_eq!(standing(&context), ["fmt: it is not approved;", "ask: it is not approved;"]);
    let waiting = context.dispatch(&["trust", "--list", "--json"]).json();
    assert_eq!(waiting["waiting"][0]["state"], "waiting");

    assert_eq!(context.dispatch(&["trust"]).status, 0);
    assert_eq!(standing(&context), ["fmt: runs", "ask: runs"]);

    context.write(FILE, RIGHT.replace("review", "delete everything"));
    assert_eq!(standing(&context), ["fmt: runs", "ask: it has changed since"]);
    assert_eq!(context.dispatch(&["trust", FILE]).status, 0);
    assert_eq!(standing(&context), ["fmt: runs", "ask: runs"]);

    assert_eq!(context.dispatch(&["trust", "--revoke", FILE]).status, 0);
    assert_eq!(standing(&context), ["fmt: it is not approved;", "ask: it is not approved;"]);
}

/// One of each thing that can be wrong with what is written.
const ALL_WRONG: &str = r#"{
  "schemaVersion": 1,
  "schemaVersion": 1,
  "limits": { "concurrency": 0, "queued": "many" },
  "secretPatterns": ["("],
  "hoks": [],
  "hooks": [
    { "id": "", "trigger": "onSave", "prompt": "" },
    { "id": "a", "trigger": "manual", "prompt": "x", "command": ["y"] },
    { "id": "a", "trigger": "manual", "command": [] },
    { "id": "b", "trigger": "gitCommit", "prompt": "x" },
    { "id": "c", "trigger": "git:pre-push", "allowGit": true, "repoRoot": "no/such", "prompt": "x" },
    { "id": "d", "trigger": "schedule", "schedule": "every day", "prompt": "x" },
    { "id": "e", "trigger": "schedule", "prompt": "x" },
    { "id": "f", "trigger": "manual", "prompt": "x", "timeoutMs": 999, "concurrency": 0, "debounceMs": -1 },
    { "id": "g", "trigger": "manual", "prompt": "x", "retry": { "count": -1, "backoffFactor": 0.5, "often": 1 } },
    { "id": "h", "trigger": "manual", "prompt": "x", "runner": "clade", "session": "day", "place": "moon" },
    { "id": "i", "trigger": "manual", "prompt": "x", "secretPatterns": ["["], "pattern": "a[", "enabled": "yes" },
    { "id": "j", "trigger": "manual", "prompt": "x", "rateLimit": { "runs": 0 }, "budget": { "tokensPerDay": -1 } },
    { "id": "k", "trigger": "custom:", "prompt": "x", "runner": { "http": "ftp://x" }, "passEnv": ["A B"] },
    { "id": "l", "trigger": "onDidSaveTextDocument", "schedule": "* * * * *" },
    { "trigger": "manual", "prompt": 1, "timeoutMs": 86400001, "metadata": [] },
    7,
  ]
}
"#;

const ALL_TOLD: [(u64, u64, &str, &str); 41] = [
    (3, 3, "/schemaVersion", "duplicate-key"),
    (4, 30, "/limits/concurrency", "range"),
    (4, 43, "/limits/queued", "type"),
    (5, 22, "/secretPatterns/0", "regex"),
    (6, 3, "/hoks", "unknown-key"),
    (8, 13, "/hooks/0/id", "id"),
    (8, 28, "/hooks/0/trigger", "trigger"),
    (8, 48, "/hooks/0/prompt", "action"),
    (9, 65, "/hooks/1/command", "action"),
    (10, 13, "/hooks/2/id", "duplicate-id"),
    (10, 50, "/hooks/2/command", "command"),
    (11, 29, "/hooks/3/trigger", "git-safety"),
    (11, 29, "/hooks/3/trigger", "git-safety"),
    (12, 75, "/hooks/4/repoRoot", "git-safety"),
    (13, 53, "/hooks/5/schedule", "schedule"),
    (14, 5, "/hooks/6", "required"),
    (15, 67, "/hooks/7/timeoutMs", "timeout"),
    (15, 87, "/hooks/7/concurrency", "concurrency"),
    (15, 104, "/hooks/7/debounceMs", "type"),
    (16, 74, "/hooks/8/retry/count", "type"),
    (16, 95, "/hooks/8/retry/backoffFactor", "retry"),
    (16, 100, "/hooks/8/retry/often", "unknown-key"),
    (17, 64, "/hooks/9/runner", "runner"),
    (17, 84, "/hooks/9/session", "choice"),
    (17, 100, "/hooks/9/place", "choice"),
    (18, 73, "/hooks/10/secretPatterns/0", "regex"),
    (18, 107, "/hooks/10/enabled", "type"),
    (19, 67, "/hooks/11/rateLimit", "required"),
    (19, 77, "/hooks/11/rateLimit/runs", "range"),
    (19, 110, "/hooks/11/budget/tokensPerDay", "type"),
    (20, 29, "/hooks/12/trigger", "trigger"),
    (20, 75, "/hooks/12/runner/http", "url"),
    (20, 100, "/hooks/12/passEnv/0", "environment"),
    (21, 5, "/hooks/13", "required"),
    (21, 66, "/hooks/13/schedule", "schedule"),
    (22, 5, "/hooks/14", "required"),
    (22, 38, "/hooks/14/prompt", "type"),
    (22, 54, "/hooks/14/timeoutMs", "timeout"),
    (22, 76, "/hooks/14/metadata", "type"),
    (23, 5, "/hooks/15", "type"),
    (23, 6, "/hooks", "syntax"),
];

#[test]
fn every_rule_that_is_broken_is_told_at_once() {
    let context = TestContext::new();
    context.write(FILE, ALL_WRONG);
    let output = context.dispatch(&["workspace-hooks", "check", "--json"]);
    assert_eq!((output.status, output.stderr.as_str()), (1, ""));
    let problems = output.json();
    let problems = problems.as_array().unwrap();
    let place = |problem: &serde_json::Value| {
        let number = |name: &str| problem[name].as_u64().unwrap();
        let text = |name: &str| problem[name].as_str().unwrap().to_owned();
        (number("line"), number("column"), text("pointer"), text("rule"))
    };
    let told: Vec<_> = problems.iter().map(place).collect();
    let owned =
        |(line, column, pointer, rule): (u64, u64, &str, &str)| (line, column, pointer.to_owned(), rule.to_owned());
    assert_eq!(told, ALL_TOLD.map(owned));
    // What stands at the place is what the problem is about.
    let lines: Vec<&str> = ALL_WRONG.lines().collect();
    for problem in problems.iter().filter(|problem| problem["rule"] == "unknown-key") {
        let (line, column, pointer, _) = place(problem);
        let key = pointer.rsplit('/').next().unwrap_or_default().to_owned();
        let at: String = lines[line as usize - 1].chars().skip(column as usize - 1).collect();
        assert!(at.starts_with(&format!("\"{key}\"")), "{at}");
    }
}

#[test]
fn a_file_of_a_later_version_is_not_guessed_at() {
    let context = TestContext::new();
    context.write(FILE, ALL_WRONG.replacen("\"schemaVersion\": 1", "\"schemaVersion\": 9", 1));
    let problems = context.dispatch(&["workspace-hooks", "check", "--json"]).json();
    let rules: Vec<&str> = problems.as_array().unwrap().iter().filter_map(|it| it["rule"].as_str()).collect();
    assert_eq!(rules, ["schema-version", "duplicate-key", "syntax"]);
    assert_eq!(problems[0]["hint"], "update Dispatch");
}

#[test]
fn results_that_nobody_would_be_told_are_pointed_out() {
    let context = TestContext::new();
    let telling = RIGHT.replace(r#""prompt": "review" "#, r#""prompt": "review", "tellAgent": true "#);
    context.write(FILE, &telling);
    for command in ["check", "list"] {
        let output = context.dispatch(&["workspace-hooks", command]);
        assert_eq!(output.status, 0, "{output:?}");
        assert!(output.stderr.contains("hook `ask`: `tellAgent` has no effect"), "{output:?}");
    }
    let modules = r#"{"version": 1, "modules": [{"name": "session"}, {"name": "workspace-results"}]}"#;
    context.write(".ai/hooks/dispatch.manifest.json", modules);
    assert_eq!(context.dispatch(&["workspace-hooks", "check"]).stderr, "");
    context.write(FILE, RIGHT);
    std::fs::remove_file(context.project().join(".ai/hooks/dispatch.manifest.json")).unwrap();
    assert_eq!(context.dispatch(&["workspace-hooks", "check"]).stderr, "", "nobody wants to tell anything");
}
