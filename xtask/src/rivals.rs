//! `cargo xtask rivals`: other guards and ours judge the same two lists of commands, through the hook of one host; the
//! table in `docs/benchmarks.md` says what they did.

mod install;
mod judge;
mod table;

use crate::{cargo, hook_size};
use anyhow::{Context as _, Result, bail};
use install::{Rival, RivalInstaller};
use judge::{GuardUnderTest, Objection};
use std::path::Path;
use table::{RivalFigures, RivalTable};

const PAGE: &str = "docs/benchmarks.md";
const EVERYDAY: &str = "extensions/standard/hook-pipeline/testdata/everyday.txt";
const WALK_AROUNDS: &str = "extensions/standard/hook-pipeline/testdata/walk_arounds.txt";
/// What stands in a way around that is about Dispatch or its registration, which no other guard can know.
const OURS: &[&str] = &[
    ".ai",
    "dispatch",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".orchestration",
    ".akira",
    ".factory",
    ".cline",
    ".opencode",
    ".git/hooks",
    "claude ",
    "codex ",
    "gemini ",
    "hooks",
];

/// Installs the guards below `target/rivals`, has them judge, and writes the table; of some of them by name, it only prints it.
pub(crate) fn run(root: &Path, names: &[&str]) -> Result<()> {
    let folder = cargo::metadata(root)?.target_directory.join("rivals");
    let everyday = lines(root, EVERYDAY)?;
    let around = lines(root, WALK_AROUNDS)?;
    let general = around.iter().filter(|line| is_general(line)).count();
    let mut left_out = Vec::new();
    let mut guards = Vec::new();
    if names.is_empty() || names.contains(&"dispatch") {
        guards.push(GuardUnderTest::ours(&folder, &hook_size::build(root, None)?.path)?);
    }
    for rival in Rival::ALL.iter().filter(|rival| rival.is_one_of(names)) {
        let installer = RivalInstaller::new(root, &folder);
        match installer.install(rival).and_then(|program| GuardUnderTest::of(&folder, rival, &program)) {
            Ok(guard) => guards.push(guard),
            Err(error) => left_out.push(format!("{} could not be installed: {error:#}", rival.title())),
        }
    }
    let rows = all_figures(&folder, &guards, &everyday, &around)?;
    let table = RivalTable { everyday: everyday.len(), around: around.len(), general, rows, left_out };
    println!("{}", table.text());
    if names.is_empty() {
        let page = std::fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
        std::fs::write(root.join(PAGE), table.within(&page)).with_context(|| format!("cannot write {PAGE}"))?;
        println!("{PAGE} is up to date");
    }
    Ok(())
}

/// The figures of all guards, which judge side by side.
fn all_figures(
    folder: &Path,
    guards: &[GuardUnderTest],
    everyday: &[String],
    around: &[String],
) -> Result<Vec<RivalFigures>> {
    std::thread::scope(|scope| {
        let judging: Vec<_> =
            guards.iter().map(|guard| scope.spawn(|| figures(folder, guard, everyday, around))).collect();
        judging.into_iter().map(|guard| guard.join().unwrap_or_else(|_| bail!("a guard's thread panicked"))).collect()
    })
}

fn figures(folder: &Path, guard: &GuardUnderTest, everyday: &[String], around: &[String]) -> Result<RivalFigures> {
    let started = std::time::Instant::now();
    let objections = guard.judge_all(everyday)?;
    let objected: Vec<&str> = chosen(everyday, &objections, |objection| objection.is_some());
    let answers = guard.judge_all(around)?;
    let passed: Vec<&str> = chosen(around, &answers, |objection| objection.is_none());
    // What each guard decided can be read afterwards.
    for (list, found) in [("everyday-objections", &objected), ("passed", &passed)] {
        let path = folder.join(format!("{}.{list}.txt", guard.name.replace(' ', "-")));
        std::fs::write(&path, found.join("\n") + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    eprintln!("{}: {:.0} s", guard.name, started.elapsed().as_secs_f64());
    Ok(RivalFigures {
        name: guard.name.clone(),
        everyday: objected.len(),
        passed: passed.len(),
        passed_general: passed.iter().filter(|line| is_general(line)).count(),
    })
}

fn chosen<'l>(
    lines: &'l [String],
    answers: &[Option<Objection>],
    wanted: impl Fn(&Option<Objection>) -> bool,
) -> Vec<&'l str> {
    lines.iter().zip(answers).filter(|(_, answer)| wanted(answer)).map(|(line, _)| line.as_str()).collect()
}

fn is_general(line: &str) -> bool {
    !OURS.iter().any(|mark| line.contains(mark))
}

fn lines(root: &Path, path: &str) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
    Ok(text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::is_general;

    #[test]
    fn lines_about_our_rules_are_told_apart() {
        assert!(is_general("env -S 'rm -rf /'"));
        assert!(!is_general("rm -rf .ai/hooks"));
        assert!(!is_general("dispatch allow-once UB01"));
    }
}
