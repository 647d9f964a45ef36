//! Finds the changed lines that no intent covers.
//!
//! A new line is covered when the ledger shows that an agent wrote it for an intent and in scope, or when a person
//! approved its commit (`Intent-Approved-By:`). A removed line is covered when such an entry removed it, removed files and
//! files without lines when such an entry or commit exists for the file since the base. Differences in spaces alone are no
//! changes. Generated and excluded files, and those below `.orchestration`, are ignored.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dispatch_glob::Glob;
use dispatch_os::files::{self, read_at_most};
use dispatch_os::time::parse_rfc3339;

use crate::error::IntentsError;
use crate::hash::bare_line_hash;
use crate::layout::{FOLDER, OrchestrationLayout};
use crate::ledger::Ledger;
use crate::query::blame::{FileBlame, MAX_BLAMED_BYTES};
use crate::query::git_diff::{self, DiffContent, DiffHunk, FileDiff};
use crate::query::git_repository::GitRepository;
use crate::query::history::histories;
use crate::query::uncovered_lines::UncoveredLines;
use crate::query::{inside, line_diff, present_hash, stored_content};
use crate::trace_entry::{RecordedChange, ScopeValidation, TraceEntry};

/// Whether untracked files are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UntrackedFiles {
    /// They are compared too.
    Included,
    /// They are not compared.
    Ignored,
}

/// The arguments of every diff: no context, unambiguous names, no external programs.
pub(crate) const DIFF: &[&str] = &[
    "diff",
    "-U0",
    "-M",
    "--relative",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// Lines that differ in their spaces alone keep their origin, as with `git blame -w`.
const IGNORE_SPACES: &str = "-w";

/// The changed lines between the merge base of HEAD and `base` and the files on disk that no intent covers.
///
/// # Errors
/// When git or the ledger fails.
pub(crate) fn check(
    layout: &OrchestrationLayout,
    git: &GitRepository,
    base: &str,
    untracked: UntrackedFiles,
    excluded: &[String],
) -> Result<Vec<UncoveredLines>, IntentsError> {
    let base = git.merge_base(base)?;
    let arguments = DIFF.iter().copied().chain([IGNORE_SPACES, base.as_str(), "--"]);
    let mut files = git_diff::parse(&git.ask("diff", arguments)?);
    if untracked == UntrackedFiles::Included {
        files.extend(new_files(layout, git)?);
    }
    files.retain(|file| !is_record(file.name()) && !is_excluded(file.name(), excluded));
    let names: Vec<&str> = files.iter().filter_map(|file| std::str::from_utf8(file.name()).ok()).collect();
    let generated = git.generated_files(&base, &names);
    files.retain(|file| !std::str::from_utf8(file.name()).is_ok_and(|name| generated.contains(name)));
    let coverage = CoverageCheck {
        layout,
        git,
        since_ms: git.commit_time_ms(&base)?,
        approved: git.approved_commits(&base)?,
        base,
    };
    let histories = read_histories(layout, &files)?;
    let mut found = Vec::new();
    for file in &files {
        let name = String::from_utf8_lossy(file.name()).into_owned();
        let history = histories.get(&name).map(Vec::as_slice).unwrap_or_default();
        let spans = coverage.uncovered(file, &name, history)?;
        found.extend(spans.into_iter().map(|(start, end)| UncoveredLines { file: name.clone(), start, end }));
    }
    found.sort();
    Ok(found)
}

/// The entries of the changed files, by their new names.
pub(crate) fn read_histories(
    layout: &OrchestrationLayout,
    files: &[FileDiff],
) -> Result<BTreeMap<String, Vec<RecordedChange>>, IntentsError> {
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).ok();
    let wanted: BTreeSet<String> = files.iter().filter_map(|file| text(file.name())).collect();
    let renamed: BTreeMap<String, String> = files
        .iter()
        .filter(|file| file.old != file.new)
        .filter_map(|file| Some((text(file.new.as_deref()?)?, text(file.old.as_deref()?)?)))
        .collect();
    let former = |path: &str, _: &[RecordedChange]| renamed.get(path).cloned().into_iter().collect();
    let ledger = Ledger::open(layout);
    let present = |path: &str| present_hash(layout, path);
    histories(&ledger, &wanted, &former, &present)
        .map_err(|source| IntentsError::io("read", &layout.ledger_file(), source))
}

