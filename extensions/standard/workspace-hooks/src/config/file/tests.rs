//! Every rule of the file, as tables: what is written, and which problem is told where.

use super::*;
use crate::contract::{Action, RunPlace, Runner, SessionScope, Trigger};
use proptest::prelude::*;
use serde_json::{Value, json};

fn contents(text: &[u8]) -> ParsedHookFile {
    let folder = |path: &Path| (!path.to_string_lossy().contains("missing")).then(|| path.to_path_buf());
    let taken = BTreeSet::from(["global".to_owned()]);
    parse("f", text, &ParseContext { workspace: Path::new("/w"), folder: &folder, taken: &taken, secret_patterns: &[] })
}

/// `line:column pointer rule`, and the hint where it is asked for.
fn told(text: &str) -> Vec<String> {
    let problems = contents(text.as_bytes()).problems;
    problems.iter().map(|it| format!("{}:{} {} {}", it.line, it.column, it.pointer, it.rule)).collect()
}

/// A file with one hook that has these keys beside id, trigger and prompt; a `null` takes a key out.
fn file_with(more: &Value) -> String {
    let mut hook = json!({ "id": "h", "trigger": "onDidSaveTextDocument", "prompt": "p" });
    for (key, value) in more.as_object().unwrap() {
        if value.is_null() {
            hook.as_object_mut().unwrap().remove(key);
        } else {
            hook[key] = value.clone();
        }
    }
    json!({ "hooks": [hook] }).to_string()
}

/// `pointer rule: message | hint`, without `/hooks/0`.
fn rules(more: &Value) -> Vec<String> {
    let problems = contents(file_with(more).as_bytes()).problems;
    let row = |it: &Problem| {
        let pointer = it.pointer.strip_prefix("/hooks/0").unwrap_or(&it.pointer);
        format!("{pointer} {}: {}", it.rule, it.message)
    };
    problems.iter().map(row).collect()
}

fn hook_of(more: &Value) -> Hook {
    let contents = contents(file_with(more).as_bytes());
    assert_eq!(contents.problems, []);
    contents.hooks.into_iter().next().unwrap()
}

#[test]
fn defaults_are_filled_in() {
    let hook = hook_of(&json!({}));
    assert_eq!(hook.id, "h");
    assert_eq!(hook.trigger, Trigger::DidSave);
    assert_eq!(hook.action, Action::Prompt("p".into()));
    assert_eq!(hook.runner, Runner::Agent { session: SessionScope::Hook });
    assert_eq!((hook.place, hook.enabled, hook.concurrency, hook.timeout_ms), (RunPlace::Tree, true, 4, 60_000));
    assert_eq!((hook.retry.count, hook.retry.backoff_ms, hook.debounce_ms), (0, 1_000, 200));
    assert!((hook.retry.backoff_factor - 2.0).abs() < f64::EPSILON);
    assert_eq!((hook.allow_git, hook.tell_agent, hook.rate_limit), (false, false, None));
}

#[test]
fn every_value_arrives() {
    let hook = hook_of(&json!({
        "prompt": null, "command": ["prog", "-x"], "pattern": ["./src/**", "!./src/gen/**"], "place": "patch",
        "enabled": false, "concurrency": 1, "timeoutMs": 1000, "retry": {"count": 3, "backoffMs": 0, "backoffFactor": 1},
        "debounceMs": 0, "rateLimit": {"runs": 2, "perMs": 1000}, "budget": {"tokensPerDay": 5, "usdPerDay": 0.25},
        "repoRoot": "sub", "secretPatterns": ["k-[0-9]+"], "passEnv": ["HOME_1"], "tellAgent": true,
        "metadata": {"b": [1, {"c": null}], "a": "x"}, "x-mine": [1], "session": "file"
    }));
    assert_eq!(hook.action, Action::Command(vec!["prog".into(), "-x".into()]));
    assert_eq!(hook.pattern, ["src/**", "!src/gen/**"]);
    assert_eq!((hook.place, hook.enabled, hook.concurrency, hook.timeout_ms), (RunPlace::Patch, false, 1, 1_000));
    assert_eq!((hook.retry.count, hook.retry.backoff_ms, hook.debounce_ms), (3, 0, 0));
    assert_eq!((hook.budget.tokens_per_day, hook.budget.micro_usd_per_day), (Some(5), Some(250_000)));
    assert_eq!(hook.repo_root.as_deref(), Some("/w/sub"));
    assert_eq!(Value::Object(hook.metadata), json!({"b": [1, {"c": null}], "a": "x"}));
    assert_eq!(
        (hook.secret_patterns, hook.pass_env, hook.tell_agent),
        (vec!["k-[0-9]+".into()], vec!["HOME_1".into()], true)
    );
}

