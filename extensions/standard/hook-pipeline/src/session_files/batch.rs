//! Everything one invocation leaves behind, written with as few calls as possible.

use std::path::Path;

use dispatch_hook_module::{FileWrite, LogLine, Record};
use dispatch_os::files::{TailRepair, append_line};
use dispatch_redact::Redactor;
use serde::Serialize;
use serde_json::{Value, json};

use super::append::append_lines;
use super::brief_lock::HeldLock;
use super::module_files::{write_file, write_logs};
use super::state_file::write_state;
use super::{FilesError, SessionFolder};
use crate::pipeline::Said;

/// The longest line of the log; the facts of a longer one are left out, and that is said.
const LINE_LIMIT_BYTES: usize = 32 * 1024;
/// From this size on, the trace starts anew.
const TRACE_LIMIT_BYTES: u64 = 4 * 1024 * 1024;

/// What one invocation leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Records for `events.jsonl`.
    pub records: Vec<Record>,
    /// Lines for `p.jsonl`.
    pub prompts: Vec<Value>,
    /// Lines for `registry.jsonl`.
    pub registry: Vec<Value>,
    /// Patches of `state.json`.
    pub patches: Vec<Value>,
    /// Files of modules.
    pub files: Vec<Said<FileWrite>>,
    /// Log lines of modules.
    pub log: Vec<Said<LogLine>>,
}

/// Writes batches, redacted.
pub(crate) struct Journal<'a> {
    /// Where to.
    pub folder: SessionFolder<'a>,
    /// What takes secrets out.
    pub redactor: &'a Redactor,
}

impl Journal<'_> {
    /// Writes a batch: the log first, because it is the truth, then everything else. What fails
    /// does not keep the rest from being written.
    pub(crate) fn commit(&self, batch: Batch, held: Option<&HeldLock>, stamp: &str) -> Vec<FilesError> {
        self.commit_and_tell(batch, held, stamp, &|| {})
    }

    /// Writes a batch as [`Self::commit`] does, and tells when its records are in the log.
    pub(crate) fn commit_and_tell(
        &self,
        batch: Batch,
        held: Option<&HeldLock>,
        stamp: &str,
        logged: &dyn Fn(),
    ) -> Vec<FilesError> {
        let paths = self.folder.paths();
        let mut failures = Vec::new();
        let mut note = |result: Result<(), FilesError>| failures.extend(result.err());
        let records = batch.records.into_iter().map(|record| self.line_of(record));
        note(self.append(&paths.events_file(), records).inspect(|()| logged()));
        note(self.append(&paths.prompts_file(), self.redacted(batch.prompts).iter().map(json_line)));
        note(self.append(&paths.registry_file(), self.redacted(batch.registry).iter().map(json_line)));
        if !batch.patches.is_empty() {
            let patches = self.redacted(batch.patches);
            note(write_state(&self.folder, &patches.iter().collect::<Vec<_>>(), held));
        }
        for file in &batch.files {
            note(write_file(&self.folder, self.redactor, &file.module, &file.what));
        }
        note(write_logs(&self.folder, self.redactor, stamp, &batch.log));
        failures
    }

    /// Adds one line to the trace of the pipeline, if it can.
    pub(crate) fn trace(&self, line: &str) {
        let path = self.folder.paths().trace_file();
        if dispatch_os::files::metadata(&path).is_ok_and(|found| found.len() > TRACE_LIMIT_BYTES) {
            let _ = dispatch_os::files::rename(&path, path.with_extension("log.1"));
        }
        let text = self.redactor.redact(line).replace(['\n', '\r'], " ");
        // The trace is a courtesy; there is nobody to tell that it failed.
        let _ = append_line(&path, text.as_bytes(), TailRepair::Skip);
    }

    fn append(&self, path: &Path, lines: impl Iterator<Item = Vec<u8>>) -> Result<(), FilesError> {
        let mut text = Vec::new();
        for line in lines {
            text.extend_from_slice(&line);
            text.push(b'\n');
        }
        if text.is_empty() {
            return Ok(());
        }
        match append_lines(path, &text) {
            Err(error) if error.is_not_found() => {
                self.folder.create()?;
                append_lines(path, &text)
            }
            result => result,
        }
    }

    /// The record as a line, its facts redacted and within the limit. The ids are ours and stay.
    fn line_of(&self, mut record: Record) -> Vec<u8> {
        self.redactor.redact_json(&mut record.data);
        let line = json_line(&record);
        if line.len() <= LINE_LIMIT_BYTES {
            return line;
        }
        let patch =
            record.data.get("statePatch").cloned().filter(|patch| patch.to_string().len() < LINE_LIMIT_BYTES / 2);
        record.data = json!({"truncated": true, "bytes": line.len()});
        if let Some(patch) = patch {
            record.data["statePatch"] = patch;
        }
        json_line(&record)
    }

    fn redacted(&self, values: Vec<Value>) -> Vec<Value> {
        let redact = |mut value: Value| {
            self.redactor.redact_json(&mut value);
            value
        };
        values.into_iter().map(redact).collect()
    }
}

fn json_line(line: &impl Serialize) -> Vec<u8> {
    // Lines of ours have only string keys, so this cannot fail.
    serde_json::to_vec(line).unwrap_or_default()
}
