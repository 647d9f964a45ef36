//! Writes the files and logs of modules into their own folders.

use dispatch_hook_module::{FileWrite, LogLine, WriteMode};
use dispatch_os::files::replace;
use dispatch_redact::Redactor;

use super::append::append_lines;
use super::{FilesError, SessionFolder};
use crate::pipeline::Said;

/// The largest file a module may write at once.
const FILE_LIMIT_BYTES: usize = 4 * 1024 * 1024;

/// Writes one file into the output folder of its module.
pub(super) fn write_file(
    folder: &SessionFolder<'_>,
    redactor: &Redactor,
    module: &str,
    file: &FileWrite,
) -> Result<(), FilesError> {
    if file.content.len() > FILE_LIMIT_BYTES {
        return Err(FilesError::TooLarge { path: file.path.clone(), bytes: file.content.len() });
    }
    let path = folder.file_below(&folder.paths().module_output(module), &file.path)?;
    let content = redactor.redact(&file.content);
    match file.mode {
        WriteMode::Replace => Ok(replace(&path, content.as_bytes())?),
        WriteMode::Append => {
            let mut lines = content.into_owned();
            if !lines.ends_with('\n') {
                lines.push('\n');
            }
            append_lines(&path, lines.as_bytes())
        }
    }
}

/// Adds lines to the log of each module that said something.
pub(super) fn write_logs(
    folder: &SessionFolder<'_>,
    redactor: &Redactor,
    stamp: &str,
    lines: &[Said<LogLine>],
) -> Result<(), FilesError> {
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let end = rest.iter().position(|said| said.module != first.module).unwrap_or(rest.len());
        let (own, others) = rest.split_at(end);
        let mut text = String::new();
        for said in own {
            let message = redactor.redact(&said.what.message).replace(['\n', '\r'], " ");
            text.push_str(&format!("{stamp} {} {message}\n", said.what.level.as_str()));
        }
        let path = folder.file_below(&folder.paths().module_logs(&first.module), "debug.log")?;
        append_lines(&path, text.as_bytes())?;
        rest = others;
    }
    Ok(())
}