#[test]
fn each_rule_of_a_hook() {
    let long = "x".repeat(121);
    let many_patterns = vec!["a"; 65];
    let table: Vec<(Value, &[&str])> = vec![
        (json!({"id": null}), &[" required: missing key `id`"]),
        (json!({"id": 1}), &["/id type: expected a text, found a number"]),
        (json!({"id": ""}), &["/id id: the id is empty"]),
        (json!({"id": " a"}), &["/id id: the id begins or ends with white space"]),
        (json!({"id": "a\nb"}), &["/id id: the id contains a control character"]),
        (json!({"id": long}), &["/id id: the id is longer than 120 characters"]),
        (json!({"id": "global"}), &["/id duplicate-id: duplicate id `global`, also used in the global file"]),
        (json!({"trigger": null}), &[" required: missing key `trigger`"]),
        (json!({"trigger": "onSaved"}), &["/trigger trigger: unknown trigger `onSaved`"]),
        (json!({"prompt": null}), &[" required: missing key `prompt`"]),
        (json!({"prompt": " \n"}), &["/prompt action: the prompt is empty"]),
        (json!({"prompt": "a\u{0}"}), &["/prompt action: the prompt contains the character U+0000"]),
        (
            json!({"prompt": "p".repeat(262_145)}),
            &["/prompt too-large: the prompt has 262145 bytes, more than the limit of 262144"],
        ),
        (json!({"command": ["a"]}), &["/command action: a hook cannot have both `prompt` and `command`"]),
        (
            json!({"prompt": null, "command": "a b"}),
            &["/command type: expected a list, found a text; commands do not run in a shell"],
        ),
        (json!({"prompt": null, "command": []}), &["/command command: the program is missing"]),
        (json!({"prompt": null, "command": [" "]}), &["/command command: the program is missing"]),
        (json!({"prompt": null, "command": ["a", 1]}), &["/command/1 type: expected a text, found a number"]),
        (
            json!({"prompt": null, "command": ["a", "\u{0}"]}),
            &["/command/1 command: an argument contains the character U+0000"],
        ),
        (
            json!({"prompt": null, "command": vec!["a"; 257]}),
            &["/command too-large: `command` has 257 entries, more than the limit of 256"],
        ),
        (
            json!({"prompt": null, "command": ["a"], "runner": "agent"}),
            &["/runner action: `runner` is only for a hook with a `prompt`"],
        ),
        (json!({"enabled": "yes"}), &["/enabled type: expected true or false, found a text"]),
        (json!({"concurrency": 0}), &["/concurrency concurrency: invalid `concurrency` 0: expected 1 to 256"]),
        (
            json!({"concurrency": -1}),
            &["/concurrency type: invalid `concurrency`: expected a whole number of at least 0"],
        ),
        (
            json!({"concurrency": 1.5}),
            &["/concurrency type: invalid `concurrency`: expected a whole number of at least 0"],
        ),
        (json!({"concurrency": "4"}), &["/concurrency type: expected a whole number, found a text"]),
        (json!({"timeoutMs": 999}), &["/timeoutMs timeout: invalid `timeoutMs` 999: expected 1000 to 86400000"]),
        (json!({"timeoutMs": 0}), &["/timeoutMs timeout: invalid `timeoutMs` 0: every run has a time limit"]),
        (
            json!({"timeoutMs": 86_400_001}),
            &["/timeoutMs timeout: invalid `timeoutMs` 86400001: expected 1000 to 86400000"],
        ),
        (json!({"retry": {"count": 21}}), &["/retry/count retry: invalid `count` 21: expected 0 to 20"]),
        (json!({"retry": {}}), &["/retry required: missing key `count`"]),
        (json!({"retry": 3}), &["/retry type: expected an object, found a number"]),
        (
            json!({"retry": {"count": 1, "backoffMs": 600_001, "backoffFactor": 0.5}}),
            &[
                "/retry/backoffMs retry: invalid `backoffMs` 600001: expected 0 to 600000",
                "/retry/backoffFactor retry: invalid `backoffFactor` 0.5: expected 1 to 10",
            ],
        ),
        (json!({"retry": {"count": 1, "backof": 1}}), &["/retry/backof unknown-key: unknown key `backof`"]),
        (json!({"debounceMs": 60_001}), &["/debounceMs range: invalid `debounceMs` 60001: expected 0 to 60000"]),
        (
            json!({"rateLimit": {"runs": 0}}),
            &[
                "/rateLimit required: missing key `perMs`",
                "/rateLimit/runs range: invalid `runs` 0: expected 1 to 100000",
            ],
        ),
        (
            json!({"budget": {"tokensPerDay": 0, "usdPerDay": -1}}),
            &[
                "/budget/tokensPerDay range: invalid `tokensPerDay` 0: expected 1 to 1000000000000",
                "/budget/usdPerDay range: invalid `usdPerDay` -1: expected 0.000001 to 1000000",
            ],
        ),
        (
            json!({"trigger": "gitCommit"}),
            &[
                "/trigger git-safety: a hook started by git needs `allowGit: true`",
                "/trigger git-safety: a hook started by git needs `repoRoot`",
            ],
        ),
        (
            json!({"trigger": "git:pre-push", "allowGit": false, "repoRoot": "."}),
            &["/allowGit git-safety: a hook started by git needs `allowGit: true`"],
        ),
        (
            json!({"trigger": "git:pre-push", "allowGit": true}),
            &["/trigger git-safety: a hook started by git needs `repoRoot`"],
        ),
        (
            json!({"trigger": "gitCommit", "allowGit": true, "repoRoot": "missing"}),
            &["/repoRoot git-safety: `repoRoot` is not a folder"],
        ),
        (
            json!({"trigger": "gitCommit", "allowGit": true, "repoRoot": ""}),
            &["/repoRoot git-safety: invalid `repoRoot`"],
        ),
        (json!({"pattern": ""}), &["/pattern glob: the glob matches no file"]),
        (json!({"pattern": ["a", "#b"]}), &["/pattern/1 glob: the glob matches no file"]),
        (json!({"pattern": "../**"}), &["/pattern glob: the glob leaves the workspace"]),
        (json!({"pattern": "!/etc/*"}), &["/pattern glob: the glob leaves the workspace"]),
        (
            json!({"pattern": "{1..100000}"}),
            &["/pattern glob: the braces of the pattern expand to more than 4096 patterns or 262144 characters"],
        ),
        (json!({"pattern": 1}), &["/pattern type: expected a glob or a list of globs, found a number"]),
        (
            json!({"pattern": many_patterns}),
            &["/pattern too-large: `pattern` has 65 entries, more than the limit of 64"],
        ),
        (
            json!({"secretPatterns": ["(", "a{9999999}", "(?=x)", "", "ok"]}),
            &[
                "/secretPatterns/0 regex: invalid regular expression: unclosed group",
                "/secretPatterns/1 regex: the pattern needs more than 1048576 bytes when it is compiled",
                "/secretPatterns/2 regex: invalid regular expression: look-around, including look-ahead and look-behind, is not supported",
                "/secretPatterns/3 regex: the pattern is empty",
            ],
        ),
        (json!({"secretPatterns": "a"}), &["/secretPatterns type: expected a list, found a text"]),
        (
            json!({"secretPatterns": vec!["a"; 65]}),
            &["/secretPatterns too-large: `secretPatterns` has 65 entries, more than the limit of 64"],
        ),
        (
            json!({"secretPatterns": ["a".repeat(2_049)]}),
            &["/secretPatterns/0 regex: the pattern has 2049 bytes, more than the limit of 2048"],
        ),
        (
            json!({"passEnv": ["A=b", "1A", "", "OK_1"]}),
            &[
                "/passEnv/0 environment: invalid environment variable name",
                "/passEnv/1 environment: invalid environment variable name",
                "/passEnv/2 environment: invalid environment variable name",
            ],
        ),
        (json!({"metadata": []}), &["/metadata type: expected an object, found a list"]),
        (
            json!({"metadata": {"a": "x".repeat(65_536)}}),
            &["/metadata too-large: `metadata` has 65544 bytes, more than the limit of 65536"],
        ),
        (json!({"session": "files"}), &["/session choice: invalid `session` `files`"]),
        (json!({"place": "worktree"}), &["/place choice: invalid `place` `worktree`"]),
        (
            json!({"schedule": "* * * * *"}),
            &["/schedule schedule: `schedule` and `timezone` are only for the trigger `schedule`"],
        ),
        (json!({"trigger": "schedule"}), &[" required: missing key `schedule`"]),
        (
            json!({"trigger": "schedule", "schedule": "0 0 30 2 *"}),
            &["/schedule schedule: the schedule never comes up"],
        ),
        (
            json!({"trigger": "schedule", "schedule": "* * * * *", "timezone": "Mars/Base"}),
            &["/timezone schedule: unknown time zone"],
        ),
        (json!({"timeoutMS": 5000}), &["/timeoutMS unknown-key: unknown key `timeoutMS`"]),
    ];
    for (more, expected) in table {
        assert_eq!(rules(&more), expected, "{more}");
        assert_eq!(contents(file_with(&more).as_bytes()).hooks, [], "{more}");
    }
    let schedule = rules(&json!({"trigger": "schedule", "schedule": "99 * * * *"}));
    assert!(schedule[0].starts_with("/schedule schedule: invalid schedule: "), "{schedule:?}");
}

