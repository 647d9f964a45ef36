//! Files: the plain functions of the system, and those that survive crashes and concurrent writers: atomic
//! replacement, one-write appends, bounded reads.

mod append;
mod arriving;
mod create;
#[cfg(target_os = "linux")]
mod finished;
mod own;
mod plain;
mod private;
mod read;
mod replace;
mod stamp;
mod standing;

pub use append::{AppendOptions, LineAppender, MAX_LINE_BYTES, TailRepair, append_line};
pub use arriving::{InputEnd, read_standard_input};
pub use create::{Access, create_dir_owner_only, create_new};
#[cfg(target_os = "linux")]
pub use finished::FinishedFiles;
pub use own::{WriteAt, open_own};
pub use plain::{
    DirEntry, File, FileType, Metadata, OpenOptions, Permissions, ReadDir, TryLockError, absolute, canonicalize, copy,
    create_dir, create_dir_all, exists, hard_link, is_dir, is_file, is_symlink, metadata, open, open_with, read,
    read_dir, read_link, read_to_string, remove_dir, remove_dir_all, remove_file, rename, set_permissions,
    symlink_metadata, try_exists, write,
};
pub use private::{close_to_others, read_private_at_most};
pub use read::{
    CompleteLines, open_end, read_at_most, read_complete_lines, read_end, read_file_at_most, read_stream_at_most,
    read_text_at_most, tail_lines,
};
pub use replace::{Durability, ReplaceOptions, remove_stale_temporaries, replace, replace_with};
pub use stamp::Stamp;
pub use standing::{Exposure, free_bytes};

/// What to do when the path itself is a symbolic link. Links in the folders above are always followed;
/// on Windows, where making a link takes a privilege, appending follows every link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SymlinkPolicy {
    /// Fail, so that a link planted in a shared folder cannot redirect the write.
    #[default]
    Refuse,
    /// Write to what the link points at.
    Follow,
}
