//! Works a patch out in memory first, then writes; if a write fails, what was written is taken back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dispatch_contracts::tool::{ToolContext, ToolError};
use dispatch_os::files::{Access, Durability, ReplaceOptions};
use dispatch_os::{Confined, ConfinedPath, OsError};

use super::apply::apply;
use super::change::{ChangeKind, FileChange, Hunk};
use crate::document::TextDocument;
use crate::edit::no_spelling;
use crate::file_workspace::{FileWorkspace, LoadedFile, load, refuse_read_only};
use crate::tool_errors::explain;

pub(super) struct PatchPlan<'a> {
    workspace: &'a FileWorkspace,
    confined: Confined,
    context: &'a ToolContext,
    files: BTreeMap<PathBuf, PlannedFile>,
    report: String,
}

/// A file before and after the patch; `None` where it does not exist.
struct PlannedFile {
    spot: ConfinedPath,
    shown: PathBuf,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    access: Access,
}

impl<'a> PatchPlan<'a> {
    pub(super) fn new(workspace: &'a FileWorkspace, confined: Confined, context: &'a ToolContext) -> Self {
        Self { workspace, confined, context, files: BTreeMap::new(), report: String::new() }
    }

    /// Works out one change on top of those before it.
    pub(super) fn add(&mut self, change: &FileChange) -> Result<(), String> {
        let path = &change.path;
        let key = self.look_at(path)?;
        let before = self.content(&key);
        match (&change.change, before) {
            (ChangeKind::Add { .. }, Some(_)) => Err(format!("{path} exists already; use an update instead")),
            (ChangeKind::Add { text }, None) => {
                self.note(format!("Added {path}"));
                self.set(&key, Some(text.clone().into_bytes()));
                Ok(())
            }
            (_, None) => Err(format!("{path} does not exist")),
            (ChangeKind::Delete { hunks }, Some(bytes)) => {
                if !hunks.is_empty() && !changed(path, &bytes, hunks)?.is_empty() {
                    return Err(format!("{path} holds more than the patch removes"));
                }
                self.note(format!("Deleted {path}"));
                self.set(&key, None);
                Ok(())
            }
            (ChangeKind::Update { move_to, hunks }, Some(bytes)) => {
                let after = if hunks.is_empty() { bytes } else { changed(path, &bytes, hunks)? };
                let (added, removed) =
                    hunks.iter().map(Hunk::counts).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
                match move_to {
                    None => {
                        self.note(format!("Changed {path} (+{added} -{removed})"));
                        self.set(&key, Some(after));
                    }
                    Some(target) => {
                        self.move_to(&key, target, after)?;
                        self.note(format!("Moved {path} to {target} (+{added} -{removed})"));
                    }
                }
                Ok(())
            }
        }
    }

    fn move_to(&mut self, from: &Path, target: &str, bytes: Vec<u8>) -> Result<(), String> {
        let key = self.look_at(target)?;
        if self.content(&key).is_some() {
            return Err(format!("{target} exists already, nothing can be moved there"));
        }
        let access = self.files.get(from).map(|planned| planned.access).unwrap_or_default();
        self.set(from, None);
        self.set(&key, Some(bytes));
        self.files.entry(key).and_modify(|planned| planned.access = access);
        Ok(())
    }

    /// Reads the file, unless the plan knows it; gives the path it really has.
    fn look_at(&mut self, path: &str) -> Result<PathBuf, String> {
        let shown = PathBuf::from(path);
        let spot = self.confined.locate(&shown).map_err(|error| explain(&error, &shown).0)?;
        let key = spot.path().to_path_buf();
        if self.files.contains_key(&key) {
            return Ok(key);
        }
        let found = load(spot.clone(), &shown).map_err(|error| error.0)?;
        if let Some(found) = &found {
            self.workspace.check_unchanged(&self.context.session, found, &shown).map_err(|error| error.0)?;
            refuse_read_only(&spot, &shown).map_err(|error| error.0)?;
        }
        let access = found.as_ref().and_then(|_| spot.access().ok()).unwrap_or_default();
        let before = found.map(|LoadedFile { bytes, .. }| bytes);
        self.files.insert(key.clone(), PlannedFile { spot, shown, after: before.clone(), before, access });
        Ok(key)
    }

    fn content(&self, key: &Path) -> Option<Vec<u8>> {
        self.files.get(key).and_then(|planned| planned.after.clone())
    }

    fn set(&mut self, key: &Path, after: Option<Vec<u8>>) {
        if let Some(planned) = self.files.get_mut(key) {
            planned.after = after;
        }
    }

    fn note(&mut self, line: String) {
        self.report.push_str(&line);
        self.report.push_str(".\n");
    }

    /// Writes new content first and removes last, so that a crash in between loses no text.
    pub(super) fn carry_out(self) -> Result<String, ToolError> {
        let mut changed: Vec<&PlannedFile> =
            self.files.values().filter(|planned| planned.before != planned.after).collect();
        changed.sort_by_key(|planned| planned.after.is_none());
        for (index, planned) in changed.iter().enumerate() {
            if let Err(error) = put(planned, planned.after.as_deref()) {
                return Err(take_back(changed.get(..index).unwrap_or_default(), planned, &error));
            }
        }
        for planned in &changed {
            match &planned.after {
                Some(bytes) => self.workspace.remember(&self.context.session, planned.spot.path(), bytes),
                None => self.workspace.forget(&self.context.session, planned.spot.path()),
            }
        }
        Ok(self.report)
    }
}

fn changed(path: &str, bytes: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, String> {
    let document = TextDocument::read(bytes).ok_or_else(|| format!("{path} is a binary file"))?;
    let text = apply(&document, hunks).map_err(|reason| format!("in {path}, {reason}"))?;
    document.spell(&text).map_err(|character| no_spelling(character, &document, Path::new(path)).0)
}

fn put(planned: &PlannedFile, bytes: Option<&[u8]>) -> Result<(), OsError> {
    match bytes {
        None => planned.spot.remove(),
        Some(bytes) => {
            let options =
                ReplaceOptions { durability: Durability::Content, access: planned.access, ..ReplaceOptions::default() };
            planned.spot.replace(bytes, options)
        }
    }
}

/// Undoes what was written; says what could not be.
fn take_back(written: &[&PlannedFile], failed: &PlannedFile, error: &OsError) -> ToolError {
    let stuck = written.iter().filter(|planned| put(planned, planned.before.as_deref()).is_err());
    let stuck: Vec<String> = stuck.map(|planned| planned.shown.display().to_string()).collect();
    let reason = explain(error, &failed.shown).0;
    ToolError(match stuck.is_empty() {
        true => format!("The patch was not applied, no file was changed: {reason}"),
        false => format!("The patch failed, and these files could not be put back: {}. {reason}", stuck.join(", ")),
    })
}
