//! Opens files that only this program writes, in places where others could plant a link.

use std::fs::{File, OpenOptions};
use std::path::Path;

use super::SymlinkPolicy;
use super::create::{apply_links, is_link, open_error};
use crate::OsError;

/// Where writes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteAt {
    /// Behind the last byte, whatever other writers do.
    End,
    /// Where the file is positioned.
    Position,
}

/// Opens a file for reading and writing and makes it if it is missing. A link in its place is refused.
pub fn open_own(path: &Path, write_at: WriteAt) -> Result<File, OsError> {
    let mut options = OpenOptions::new();
    options.read(true).create(true);
    match write_at {
        WriteAt::End => options.append(true),
        WriteAt::Position => options.write(true).truncate(false),
    };
    // Where opening cannot refuse a link by itself, a look before it must do.
    if cfg!(not(unix)) && is_link(path) {
        return Err(OsError::SymlinkRefused { path: path.to_path_buf() });
    }
    apply_links(&mut options, SymlinkPolicy::Refuse);
    options.open(path).map_err(|source| open_error("open", path, SymlinkPolicy::Refuse, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, SeekFrom, Write};

    #[test]
    fn a_file_is_made_and_written_where_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own");
        open_own(&path, WriteAt::End).unwrap().write_all(b"one").unwrap();
        let mut file = open_own(&path, WriteAt::End).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(b"two").unwrap();
        open_own(&path, WriteAt::Position).unwrap().write_all(b"O").unwrap();
        let mut text = String::new();
        open_own(&path, WriteAt::Position).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "Onetwo");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused_even_if_it_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
        for write_at in [WriteAt::End, WriteAt::Position] {
            let error = open_own(&link, write_at).unwrap_err();
            assert!(matches!(error, OsError::SymlinkRefused { .. }), "{error}");
        }
        assert!(!folder.path().join("elsewhere").exists());
    }
}
