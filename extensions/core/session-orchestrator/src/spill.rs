//! Outputs that are too large for a model, kept in owner-only files that a tool can read.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::{Spill, SpillError};
use dispatch_os::files::{self, Access};
use dispatch_os::paths::safe_file_name;
use dispatch_redact::Redactor;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Keeps texts in one folder per session.
pub(crate) struct SpillFolder {
    pub(crate) folder: PathBuf,
    pub(crate) redactor: Arc<Redactor>,
}

impl Spill for SpillFolder {
    fn keep<'a>(&'a self, name: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, SpillError>> {
        Box::pin(std::future::ready(self.write(name, text)))
    }
}

impl SpillFolder {
    fn write(&self, name: &str, text: &str) -> Result<String, SpillError> {
        files::create_dir_owner_only(&self.folder).map_err(|error| SpillError(error.to_string()))?;
        let path = self.folder.join(format!("{}.txt", safe_file_name(name)));
        // A call id is unique in its session; a file of that name is what an earlier try left.
        let _ = files::remove_file(&path);
        let mut file = files::create_new(&path, Access::OwnerOnly).map_err(|error| SpillError(error.to_string()))?;
        file.write_all(self.redactor.redact(text).as_bytes()).map_err(|error| SpillError(error.to_string()))?;
        Ok(path.display().to_string())
    }
}