#[test]
fn each_rule_of_a_runner() {
    let table: Vec<(Value, &[&str])> = vec![
        (json!("claud"), &["/runner runner: unknown runner `claud`"]),
        (json!(1), &["/runner type: expected the name of a runner or an object, found a number"]),
        (json!({}), &["/runner runner: a runner needs exactly one of `command` and `http`"]),
        (
            json!({"command": ["a"], "http": "https://a"}),
            &["/runner runner: a runner needs exactly one of `command` and `http`"],
        ),
        (
            json!({"command": ["a", "-p"]}),
            &["/runner/command template: {prompt} appears 0 times in the arguments, expected once"],
        ),
        (
            json!({"command": ["a", "{prompt}", "{prompt}"]}),
            &["/runner/command template: {prompt} appears 2 times in the arguments, expected once"],
        ),
        (
            json!({"command": ["a", "{prompt}{prompt}"]}),
            &["/runner/command template: {prompt} appears 2 times in the arguments, expected once"],
        ),
        (json!({"command": ["{prompt}"]}), &["/runner/command template: {prompt} cannot be the program"]),
        (
            json!({"command": "a {prompt}"}),
            &["/runner/command type: expected a list, found a text; commands do not run in a shell"],
        ),
        (json!({"command": ["a", "{prompt}"], "headers": {}}), &["/runner/headers unknown-key: unknown key `headers`"]),
        (json!({"http": "http://example.com/"}), &["/runner/http url: http is allowed only to this machine"]),
        (json!({"http": 1}), &["/runner/http type: expected a text, found a number"]),
        (
            json!({"http": "https://a", "headers": {"a b": "x", "c": "y\r\nz", "d": 1}}),
            &[
                "/runner/headers/a b header: invalid header name `a b`",
                "/runner/headers/c header: the header value contains a control character",
                "/runner/headers/d type: expected a text, found a number",
            ],
        ),
    ];
    for (runner, expected) in table {
        assert_eq!(rules(&json!({ "runner": runner })), expected, "{runner}");
    }
    for name in crate::runner::runner_names().into_iter().filter(|name| *name != "agent") {
        let Runner::External(template) = hook_of(&json!({ "runner": name })).runner else { panic!("{name}") };
        assert_eq!(template.name, name);
        assert!(!template.command.is_empty());
    }
    let http =
        hook_of(&json!({"runner": {"http": "http://localhost:1/x", "headers": {"Authorization": "Bearer ${T}"}}}));
    assert!(
        matches!(http.runner, Runner::Http { url, headers } if url == "http://localhost:1/x" && headers.len() == 1)
    );
}

