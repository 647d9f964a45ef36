//! What `init` changed and what was there before, so that `--undo` can put it back.

use dispatch_trust::fingerprint;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The version of the file.
const VERSION: u32 = 1;

/// Everything that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RestoreRecord {
    version: u32,
    /// The hosts that were registered.
    pub(crate) hosts: BTreeSet<String>,
    /// By path relative to the root, with `/` between the parts.
    pub(crate) files: BTreeMap<String, ChangedFile>,
    /// The folders that were made, outermost first.
    pub(crate) folders: Vec<String>,
}

/// One file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangedFile {
    pub(crate) before: ContentBefore,
    /// SHA-256 of what was written.
    after: String,
}

/// What a file was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub(crate) enum ContentBefore {
    /// It was not there.
    Absent,
    /// It held this.
    Present { sha256: String, text: String },
    /// Someone else changed it between two runs, so its content without our entries is unknown.
    Mixed,
}

/// What undoing one file takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UndoStep {
    /// It is as it was, or someone removed it.
    Nothing,
    /// It is ours alone.
    Delete,
    /// It gets its old content back.
    Write(String),
    /// It was changed since: only our entries go.
    OursOnly,
}

/// Whether our entries were in a file before it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnEntries {
    Present,
    Absent,
}

impl Default for RestoreRecord {
    fn default() -> Self {
        Self { version: VERSION, hosts: BTreeSet::new(), files: BTreeMap::new(), folders: Vec::new() }
    }
}

impl RestoreRecord {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    /// Takes note of a file that is about to be written. The first content counts for as long as
    /// no other program writes the file.
    pub(crate) fn remember(&mut self, path: &str, on_disk: Option<&str>, after: &str, ours: OwnEntries) {
        let after = fingerprint(after.as_bytes());
        let now = || match on_disk {
            None => ContentBefore::Absent,
            Some(text) => ContentBefore::Present { sha256: fingerprint(text.as_bytes()), text: text.to_owned() },
        };
        let found = on_disk.map(|text| fingerprint(text.as_bytes()));
        let before = match (self.files.get(path), ours) {
            (Some(known), _) if found.as_ref() == Some(&known.after) => known.before.clone(),
            (_, OwnEntries::Absent) => now(),
            (_, OwnEntries::Present) => ContentBefore::Mixed,
        };
        self.files.insert(path.to_owned(), ChangedFile { before, after });
    }

    /// Takes note of a folder that is about to be made.
    pub(crate) fn remember_folder(&mut self, path: &str) {
        if !self.folders.iter().any(|known| known == path) {
            self.folders.push(path.to_owned());
        }
    }

    /// What undoing a file takes.
    pub(crate) fn step(&self, path: &str, on_disk: Option<&str>) -> UndoStep {
        let Some(text) = on_disk else { return UndoStep::Nothing };
        let Some(touched) = self.files.get(path) else { return UndoStep::OursOnly };
        let found = fingerprint(text.as_bytes());
        match &touched.before {
            ContentBefore::Present { sha256, .. } if *sha256 == found => UndoStep::Nothing,
            ContentBefore::Present { text, .. } if touched.after == found => UndoStep::Write(text.clone()),
            ContentBefore::Absent if touched.after == found => UndoStep::Delete,
            _ => UndoStep::OursOnly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_content_comes_back_however_often_it_was_written() {
        let mut restore = RestoreRecord::default();
        restore.remember("a", Some("old"), "new", OwnEntries::Absent);
        restore.remember("a", Some("new"), "newer", OwnEntries::Present);
        restore.remember("b", None, "made", OwnEntries::Absent);
        assert_eq!(restore.step("a", Some("newer")), UndoStep::Write("old".to_owned()));
        assert_eq!(restore.step("a", Some("old")), UndoStep::Nothing);
        assert_eq!(restore.step("a", None), UndoStep::Nothing);
        assert_eq!(restore.step("b", Some("made")), UndoStep::Delete);
    }

    #[test]
    fn a_file_that_others_changed_loses_only_our_entries() {
        let mut restore = RestoreRecord::default();
        restore.remember("a", Some("old"), "new", OwnEntries::Absent);
        assert_eq!(restore.step("a", Some("new and more")), UndoStep::OursOnly);
        restore.remember("a", Some("new and more"), "newer", OwnEntries::Present);
        assert_eq!(restore.step("a", Some("newer")), UndoStep::OursOnly);
        restore.remember("a", Some("rewritten"), "again", OwnEntries::Absent);
        assert_eq!(restore.step("a", Some("again")), UndoStep::Write("rewritten".to_owned()));
        assert_eq!(restore.step("unknown", Some("x")), UndoStep::OursOnly);
    }

    #[test]
    fn it_survives_the_disk() {
        let mut restore = RestoreRecord::default();
        restore.remember("a", Some("\u{feff}old\r\n"), "new", OwnEntries::Absent);
        restore.remember_folder(".ai");
        restore.remember_folder(".ai");
        let text = serde_json::to_string(&restore).unwrap();
        assert_eq!(serde_json::from_str::<RestoreRecord>(&text).unwrap(), restore);
        assert_eq!(restore.folders, [".ai"]);
    }
}