fn is_excluded(path: &[u8], globs: &[String]) -> bool {
    let Ok(path) = std::str::from_utf8(path) else {
        return false;
    };
    globs.iter().any(|glob| Glob::new(glob).is_ok_and(|glob| glob.is_match(path)))
}

pub(crate) fn is_record(path: &[u8]) -> bool {
    path.strip_prefix(FOLDER.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'/'))
}

fn new_files(layout: &OrchestrationLayout, git: &GitRepository) -> Result<Vec<FileDiff>, IntentsError> {
    let names = git.ask("list new files", ["ls-files", "--others", "--exclude-standard", "-z"])?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let files = names.map(|name| {
        let text = std::str::from_utf8(name).ok().and_then(|name| read_present(layout, name)).unwrap_or_default();
        let (content, hunks) = match memchr::memchr(0, &text) {
            Some(_) => (DiffContent::Binary, Vec::new()),
            None => (
                DiffContent::Text,
                vec![DiffHunk { start: 1, added: line_diff::count_lines(&text), removed: Vec::new() }],
            ),
        };
        FileDiff { old: None, new: Some(name.to_vec()), content, hunks }
    });
    Ok(files.collect())
}

fn read_present(layout: &OrchestrationLayout, path: &str) -> Option<Vec<u8>> {
    let place = inside(&layout.root, path)?;
    let plain = files::symlink_metadata(&place).ok()?.is_file();
    plain.then(|| read_at_most(&place, MAX_BLAMED_BYTES).ok()).flatten()
}

struct CoverageCheck<'a> {
    layout: &'a OrchestrationLayout,
    git: &'a GitRepository,
    base: String,
    since_ms: i64,
    approved: BTreeSet<String>,
}