#[test]
fn hints_say_what_is_meant() {
    for (more, expected) in [
        (json!({"trigger": "onDidSaveTextDocuments"}), "did you mean `onDidSaveTextDocument`?"),
        (json!({"trigger": "onSave"}), "use `onDidSaveTextDocument`"),
        (json!({"trigger": "git:post-commit"}), "use `gitCommit`"),
        (json!({"trigger": "gitcommit"}), "did you mean `gitCommit`?"),
        (json!({"trigger": "git:pre-comit"}), "did you mean `git:pre-commit`?"),
        (json!({"trigger": "custom:a b"}), "`custom:` is followed by up to 80 letters, digits, `.`, `-`, `_` and `/`"),
        (json!({"timeout": 5}), "use `timeoutMs`"),
        (json!({"retrys": 5}), "did you mean `retry`?"),
        (json!({"zzz": 5}), "remove it, or start it with `x-` if it is your own key"),
        (json!({"runner": "codexx"}), "did you mean `codex`?"),
        (json!({"place": "patchs"}), "did you mean `patch`?"),
        (json!({"timeoutMs": 0}), "omit `timeoutMs` for the default of 60000 (a minute); the most is 86400000 (a day)"),
    ] {
        let problems = contents(file_with(&more).as_bytes()).problems;
        assert_eq!(problems[0].hint.as_deref(), Some(expected), "{more}");
    }
}

