//! Queries of the ledger: log, verify, blame, check, report, export and the trailers of a commit.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write};
use std::path::Path;

use dispatch_os::OsError;
use dispatch_os::files::read_at_most;

use super::IntentWorkspace;
use crate::chain::ChainEnd;
use crate::declared_intents::{self, CacheAccess, DeclaredIntents};
use crate::error::IntentsError;
use crate::intent::IntentSpec;
use crate::layout::{FOLDER, LEDGER_FILE};
use crate::ledger::archive::{ADVISED_BYTES, ArchivedChains};
use crate::ledger::{LedgerLine, chain_ends};
use crate::query::amended_commit::replaces_head;
use crate::query::blame::{BlamedLine, FileBlame, LineOrigin, MAX_BLAMED_BYTES, line_origins};
use crate::query::check::{UntrackedFiles, check};
use crate::query::export::{ExportContext, agent_trace, header, row};
use crate::query::filter::EntryFilter;
use crate::query::git_repository::{GitRepository, HEAD};
use crate::query::history::histories;
use crate::query::ledger_history::outcomes;
use crate::query::report::{ReportInput, markdown, render};
use crate::query::summary::LedgerSummary;
use crate::query::trailers::CommitTrailers;
use crate::query::uncovered_lines::UncoveredLines;
use crate::query::verify::link_key::LinkKey;
use crate::query::verify::{CommittedLedger, LedgerVerification, VerificationEvidence, verify};
use crate::query::{line_diff, present_hash, stored_content};
use crate::trace_entry::RecordedChange;

/// A line of the ledger that a filter selected, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchedLine {
    /// A line that matches.
    Entry(Vec<u8>),
    /// A line that is not an entry, so the filter could not decide.
    Malformed(Vec<u8>),
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Agent Trace 0.1.0: the writer of each line as the files are now, one JSON record per line.
    AgentTrace,
    /// Every entry as it is stored.
    Jsonl,
    /// Every entry as a row of comma-separated values.
    Csv,
}

/// A file with the origin of each line.
#[derive(Debug)]
pub struct BlamedFile {
    history: Vec<RecordedChange>,
    origins: Vec<LineOrigin>,
    content: Vec<u8>,
}

impl BlamedFile {
    /// The origin of each line, in order.
    #[must_use]
    pub fn lines(&self) -> Vec<BlamedLine<'_>> {
        FileBlame::of_origins(&self.history, &self.origins).lines().collect()
    }

    /// The text of each line without its line ending, in order.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        line_diff::lines(&self.content)
    }
}

