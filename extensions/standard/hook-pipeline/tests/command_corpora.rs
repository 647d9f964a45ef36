//! Everyday commands pass and ways around the guards do not: two lists through the real decision.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::expect_used, clippy::panic, reason = "a helper of a test may fail the test")]
#![allow(clippy::print_stdout, reason = "the table is what the test shows")]

#[path = "support/judged_line.rs"]
mod judged_line;

use std::collections::{BTreeMap, BTreeSet};

use dispatch_hook_module::Decision;
use judged_line::{GuardedProject, ModuleSet, lines};

const EVERYDAY: &str = include_str!("../testdata/everyday.txt");
const WALK_AROUNDS: &str = include_str!("../testdata/walk_arounds.txt");
const WORST: &str = include_str!("../testdata/worst.txt");
/// Where every way around that passes is named with its reason.
const THREAT_MODEL: &str = include_str!("../../../../docs/threat-model.md");

const SETS: [ModuleSet; 2] = [ModuleSet::Default, ModuleSet::Full];

/// Decisions by kind of line: allowed, asked, denied.
fn table(judged: &[(&str, &str, Decision, String)]) -> String {
    let mut rows: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (kind, _, decision, _) in judged {
        let column = match decision {
            Decision::Allow => 0,
            Decision::Ask => 1,
            Decision::Deny => 2,
        };
        rows.entry(kind).or_default()[column] += 1;
    }
    let line = |(kind, [allow, ask, deny]): (&&str, &[usize; 3])| format!("{kind:<20} {allow:>6} {ask:>6} {deny:>6}\n");
    format!("{:<20} {:>6} {:>6} {:>6}\n", "kind", "allow", "ask", "deny") + &rows.iter().map(line).collect::<String>()
}

fn judge_all(set: ModuleSet, text: &'static str) -> Vec<(&'static str, &'static str, Decision, String)> {
    let project = GuardedProject::new(set).expect("a project");
    let judged = lines(text).map(|(kind, line)| {
        let (decision, code) = project.judge(line);
        (kind, line, decision, code)
    });
    judged.collect()
}

#[test]
fn nobody_objects_to_everyday_commands() {
    for set in SETS {
        let judged = judge_all(set, EVERYDAY);
        println!("{set:?}\n{}", table(&judged));
        let objections: Vec<String> = judged
            .iter()
            .filter(|(_, _, decision, _)| *decision != Decision::Allow)
            .map(|(_, line, decision, code)| format!("{} {code}: {line}", decision.as_str()))
            .collect();
        assert!(objections.is_empty(), "{} of {}:\n{}", objections.len(), judged.len(), objections.join("\n"));
    }
}

#[test]
fn the_lists_are_large_and_repeat_nothing() {
    let everyday: Vec<&str> = lines(EVERYDAY).map(|(_, line)| line).collect();
    let programs: BTreeSet<&str> = everyday.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(everyday.len() >= 2_000 && programs.len() >= 60, "{} lines, {} programs", everyday.len(), programs.len());
    let around: Vec<&str> = lines(WALK_AROUNDS).map(|(_, line)| line).collect();
    assert!(around.len() >= 400, "{} ways around", around.len());
    assert_eq!(lines(WORST).count(), 40);
    for list in [everyday, around] {
        let distinct: BTreeSet<&str> = list.iter().copied().collect();
        assert_eq!(distinct.len(), list.len());
    }
}

#[test]
fn ways_around_do_not_pass() {
    for set in SETS {
        let judged = judge_all(set, WALK_AROUNDS);
        println!("{set:?}\n{}", table(&judged));
        let passed: Vec<&str> = judged
            .iter()
            .filter(|(_, _, decision, _)| *decision == Decision::Allow)
            .map(|(_, line, _, _)| *line)
            .collect();
        assert!(passed.len() * 50 <= judged.len(), "{} of {} pass:\n{}", passed.len(), judged.len(), passed.join("\n"));
        let unnamed: Vec<&str> =
            passed.into_iter().filter(|line| !THREAT_MODEL.contains(&format!("`{line}`"))).collect();
        assert!(unnamed.is_empty(), "not named in docs/threat-model.md:\n{}", unnamed.join("\n"));
    }
}

#[test]
fn the_worst_commands_are_denied() {
    for set in SETS {
        let judged = judge_all(set, WORST);
        let soft: Vec<String> = judged
            .iter()
            .filter(|(_, _, decision, _)| *decision != Decision::Deny)
            .map(|(_, line, decision, code)| format!("{} {code}: {line}", decision.as_str()))
            .collect();
        assert!(soft.is_empty(), "{} of {}:\n{}", soft.len(), judged.len(), soft.join("\n"));
    }
}
