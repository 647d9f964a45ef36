//! Keeps secrets out of what is stored about an event, file names included, and finds such a file again.

use crate::contract::{Change, FileChange, Hook};
use crate::run_store::StoredFile;
use dispatch_os::digest::{hex, sha256};
use dispatch_redact::{Allowed, Options, Redactor, UserPattern};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What stands for a text that cannot be cleaned.
const HIDDEN: &str = "[REDACTED]";
/// How much of a digest is kept.
const DIGEST_BYTES: usize = 16;
/// The most names with secrets that are remembered.
const MAX_REMEMBERED: usize = 10_000;
/// The most entries that are looked at to find a file by the digest of its name.
const MAX_WALKED: usize = 200_000;
/// The most redactors that are kept.
const MAX_REDACTORS: usize = 256;

/// A short digest of a name: equal names have equal ones, and nothing can be read from it.
pub(crate) fn digest(text: &str) -> String {
    hex(sha256(text.as_bytes()).into_iter().take(DIGEST_BYTES))
}

/// What may be stored.
#[derive(Default)]
pub(crate) struct RedactionPolicy {
    /// The user's own forms of secrets, for every hook.
    patterns: Vec<UserPattern>,
    /// What is never taken for a secret.
    allowed: Vec<Allowed>,
    redactors: Mutex<BTreeMap<Vec<String>, Option<Arc<Redactor>>>>,
    names: Mutex<BTreeMap<String, String>>,
}

impl RedactionPolicy {
    /// With forms of secrets for every hook, and what is never taken for one.
    pub(crate) fn new(patterns: Vec<UserPattern>, allowed: Vec<Allowed>) -> Self {
        Self { patterns, allowed, ..Self::default() }
    }

    /// A text without secrets.
    pub(crate) fn clean(&self, hook: &Hook, text: &str) -> String {
        match self.redactor(hook) {
            Some(redactor) => redactor.redact(text).into_owned(),
            None => HIDDEN.to_owned(),
        }
    }

    /// RunFacts without secrets.
    pub(crate) fn clean_map(&self, hook: &Hook, map: &Map<String, Value>) -> Map<String, Value> {
        let mut value = Value::Object(map.clone());
        match (self.redactor(hook), &mut value) {
            (Some(redactor), value) => redactor.redact_json(value),
            (None, value) => *value = Value::Null,
        }
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    /// A file as it may be stored.
    pub(crate) fn cover(&self, hook: &Hook, file: &FileChange) -> StoredFile {
        let path = self.clean(hook, &file.path);
        let change = match &file.change {
            Change::Renamed { from } => Change::Renamed { from: self.clean(hook, from) },
            other => other.clone(),
        };
        let veil = (path != file.path).then(|| digest(&file.path));
        if let Some(veil) = &veil {
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            if names.len() >= MAX_REMEMBERED {
                names.clear();
            }
            names.insert(veil.clone(), file.path.clone());
        }
        StoredFile { shown: FileChange { path, change, content_hash: file.content_hash.clone() }, veil }
    }

    /// The true name of a stored file; none if it cannot be found any more.
    pub(crate) fn uncover(&self, workspace: &Path, file: &StoredFile) -> Option<String> {
        let Some(veil) = &file.veil else { return Some(file.shown.path.clone()) };
        let known = self.names.lock().unwrap_or_else(PoisonError::into_inner).get(veil).cloned();
        known.or_else(|| walk(workspace, veil))
    }

    fn redactor(&self, hook: &Hook) -> Option<Arc<Redactor>> {
        let mut redactors = self.redactors.lock().unwrap_or_else(PoisonError::into_inner);
        if redactors.len() >= MAX_REDACTORS && !redactors.contains_key(&hook.secret_patterns) {
            redactors.clear();
        }
        let made = redactors.entry(hook.secret_patterns.clone()).or_insert_with(|| {
            let of_hook = hook.secret_patterns.iter().map(|regex| UserPattern::new("secret", regex));
            let patterns = self.patterns.iter().cloned().chain(of_hook).collect();
            let options = Options { patterns, allowed: self.allowed.clone(), ..Options::default() };
            Redactor::new(options).ok().map(Arc::new)
        });
        made.clone()
    }
}

/// Looks for the file whose relative name has this digest.
fn walk(workspace: &Path, veil: &str) -> Option<String> {
    let mut folders = VecDeque::from([workspace.to_path_buf()]);
    let mut walked = 0;
    while let Some(folder) = folders.pop_front() {
        for entry in dispatch_os::files::read_dir(&folder).ok().into_iter().flatten().flatten() {
            walked += 1;
            if walked > MAX_WALKED {
                return None;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push_back(entry.path());
            } else if kind.is_file()
                && let Some(name) = relative(workspace, &entry.path())
                && digest(&name) == veil
            {
                return Some(name);
            }
        }
    }
    None
}

fn relative(workspace: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(workspace).ok()?.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hooks::hook;

    const SECRET: &str = "src/hunter2-hunter2.rs";

    fn change(path: &str) -> FileChange {
        FileChange { path: path.into(), change: Change::Changed, content_hash: None }
    }

    #[test]
    fn a_secret_in_a_name_is_not_stored_and_the_file_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join(SECRET), "x").unwrap();
        let mut hook = hook("h");
        hook.secret_patterns = vec!["hunter2[a-z0-9-]*".into()];
        let redaction = RedactionPolicy::default();
        let stored = redaction.cover(&hook, &change(SECRET));
        assert!(!serde_json::to_string(&stored).unwrap().contains("hunter2"), "{stored:?}");
        assert_eq!(redaction.uncover(folder.path(), &stored).as_deref(), Some(SECRET));
        let restarted = RedactionPolicy::default();
        assert_eq!(restarted.uncover(folder.path(), &stored).as_deref(), Some(SECRET));
        std::fs::remove_file(folder.path().join(SECRET)).unwrap();
        assert_eq!(restarted.uncover(folder.path(), &stored), None);
    }

    #[test]
    fn a_plain_name_stays_and_an_unusable_pattern_hides_everything() {
        let redaction = RedactionPolicy::default();
        let mut hook = hook("h");
        assert_eq!(redaction.cover(&hook, &change("src/a.rs")).veil, None);
        hook.secret_patterns = vec!["(".into()];
        assert_eq!(redaction.clean(&hook, "anything"), HIDDEN);
        let map = serde_json::json!({ "a": "b" });
        assert_eq!(redaction.clean_map(&hook, map.as_object().unwrap()), Map::new());
    }
}