impl IntentWorkspace {
    /// The lines of the ledger that a filter selects, oldest first.
    ///
    /// # Errors
    /// When the ledger exists and cannot be opened; each item fails when its line cannot be read.
    pub fn log(
        &self,
        filter: EntryFilter,
    ) -> Result<impl Iterator<Item = Result<MatchedLine, IntentsError>> + '_, IntentsError> {
        let lines = self.lines()?;
        Ok(lines.filter_map(move |line| match line {
            Err(error) => Some(Err(self.unreadable(error))),
            Ok(line) => match filter.wants(&line.bytes) {
                None => Some(Ok(MatchedLine::Malformed(line.bytes))),
                Some(true) => Some(Ok(MatchedLine::Entry(line.bytes))),
                Some(false) => None,
            },
        }))
    }

    /// Verifies the chain of the ledger, the anchors in commits and the files of the workspace.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn verify(&self) -> Result<LedgerVerification, IntentsError> {
        let git = self.git();
        let history = |wanted: &HashSet<LinkKey>| git.as_ref().map(|git| outcomes(git, wanted)).unwrap_or_default();
        let is_change_there = |end: &ChainEnd| chain_ends::is_change_there(&self.layout, end);
        let ledger = format!("{FOLDER}/{LEDGER_FILE}");
        let committed = git.as_ref().and_then(|git| git.committed_file("HEAD", &ledger)).map(CommittedLedger::new);
        let mut evidence = VerificationEvidence {
            // The head is read first: a writer may append meanwhile, and more lines are not a problem.
            head: self.ledger().known_head(),
            anchors: git.as_ref().map(GitRepository::anchors).unwrap_or_default(),
            committed,
            is_git_busy: git.as_ref().is_some_and(GitRepository::is_busy),
            is_change_there: Some(&is_change_there),
            history: Some(&history),
        };
        let unreadable = |error| self.unreadable(error);
        let archived = self.ledger().archived_lines().map_err(unreadable)?;
        let present = self.ledger().present_lines().map_err(unreadable)?;
        let verified = verify(archived, present, &mut evidence).map_err(|error| self.unreadable(error))?;
        Ok(verified.with_files(&self.layout))
    }

    /// The origin of each line of a file, given by its path from the workspace's root.
    ///
    /// # Errors
    /// When the file or the ledger cannot be read.
    pub fn blame(&self, path: &str) -> Result<BlamedFile, IntentsError> {
        let content = read_at_most(&self.layout.root.join(path), MAX_BLAMED_BYTES)?;
        let wanted = BTreeSet::from([path.to_owned()]);
        let former = |path: &str, known: &[RecordedChange]| self.former_names(path, known);
        let present = |path: &str| present_hash(&self.layout, path);
        let found = histories(&self.ledger(), &wanted, &former, &present).map_err(|error| self.unreadable(error))?;
        let history = found.into_values().next().unwrap_or_default();
        let origins = line_origins(&history, &|hash| stored_content(&self.layout, hash), &content);
        Ok(BlamedFile { history, origins, content })
    }

    /// The changed lines between the merge base of `base` and the files on disk that no intent covers. Files that an
    /// excluded glob matches are ignored.
    ///
    /// # Errors
    /// When the workspace is not in a git repository, git does not know `base`, or git or the ledger fails.
    pub fn check(
        &self,
        base: &str,
        untracked: UntrackedFiles,
        excluded: &[String],
    ) -> Result<Vec<UncoveredLines>, IntentsError> {
        check(&self.layout, &self.required_git()?, base, untracked, excluded)
    }

    /// A file as it is in the merge base of `base`; `None` if it is not there.
    ///
    /// # Errors
    /// When the workspace is not in a git repository, or git does not know `base`.
    pub fn file_at_base(&self, base: &str, path: &str) -> Result<Option<Vec<u8>>, IntentsError> {
        let git = self.required_git()?;
        Ok(git.committed_file(&git.merge_base(base)?, path))
    }

    /// One HTML page about the ledger. `subtitle` and `problems` are shown as they are.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn report(&self, subtitle: &str, problems: &[String]) -> Result<String, IntentsError> {
        let summary = LedgerSummary::read(self.lines()?).map_err(|error| self.unreadable(error))?;
        let intents = self.declared();
        let title = self.layout.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let input = ReportInput { title: &title, subtitle, summary: &summary, intents: &intents, problems };
        Ok(render(&input))
    }

    /// A summary per intent as Markdown: of the whole ledger, or of the entries that are not in the merge base of `base`.
    ///
    /// # Errors
    /// When the ledger cannot be read, or git does not know `base`.
    pub fn summary(&self, base: Option<&str>, problems: &[String]) -> Result<String, IntentsError> {
        let known: HashSet<Vec<u8>> = match base {
            None => HashSet::new(),
            Some(base) => {
                let ledger = self.file_at_base(base, &format!("{FOLDER}/{LEDGER_FILE}"))?.unwrap_or_default();
                ledger.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
            }
        };
        let mut summary = LedgerSummary::default();
        for line in self.lines()? {
            let line = line.map_err(|error| self.unreadable(error))?;
            if let (false, Ok(entry)) = (known.contains(&line.bytes), line.entry()) {
                summary.add(line.number, entry);
            }
        }
        Ok(markdown(&summary, &self.declared(), problems))
    }

    fn declared(&self) -> Vec<IntentSpec> {
        match declared_intents::load(&self.layout, CacheAccess::ReadOnly) {
            DeclaredIntents::Ready(file) => file.active_intents,
            DeclaredIntents::Absent | DeclaredIntents::Broken(_) => Vec::new(),
        }
    }

    /// Writes the whole ledger in a format; `version` is the version of the program and `now` the current time.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the output cannot be written ([`IntentsError::Output`]).
    pub fn export(
        &self,
        format: ExportFormat,
        version: &str,
        now: &str,
        output: &mut dyn Write,
    ) -> Result<(), IntentsError> {
        match format {
            ExportFormat::AgentTrace => self.export_records(version, now, output),
            ExportFormat::Csv => {
                output.write_all(header().as_bytes()).map_err(IntentsError::Output)?;
                self.export_entries(format, output)
            }
            ExportFormat::Jsonl => self.export_entries(format, output),
        }
    }

    /// Adds the intents of the staged changes and an anchor of the ledger to a commit message. A merge, an empty
    /// message and a workspace without `.orchestration` are left alone.
    ///
    /// # Errors
    /// When the workspace is not in a git repository, or git or the ledger fails.
    pub fn add_trailers(&self, message: &Path) -> Result<(), IntentsError> {
        let git = self.required_git()?;
        if !self.exists() || git.is_merging() || git.is_empty_message(message)? {
            return Ok(());
        }
        let base = if replaces_head(&git) { git.base_of_amended()? } else { HEAD.to_owned() };
        CommitTrailers::of_staged(&self.layout, &git, &base)?.write(&git, message)
    }

    fn export_records(&self, version: &str, now: &str, output: &mut dyn Write) -> Result<(), IntentsError> {
        let revision = self.git().and_then(|git| git.head());
        let uncommitted = self.git().map(|git| git.uncommitted_files()).unwrap_or_default();
        let context = ExportContext { revision, uncommitted, version: version.to_owned(), now: now.to_owned() };
        let former = |path: &str, known: &[RecordedChange]| self.former_names(path, known);
        let renames = self.git().map(|git| git.renames(self.began().as_deref())).unwrap_or_default();
        let records = agent_trace(&self.layout, &former, &renames, &context);
        let records = records.map_err(|error| self.unreadable(error))?;
        for record in records {
            writeln!(output, "{record}").map_err(IntentsError::Output)?;
        }
        Ok(())
    }

    fn export_entries(&self, format: ExportFormat, output: &mut dyn Write) -> Result<(), IntentsError> {
        for line in self.lines()? {
            let line = line.map_err(|error| self.unreadable(error))?;
            let Ok(entry) = line.entry() else { continue };
            let written = match format {
                ExportFormat::Csv => output.write_all(row(&entry).as_bytes()),
                ExportFormat::Jsonl | ExportFormat::AgentTrace => {
                    output.write_all(&line.bytes).and_then(|()| output.write_all(b"\n"))
                }
            };
            written.map_err(IntentsError::Output)?;
        }
        Ok(())
    }

    /// Moves the lines of ended sessions out of the ledger into a file below `.orchestration/archive`. `is_ended` is asked
    /// with a session and the time of its last entry.
    ///
    /// # Errors
    /// When the ledger is in use, or a file cannot be read or written.
    pub fn archive(&self, is_ended: &dyn Fn(&str, &str) -> bool) -> Result<ArchivedChains, IntentsError> {
        self.ledger().archive(is_ended)
    }

    /// The bytes of the ledger without its archives, and whether archiving is advised.
    #[must_use]
    pub fn ledger_size(&self) -> (u64, bool) {
        let bytes = self.ledger().bytes();
        (bytes, bytes > ADVISED_BYTES)
    }

    fn lines(&self) -> Result<impl Iterator<Item = io::Result<LedgerLine>> + use<>, IntentsError> {
        self.ledger().lines().map_err(|error| self.unreadable(error))
    }

    fn unreadable(&self, source: io::Error) -> IntentsError {
        IntentsError::Os(OsError::Io { action: "read", path: self.layout.ledger_file(), source })
    }

    fn git(&self) -> Option<GitRepository> {
        GitRepository::find(&self.layout.root)
    }

    fn required_git(&self) -> Result<GitRepository, IntentsError> {
        self.git().ok_or_else(|| IntentsError::NoRepository { root: self.layout.root.clone() })
    }

    /// The names that a file had before. Git is asked only if the ledger does not know how the file began.
    fn former_names(&self, path: &str, known: &[RecordedChange]) -> Vec<String> {
        let first = known.iter().find_map(|change| change.entry.file.as_ref());
        if first.is_some_and(|file| file.pre_hash.is_none()) {
            return Vec::new();
        }
        self.git().map(|git| git.former_names(path, self.began().as_deref())).unwrap_or_default()
    }

    /// The time of the first entry.
    fn began(&self) -> Option<String> {
        let first = self.lines().ok()?.next()?.ok()?;
        Some(first.entry().ok()?.timestamp)
    }
}
