//! Tables of calls against a plan, and properties of rewrites.

use dispatch_hook_module::testing::{NOW_MS, TestInvocation};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const PLAN: &str = ".ai/plan/planGraph.json";

fn plan_with(scope: &[&str]) -> String {
    json!({"version": 1, "nodes": [
        {"id": "n1", "title": "t", "scope": scope, "dependsOn": []},
        {"id": "n2", "title": "t", "scope": ["later/**"], "dependsOn": ["n1"]},
    ]})
    .to_string()
}

fn executing(scene: TestInvocation, scope: &[&str]) -> TestInvocation {
    scene.file(PLAN, plan_with(scope)).file("src/lib.rs", "").state(json!({"core": {"phase": "EXECUTING"}}))
}

fn write(path: &str) -> TestInvocation {
    TestInvocation::before_tool("Write", json!({"file_path": path, "content": ""}))
}

fn deny() -> Value {
    json!({"mode": "deny"})
}

fn warned(action: &HookAction) -> bool {
    action.decision.is_none() && action.warnings.len() == 1 && action.warnings[0].starts_with("PG0")
}

#[test]
fn without_a_plan_there_is_no_opinion() {
    for scene in [write("/repo/x"), TestInvocation::command("rg foo"), TestInvocation::command("git log")] {
        let scene = scene.state(json!({"core": {"phase": "EXECUTING"}})).config(deny());
        assert_eq!(scene.handle(&PlanGraphExec), HookAction::none());
    }
}

