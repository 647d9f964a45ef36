//! A session and a workspace made of plain values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::NOW_MS;
use crate::context::{RuleException, SessionView};
use crate::record::{Record, RecordType};

/// What reads find.
#[derive(Debug, Clone, Default)]
pub struct MemoryView {
    /// The log.
    pub records: Vec<Record>,
    /// Files by absolute path.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// Links by absolute path, and where they lead.
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// The lines of `p.jsonl`.
    pub prompts: Vec<Value>,
    /// The user's exceptions.
    pub exceptions: Vec<RuleException>,
}

impl SessionView for MemoryView {
    fn tail(&self) -> &[Record] {
        &self.records
    }

    fn turn(&self, turn_id: u64) -> Vec<&Record> {
        self.records.iter().filter(|record| record.turn_id == turn_id).collect()
    }

    fn history(&self) -> &[Record] {
        &self.records
    }

    fn newest(&self, kind: &RecordType, needle: &str) -> Option<Record> {
        let holds = |record: &&Record| record.kind == *kind && record.data.to_string().contains(needle);
        self.records.iter().rev().find(holds).cloned()
    }

    fn prompts(&self, count: usize) -> Vec<Value> {
        self.prompts.iter().rev().take(count).rev().cloned().collect()
    }

    fn read(&self, path: &Path, limit_bytes: u64) -> Option<Vec<u8>> {
        let content = self.files.get(&self.real_path(path))?;
        (content.len() as u64 <= limit_bytes).then(|| content.clone())
    }

    fn modified_ms(&self, path: &Path) -> Option<i64> {
        let real = self.real_path(path);
        self.files.keys().any(|file| file.starts_with(&real)).then_some(NOW_MS)
    }

    fn list(&self, folder: &Path, limit: usize) -> Vec<String> {
        let below = self.files.keys().filter_map(|file| file.strip_prefix(folder).ok()?.components().next());
        let mut names: Vec<String> = below.map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
        names.dedup();
        names.truncate(limit);
        names
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        for ancestor in path.ancestors() {
            if let Some(target) = self.links.get(ancestor) {
                return path.strip_prefix(ancestor).map_or_else(|_| target.clone(), |rest| target.join(rest));
            }
        }
        path.to_path_buf()
    }

    fn exceptions(&self) -> &[RuleException] {
        &self.exceptions
    }
}