#[test]
fn each_rule_of_the_file() {
    for (text, expected) in [
        ("[]", &["1:1  type"][..]),
        ("{}", &["1:1  required"]),
        ("{\"hooks\": {}}", &["1:11 /hooks type"]),
        ("{\"hooks\": [1]}", &["1:12 /hooks/0 type"]),
        ("{\"hooks\": [], \"hook\": 1, \"x-mine\": 1, \"$schema\": \"s\"}", &["1:15 /hook unknown-key"]),
        ("{\"hooks\": [], \"hooks\": []}", &["1:15 /hooks duplicate-key"]),
        ("{\"hooks\": [], \"schemaVersion\": 2}", &["1:32 /schemaVersion schema-version"]),
        ("{\"hooks\": [], \"schemaVersion\": true}", &["1:32 /schemaVersion schema-version"]),
        ("{\"hooks\": [], \"schemaVersion\": \"1.0\"}", &[]),
        (
            "{\"hooks\": [], \"limits\": {\"concurrency\": 0, \"queued\": 10001, \"z\": 1}}",
            &["1:41 /limits/concurrency range", "1:54 /limits/queued range", "1:61 /limits/z unknown-key"],
        ),
        ("{\"hooks\": [], \"secretPatterns\": [\"[\"]}", &["1:34 /secretPatterns/0 regex"]),
        ("\u{feff}{\r\n\"hooks\": [\r\n  7,\r\n]}", &["3:3 /hooks/0 type", "3:4 /hooks syntax"]),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
    let many = json!({ "hooks": vec![json!({}); MAX_HOOKS + 1] }).to_string();
    assert_eq!(told(&many), ["1:10 /hooks too-large"]);
    assert_eq!(contents(b"{\"hooks\":[]}\xff").problems[0].rule, "encoding");
    assert_eq!(contents(b"\xff\xfe{\0").problems[0].message, "the file is UTF-16, expected UTF-8");
    assert_eq!(contents(&vec![b' '; 4 * 1024 * 1024 + 1]).problems[0].rule, "too-large");
}

#[test]
fn everything_is_told_together_and_good_hooks_are_counted() {
    let text = "{\n  \"hooks\": [\n    {\"id\": \"a\", \"trigger\": \"manual\", \"prompt\": \"p\"},\n    {\"id\": \"a\", \"trigger\": \"x\", \"timeoutMs\": 0},\n    {\"id\": \"b\", \"trigger\": \"manual\", \"command\": [\"c\"]},\n  ],\n}";
    assert_eq!(
        told(text),
        [
            "4:5 /hooks/1 required",
            "4:12 /hooks/1/id duplicate-id",
            "4:28 /hooks/1/trigger trigger",
            "4:46 /hooks/1/timeoutMs timeout",
            "5:55 /hooks syntax",
            "6:4  syntax",
        ]
    );
    let contents = contents(text.as_bytes());
    assert_eq!((contents.hooks.len(), contents.written), (2, 3));
}

#[test]
fn an_old_file_is_understood() {
    let text = r#"{"schemaVersion": 0, "hooks": [
        {"name": "a", "event": "onSave", "glob": "*.rs", "timeout": 5000, "prompt": "p"}]}"#;
    let contents = contents(text.as_bytes());
    assert_eq!(contents.problems, []);
    let hook = &contents.hooks[0];
    assert_eq!((hook.id.as_str(), &hook.trigger, hook.timeout_ms), ("a", &Trigger::DidSave, 5_000));
    assert_eq!(hook.pattern, ["*.rs"]);
    let mixed = r#"{"schemaVersion": 0, "hooks": [{"id": "a", "name": "b", "trigger": "manual", "prompt": "p"}]}"#;
    assert_eq!(told(mixed), ["1:44 /hooks/0/name unknown-key"], "the present spelling wins");
}

