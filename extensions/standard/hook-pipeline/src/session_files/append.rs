//! Appends several lines in one write, so that the records of an invocation stay together and whole.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use dispatch_os::files::{File, WriteAt, open_own};

use super::FilesError;
use super::brief_lock::{BRIEF, lock_within};

/// Adds `lines`, which end with a line feed, in a single write. A torn tail that a killed writer
/// left behind is closed first, so that it stays one bad line.
///
/// # Errors
/// When the file is a link or no regular file, or the system refuses.
pub(crate) fn append_lines(path: &Path, lines: &[u8]) -> Result<(), FilesError> {
    let mut file = open_own(path, WriteAt::End)?;
    let metadata = file.metadata().map_err(|source| FilesError::io("inspect", path, source))?;
    if !metadata.is_file() {
        return Err(FilesError::NotAFile { path: path.to_path_buf() });
    }
    // Under the lock no other writer is in the middle of its line, so an open end is a dead writer's.
    let torn = lock_within(&file, BRIEF).is_ok() && is_torn(&mut file).unwrap_or(false);
    if torn {
        let mut repaired = Vec::with_capacity(lines.len() + 1);
        repaired.push(b'\n');
        repaired.extend_from_slice(lines);
        return write_once(&mut file, path, &repaired);
    }
    write_once(&mut file, path, lines)
}

/// Whether a link stands in this place. What does not exist is none.
pub(super) fn refuse_link(path: &Path) -> Result<(), FilesError> {
    if dispatch_os::files::is_symlink(path) {
        return Err(FilesError::Link { path: path.to_path_buf() });
    }
    Ok(())
}

fn is_torn(file: &mut File) -> io::Result<bool> {
    let mut last = [b'\n'];
    // An empty file has no byte before its end, so this is an error there, and no torn tail.
    file.seek(SeekFrom::End(-1))?;
    let read = file.read(&mut last)?;
    Ok(read == 1 && last != *b"\n")
}

fn write_once(file: &mut File, path: &Path, bytes: &[u8]) -> Result<(), FilesError> {
    loop {
        match file.write(bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(written) => {
                return Err(FilesError::ShortWrite { path: path.to_path_buf(), written, wanted: bytes.len() });
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(FilesError::io("append to", path, source)),
        }
    }
}
