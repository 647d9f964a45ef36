//! Remembers which workspace a host session began in, so that an agent does not leave its rules by changing its folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dispatch_os::files::{self, Access};
use dispatch_os::paths::safe_file_name;
use dispatch_os::{UserDirs, time};

/// Below the user's data.
const FOLDER: &str = "session-roots";
const PATH_LIMIT_BYTES: u64 = 16 * 1024;
/// A session that began before is over.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The most files that one look removes.
const MAX_REMOVED: usize = 2_000;

/// The root of the session's first event.
pub(super) fn read(user: &UserDirs, session_id: &str) -> Option<PathBuf> {
    let bytes = files::read_at_most(&file(user, session_id), PATH_LIMIT_BYTES).ok()?;
    let path = PathBuf::from(String::from_utf8(bytes).ok()?.trim_end_matches('\n'));
    path.is_absolute().then_some(path)
}

/// Keeps the root. Whoever comes second finds it written; a disk that refuses leaves the other roots to judge.
pub(super) fn remember(user: &UserDirs, session_id: &str, root: &Path) {
    let file = file(user, session_id);
    let Some(text) = root.to_str() else { return };
    let folder = user.data.join(FOLDER);
    if !files::is_dir(&folder) && files::create_dir_owner_only(&folder).is_err() {
        return;
    }
    if let Ok(mut created) = files::create_new(&file, Access::OwnerOnly) {
        use std::io::Write as _;
        let _ = created.write_all(format!("{text}\n").as_bytes());
        forget_old(&folder);
    }
}

fn file(user: &UserDirs, session_id: &str) -> PathBuf {
    user.data.join(FOLDER).join(safe_file_name(session_id))
}

/// Removes what long ended; called once per session.
fn forget_old(folder: &Path) {
    let Some(limit) = time::wall_now().checked_sub(KEPT) else { return };
    for entry in files::read_dir(folder).into_iter().flatten().flatten().take(MAX_REMOVED) {
        if entry.metadata().and_then(|found| found.modified()).is_ok_and(|modified| modified < limit) {
            let _ = files::remove_file(entry.path());
        }
    }
}
