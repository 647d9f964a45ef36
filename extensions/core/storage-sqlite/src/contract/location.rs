//! Where data is kept, as the settings name it.
//!
//! Pure.

use dispatch_contracts::storage::StorageError;
use std::path::{Path, PathBuf};

/// The file in the data folder when the settings name no other.
pub const DEFAULT_FILE: &str = "dispatch.db";

/// Whether a `storage.url` names a database server, which is for another backend.
#[must_use]
pub fn is_for_a_server(url: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme))
}

/// Where data is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a file.
    File(PathBuf),
    /// Nowhere: it is gone when the program ends.
    Memory,
}

impl Location {
    /// Reads `storage.url`: `sqlite:PATH` or `memory:`; nothing means a file in the data folder. A
    /// relative path is below the data folder.
    pub fn parse(url: Option<&str>, data_folder: &Path) -> Result<Self, StorageError> {
        match url {
            None => Ok(Self::File(data_folder.join(DEFAULT_FILE))),
            Some("memory:") => Ok(Self::Memory),
            Some(url) => match url.strip_prefix("sqlite:") {
                Some(path) if !path.is_empty() && !path.contains('\0') => Ok(Self::File(data_folder.join(path))),
                _ => Err(StorageError::Unwritable(format!(
                    "`storage.url` starts with `{}`; write `sqlite:PATH`, `postgres://USER@HOST/DATABASE`, or `memory:` for nothing that lasts",
                    scheme(url)
                ))),
            },
        }
    }
}

/// What may be shown of a URL: the rest of it can hold a password.
fn scheme(url: &str) -> String {
    url.split([':', '/']).next().unwrap_or_default().chars().take(20).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_place_or_is_refused_with_a_hint() {
        let parse = |url| Location::parse(url, Path::new("/data"));
        assert_eq!(parse(None), Ok(Location::File("/data/dispatch.db".into())));
        assert_eq!(parse(Some("memory:")), Ok(Location::Memory));
        assert_eq!(parse(Some("sqlite:/srv/x.db")), Ok(Location::File("/srv/x.db".into())));
        assert_eq!(parse(Some("sqlite:x.db")), Ok(Location::File("/data/x.db".into())));
        for bad in ["", "sqlite:", "postgres://user:pass@h/d", "/x.db", "sqlite:a\0b"] {
            let said = parse(Some(bad)).unwrap_err().to_string();
            assert!(said.contains("write `sqlite:PATH`") && !said.contains('\0'), "{said}");
            assert!(!said.contains("pass"), "a URL can hold a password: {said}");
        }
    }
}
