//! Asks git's history what became of lines that are missing in the ledger: a revert takes an entry back together with
//! its change, a rebase drops both. A commit that removes an entry and keeps its change is not explained.

use std::collections::{HashMap, HashSet};

use crate::hash::{content_hash, line_hash};
use crate::layout::{FOLDER, LEDGER_FILE};
use crate::query::git_repository::GitRepository;
use crate::query::line_diff;
use crate::query::verify::MissingLineOutcome;
use crate::query::verify::link_key::{LinkKey, key_of_line};
use crate::trace_entry::TraceEntry;

/// The outcomes of the wanted lines that git knows.
pub(crate) fn outcomes(git: &GitRepository, wanted: &HashSet<LinkKey>) -> Vec<(LinkKey, MissingLineOutcome)> {
    let mut found: HashMap<LinkKey, MissingLineOutcome> = HashMap::new();
    for (link, seen) in seen_lines(git, &["HEAD"], wanted) {
        found.insert(link, seen.outcome(git));
    }
    let rest: HashSet<LinkKey> = wanted.iter().filter(|link| !found.contains_key(*link)).copied().collect();
    if !rest.is_empty() {
        for (link, seen) in seen_lines(git, &["--all", "--reflog"], &rest) {
            found.insert(link, MissingLineOutcome::Dropped(seen.added));
        }
    }
    found.into_iter().collect()
}

/// One line in the changes of commits.
#[derive(Default)]
struct SeenLine {
    /// The newest commit that added it.
    added: String,
    /// The commits that removed it.
    removed: Vec<String>,
    bytes: Vec<u8>,
}

impl SeenLine {
    fn outcome(self, git: &GitRepository) -> MissingLineOutcome {
        let Ok(entry) = serde_json::from_slice::<TraceEntry>(&self.bytes) else {
            return MissingLineOutcome::Lost(self.added);
        };
        let mut erased = None;
        for commit in self.removed {
            match entry.path().filter(|path| is_still_there(git, &commit, path, &entry)) {
                None => return MissingLineOutcome::Reverted(commit),
                Some(path) => erased = Some(MissingLineOutcome::Erased { path: path.to_owned(), commit }),
            }
        }
        erased.unwrap_or(MissingLineOutcome::Lost(self.added))
    }
}

/// Whether a commit contains what an entry did: every line that it added, or exactly the content that it left.
fn is_still_there(git: &GitRepository, commit: &str, path: &str, entry: &TraceEntry) -> bool {
    let content = git.committed_file(commit, path);
    let file = entry.file.as_ref();
    let Some(content) = content else {
        return file.is_some_and(|file| file.post_hash.is_none() && file.pre_hash.is_some());
    };
    let added: Vec<&String> = entry.added.iter().flat_map(|run| &run.hashes).collect();
    if added.is_empty() {
        let left = Some(content_hash(&content));
        return file.is_some_and(|file| file.post_hash == left && file.pre_hash != left);
    }
    let lines: HashSet<String> = line_diff::lines(&content).map(line_hash).collect();
    added.into_iter().all(|hash| lines.contains(hash))
}

fn seen_lines(git: &GitRepository, from: &[&str], wanted: &HashSet<LinkKey>) -> HashMap<LinkKey, SeenLine> {
    let ledger = format!("{FOLDER}/{LEDGER_FILE}");
    let fixed = ["log", "--format=%x00%H", "-p", "-U0", "--full-history", "--no-renames", "--no-color"];
    let quiet = ["--no-ext-diff", "--no-textconv"];
    let arguments = fixed.iter().chain(&quiet).chain(from).copied().chain(["--", ledger.as_str()]);
    let log = git.ask("read the history of the ledger", arguments).unwrap_or_default();
    let mut seen: HashMap<LinkKey, SeenLine> = HashMap::new();
    let mut commit = String::new();
    for line in log.split(|byte| *byte == b'\n') {
        match line {
            [0, hash @ ..] => commit = String::from_utf8_lossy(hash).into_owned(),
            [sign @ (b'+' | b'-'), text @ ..] => {
                let link = key_of_line(text);
                if !wanted.contains(&link) {
                    continue;
                }
                let line = seen.entry(link).or_default();
                match sign {
                    b'-' => line.removed.push(commit.clone()),
                    _ if line.added.is_empty() => line.added.clone_from(&commit),
                    _ => {}
                }
                line.bytes = text.to_vec();
            }
            _ => {}
        }
    }
    seen.retain(|_, line| !line.added.is_empty());
    seen
}
