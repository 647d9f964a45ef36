//! The user's settings file, begun with every setting that matters as a comment.

use crate::failure::Failure;
use dispatch_os::OsError;
use dispatch_os::files::{self, Access, create_dir_owner_only, create_new};
use std::io::Write;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "dispatch.toml";
const TEXT: &str = include_str!("dispatch.toml");

/// The file, and whether it is new.
pub(super) struct UserSettingsFile {
    pub(super) path: PathBuf,
    pub(super) is_new: bool,
}

/// Writes the file unless it exists.
pub(super) fn write(config_folder: &Path) -> Result<UserSettingsFile, Failure> {
    let path = config_folder.join(FILE_NAME);
    if files::symlink_metadata(&path).is_ok() {
        return Ok(UserSettingsFile { path, is_new: false });
    }
    create_dir_owner_only(config_folder)?;
    let written = create_new(&path, Access::OwnerOnly)?.write_all(TEXT.as_bytes());
    written.map_err(|source| OsError::Io { action: "write", path: path.clone(), source })?;
    Ok(UserSettingsFile { path, is_new: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::settings::Origin;
    use dispatch_kernel::services::builtin::{builtin_layer, builtin_schema};
    use dispatch_kernel::services::config::{Layer, merge};
    use serde_json::Value;
    use std::collections::BTreeMap;

    #[test]
    fn it_changes_nothing_as_it_is_and_is_valid_when_uncommented() {
        assert_eq!(toml::from_str::<Value>(TEXT).unwrap(), Value::Object(serde_json::Map::new()));
        // A comment of one `#` is a setting; words for people have `# ` and a blank.
        let settings: String = TEXT
            .lines()
            .filter_map(|line| line.strip_prefix('#'))
            .filter(|line| !line.starts_with(' '))
            .map(|line| format!("{line}\n"))
            .collect();
        let values = toml::from_str::<Value>(&settings).unwrap();
        assert!(values["model"]["base_url"].is_string(), "{values}");
        let layers = [builtin_layer(), Layer::new(Origin::BuiltIn, values)];
        merge(&layers, &builtin_schema(), &BTreeMap::new()).unwrap();
    }

    #[test]
    fn what_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        assert!(write(&config).unwrap().is_new);
        std::fs::write(config.join(FILE_NAME), "mine").unwrap();
        assert!(!write(&config).unwrap().is_new);
        assert_eq!(std::fs::read_to_string(config.join(FILE_NAME)).unwrap(), "mine");
    }
}
