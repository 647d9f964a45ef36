//! Reads the end of the ledger backwards, and single lines by their offset, within a limit.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use dispatch_os::files::File;

use super::line::MAX_LINE_BYTES;

const FIRST_WINDOW_BYTES: u64 = 64 * 1024;
const WINDOW_GROWTH: u64 = 8;
const LINE_READ_BYTES: usize = 8 * 1024;

/// The bytes from `start` to `end`, fewer if the file is shorter.
pub(super) fn read_range(file: &mut File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(end.saturating_sub(start)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The line that starts at `offset`, without its line feed; `None` if no complete line starts there.
pub(super) fn line_at(file: &mut File, offset: u64) -> io::Result<Option<Vec<u8>>> {
    let before = u64::from(offset > 0);
    file.seek(SeekFrom::Start(offset - before))?;
    let mut bytes = Vec::with_capacity(LINE_READ_BYTES);
    let mut block = [0; LINE_READ_BYTES];
    let skip = usize::try_from(before).unwrap_or(0);
    loop {
        let count = match file.read(&mut block) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let start = bytes.len().max(skip);
        bytes.extend_from_slice(block.get(..count).unwrap_or_default());
        if before == 1 && bytes.first() != Some(&b'\n') {
            return Ok(None);
        }
        if let Some(end) = bytes.get(start..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            return Ok(bytes.get(skip..start + end).map(<[u8]>::to_vec));
        }
        if count == 0 || bytes.len() > MAX_LINE_BYTES {
            return Ok(None);
        }
    }
}

/// Calls `visit` with the complete lines that end at or before `end`, newest first, each with its offset,
/// within the last `limit` bytes. `end` must be the end of a line.
pub(super) fn walk_back(
    file: &mut File,
    end: u64,
    limit: u64,
    mut visit: impl FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    let floor = end.saturating_sub(limit);
    let mut end = end;
    let mut window = FIRST_WINDOW_BYTES;
    while end > floor {
        let start = end.saturating_sub(window).max(floor);
        let bytes = read_range(file, start, end)?;
        // The bytes before the first line feed belong to a line that starts before the window.
        let first = if start == 0 { 0 } else { memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1) };
        let mut rest = bytes.get(first..).unwrap_or_default();
        while let Some(body) = rest.strip_suffix(b"\n") {
            let line_start = memchr::memrchr(b'\n', body).map_or(0, |at| at + 1);
            let line = body.get(line_start..).unwrap_or_default();
            if visit(start + (first + line_start) as u64, line).is_break() {
                return Ok(());
            }
            rest = rest.get(..line_start).unwrap_or_default();
        }
        let reached = start + first as u64;
        if start == floor {
            return Ok(());
        }
        // A window without a line start must grow, or the loop would not end.
        window = window.saturating_mul(WINDOW_GROWTH);
        end = if reached < end { reached } else { end };
    }
    Ok(())
}

/// The offset of the first complete line within the last `limit` bytes.
pub(super) fn first_line_within(file: &mut File, end: u64, limit: u64) -> io::Result<u64> {
    let start = end.saturating_sub(limit);
    if start == 0 {
        return Ok(0);
    }
    let mut position = start;
    while position < end {
        let bytes = read_range(file, position, end.min(position + FIRST_WINDOW_BYTES))?;
        if let Some(at) = memchr::memchr(b'\n', &bytes) {
            return Ok(position + at as u64 + 1);
        }
        if bytes.is_empty() {
            break;
        }
        position += bytes.len() as u64;
    }
    Ok(end)
}
