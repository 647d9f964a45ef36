//! The owner-only file that keeps keys and secrets, changed as a whole and one writer at a time.

use crate::audience::Audience;
use crate::contract::KEYS_FILE;
use crate::error::KeyError;
use dispatch_contracts::secret::Secret;
use dispatch_os::files::{create_dir_owner_only, read_private_at_most, replace_with};
use dispatch_os::{Access, Durability, FileLock, LockKind, ReplaceOptions};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest file of keys.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// How long to wait for another writer.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// The form that this version writes.
const VERSION: u32 = 1;

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyFileContent {
    pub(crate) version: u32,
    pub(crate) keys: Vec<StoredKey>,
    /// The secrets of extensions, by namespace and name.
    #[serde(default)]
    pub(crate) secrets: BTreeMap<String, BTreeMap<String, HiddenSecret>>,
}

/// A key that was added.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredKey {
    pub(crate) name: String,
    pub(crate) audience: Audience,
    pub(crate) added_ms: i64,
    /// The header that carries it, where that is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<String>,
    pub(crate) kept: KeyMaterial,
}

/// Where the key itself is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyMaterial {
    /// Here.
    Here(HiddenSecret),
    /// In the keyring, under the key's name; this is how it ends.
    Keyring {
        /// The last letters, for lists.
        ends_with: String,
    },
}

/// A secret that is written to this file and shown nowhere.
#[derive(Debug, Clone)]
pub(crate) struct HiddenSecret(pub(crate) Secret);

impl Serialize for HiddenSecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose())
    }
}

impl<'de> Deserialize<'de> for HiddenSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}

/// The file and the lock beside it.
#[derive(Debug, Clone)]
pub(crate) struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    /// The file of a data folder; neither has to exist.
    pub(crate) fn in_folder(data: &Path) -> Self {
        Self { path: data.join(KEYS_FILE) }
    }

    /// What it holds; nothing if it is not there.
    pub(crate) fn read(&self) -> Result<KeyFileContent, KeyError> {
        let bytes = match read_private_at_most(&self.path, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => {
                return Ok(KeyFileContent { version: VERSION, ..KeyFileContent::default() });
            }
            Err(error) => return Err(error.into()),
        };
        // A list in the place of the table would be read as its fields in order.
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(KeyError::Damaged { path: self.path.clone(), why: "it does not begin with `{`".to_owned() });
        }
        let content: KeyFileContent = serde_json::from_slice(&bytes).map_err(|error| self.damaged(&error))?;
        if content.version > VERSION {
            return Err(KeyError::TooNew { path: self.path.clone(), version: content.version });
        }
        Ok(content)
    }

    /// Changes the content. What cannot be read is not written over; an error of `change` writes nothing.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut KeyFileContent) -> Result<T, KeyError>,
    ) -> Result<T, KeyError> {
        if let Some(folder) = self.path.parent() {
            create_dir_owner_only(folder)?;
        }
        let _lock = FileLock::acquire(&self.path.with_extension("lock"), LockKind::Exclusive, LOCK_WAIT)?;
        let mut content = self.read()?;
        let outcome = change(&mut content)?;
        content.version = VERSION;
        let mut text = serde_json::to_vec_pretty(&content).map_err(|error| self.damaged(&error))?;
        text.push(b'\n');
        let options = ReplaceOptions {
            durability: Durability::ContentAndName,
            access: Access::OwnerOnly,
            ..ReplaceOptions::default()
        };
        replace_with(&self.path, &text, options)?;
        Ok(outcome)
    }

    /// The place of the damage alone: the parser's words may quote the content.
    fn damaged(&self, error: &serde_json::Error) -> KeyError {
        let why = match error.classify() {
            serde_json::error::Category::Eof => "it ends too early".to_owned(),
            serde_json::error::Category::Syntax => {
                format!("no JSON at line {}, column {}", error.line(), error.column())
            }
            _ => format!("something unexpected at line {}, column {}", error.line(), error.column()),
        };
        KeyError::Damaged { path: self.path.clone(), why }
    }
}
