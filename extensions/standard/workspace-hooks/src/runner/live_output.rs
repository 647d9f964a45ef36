//! What an attempt prints while it goes, in a file that any process of the user can read.

use dispatch_os::Access;
use dispatch_os::files::{self, File, create_dir_owner_only, create_new, read_at_most};
use std::io::Write as _;
use std::path::Path;

/// More is not shown while the attempt goes; its end is stored in any case.
const MAX_LIVE_BYTES: usize = 1024 * 1024;

/// The file that an attempt's output goes to, without secrets.
pub(super) struct LiveOutput {
    file: Option<File>,
    written: usize,
}

impl LiveOutput {
    /// A new file. Without one nothing is shown until the attempt is over, and that is all.
    pub(super) fn create(path: &Path) -> Self {
        let _ = path.parent().map(create_dir_owner_only);
        let _ = files::remove_file(path);
        Self { file: create_new(path, Access::OwnerOnly).ok(), written: 0 }
    }

    /// Adds what has no secrets in it any more.
    pub(super) fn push(&mut self, clean: &[u8]) {
        let room = MAX_LIVE_BYTES.saturating_sub(self.written);
        let piece = clean.get(..clean.len().min(room)).unwrap_or_default();
        if piece.is_empty() {
            return;
        }
        self.written += piece.len();
        if self.file.as_mut().is_some_and(|file| file.write_all(piece).is_err()) {
            self.file = None;
        }
    }
}

/// What an attempt has printed so far.
pub(super) fn read(path: &Path) -> Option<String> {
    let bytes = read_at_most(path, 2 * MAX_LIVE_BYTES as u64).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
