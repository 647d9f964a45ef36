//! Adds, finds, lists and removes keys.

use crate::audience::Audience;
use crate::error::KeyError;
use crate::key_file::{HiddenSecret, KeyFile, KeyMaterial, StoredKey};
use crate::keyring::Keyring;
use crate::variables::{self, ENVIRONMENT};
use dispatch_contracts::secret::Secret;
use dispatch_os::time::unix_ms;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The longest key.
pub const MAX_KEY_BYTES: usize = 16 * 1024;
/// The longest name of a key.
const MAX_NAME_LETTERS: usize = 100;
/// How many letters of a key are ever shown, and how long it must be for that.
const SHOWN_LETTERS: usize = 4;
const MIN_SHOWN_KEY_LETTERS: usize = 16;

/// The keys of one user.
#[derive(Debug, Clone)]
pub struct KeyStore {
    pub(crate) file: KeyFile,
    pub(crate) keyring: Option<Keyring>,
    /// What the keyring gave, by name and time of adding: asking it costs a process, and a key that is
    /// replaced has another time.
    remembered: Arc<Mutex<BTreeMap<(String, i64), Secret>>>,
}

/// A key to keep.
#[derive(Debug)]
pub struct NewKey {
    /// How lists call it; made from the audience if absent. A key of the same name is replaced.
    pub name: Option<String>,
    /// The one server that it is for.
    pub audience: Audience,
    /// The header that carries it; `Authorization: Bearer` if absent.
    pub header: Option<String>,
    /// The key.
    pub key: Secret,
    /// Where to keep it.
    pub place: KeyLocation,
}

/// Where a key is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyLocation {
    /// In the keyring of the session if there is one that works, else in the file.
    #[default]
    Best,
    /// In the keyring or nowhere.
    Keyring,
    /// In the owner-only file.
    File,
}

/// What may be shown of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyEntry {
    /// Its name.
    pub name: String,
    /// The server that it is for.
    pub audience: Audience,
    /// Where it is: a variable's name, `keyring` or `file`.
    pub source: String,
    /// Its last letters; empty for a short one.
    pub ends_with: String,
    /// When it was added, in Unix milliseconds; unknown for a variable.
    pub added_ms: Option<i64>,
}

impl KeyStore {
    /// The keys below a data folder, with the keyring of this session.
    pub fn open(data: &Path) -> Self {
        Self { file: KeyFile::in_folder(data), keyring: Keyring::of_session(), remembered: Arc::default() }
    }

    /// Keeps a key.
    pub fn add(&self, new: NewKey) -> Result<KeyEntry, KeyError> {
        let key = checked(&new.key)?;
        let name = checked_name(new.name.unwrap_or_else(|| default_name(&new.audience)))?;
        self.file.change(|content| {
            let kept = self.keep(&name, key, new.place)?;
            let stored = StoredKey { name, audience: new.audience, added_ms: unix_ms(), header: new.header, kept };
            content.keys.retain(|known| known.name != stored.name);
            content.keys.push(stored.clone());
            Ok(entry(&stored))
        })
    }