impl CoverageCheck<'_> {
    fn uncovered(
        &self,
        file: &FileDiff,
        name: &str,
        history: &[RecordedChange],
    ) -> Result<Vec<(usize, usize)>, IntentsError> {
        let whole = file.content != DiffContent::Text || file.new.is_none();
        let changed = !file.hunks.is_empty() || file.content == DiffContent::Binary;
        if whole {
            let covered = !changed || self.touched(name, history) || self.committed(name)?;
            return Ok(if covered { Vec::new() } else { vec![(1, 1)] });
        }
        let added: Vec<&DiffHunk> = file.hunks.iter().filter(|hunk| hunk.added > 0).collect();
        let mut spans = self.uncovered_lines(&added, name, history)?;
        let mut removals = self.uncovered_removals(&file.hunks, name, history)?;
        removals.retain(|(line, _)| !spans.iter().any(|(start, end)| (start..=end).contains(&line)));
        spans.extend(removals);
        Ok(spans)
    }

    /// The places of removed lines that no entry removed. Lines that others replace are judged by those.
    fn uncovered_removals(
        &self,
        hunks: &[DiffHunk],
        name: &str,
        history: &[RecordedChange],
    ) -> Result<Vec<(usize, usize)>, IntentsError> {
        let mut removed =
            RemovedLines::of(history.iter().map(|change| &change.entry).filter(|entry| self.covers(entry)));
        let is_uncovered = |hunk: &&DiffHunk| {
            let telling = hunk.removed.iter().filter(|line| has_word(line));
            telling.filter(|line| !removed.take(line)).count() > hunk.added
        };
        let place = |hunk: &DiffHunk| (hunk.start.max(1), hunk.start.max(1));
        let found: Vec<(usize, usize)> = hunks.iter().filter(is_uncovered).map(place).collect();
        Ok(if found.is_empty() || self.committed(name)? { Vec::new() } else { found })
    }

    fn uncovered_lines(
        &self,
        hunks: &[&DiffHunk],
        name: &str,
        history: &[RecordedChange],
    ) -> Result<Vec<(usize, usize)>, IntentsError> {
        if hunks.is_empty() {
            return Ok(Vec::new());
        }
        let all = |hunk: &&DiffHunk| (hunk.start, hunk.start + hunk.added - 1);
        let Some(present) = read_present(self.layout, name) else {
            return Ok(hunks.iter().map(all).collect());
        };
        let blame = FileBlame::new(history, &|hash| stored_content(self.layout, hash), &present);
        let texts: Vec<&[u8]> = line_diff::lines(&present).collect();
        let commits = match self.approved.is_empty() {
            true => Vec::new(),
            false => self.git.line_commits(&self.base, name).unwrap_or_default(),
        };
        let covered = |line: usize| {
            let is_approved = || commits.get(line - 1).is_some_and(|commit| self.approved.contains(commit));
            blame.covering_intent(line).is_some() || is_approved()
        };
        Ok(hunks.iter().flat_map(|hunk| spans(hunk, &covered, &texts)).collect())
    }

    fn touched(&self, name: &str, history: &[RecordedChange]) -> bool {
        history.iter().any(|change| change.entry.path() == Some(name) && self.covers(&change.entry))
    }

    /// Whether an entry covers what it changed: made since the base, for an intent and in its scope.
    fn covers(&self, entry: &TraceEntry) -> bool {
        let recent = parse_rfc3339(&entry.timestamp).is_some_and(|time_ms| time_ms >= self.since_ms);
        let is_inside = entry.scope_validation == ScopeValidation::Pass && !entry.intent_id.is_empty();
        recent && is_inside && !entry.reverted
    }

    fn committed(&self, name: &str) -> Result<bool, IntentsError> {
        if self.approved.is_empty() {
            return Ok(false);
        }
        Ok(self.git.commits_of(&self.base, name)?.iter().any(|commit| self.approved.contains(commit)))
    }
}

/// The lines that entries removed, each as often as it was.
struct RemovedLines {
    counts: HashMap<String, usize>,
    /// Whether an entry does not say which lines it removed.
    is_open: bool,
}

impl RemovedLines {
    fn of<'e>(entries: impl Iterator<Item = &'e TraceEntry>) -> Self {
        let mut found = Self { counts: HashMap::new(), is_open: false };
        for entry in entries {
            found.is_open |= entry.removed.is_none();
            for hash in entry.removed.iter().flatten() {
                *found.counts.entry(hash.clone()).or_default() += 1;
            }
        }
        found
    }

    /// Whether an entry removed a line that was not asked for before.
    fn take(&mut self, line: &[u8]) -> bool {
        let left = self.counts.get_mut(&bare_line_hash(line)).filter(|left| **left > 0);
        match left {
            Some(left) => {
                *left -= 1;
                true
            }
            None => self.is_open,
        }
    }
}

fn has_word(line: &[u8]) -> bool {
    line.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80)
}

/// The runs of uncovered lines in a hunk. Lines without a letter or digit are treated like their neighbours.
fn spans(hunk: &DiffHunk, covered: &dyn Fn(usize) -> bool, texts: &[&[u8]]) -> Vec<(usize, usize)> {
    let telling = |line: &usize| has_word(texts.get(line - 1).copied().unwrap_or_default());
    let lines = hunk.start..hunk.start + hunk.added;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for line in lines.clone().filter(|line| !covered(*line)) {
        match runs.last_mut() {
            Some(run) if run.1 + 1 == line => run.1 = line,
            _ => runs.push((line, line)),
        }
    }
    let whole = runs.first().is_some_and(|run| *run == (lines.start, lines.end - 1));
    if whole {
        return runs;
    }
    let told = runs.into_iter().filter_map(|(start, end)| {
        let mut telling = (start..=end).filter(telling);
        let first = telling.next()?;
        Some((first, telling.next_back().unwrap_or(first)))
    });
    told.collect()
}
