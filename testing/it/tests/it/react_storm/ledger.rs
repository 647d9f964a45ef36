//! What the hooks' program wrote down, and what follows from it.

use super::storm_workspace::StormWorkspace;
use std::collections::{BTreeMap, BTreeSet};

/// A line that is a program's last act.
#[derive(Clone, Debug)]
pub(super) struct CompletedRun {
    hook: String,
    file: String,
    hash: String,
    /// Which run and which of its attempts.
    pub(super) by: String,
}

enum LedgerLine {
    Begin(String),
    End(CompletedRun),
}

/// The log, in the order it was written.
pub(super) struct RunLedger {
    lines: Vec<LedgerLine>,
}

impl RunLedger {
    pub(super) fn read(workspace: &StormWorkspace) -> Self {
        let text = std::fs::read_to_string(workspace.log()).unwrap_or_default();
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        Self { lines: complete.lines().map(parse).collect() }
    }

    fn done(&self) -> impl Iterator<Item = &CompletedRun> {
        self.lines.iter().filter_map(|line| match line {
            LedgerLine::End(done) => Some(done),
            LedgerLine::Begin(_) => None,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.done().count()
    }

    /// How many programs began and did not come to their last act.
    pub(super) fn unfinished(&self) -> usize {
        self.lines.len() - 2 * self.count()
    }

    pub(super) fn completed(&self, hook: &str, file: &str, hash: &str) -> Vec<&CompletedRun> {
        self.done().filter(|done| done.hook == hook && done.file == file && done.hash == hash).collect()
    }

    /// Whether every hook has handled every one of these contents.
    pub(super) fn has_all(&self, contents: &[(String, String)], hooks: u32) -> bool {
        let done: BTreeSet<_> = self.done().map(|done| (&done.hook, &done.file, &done.hash)).collect();
        let has = |hook: &String| contents.iter().all(|(file, hash)| done.contains(&(hook, file, hash)));
        (1..=hooks).all(|number| has(&format!("hook{number}")))
    }

    /// What was handled more than once, and by whom.
    pub(super) fn repeated(&self) -> Vec<String> {
        let mut by: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for done in self.done() {
            by.entry((&done.hook, &done.file, &done.hash)).or_default().push(&done.by);
        }
        let repeated = by.into_iter().filter(|(_, by)| by.len() > 1);
        repeated.map(|((hook, file, _), by)| format!("{hook} {file}: {}", by.join(", "))).collect()
    }

    /// The most programs between their begin and their last act: of one hook, and in all. Both lines are written while
    /// the program runs, so there were at least so many.
    pub(super) fn most_at_once(&self) -> (usize, usize) {
        let mut present: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut of_hook, mut in_all) = (0, 0);
        for line in &self.lines {
            match line {
                LedgerLine::Begin(hook) => *present.entry(hook).or_default() += 1,
                LedgerLine::End(done) => *present.entry(&done.hook).or_default() -= 1,
            }
            of_hook = present.values().copied().max().unwrap_or(0).max(of_hook);
            in_all = present.values().sum::<usize>().max(in_all);
        }
        (of_hook, in_all)
    }
}

fn parse(line: &str) -> LedgerLine {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["begin", hook] => LedgerLine::Begin(hook.to_owned()),
        ["end", hook, file, hash, run, attempt] => {
            assert_eq!(hash.len(), 64, "{line}");
            let by = format!("attempt {attempt} of {run}");
            LedgerLine::End(CompletedRun { hook: hook.to_owned(), file: file.to_owned(), hash: hash.to_owned(), by })
        }
        _ => panic!("a line that no program wrote: {line:?}"),
    }
}
