//! The file functions of `std::fs` under the same names, so that everything above asks this crate.
//!
//! A plain function is right for a file that one process owns and that may be lost in a crash. Otherwise take
//! [`super::replace`] to write whole files, [`super::append_line`] for shared logs, [`super::read_at_most`] for files
//! of unknown size, [`super::create_new`] and [`super::create_dir_owner_only`] for what only the user may read, and
//! [`crate::Confined`] for paths that an agent chose.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use std::fs::{DirEntry, File, FileType, Metadata, OpenOptions, Permissions, ReadDir, TryLockError};

/// Whether there is something at the path; links are followed, and what cannot be looked at is not there.
#[inline]
pub fn exists<P: AsRef<Path>>(path: P) -> bool {
    path.as_ref().exists()
}

/// Whether there is something at the path; links are followed.
#[inline]
pub fn try_exists<P: AsRef<Path>>(path: P) -> io::Result<bool> {
    path.as_ref().try_exists()
}

/// Whether the path leads to a file.
#[inline]
pub fn is_file<P: AsRef<Path>>(path: P) -> bool {
    path.as_ref().is_file()
}

/// Whether the path leads to a folder.
#[inline]
pub fn is_dir<P: AsRef<Path>>(path: P) -> bool {
    path.as_ref().is_dir()
}

/// Whether the path itself is a symbolic link.
#[inline]
pub fn is_symlink<P: AsRef<Path>>(path: P) -> bool {
    path.as_ref().is_symlink()
}

/// What the system says of the file that the path leads to.
#[inline]
pub fn metadata<P: AsRef<Path>>(path: P) -> io::Result<Metadata> {
    fs::metadata(path)
}

/// What the system says of the path itself, link or not.
#[inline]
pub fn symlink_metadata<P: AsRef<Path>>(path: P) -> io::Result<Metadata> {
    fs::symlink_metadata(path)
}

/// The path from the root of the file system, by the folder this process works in; links stay as they are.
#[inline]
pub fn absolute<P: AsRef<Path>>(path: P) -> io::Result<PathBuf> {
    std::path::absolute(path)
}

/// The absolute path without links; it must exist.
#[inline]
pub fn canonicalize<P: AsRef<Path>>(path: P) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// What a symbolic link points at.
#[inline]
pub fn read_link<P: AsRef<Path>>(path: P) -> io::Result<PathBuf> {
    fs::read_link(path)
}

/// The entries of a folder, in no order.
#[inline]
pub fn read_dir<P: AsRef<Path>>(path: P) -> io::Result<ReadDir> {
    fs::read_dir(path)
}

/// Opens a file for reading.
#[inline]
pub fn open<P: AsRef<Path>>(path: P) -> io::Result<File> {
    File::open(path)
}

/// Opens a file as the options say.
#[inline]
pub fn open_with<P: AsRef<Path>>(options: &OpenOptions, path: P) -> io::Result<File> {
    options.open(path)
}

/// The whole content. [`super::read_at_most`] for a file of unknown size.
#[inline]
pub fn read<P: AsRef<Path>>(path: P) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// The whole content as text. [`super::read_text_at_most`] for a file of unknown size.
#[inline]
pub fn read_to_string<P: AsRef<Path>>(path: P) -> io::Result<String> {
    fs::read_to_string(path)
}

/// Writes a file in place. [`super::replace`] for one that others read or that must survive a crash.
#[inline]
pub fn write<P: AsRef<Path>, C: AsRef<[u8]>>(path: P, contents: C) -> io::Result<()> {
    fs::write(path, contents)
}

/// Copies content and permissions; the number of bytes.
#[inline]
pub fn copy<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q) -> io::Result<u64> {
    fs::copy(from, to)
}

/// Moves a file or a folder within one disk, over what is there.
#[inline]
pub fn rename<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q) -> io::Result<()> {
    fs::rename(from, to)
}

/// Gives a file a second name.
#[inline]
pub fn hard_link<P: AsRef<Path>, Q: AsRef<Path>>(original: P, link: Q) -> io::Result<()> {
    fs::hard_link(original, link)
}

/// Removes a file or a link.
#[inline]
pub fn remove_file<P: AsRef<Path>>(path: P) -> io::Result<()> {
    fs::remove_file(path)
}

/// Removes an empty folder.
#[inline]
pub fn remove_dir<P: AsRef<Path>>(path: P) -> io::Result<()> {
    fs::remove_dir(path)
}

/// Removes a folder with everything in it.
#[inline]
pub fn remove_dir_all<P: AsRef<Path>>(path: P) -> io::Result<()> {
    fs::remove_dir_all(path)
}

/// Makes a folder. [`super::create_dir_owner_only`] for what only the user may read.
#[inline]
pub fn create_dir<P: AsRef<Path>>(path: P) -> io::Result<()> {
    fs::create_dir(path)
}

/// Makes a folder and those above it. [`super::create_dir_owner_only`] for what only the user may read.
#[inline]
pub fn create_dir_all<P: AsRef<Path>>(path: P) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Sets who may do what with a file.
#[inline]
pub fn set_permissions<P: AsRef<Path>>(path: P, permissions: Permissions) -> io::Result<()> {
    fs::set_permissions(path, permissions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_passes_through_every_plain_function() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        create_dir_all(&inner).unwrap();
        create_dir(inner.join("c")).unwrap();
        let (one, two) = (inner.join("one"), inner.join("two"));
        write(&one, "text").unwrap();
        assert_eq!((read(&one).unwrap(), read_to_string(&one).unwrap()), (b"text".to_vec(), "text".to_owned()));
        assert_eq!(copy(&one, &two).unwrap(), 4);
        rename(&two, inner.join("three")).unwrap();
        hard_link(&one, &two).unwrap();
        set_permissions(&two, metadata(&two).unwrap().permissions()).unwrap();
        assert_eq!(read_dir(&inner).unwrap().count(), 4);
        assert_eq!(io::read_to_string(open(&one).unwrap()).unwrap(), "text");
        assert_eq!(open_with(OpenOptions::new().append(true), &one).unwrap().metadata().unwrap().len(), 4);
        assert!(is_file(&one) && !is_dir(&one) && is_dir(&inner) && exists(&one) && try_exists(&one).unwrap());
        assert!(!is_symlink(&one) && symlink_metadata(&one).unwrap().is_file() && read_link(&one).is_err());
        assert_eq!(canonicalize(inner.join("c/../one")).unwrap(), canonicalize(&one).unwrap());
        remove_dir(inner.join("c")).unwrap();
        remove_file(&one).unwrap();
        assert!(!exists(&one) && !try_exists(&one).unwrap());
        remove_dir_all(folder.path().join("a")).unwrap();
        assert!(!exists(&inner));
    }
}
