//! Which extensions were switched off, kept in a file of the user's.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::fault::Disabled;
use dispatch_kernel::host::{DisabledStore, DisabledStoreError};
use dispatch_os::files::{Access, ReplaceOptions, create_dir_owner_only, read_at_most, replace_with};
use std::path::PathBuf;

/// The largest file that is read.
const LIMIT_BYTES: u64 = 1024 * 1024;

/// The file with the switched-off extensions.
pub(crate) struct DisabledFile {
    pub(crate) path: PathBuf,
}

impl DisabledStore for DisabledFile {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Disabled>, DisabledStoreError>> {
        Box::pin(std::future::ready(self.read().map_err(DisabledStoreError)))
    }

    fn save<'a>(&'a self, disabled: &'a [Disabled]) -> BoxFuture<'a, Result<(), DisabledStoreError>> {
        Box::pin(std::future::ready(self.write(disabled).map_err(DisabledStoreError)))
    }
}

impl DisabledFile {
    /// The list; empty when there is no file.
    fn read(&self) -> Result<Vec<Disabled>, String> {
        match read_at_most(&self.path, LIMIT_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| format!("{} cannot be read: {error}", self.path.display())),
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Replaces the list.
    fn write(&self, disabled: &[Disabled]) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(disabled).map_err(|error| error.to_string())?;
        if let Some(folder) = self.path.parent() {
            create_dir_owner_only(folder).map_err(|error| error.to_string())?;
        }
        let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
        replace_with(&self.path, &text, options).map_err(|error| error.to_string())
    }
}
