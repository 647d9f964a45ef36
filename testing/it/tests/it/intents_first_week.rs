//! The first week of a team, as `docs/intents.md` tells it: every command of the page runs as it is written there.

use crate::intents_host::{Host, shell};
use dispatch_support::{Output, TestContext};
use serde_json::json;

const PAGE: &str = include_str!("../../../../docs/intents.md");

/// The commands of the section, in order.
fn commands() -> Vec<&'static str> {
    let section = PAGE.split("## A team's first week").nth(1).and_then(|rest| rest.split("\n## ").next());
    section.expect("the section").lines().filter_map(|line| line.strip_prefix("$ ")).collect()
}

fn run(context: &TestContext, command: &str) -> Output {
    let names = "GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t";
    context.run_shell(&format!("export {names}; {command}"))
}

fn write(context: &TestContext, session: &str, path: &str, text: &str) {
    let host = Host::claude(context, session);
    assert_eq!(host.write(&format!("{session}-{path}"), path, text), None, "nothing is refused in mode observe");
}

#[test]
fn the_first_week_runs_as_the_page_says() {
    let context = TestContext::new();
    context.allow_policy_changes();
    let _ = std::fs::remove_dir_all(context.project().join(".git"));
    context.write("src/weather.ts", "one\n");
    context.write(".gitignore", "/.ai/tmp/\n");
    assert!(shell(&context, "git init -q -b main && git add -A && git commit -qm first"));
    let all = commands();
    assert_eq!(all.len(), 13, "{all:?}");
    for command in all {
        if command.starts_with("dispatch trace log") {
            Host::claude(&context, "ada").select("INT-001");
            write(&context, "ada", "src/weather.ts", "one\nimperial\n");
            write(&context, "ada", "src/web/page.ts", "outside\n");
        }
        if command.starts_with("git merge") {
            assert!(
                run(&context, "git add -A && git commit -qm tuesday && git checkout -q -b feature HEAD~1").status == 0
            );
            Host::claude(&context, "bob").select("INT-001");
            write(&context, "bob", "src/units.ts", "units\n");
            assert!(run(&context, "git add -A && git commit -qm feature && git checkout -q main").status == 0);
        }
        let output = run(&context, command);
        assert_eq!(output.status, 0, "{command}: {output:?}");
        if command.starts_with("dispatch trace log") {
            assert!(output.stdout.contains("FAIL") && output.stdout.contains("src/web/page.ts"), "{output:?}");
        }
    }
    let host = Host::claude(&context, "eve");
    let denied = host.denied("Write", "1", &json!({"file_path": host.path("src/weather.ts"), "content": "x"}));
    assert!(denied.is_some_and(|reason| reason.contains("IN01")), "Friday's mode refuses");
}
