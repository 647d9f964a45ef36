//! Compares every command of the corpus with what is expected of it, and shows all differences at once.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]

#[path = "support/summary.rs"]
mod summary;

use dispatch_toolcall::{ShellContext, analyze};
use serde::Deserialize;

/// One command and its effects, run in `/w` with `/home/dev` as home.
#[derive(Deserialize)]
struct CorpusCommand {
    run: String,
    does: Vec<String>,
}

const CORPUS: &str = include_str!("../testdata/shell.jsonl");

fn cases() -> Vec<CorpusCommand> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    CORPUS.lines().map(read).collect()
}

#[test]
fn every_command_has_its_effects() {
    let context = ShellContext { cwd: "/w", home: Some("/home/dev") };
    let mut differences = Vec::new();
    for case in cases() {
        let found = summary::lines(&analyze(&case.run, &context));
        let missing: Vec<&String> = case.does.iter().filter(|line| !found.contains(line)).collect();
        let extra: Vec<&String> = found.iter().filter(|line| !case.does.contains(line)).collect();
        if missing.is_empty() && extra.is_empty() {
            continue;
        }
        let mut report = format!("{}\n", case.run);
        for line in missing {
            report += &format!("  - {line}\n");
        }
        for line in extra {
            report += &format!("  + {line}\n");
        }
        differences.push(report);
    }
    assert!(differences.is_empty(), "{} commands differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn the_corpus_is_large_and_names_no_command_twice() {
    let mut commands: Vec<String> = cases().into_iter().map(|case| case.run).collect();
    assert!(commands.len() >= 300, "{}", commands.len());
    let count = commands.len();
    commands.sort();
    commands.dedup();
    assert_eq!(commands.len(), count);
}

/// What is claimed to be read-only names no change at all.
#[test]
fn read_only_excludes_every_other_effect() {
    for case in cases().iter().filter(|case| case.does.iter().any(|line| line == "read-only")) {
        let changes = ["write ", "create ", "delete ", "move ", "network", "code", "unknown "];
        let found = case.does.iter().find(|line| changes.iter().any(|change| line.starts_with(change)));
        assert_eq!(found, None, "{}", case.run);
    }
}

/// A harmless command in front or behind hides nothing of what another one does.
#[test]
fn effects_survive_composition() {
    let context = ShellContext { cwd: "/w", home: Some("/home/dev") };
    for case in cases() {
        let alone = analyze(&case.run, &context);
        if !alone.is_known() {
            continue;
        }
        for text in [format!("true\n{}", case.run), format!("{}\ntrue", case.run)] {
            let composed = analyze(&text, &context);
            for path in &alone.deletes {
                assert!(composed.deletes.contains(path) || !composed.is_known(), "{text}");
            }
            for path in &alone.writes {
                assert!(composed.writes.contains(path) || !composed.is_known(), "{text}");
            }
            assert!(!composed.is_read_only() || alone.is_read_only(), "{text}");
        }
    }
}
