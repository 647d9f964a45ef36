//! What tests and benchmarks of other crates need: they write ledgers by hand and measure single parts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use dispatch_os::files;

use crate::chain::{self, LedgerHead};
use crate::content_store;
use crate::error::IntentsError;
use crate::gate::{CallTarget, GateDecision, GateInput, TargetCertainty, decide};
use crate::hash;
use crate::intent::{IntentSpec, IntentStatus};
use crate::layout::OrchestrationLayout;
use crate::ledger::Ledger;
use crate::query::line_diff::{self, CommonRun};
use crate::scope::TargetExtent;
use crate::trace_entry::{AddedLines, TraceEntry};

/// An intent that owns nothing.
#[must_use]
pub fn intent(id: &str) -> IntentSpec {
    IntentSpec {
        id: id.to_owned(),
        name: id.to_owned(),
        status: IntentStatus::InProgress,
        owned_scope: Vec::new(),
        constraints: Vec::new(),
        acceptance_criteria: Vec::new(),
        created_at: String::new(),
        updated_at: String::new(),
        kind: None,
        claim: None,
        mode: None,
    }
}

/// The hash of a content as the ledger writes it.
#[must_use]
pub fn content_hash(bytes: &[u8]) -> String {
    hash::content_hash(bytes)
}

/// The hash of a line as the ledger writes it.
#[must_use]
pub fn line_hash(line: &[u8]) -> String {
    hash::line_hash(line)
}

/// The hash of a file as it is now; `None` if the file does not exist.
///
/// # Errors
/// When the file exists and cannot be read.
pub fn file_hash(path: &Path) -> io::Result<Option<String>> {
    content_store::file_hash(path)
}

/// Appends entries to the ledger of a workspace.
///
/// # Errors
/// When the ledger is busy or cannot be written.
pub fn append_entries(root: &Path, entries: Vec<TraceEntry>) -> Result<(), IntentsError> {
    Ledger::open(&OrchestrationLayout::new(root)).append(entries).map(|_| ())
}

/// The entries of the ledger in order.
///
/// # Errors
/// When the ledger cannot be read, a line is not an entry, or one does not follow the last line of its session.
pub fn chained_entries(root: &Path) -> io::Result<Vec<TraceEntry>> {
    let mut ends: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for line in Ledger::open(&OrchestrationLayout::new(root)).lines()? {
        let line = line?;
        let entry = line.entry()?;
        let end = ends.insert(entry.session_id.clone(), line.link());
        if entry.prev != end.as_deref().unwrap_or(chain::START) {
            return Err(io::Error::other(format!("line {} does not follow its session", line.number)));
        }
        found.push(entry);
    }
    Ok(found)
}

/// The entries of the ledger in order; lines that are not entries are skipped and the chain is not checked.
///
/// # Errors
/// When the ledger cannot be read.
pub fn readable_entries(root: &Path) -> io::Result<Vec<TraceEntry>> {
    let lines = Ledger::open(&OrchestrationLayout::new(root)).lines()?;
    lines.filter_map(|line| line.map(|line| line.entry().ok()).transpose()).collect()
}

/// The newest entries of an intent, newest first.
#[must_use]
pub fn recent_entries(root: &Path, intent: &str, limit: usize) -> Vec<TraceEntry> {
    Ledger::open(&OrchestrationLayout::new(root)).recent(intent, limit)
}

/// Stores a content as the module does for blame.
pub fn store_content(root: &Path, content: &[u8]) {
    let observed = content_store::ObservedFile::of_bytes(content.to_vec());
    content_store::store(&OrchestrationLayout::new(root), "", &observed);
}

/// Records that the ledger has so many entries and bytes, and that this line is its last.
///
/// # Errors
/// When the file cannot be written.
pub fn write_head(root: &Path, entries: u64, bytes: u64, last_line: &[u8]) -> io::Result<()> {
    let head = LedgerHead { entries, bytes, last: chain::link(last_line), ..LedgerHead::default() };
    files::write(OrchestrationLayout::new(root).head_file(), serde_json::to_vec(&head)?)
}

/// The folder of what is only used on this machine.
#[must_use]
pub fn local_folder(root: &Path) -> PathBuf {
    OrchestrationLayout::new(root).local_folder()
}

/// The folder of the calls in flight.
#[must_use]
pub fn calls_folder(root: &Path) -> PathBuf {
    OrchestrationLayout::new(root).calls_folder()
}

/// The folder of the index of recent entries.
#[must_use]
pub fn recent_index_folder(root: &Path) -> PathBuf {
    OrchestrationLayout::new(root).recent_folder()
}

/// Whether the gate lets a call write one file under the active intent.
#[must_use]
pub fn gate_allows(intents: &[IntentSpec], active: &str, path: &str) -> bool {
    let targets = [CallTarget::Inside { path: path.to_owned(), extent: TargetExtent::File }];
    let input = GateInput { intents, active: Some(active), targets: &targets, certainty: TargetCertainty::Known };
    matches!(decide(&input), GateDecision::Pass(_))
}

/// The lines that a change from one text to another adds, as the ledger stores them.
#[must_use]
pub fn added_lines(before: &[u8], after: &[u8]) -> Vec<AddedLines> {
    let lines: Vec<&[u8]> = line_diff::lines(after).collect();
    let mut runs = Vec::new();
    let mut from = 0;
    let end = CommonRun { old: 0, new: lines.len(), count: 0 };
    for common in line_diff::common_runs(before, after).into_iter().chain([end]) {
        if let Some(added) = lines.get(from..common.new).filter(|added| !added.is_empty()) {
            let start = u32::try_from(from + 1).unwrap_or(u32::MAX);
            runs.push(AddedLines { start, hashes: added.iter().map(|line| line_hash(line)).collect() });
        }
        from = common.new + common.count;
    }
    runs
}
