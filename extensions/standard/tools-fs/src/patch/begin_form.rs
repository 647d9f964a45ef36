//! Reads the `*** Begin Patch` form: files by headers, places by their context.
//!
//! Pure.

use super::change::{ChangeKind, FileChange, Hunk, HunkLine};

/// The lines between the first and the last line of the patch; what stands around them does not count.
pub(super) fn parse(lines: &[&str]) -> Result<Vec<FileChange>, String> {
    let start = lines.iter().position(|line| line.trim_end() == "*** Begin Patch").unwrap_or_default();
    let end = lines.iter().rposition(|line| line.trim_end() == "*** End Patch");
    let end = end.filter(|end| *end > start).ok_or("the patch does not end with `*** End Patch`")?;
    let mut reader = BeginPatchReader { changes: Vec::new() };
    for (index, line) in lines.iter().enumerate().take(end).skip(start + 1) {
        reader.line(index + 1, line)?;
    }
    reader.changes.iter_mut().for_each(drop_empty_hunks);
    for change in &reader.changes {
        let is_empty = matches!(&change.change, ChangeKind::Update { move_to: None, hunks } if hunks.is_empty());
        if is_empty {
            return Err(format!("`*** Update File: {}` has no changes below it", change.path));
        }
    }
    Ok(reader.changes)
}

struct BeginPatchReader {
    changes: Vec<FileChange>,
}

impl BeginPatchReader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        if let Some(header) = line.strip_prefix("*** ") {
            return self.header(number, header.trim());
        }
        let wrong = |expected: &str| Err(format!("line {number} of the patch: expected {expected}, found `{line}`"));
        match self.changes.last_mut().map(|last| &mut last.change) {
            None if line.trim().is_empty() => Ok(()),
            None => wrong("`*** Add File:`, `*** Update File:` or `*** Delete File:`"),
            Some(ChangeKind::Add { text }) => match line.strip_prefix('+') {
                Some(added) => {
                    text.push_str(added);
                    text.push('\n');
                    Ok(())
                }
                None => wrong("a line that starts with `+`"),
            },
            Some(ChangeKind::Delete { .. }) if line.trim().is_empty() => Ok(()),
            Some(ChangeKind::Delete { .. }) => wrong("the next file"),
            Some(ChangeKind::Update { hunks, .. }) => body(hunks, number, line),
        }
    }

    fn header(&mut self, number: usize, header: &str) -> Result<(), String> {
        let named = |label: &str| header.strip_prefix(label).map(|path| path.trim().to_owned());
        if header == "End of File" {
            return match self.changes.last_mut().map(|last| &mut last.change) {
                Some(ChangeKind::Update { hunks, .. }) if !hunks.is_empty() => {
                    hunks.iter_mut().next_back().into_iter().for_each(|hunk| hunk.is_at_end = true);
                    Ok(())
                }
                Some(ChangeKind::Add { .. }) => Ok(()),
                _ => Err(format!("line {number} of the patch: `*** End of File` belongs behind changed lines")),
            };
        }
        if let Some(target) = named("Move to:") {
            return match self.changes.last_mut().map(|last| &mut last.change) {
                Some(ChangeKind::Update { move_to, hunks }) if move_to.is_none() && hunks.is_empty() => {
                    *move_to = Some(target);
                    Ok(())
                }
                _ => Err(format!("line {number} of the patch: `*** Move to:` belongs right behind `*** Update File:`")),
            };
        }
        let added = named("Add File:").map(|path| (path, ChangeKind::Add { text: String::new() }));
        let deleted = named("Delete File:").map(|path| (path, ChangeKind::Delete { hunks: Vec::new() }));
        let updated = named("Update File:").map(|path| (path, ChangeKind::Update { move_to: None, hunks: Vec::new() }));
        let (path, change) = added
            .or(deleted)
            .or(updated)
            .filter(|(path, _)| !path.is_empty())
            .ok_or_else(|| format!("line {number} of the patch: `*** {header}` is not a header of this form"))?;
        self.changes.push(FileChange { path, change });
        Ok(())
    }
}

fn body(hunks: &mut Vec<Hunk>, number: usize, line: &str) -> Result<(), String> {
    if let Some(anchor) = line.strip_prefix("@@") {
        let anchor = anchor.trim().trim_end_matches("@@").trim_end();
        // Several anchors in a row narrow one place down.
        let continues = hunks.last().is_some_and(|hunk| hunk.lines.is_empty());
        if !continues {
            hunks.push(Hunk { at: number, ..Hunk::default() });
        }
        if let Some(hunk) = hunks.last_mut().filter(|_| !anchor.is_empty()) {
            hunk.anchors.push(anchor.to_owned());
        }
        return Ok(());
    }
    let read = HunkLine::read(line).ok_or_else(|| {
        format!("line {number} of the patch: a line starts with a space, `+`, `-` or `@@`, this one is `{line}`")
    })?;
    if hunks.last().is_none_or(|hunk| hunk.is_at_end) {
        hunks.push(Hunk { at: number, ..Hunk::default() });
    }
    if let Some(hunk) = hunks.last_mut() {
        hunk.lines.push(read);
    }
    Ok(())
}

/// A blank line between a hunk and the next header reads as an empty context line.
fn drop_empty_hunks(change: &mut FileChange) {
    if let ChangeKind::Update { hunks, .. } = &mut change.change {
        let changes_something = |hunk: &Hunk| hunk.lines.iter().any(|line| !matches!(line, HunkLine::Keep(_)));
        hunks.retain(changes_something);
    }
}
