//! Leaves the result of a run where the hook pipeline finds it, for the next turn of a foreign agent.

use super::output_redactor::OutputRedactor;
use crate::run_executor::{RetryAdvice, RunEnd, RunJob, RunResult};
use dispatch_os::files;
use dispatch_os::paths::safe_file_name;
use dispatch_os::time::rfc3339;
use dispatch_os::{Access, Confined, OsError, ReplaceOptions};
use serde_json::{Value, json};
use std::path::Path;

/// Where the notes lie, below the workspace.
const INBOX: &str = ".akira/inbox";
/// The largest note.
const MAX_NOTE_BYTES: usize = 4 * 1024;
/// The most files that a note names.
const MAX_FILES: usize = 20;
const MAX_NAME_CHARS: usize = 200;

/// Whether this attempt is the last of its run and the hook wants it told.
pub(super) fn is_due(job: &RunJob, end: &RunEnd) -> bool {
    let is_last = match end {
        RunEnd::Success | RunEnd::Refused { .. } => true,
        RunEnd::Canceled => false,
        RunEnd::Failed { again: RetryAdvice::Useless, .. } => true,
        RunEnd::Failed { .. } | RunEnd::Timeout => job.attempt > job.hook.retry.count,
    };
    job.hook.tell_agent && is_last
}

/// Leaves the note. A run does not fail because its note cannot be written.
pub(super) fn leave(job: &RunJob, result: &RunResult, redactor: &OutputRedactor, now_ms: u64) {
    let note = note(job, result, redactor, now_ms);
    let _ = write(&job.workspace, &format!("{}.json", safe_file_name(&job.run.0)), &note);
}

fn write(workspace: &Path, name: &str, note: &[u8]) -> Result<(), OsError> {
    let inbox = Confined::workspace(None, workspace)?;
    let owner = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
    let ignored = inbox.locate(&Path::new(INBOX).join(".gitignore"))?;
    if !files::exists(ignored.path()) {
        ignored.replace(b"*\n", ReplaceOptions::default())?;
    }
    inbox.locate(&Path::new(INBOX).join(name))?.replace(note, owner)
}

fn note(job: &RunJob, result: &RunResult, redactor: &OutputRedactor, now_ms: u64) -> Vec<u8> {
    let (status, reason) = match &result.end {
        RunEnd::Success => ("success", String::new()),
        RunEnd::Failed { reason, .. } => ("failed", reason.clone()),
        RunEnd::Timeout => ("timeout", format!("timed out after {} ms (`timeoutMs`)", job.hook.timeout_ms)),
        RunEnd::Canceled => ("canceled", String::new()),
        RunEnd::Refused { reason } => ("refused", reason.clone()),
    };
    let name = |path: &str| -> String { redactor.clean(path).chars().take(MAX_NAME_CHARS).collect() };
    let files: Vec<String> = job.files.iter().take(MAX_FILES).map(|file| name(&file.path)).collect();
    let mut note = json!({
        "schemaVersion": 1,
        "runId": job.run.0,
        "hookId": redactor.sentence(&job.hook.id),
        "trigger": job.hook.trigger.to_string(),
        "files": files,
        "status": status,
        "reason": redactor.sentence(&reason),
        "endedAt": rfc3339(i64::try_from(now_ms).unwrap_or(i64::MAX)),
        "patch": result.patch.is_some(),
        "summary": "",
    });
    fit(&mut note, &result.output);
    note.to_string().into_bytes()
}

/// As much of the end of the output as there is room for; files give way before it is given up.
fn fit(note: &mut Value, output: &str) {
    while note.to_string().len() > MAX_NOTE_BYTES / 2 {
        match note["files"].as_array_mut().and_then(Vec::pop) {
            Some(_) => {}
            None => break,
        }
    }
    let text = output.trim();
    let mut room = MAX_NOTE_BYTES.saturating_sub(note.to_string().len());
    loop {
        let start = text.ceil_char_boundary(text.len().saturating_sub(room));
        let end = text.get(start..).unwrap_or_default();
        note["summary"] = if start > 0 { format!("...{end}") } else { end.to_owned() }.into();
        let surplus = note.to_string().len().saturating_sub(MAX_NOTE_BYTES);
        if surplus == 0 || room == 0 {
            return;
        }
        // Escapes make a text longer than it is.
        room = room.saturating_sub(surplus.max(8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_fits_whatever_was_printed() {
        for output in ["short", &"long line\n".repeat(10_000), &"\u{1}".repeat(50_000), &"\u{1f600}".repeat(9_000)] {
            let mut note = json!({"files": vec!["f".repeat(200); 20], "summary": ""});
            fit(&mut note, output);
            assert!(note.to_string().len() <= MAX_NOTE_BYTES);
            let summary = note["summary"].as_str().unwrap();
            assert!(output.trim().ends_with(summary.trim_start_matches("...")) && !summary.is_empty());
        }
    }
}
