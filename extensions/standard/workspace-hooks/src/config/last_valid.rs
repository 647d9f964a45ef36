//! The last valid content of a file of hooks, kept for every process: a command that starts while the file is being
//! edited knows the same hooks as one that runs for days.

use crate::contract::Hook;
use crate::engine::redaction_policy::RedactionPolicy;
use dispatch_os::digest::{hex, sha256};
use dispatch_os::files::{self, ReplaceOptions, Stamp, create_dir_owner_only, read_at_most, remove_file, replace_with};
use dispatch_os::{Access, OsError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const FOLDER: &str = "hook-files";
/// Twice the largest file of hooks, for what JSON adds to a text.
const LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of the hash in a file name.
const NAME_BYTES: usize = 16;

/// Where the last valid content of one file of hooks is kept.
#[derive(Debug)]
pub(super) struct LastValid {
    hooks_file: PathBuf,
    kept: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LastValidWire {
    /// The file that it is of, for people who look.
    file: PathBuf,
    /// When that file was written.
    modified_ns: i128,
    content: String,
}

impl LastValid {
    /// Of a file of hooks, in the user's folder for state.
    pub(super) fn new(hooks_file: &Path, state_folder: &Path) -> Self {
        let name = hex(sha256(hooks_file.as_os_str().as_encoded_bytes()).into_iter().take(NAME_BYTES));
        Self { hooks_file: hooks_file.to_owned(), kept: state_folder.join(FOLDER).join(format!("{name}.json")) }
    }

    /// The last valid content that any process has seen.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        self.wire().map(|wire| wire.content.into_bytes())
    }

    /// Keeps a content that was just found to be valid, unless another process has seen a later one. A content with
    /// secrets in it is not kept anywhere.
    pub(super) fn keep(&self, content: &[u8], hooks: &[Hook]) -> Result<(), OsError> {
        if !is_free_of_secrets(content, hooks) {
            return match remove_file(&self.kept) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    Err(OsError::Io { action: "remove", path: self.kept.clone(), source })
                }
                _ => Ok(()),
            };
        }
        let modified_ns = files::metadata(&self.hooks_file).map_or(0, |found| Stamp::of(&found).modified_ns);
        let known = self.wire();
        let is_news = known.is_none_or(|wire| wire.modified_ns <= modified_ns && wire.content.as_bytes() != content);
        let (true, Ok(content)) = (is_news, std::str::from_utf8(content)) else { return Ok(()) };
        if let Some(folder) = self.kept.parent() {
            create_dir_owner_only(folder)?;
        }
        let wire = LastValidWire { file: self.hooks_file.clone(), modified_ns, content: content.to_owned() };
        let Ok(text) = serde_json::to_vec(&wire) else { return Ok(()) };
        replace_with(&self.kept, &text, ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() })
    }

    fn wire(&self) -> Option<LastValidWire> {
        serde_json::from_slice(&read_at_most(&self.kept, LIMIT_BYTES).ok()?).ok()
    }
}

fn is_free_of_secrets(content: &[u8], hooks: &[Hook]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let redaction = RedactionPolicy::default();
    let mut judged = BTreeSet::new();
    let mut others = hooks.iter().filter(|hook| judged.insert(&hook.secret_patterns));
    others.all(|hook| redaction.clean(hook, text) == text)
}