    /// The keys that were added, by name.
    pub fn list(&self) -> Result<Vec<KeyEntry>, KeyError> {
        let mut entries: Vec<KeyEntry> = self.file.read()?.keys.iter().map(entry).collect();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    /// Removes the keys of this name or for this server; says which.
    pub fn remove(&self, name_or_server: &str) -> Result<Vec<KeyEntry>, KeyError> {
        let audience = Audience::parse(name_or_server).ok();
        self.file.change(|content| {
            let by_name = content.keys.iter().any(|key| key.name == name_or_server);
            let is_meant = |key: &StoredKey| {
                if by_name { key.name == name_or_server } else { Some(&key.audience) == audience.as_ref() }
            };
            let removed: Vec<StoredKey> = content.keys.iter().filter(|key| is_meant(key)).cloned().collect();
            for key in removed.iter().filter(|key| matches!(key.kept, KeyMaterial::Keyring { .. })) {
                self.require_keyring()?.remove(&key.name)?;
            }
            content.keys.retain(|key| !is_meant(key));
            Ok(removed.iter().map(entry).collect())
        })
    }

    /// The key for a server, with its header: the keyring's before the file's, the newest first.
    pub(crate) fn find(&self, audience: &Audience) -> Result<Option<(Secret, Option<String>)>, KeyError> {
        let mut keys = self.file.read()?.keys;
        keys.retain(|key| key.audience == *audience);
        keys.sort_by_key(|key| (matches!(key.kept, KeyMaterial::Here(_)), std::cmp::Reverse(key.added_ms)));
        let Some(key) = keys.into_iter().next() else { return Ok(None) };
        let secret = match key.kept {
            KeyMaterial::Here(HiddenSecret(secret)) => secret,
            KeyMaterial::Keyring { .. } => self.ask_keyring(key.name, key.added_ms)?,
        };
        Ok(Some((secret, key.header)))
    }

    fn keep(&self, name: &str, key: Secret, place: KeyLocation) -> Result<KeyMaterial, KeyError> {
        let ends_with = ending(&key);
        match (place, &self.keyring) {
            (KeyLocation::Keyring, _) => {
                self.require_keyring()?.put(name, &key)?;
                Ok(KeyMaterial::Keyring { ends_with })
            }
            (KeyLocation::Best, Some(keyring)) if keyring.put(name, &key).is_ok() => {
                Ok(KeyMaterial::Keyring { ends_with })
            }
            _ => Ok(KeyMaterial::Here(HiddenSecret(key))),
        }
    }

    fn ask_keyring(&self, name: String, added_ms: i64) -> Result<Secret, KeyError> {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = remembered.get(&(name.clone(), added_ms)) {
            return Ok(known.clone());
        }
        let key = self.require_keyring()?.get(&name)?;
        remembered.retain(|(known, _), _| *known != name);
        remembered.insert((name, added_ms), key.clone());
        Ok(key)
    }

    fn require_keyring(&self) -> Result<&Keyring, KeyError> {
        let none = || KeyError::Keyring { why: "this session has none".to_owned() };
        self.keyring.as_ref().ok_or_else(none)
    }
}

/// Every key that could be used: those in the environment, then those that were added.
pub fn all_keys(store: &KeyStore, configured: Option<&Audience>) -> Result<Vec<KeyEntry>, KeyError> {
    let found = variables::keys(ENVIRONMENT, configured)?.into_iter().map(|found| KeyEntry {
        name: found.variable.to_owned(),
        ends_with: ending(&found.key),
        audience: found.audience,
        source: "variable".to_owned(),
        added_ms: None,
    });
    Ok(found.chain(store.list()?).collect())
}

fn entry(key: &StoredKey) -> KeyEntry {
    let (source, ends_with) = match &key.kept {
        KeyMaterial::Here(HiddenSecret(secret)) => ("file", ending(secret)),
        KeyMaterial::Keyring { ends_with } => ("keyring", ends_with.clone()),
    };
    KeyEntry {
        name: key.name.clone(),
        audience: key.audience.clone(),
        source: source.to_owned(),
        ends_with,
        added_ms: Some(key.added_ms),
    }
}

fn ending(key: &Secret) -> String {
    let letters: Vec<char> = key.expose().chars().collect();
    if letters.len() < MIN_SHOWN_KEY_LETTERS {
        return String::new();
    }
    letters.iter().skip(letters.len() - SHOWN_LETTERS).collect()
}

fn checked(key: &Secret) -> Result<Secret, KeyError> {
    let text = key.expose().trim();
    let refused = |why| Err(KeyError::InvalidKey { why });
    if text.is_empty() {
        return refused("it is empty");
    }
    if text.len() > MAX_KEY_BYTES {
        return refused("it is too long");
    }
    if !text.chars().all(|letter| letter.is_ascii_graphic()) {
        return refused("it holds blanks, line ends or letters beyond ASCII");
    }
    Ok(Secret::new(text))
}

fn checked_name(name: String) -> Result<String, KeyError> {
    let is_fit =
        !name.trim().is_empty() && name.chars().count() <= MAX_NAME_LETTERS && !name.chars().any(char::is_control);
    // Programs that manage keyrings would take a leading hyphen for an option.
    if is_fit && !name.starts_with('-') {
        Ok(name)
    } else {
        Err(KeyError::InvalidKey { why: "its name is empty, too long or strange" })
    }
}

fn default_name(audience: &Audience) -> String {
    let text = audience.to_string();
    text.split_once("://").map_or(text.clone(), |(_, rest)| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn store(folder: &Path, keyring: Option<Keyring>) -> KeyStore {
        KeyStore { file: KeyFile::in_folder(folder), keyring, remembered: Arc::default() }
    }

    fn new_key(place: KeyLocation) -> NewKey {
        let audience = Audience::parse("https://a.example").unwrap();
        NewKey { name: None, audience, header: None, key: Secret::new("canary"), place }
    }

    #[test]
    fn without_a_keyring_that_works_the_file_is_best_and_the_keyring_an_error() {
        let broken = Keyring::SecretTool(PathBuf::from("/nonexistent/secret-tool"));
        for keyring in [None, Some(broken)] {
            let folder = tempfile::tempdir().unwrap();
            let store = store(folder.path(), keyring);
            let error = store.add(new_key(KeyLocation::Keyring)).unwrap_err();
            assert!(matches!(error, KeyError::Keyring { .. }), "{error}");
            assert!(store.list().unwrap().is_empty(), "nothing is kept");
            assert_eq!(store.add(new_key(KeyLocation::Best)).unwrap().source, "file");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_key_in_the_keyring_is_not_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = crate::keyring::tests::stand_in(folder.path());
        let store = store(folder.path(), Some(keyring));
        let added = store.add(new_key(KeyLocation::Best)).unwrap();
        assert_eq!(added.source, "keyring");
        assert!(!std::fs::read_to_string(folder.path().join("keys.json")).unwrap().contains("canary"));
        let audience = added.audience.clone();
        for _ in 0..3 {
            assert_eq!(store.find(&audience).unwrap().unwrap().0.expose(), "canary");
        }
        let asked = std::fs::read_to_string(folder.path().join("arguments")).unwrap();
        assert_eq!(asked.matches("lookup").count(), 1, "the keyring is asked once");
        assert_eq!(store.remove("https://a.example").unwrap(), [added]);
        assert!(store.find(&audience).unwrap().is_none());
        assert!(!folder.path().join("kept").exists());
    }
}
