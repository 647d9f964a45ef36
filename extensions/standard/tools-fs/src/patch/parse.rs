//! Reads the text of a patch, in whichever of the two forms it is.
//!
//! Pure.

use super::change::FileChange;
use super::{begin_form, unified_form};

/// Files in one patch.
const MAX_FILES: usize = 256;

/// The changes of a patch; the error is for the model.
pub(super) fn parse(text: &str) -> Result<Vec<FileChange>, String> {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.lines().collect();
    let changes = if lines.iter().any(|line| line.trim_end() == "*** Begin Patch") {
        begin_form::parse(&lines)?
    } else {
        unified_form::parse(&lines)?
    };
    match changes.len() {
        0 => Err("the patch names no file. Start with `*** Begin Patch` and `*** Update File: path`, or with `--- path` and `+++ path`".to_owned()),
        count if count > MAX_FILES => Err(format!("the patch changes {count} files, and the limit is {MAX_FILES}")),
        _ => Ok(changes),
    }
}
