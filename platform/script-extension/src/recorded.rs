//! What `activate` registered, kept on disk: an extension whose `activate` only registers is started by its first call.
//!
//! Such an `activate` has no effect that anybody could miss. One that asks the host for something, or writes a line, is
//! not recorded and runs at every start.

use crate::folder::ExtensionFolder;
use dispatch_contracts::folders::Folders;
use dispatch_os::files::{Access, ReplaceOptions, create_dir_owner_only, read_at_most, replace_with};
use dispatch_trust::fingerprint;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Below the folder of what survives a restart, which no tool may write.
const FOLDER: &str = "extension-registrations";
/// The largest record.
const LIMIT_BYTES: u64 = 1024 * 1024;
/// How much of a fingerprint stands in a file's name.
const NAME_DIGITS: usize = 16;

/// Where the record of one extension is, and which one would be right.
pub(crate) struct RegistrationRecord {
    path: PathBuf,
    /// Stands for all that `activate` can see.
    fingerprint: String,
}

#[derive(Serialize, Deserialize)]
struct RecordWire {
    fingerprint: String,
    registered: Value,
}

impl RegistrationRecord {
    /// The record of a folder whose code is run by this adapter and told this of its surroundings; `None` where nothing is
    /// kept.
    pub(crate) fn new(folders: &Folders, folder: &ExtensionFolder, adapter: &str, given: &Value) -> Option<Self> {
        if folders.state.as_os_str().is_empty() {
            return None;
        }
        let place = fingerprint(folder.path().as_os_str().as_encoded_bytes());
        let name = format!("{}.json", place.get(..NAME_DIGITS)?);
        let parts = [fingerprint(adapter.as_bytes()), fingerprint(&folder.content()), given.to_string()];
        let path = folders.state.join(FOLDER).join(name);
        Some(Self { path, fingerprint: fingerprint(parts.join("\n").as_bytes()) })
    }

    /// What `activate` registered when it could see the same.
    pub(crate) fn read(&self) -> Option<Value> {
        let text = read_at_most(&self.path, LIMIT_BYTES).ok()?;
        let record: RecordWire = serde_json::from_slice(&text).ok()?;
        (record.fingerprint == self.fingerprint).then_some(record.registered)
    }

    /// Keeps what it registered now. Without a record it is asked again at the next start.
    pub(crate) fn write(&self, registered: Value) {
        let record = RecordWire { fingerprint: self.fingerprint.clone(), registered };
        let (Ok(text), Some(folder)) = (serde_json::to_vec(&record), self.path.parent()) else { return };
        let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
        let _ = create_dir_owner_only(folder).and_then(|()| replace_with(&self.path, &text, options));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn written(code: &str, folder: &Path) -> ExtensionFolder {
        std::fs::write(folder.join("index.ts"), code).unwrap();
        ExtensionFolder::read(folder).unwrap()
    }

    #[test]
    fn a_record_is_used_only_where_activate_would_see_the_same() {
        let (state, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = Folders { state: state.path().join("new"), ..Folders::default() };
        let record = |code: &str, adapter: &str, given: Value| {
            RegistrationRecord::new(&folders, &written(code, place.path()), adapter, &given).unwrap()
        };
        let same = || record("a", "adapter", json!({ "settings": {} }));
        assert_eq!(same().read(), None);
        same().write(json!({ "tools": [] }));
        assert_eq!(same().read(), Some(json!({ "tools": [] })));
        assert_eq!(record("b", "adapter", json!({ "settings": {} })).read(), None, "other code");
        assert_eq!(record("a", "newer", json!({ "settings": {} })).read(), None, "another version of the program");
        assert_eq!(record("a", "adapter", json!({ "settings": { "x": 1 } })).read(), None, "other settings");
        std::fs::write(&same().path, "{").unwrap();
        assert_eq!(same().read(), None, "a damaged one");
        let nowhere = RegistrationRecord::new(&Folders::default(), &written("a", place.path()), "", &Value::Null);
        assert!(nowhere.is_none());
    }
}