#[test]
fn a_fingerprint_is_of_meaning_not_of_spelling() {
    let of = |text: &str| contents(text.as_bytes()).hooks[0].fingerprint.clone();
    let plain = of(r#"{"hooks":[{"id":"a","trigger":"manual","prompt":"p","metadata":{"x":1,"y":2}}]}"#);
    assert_eq!(plain.len(), 64);
    let same = r#"{"schemaVersion":1, "hooks":[ {"metadata":{"y":2,"x":1}, "prompt":"\u0070",
        "trigger":"manual","id":"a","enabled":true,"timeoutMs":60000,"runner":"agent","x-note":"n"} ]}"#;
    assert_eq!(of(same), plain);
    for other in [
        r#"{"hooks":[{"id":"b","trigger":"manual","prompt":"p","metadata":{"x":1,"y":2}}]}"#,
        r#"{"hooks":[{"id":"a","trigger":"manual","prompt":"q","metadata":{"x":1,"y":2}}]}"#,
        r#"{"hooks":[{"id":"a","trigger":"manual","command":["p"],"metadata":{"x":1,"y":2}}]}"#,
        r#"{"hooks":[{"id":"a","trigger":"manual","prompt":"p","metadata":{"x":1,"y":3}}]}"#,
        r#"{"hooks":[{"id":"a","trigger":"manual","prompt":"p","metadata":{"x":1,"y":2},"passEnv":["TOKEN"]}]}"#,
        r#"{"hooks":[{"id":"a","trigger":"manual","prompt":"p","metadata":{"x":1,"y":2},"enabled":false}]}"#,
        r#"{"hooks":[{"id":"a","trigger":"manual","prompt":"p","metadata":{"x":1,"y":2},"repoRoot":"."}]}"#,
        r#"{"hooks":[{"id":"a","trigger":"manual","prompt":"p","metadata":{"x":1,"y":2},"session":"run"}]}"#,
        r#"{"secretPatterns":["s"],"hooks":[{"id":"a","trigger":"manual","prompt":"p","metadata":{"x":1,"y":2}}]}"#,
    ] {
        assert_ne!(of(other), plain, "{other}");
    }
}

#[test]
fn no_problem_repeats_a_secret() {
    let secret = concat!("gh", "p_abcdefghijklmnopqrstuvwxyz0123456789");
    for more in [
        json!({ "trigger": secret }),
        json!({ "runner": secret }),
        json!({ "place": secret }),
        json!({ "secretPatterns": [format!("({secret}")] }),
        json!({ "runner": {"http": format!("http://{secret}@example.com")} }),
        json!({ "timezone": secret, "trigger": "schedule", "schedule": secret }),
        json!({ secret: 1 }),
    ] {
        let told = format!("{:?}", contents(file_with(&more).as_bytes()).problems);
        assert!(told.contains("Problem") && !told.contains(secret), "{told}");
    }
}

fn is_placed(bytes: &[u8], problem: &Problem) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let line = text.split('\n').nth(problem.line as usize - 1);
    line.is_some_and(|line| problem.column as usize <= line.chars().count() + 1)
}

proptest! {
    #[test]
    fn any_bytes_give_hooks_or_problems_with_a_place(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let contents = contents(&bytes);
        prop_assert!(!contents.problems.is_empty());
        prop_assert!(contents.problems.iter().all(|problem| is_placed(&bytes, problem)), "{:?}", contents.problems);
    }

    #[test]
    fn any_change_to_a_good_file_does_too(
        at in 0usize..400, removed in 0usize..6, put in "[\\[\\]{}:,\"\\\\a0-9.\n\u{e9} ]{0,6}",
    ) {
        let good = file_with(&json!({
            "pattern": ["**/*.rs", "!target/**"], "retry": {"count": 2}, "secretPatterns": ["k-[0-9]+"],
            "metadata": {"a": [1, 2, {"b": null}]}, "runner": {"command": ["x", "{prompt}"]},
        }));
        let mut letters: Vec<char> = good.chars().collect();
        let start = at.min(letters.len());
        let end = (start + removed).min(letters.len());
        letters.splice(start..end, put.chars());
        let text: String = letters.into_iter().collect();
        let contents = contents(text.as_bytes());
        prop_assert!(contents.problems.iter().all(|it| is_placed(text.as_bytes(), it)), "{:?}", contents.problems);
        prop_assert!(!contents.problems.is_empty() || contents.hooks.len() == contents.written);
    }
}