#[test]
fn an_invalid_plan_is_a_warning_and_no_opinion() {
    for text in
        ["{", "[]", r#"{"version": 1, "nodes": [{"id": "a", "title": "t", "scope": ["../**"], "dependsOn": ["a"]}]}"#]
    {
        for scene in [write("/repo/x"), TestInvocation::command("git log")] {
            let scene = scene.file(PLAN, text).state(json!({"core": {"phase": "EXECUTING"}})).config(deny());
            let action = scene.handle(&PlanGraphExec);
            assert_eq!(action.warnings.len(), 1, "{text}");
            assert!(action.warnings[0].contains(PLAN));
            assert_eq!(HookAction { warnings: Vec::new(), ..action }, HookAction::none());
        }
    }
}

#[test]
fn a_change_must_fall_into_an_open_node() {
    let inside = [
        write("/repo/src/a.rs"),
        write("/repo/src/.hidden/a.rs"),
        write("/repo/src"),
        TestInvocation::command("touch src/new.rs"),
        TestInvocation::command("mkdir -p src"),
        TestInvocation::command("rm -rf src/old"),
        TestInvocation::command("rm -rf src"),
        TestInvocation::command("mv src/a.rs src/b.rs"),
        TestInvocation::command("rm src/*.tmp"),
        TestInvocation::command("cargo test"),
        TestInvocation::command("cat later/x > src/y"),
        TestInvocation::command("dispatch plan complete n1"),
        TestInvocation::before_tool("Read", json!({"file_path": "/etc/passwd"})),
        TestInvocation::command("cat /etc/passwd later/x"),
        TestInvocation::before_tool("WebSearch", json!({"query": "x"})),
        TestInvocation::before_tool("Agent", json!({"prompt": "x"})),
        write("/repo/.ai/tmp/a3f0c812/plan-subagent-contract/output/sa/Plan/a01/planGraph.json"),
        write("/repo/.ai/tmp/a3f0c812/rlm-work/output/sa/x/a01/r.json"),
    ];
    for scene in inside {
        let scene = executing(scene, &["src/**"]).config(deny());
        let action = scene.handle(&PlanGraphExec);
        assert_eq!((action.decision, action.warnings.len()), (None, 0), "{}", scene.event.tool_input);
    }
    let outside = [
        write("/repo/main.rs"),
        write("/repo/srcs/a.rs"),
        write("/repo/src/../main.rs"),
        write("/repo/later/x.rs"),
        write("/etc/hosts"),
        write("/repo/.ai/plan/planGraph.json"),
        write("/repo/.ai/tmp/a3f0c812/state.json"),
        write("/repo/.ai/tmp/ffffffff/rlm-work/output/sa/x/a01/r.json"),
        TestInvocation::command("touch main.rs"),
        TestInvocation::command("echo x > later/y"),
        TestInvocation::command("mv src/a.rs main.rs"),
        TestInvocation::command("mv main.rs src/a.rs"),
        TestInvocation::command("cp src/a.rs lib/a.rs"),
        TestInvocation::command("rm -rf ."),
        TestInvocation::command("touch src/ok.rs main.rs"),
        TestInvocation::command("dispatch plan complete n1; touch main.rs"),
        TestInvocation::command("cargo test > out.txt"),
    ];
    for scene in outside {
        let scene = executing(scene, &["src/**"]);
        assert!(warned(&scene.handle(&PlanGraphExec)), "{}", scene.event.tool_input);
        let action = scene.config(deny()).handle(&PlanGraphExec);
        assert_eq!(action.code.as_deref(), Some("PG01"));
        assert_eq!(action.decision, Some(Decision::Deny));
        assert!(action.deny_reason.is_some_and(|reason| reason.contains("src/**")));
    }
}

#[test]
fn a_recursive_change_needs_a_scope_that_covers_the_tree() {
    for (scope, command, free) in [
        ("src/**", "rm -r src/a", true),
        ("src/*", "rm -r src/a", false),
        ("src/*", "rm src/a", true),
        ("src/a", "rm -r src/a", false),
        ("src/a/", "rm -r src/a", false),
        ("src/*/*", "rm -r src/a", false),
        ("**", "rm -r src/a", true),
        ("src/{a,b}/**", "rm -r src/a", true),
        ("src/{a,b}/**", "rm -r src", false),
    ] {
        let action = executing(TestInvocation::command(command), &[scope]).config(deny()).handle(&PlanGraphExec);
        assert_eq!(action.decision.is_none(), free, "{scope} {command}");
    }
}

#[test]
fn a_link_out_of_the_scope_does_not_help() {
    let linked = executing(write("/repo/src/link/x.rs"), &["src/**"]).config(deny());
    assert_eq!(linked.handle(&PlanGraphExec).decision, None);
    let scene = executing(write("/repo/src/link/x.rs"), &["src/**"]).config(deny()).link("src/link", "later");
    assert_eq!(scene.handle(&PlanGraphExec).decision, Some(Decision::Deny));
    let scene = executing(write("/repo/src/link/x.rs"), &["src/**"]).config(deny()).link("src/link", "src/real");
    assert_eq!(scene.handle(&PlanGraphExec).decision, None);
    let output = "/repo/.ai/tmp/a3f0c812/rlm-work/output/sa/x/a01/r.json";
    let scene =
        executing(write(output), &["src/**"]).config(deny()).link(".ai/tmp/a3f0c812/rlm-work/output/sa", "later");
    assert_eq!(scene.handle(&PlanGraphExec).decision, Some(Decision::Deny));
}

#[test]
fn only_the_phase_executing_is_guarded() {
    for phase in ["UNINITIALIZED", "PLANNING", "COMPLETE", "BLOCKED"] {
        let scene = write("/repo/main.rs").file(PLAN, plan_with(&["src/**"])).config(deny());
        let action = scene.state(json!({"core": {"phase": phase}})).handle(&PlanGraphExec);
        assert_eq!((action.decision, action.warnings.len()), (None, 0), "{phase}");
    }
}

#[test]
fn completed_nodes_close_and_those_behind_them_open() {
    let at = |path: &str, nodes: Value| {
        let state = json!({"core": {"phase": "EXECUTING"}, "plan": {"nodes": nodes}});
        write(path).file(PLAN, plan_with(&["src/**"])).config(deny()).state(state).handle(&PlanGraphExec)
    };
    assert_eq!(at("/repo/later/x", json!({})).decision, Some(Decision::Deny));
    assert_eq!(at("/repo/src/x", json!({"n1": "failed"})).decision, None);
    assert_eq!(at("/repo/later/x", json!({"n1": "completed"})).decision, None);
    assert_eq!(at("/repo/src/x", json!({"n1": "completed"})).decision, Some(Decision::Deny));
    let none_open = at("/repo/src/x", json!({"n1": "completed", "n2": "completed"}));
    assert!(none_open.deny_reason.is_some_and(|reason| reason.contains("No node")));
}

#[test]
fn the_tools_of_a_node_bind_too() {
    let plan = |tools: Value| {
        json!({"version": 1, "nodes": [
        {"id": "n1", "title": "t", "scope": ["src/**"], "dependsOn": [], "tools": tools}]})
        .to_string()
    };
    let code = |scene: TestInvocation, tools: Value| {
        let scene = scene.file(PLAN, plan(tools)).state(json!({"core": {"phase": "EXECUTING"}})).config(deny());
        scene.handle(&PlanGraphExec).code
    };
    assert_eq!(code(write("/repo/src/a"), json!(["Write"])), None);
    assert_eq!(code(write("/repo/src/a"), json!(["kind:write"])), None);
    assert_eq!(code(write("/repo/src/a"), json!(["Edit"])).as_deref(), Some("PG02"));
    assert_eq!(code(TestInvocation::command("cargo build"), json!(["Write"])).as_deref(), Some("PG02"));
    assert_eq!(code(TestInvocation::command("ls"), json!(["Write"])), None);
}

#[test]
fn an_exception_lets_a_denied_call_pass_once_it_is_asked_for() {
    let scene = executing(write("/repo/main.rs"), &["src/**"]).config(deny()).excused("PG01");
    assert_eq!(scene.handle(&PlanGraphExec).decision, None);
    assert_eq!(scene.notes.take().2.len(), 1);
}

#[test]
fn the_state_points_at_the_plan_and_is_written_once() {
    let scene = executing(TestInvocation::command("ls"), &["src/**"]);
    let patch = scene.handle(&PlanGraphExec).state_patch.expect("a patch");
    assert_eq!(patch["plan"]["currentPath"], PLAN);
    assert_eq!(patch["plan"]["mtime"], NOW_MS);
    assert_eq!(patch["plan"]["hash"].as_str().map(str::len), Some(64));
    let mut known = patch;
    known["core"] = json!({"phase": "EXECUTING"});
    let scene = executing(TestInvocation::command("ls"), &["src/**"]).state(known.clone());
    assert_eq!(scene.handle(&PlanGraphExec), HookAction::none());
    let changed = executing(TestInvocation::command("ls"), &["src/**", "lib/**"]).state(known);
    let action = changed.handle(&PlanGraphExec);
    assert!(action.state_patch.is_some());
    assert_eq!(changed.notes.take().1.len(), 1, "a plan that changes under way is told");
}

fn rewritten(scene: TestInvocation, scope: &[&str]) -> Option<Value> {
    let action = executing(scene, scope).handle(&PlanGraphExec);
    let told = action.additional_context.iter().any(|note| note.key == "planGraph-exec");
    assert_eq!(action.updated_input.is_some(), told && action.warnings.is_empty(), "every rewrite is told");
    action.updated_input
}

fn command(line: &str) -> Option<String> {
    rewritten(TestInvocation::command(line), &["src/**"])
        .map(|update| update["command"].as_str().expect("text").to_owned())
}

#[test]
fn commands_get_a_bound_and_keep_the_rest() {
    let table = [
        ("rg foo", "rg --max-count=200 foo"),
        ("  rg  'a b'  src", "  rg --max-count=200  'a b'  src"),
        ("rg -n \"x y\" --type rust", "rg --max-count=200 -n \"x y\" --type rust"),
        ("grep -rn foo .", "grep --max-count=200 -rn foo ."),
        ("grep --recursive foo src", "grep --max-count=200 --recursive foo src"),
        ("grep -r --include=*.rs foo src", "grep --max-count=200 -r --include=*.rs foo src"),
        ("rg -- -m", "rg --max-count=200 -- -m"),
        ("git log", "git --no-pager log -n 200"),
        ("git --no-pager log --oneline", "git --no-pager log -n 200 --oneline"),
        ("git -C src log -- a", "git --no-pager -C src log -n 200 -- a"),
        ("git log --author=x main", "git --no-pager log -n 200 --author=x main"),
        ("find . -name x", "find ./src -name x"),
        ("find -type f", "find ./src -type f"),
        ("find ./ -name '*.rs'", "find ./src -name '*.rs'"),
        ("find /repo -name x", "find /repo/src -name x"),
        ("find", "find ./src"),
    ];
    for (line, expected) in table {
        assert_eq!(command(line).as_deref(), Some(expected), "{line}");
        assert_eq!(command(expected), None, "a second look changes nothing: {expected}");
    }
}

#[test]
fn commands_whose_meaning_would_change_are_left_alone() {
    let lines = [
        "rg -m 5 foo",
        "rg --max-count 5 foo",
        "rg -c foo",
        "rg -l foo",
        "rg --files",
        "rg --json foo",
        "rg foo | wc -l",
        "rg foo > src/out.txt",
        "rg foo; ls",
        "rg foo && rg bar",
        "rg $PATTERN",
        "rg \"$(cat x)\"",
        "sudo rg foo",
        "timeout 5 rg foo",
        "rg foo &",
        "rg 'unclosed",
        "X=1 rg foo",
        "rg --pre cat foo",
        "rg foo # all of it",
        "grep foo src/lib.rs",
        "grep -rl foo .",
        "grep -rq foo .",
        "git log -5",
        "git log -n5",
        "git log -n 5",
        "git log --max-count=5",
        "git log --since=yesterday",
        "git log main..dev",
        "git log --reverse",
        "git log --output=x",
        "git -c core.pager=x log",
        "git log | head",
        "git shortlog",
        "git status",
        "find . -maxdepth 2",
        "find . -delete",
        "find . -exec rm {} +",
        "find src -name x",
        "find . later -name x",
        "find .. -name x",
        "find / -name x",
        "find -L . -name x",
        "find . -name *.rs -o -print > src/x",
        "cd src && find . -name x",
        "ls",
    ];
    for line in lines {
        let action = executing(TestInvocation::command(line), &["src/**"]).handle(&PlanGraphExec);
        assert_eq!(action.updated_input, None, "{line}");
    }
}

#[test]
fn a_walk_starts_at_the_scope_only_when_there_is_exactly_one() {
    let start = |scope: &[&str]| rewritten(TestInvocation::command("find . -name x"), scope).is_some();
    assert!(start(&["src/**"]));
    assert!(start(&["src/*.rs", "src/**/*.toml"]));
    assert!(!start(&["src/**", "lib/**"]));
    assert!(!start(&["{src,lib}/**"]));
    assert!(!start(&["**/*.rs"]));
    assert!(!start(&["!src/**"]));
    assert!(!start(&["gone/**"]), "a folder that does not exist");
    let planning = TestInvocation::command("find . -name x").file(PLAN, plan_with(&["src/**"])).file("src/x", "");
    assert_eq!(planning.handle(&PlanGraphExec).updated_input, None);
}

#[test]
fn searches_get_the_scope_where_they_name_no_files() {
    let grep = |input: Value, scope: &[&str]| rewritten(TestInvocation::before_tool("Grep", input), scope);
    assert_eq!(grep(json!({"pattern": "x"}), &["src/**"]), Some(json!({"glob": "src/**"})));
    assert_eq!(grep(json!({"pattern": "x", "path": "/repo"}), &["src/**"]), Some(json!({"glob": "src/**"})));
    assert_eq!(
        grep(json!({"pattern": "x", "glob": ""}), &["src/**", "docs/*.md", "src/**"]),
        Some(json!({"glob": "{src/**,docs/*.md}"}))
    );
    assert_eq!(grep(json!({"pattern": "x", "glob": "*.rs"}), &["src/**"]), None);
    assert_eq!(grep(json!({"pattern": "x", "path": "later"}), &["src/**"]), None);
    for scope in ["**", "**/*", "*.rs", "!src/**", "src/!(a)/**", "src/{a,b}/**", "./src/**", "src/[ab]/*", "a b/**"] {
        assert_eq!(grep(json!({"pattern": "x"}), &[scope]), None, "{scope}");
    }
    let deeper = TestInvocation::before_tool("Grep", json!({"pattern": "x"}))
        .with(|scene| scene.event.cwd = Some("/repo/src".to_owned()));
    assert_eq!(rewritten(deeper, &["src/**"]), None);
    let glob = TestInvocation::before_tool("Glob", json!({"pattern": "**/*.rs"}));
    assert_eq!(rewritten(glob, &["src/**"]), None);
    let vscode = TestInvocation::before_tool("grep_search", json!({"query": "x"}))
        .with(|scene| scene.event.host = "vscode-copilot");
    assert_eq!(rewritten(vscode, &["src/**"]), Some(json!({"includePattern": "src/**"})));
}

#[test]
fn a_host_that_takes_no_rewrite_gets_none() {
    for host in ["windsurf", "kiro", "no-such-host"] {
        let scene = TestInvocation::before_tool("run_command", json!({"command": "git log"}))
            .with(|scene| scene.event.host = host);
        assert_eq!(executing(scene, &["src/**"]).handle(&PlanGraphExec).updated_input, None, "{host}");
    }
    let off = executing(TestInvocation::command("git log"), &["src/**"]).config(json!({"rewrite": false}));
    assert_eq!(off.handle(&PlanGraphExec).updated_input, None);
    let few = executing(TestInvocation::command("git log"), &["src/**"]).config(json!({"maxCount": 7}));
    assert_eq!(few.handle(&PlanGraphExec).updated_input, Some(json!({"command": "git --no-pager log -n 7"})));
}

#[test]
fn bounds_are_added_in_every_phase_once_there_is_a_plan() {
    let scene = TestInvocation::command("git log").file(PLAN, plan_with(&["src/**"]));
    assert!(scene.handle(&PlanGraphExec).updated_input.is_some());
}

#[test]
fn a_command_as_plain_text_is_rewritten_as_plain_text() {
    let scene = TestInvocation::before_tool("Bash", json!("git log"));
    assert_eq!(rewritten(scene, &["src/**"]), Some(json!("git --no-pager log -n 200")));
}

#[test]
fn a_huge_plan_is_judged_within_its_limits() {
    let nodes: Vec<Value> = (0..1000)
        .map(|id| json!({"id": format!("n{id}"), "title": "t", "scope": [format!("d{id}/**")], "dependsOn": []}))
        .collect();
    let plan = json!({"version": 1, "nodes": nodes}).to_string();
    let at = |path: &str| {
        let scene = write(path).file(PLAN, plan.clone()).state(json!({"core": {"phase": "EXECUTING"}})).config(deny());
        scene.handle(&PlanGraphExec)
    };
    assert_eq!(at("/repo/d999/x").decision, None);
    let action = at("/repo/x");
    assert!(action.deny_reason.is_some_and(|reason| reason.len() < 1000));
}

fn line() -> impl Strategy<Value = String> {
    let words = [
        "rg",
        "grep",
        "git",
        "log",
        "find",
        ".",
        "-r",
        "-rn",
        "foo",
        "'a b'",
        "\"x\"",
        "-n",
        "5",
        "--",
        "src",
        "-name",
        "/repo",
        "-l",
        "-m",
        "|",
        ";",
        "&&",
        ">",
        "$X",
        "`ls`",
        "-C",
        "--no-pager",
        "*.rs",
        "'it'\"s\"",
        "é",
        "#",
        "\\",
    ];
    proptest::collection::vec(proptest::sample::select(words.to_vec()), 1..7).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn rewrites_are_idempotent_and_keep_every_word(line in line()) {
        if let Some(new) = command(&line) {
            prop_assert_eq!(command(&new), None);
            let mut rest = new.split(' ').peekable();
            let replaced = |word: &str, found: Option<&&str>| found.is_some_and(|found| found.starts_with(word.trim_end_matches('/')) && found.ends_with("/src"));
            for word in line.split(' ') {
                while rest.peek().is_some_and(|next| *next != word) && !replaced(word, rest.peek()) {
                    rest.next();
                }
                prop_assert!(rest.next().is_some(), "{word} of {line} is gone in {new}");
            }
        }
    }

    #[test]
    fn no_command_is_too_strange(line in any::<String>()) {
        let _ = command(&line);
    }
}
