//! A time in milliseconds that no other invocation of the session gets, so that run ids are unique.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use dispatch_os::files::{WriteAt, open_own};

use super::brief_lock::{BRIEF, lock_within};

/// A stored time this far ahead is damage, not a busy session.
const MAX_AHEAD_MS: i64 = 24 * 60 * 60 * 1_000;
const DIGITS: usize = 20;

/// The present time, or the next millisecond that nobody has had. Without the file: the present time.
#[must_use]
pub(crate) fn next_run_ms(path: &Path, now_ms: i64) -> i64 {
    take(path, now_ms).unwrap_or(now_ms)
}

fn take(path: &Path, now_ms: i64) -> io::Result<i64> {
    let mut file = open_own(path, WriteAt::Position).map_err(io::Error::other)?;
    lock_within(&file, BRIEF)?;
    let mut text = [0; DIGITS];
    let length = file.read(&mut text)?;
    let last = text.get(..length).and_then(|digits| std::str::from_utf8(digits).ok()?.trim().parse::<i64>().ok());
    let last = last.filter(|last| *last < now_ms.saturating_add(MAX_AHEAD_MS));
    let mine = last.map_or(now_ms, |last| now_ms.max(last + 1));
    file.seek(SeekFrom::Start(0))?;
    file.write_all(format!("{mine:<DIGITS$}").as_bytes())?;
    Ok(mine)
}
