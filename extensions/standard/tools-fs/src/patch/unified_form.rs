//! Reads unified diffs, as `diff -u` and git write them and as models misspell them: line counts that are
//! wrong do not matter, since the lines themselves say what is meant.
//!
//! Pure.

use super::change::{ChangeKind, FileChange, Hunk, HunkLine};

const NOTHING: &str = "/dev/null";

pub(super) fn parse(lines: &[&str]) -> Result<Vec<FileChange>, String> {
    let mut reader = UnifiedDiffReader { lines, at: 0, changes: Vec::new() };
    while reader.at < lines.len() {
        reader.step()?;
    }
    for change in &reader.changes {
        let is_empty = matches!(&change.change, ChangeKind::Update { move_to: None, hunks } if hunks.is_empty());
        if is_empty {
            return Err(format!("the header of {} has no changes behind it", change.path));
        }
    }
    Ok(reader.changes)
}

struct UnifiedDiffReader<'a> {
    lines: &'a [&'a str],
    at: usize,
    changes: Vec<FileChange>,
}

impl<'a> UnifiedDiffReader<'a> {
    fn line(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).copied()
    }

    fn step(&mut self) -> Result<(), String> {
        let line = self.line(0).unwrap_or_default();
        let number = self.at + 1;
        if let (Some(old), Some(new)) =
            (line.strip_prefix("--- "), self.line(1).and_then(|next| next.strip_prefix("+++ ")))
        {
            self.at += 2;
            return self.file(number, &side(old)?, &side(new)?);
        }
        self.at += 1;
        if let Some(from) = line.strip_prefix("rename from ") {
            let target = self.line(0).and_then(|next| next.strip_prefix("rename to "));
            let target = target.ok_or_else(|| format!("line {number} of the patch: `rename to` is missing"))?;
            self.at += 1;
            let change = ChangeKind::Update { move_to: Some(target.trim().to_owned()), hunks: Vec::new() };
            self.changes.push(FileChange { path: from.trim().to_owned(), change });
            return Ok(());
        }
        let unsupported = ["copy from ", "Binary files ", "GIT binary patch", "old mode ", "new mode "];
        if unsupported.iter().any(|start| line.starts_with(start)) {
            return Err(format!(
                "line {number} of the patch: `{line}` is not supported; only changes of text, new, removed and renamed files are"
            ));
        }
        // Before the first file there may be anything: a mail, a commit message, `diff --git`, `index`.
        match line.starts_with("@@ ") {
            true => {
                Err(format!("line {number} of the patch: a hunk stands before the `---` and `+++` lines of its file"))
            }
            false => Ok(()),
        }
    }

    fn file(&mut self, number: usize, old: &str, new: &str) -> Result<(), String> {
        let mut hunks = Vec::new();
        while let Some(line) = self.line(0).filter(|line| line.starts_with("@@")) {
            self.at += 1;
            hunks.push(self.hunk(line)?);
        }
        let change = match (old, new) {
            (NOTHING, NOTHING) => return Err(format!("line {number} of the patch: the file has no name")),
            (NOTHING, path) => {
                FileChange { path: path.to_owned(), change: ChangeKind::Add { text: added(number, &hunks)? } }
            }
            (path, NOTHING) => FileChange { path: path.to_owned(), change: ChangeKind::Delete { hunks } },
            (old, new) => {
                if self.joins_rename(old, new, &hunks) {
                    return Ok(());
                }
                if old != new {
                    return Err(format!(
                        "line {number} of the patch: the names differ ({old}, {new}); to rename a file use `rename from` and `rename to` lines"
                    ));
                }
                FileChange { path: new.to_owned(), change: ChangeKind::Update { move_to: None, hunks } }
            }
        };
        self.changes.push(change);
        Ok(())
    }

    /// The hunks behind `rename from` and `rename to` belong to that rename.
    fn joins_rename(&mut self, old: &str, new: &str, found: &[Hunk]) -> bool {
        let Some(FileChange { path, change: ChangeKind::Update { move_to: Some(target), hunks } }) =
            self.changes.last_mut()
        else {
            return false;
        };
        let joins = path == old && target == new && hunks.is_empty();
        if joins {
            hunks.extend_from_slice(found);
        }
        joins
    }

    fn hunk(&mut self, header: &str) -> Result<Hunk, String> {
        let numbers = HunkRange::read(header);
        let mut hunk =
            Hunk { at: self.at, old_start: numbers.as_ref().map(|numbers| numbers.old_start), ..Hunk::default() };
        let (mut old_left, mut new_left) = numbers.map_or((0, 0), |numbers| (numbers.old_count, numbers.new_count));
        while let Some(line) = self.line(0) {
            if line.starts_with("@@") || line.starts_with("diff --git ") || self.is_file_header(old_left, new_left) {
                break;
            }
            if line.starts_with('\\') {
                mark_bare(&mut hunk);
            } else {
                // A blank line behind the counted lines separates files and is not context.
                if line.is_empty() && old_left == 0 && new_left == 0 && self.rest_is_no_body() {
                    break;
                }
                let read = HunkLine::read(line).ok_or_else(|| {
                    format!(
                        "line {} of the patch: a line starts with a space, `+` or `-`, this one is `{line}`",
                        self.at + 1
                    )
                })?;
                old_left = old_left.saturating_sub(usize::from(!matches!(read, HunkLine::Add(_))));
                new_left = new_left.saturating_sub(usize::from(!matches!(read, HunkLine::Remove(_))));
                hunk.lines.push(read);
            }
            self.at += 1;
        }
        Ok(hunk)
    }

    /// A removed `-- x` before an added `++ x` looks like a header; the counts tell, else the hunk behind it.
    fn is_file_header(&self, old_left: usize, new_left: usize) -> bool {
        let looks = self.line(0).is_some_and(|line| line.starts_with("--- "))
            && self.line(1).is_some_and(|line| line.starts_with("+++ "));
        let is_counted = old_left > 0 && new_left > 0;
        looks && !is_counted && self.line(2).is_none_or(|line| line.starts_with("@@"))
    }

    fn rest_is_no_body(&self) -> bool {
        let next = (0..).map_while(|ahead| self.line(ahead)).find(|line| !line.is_empty());
        next.is_none_or(|line| ["@@", "diff --git ", "--- ", "rename "].iter().any(|start| line.starts_with(start)))
    }
}

fn mark_bare(hunk: &mut Hunk) {
    match hunk.lines.last() {
        Some(HunkLine::Remove(_)) => hunk.old_is_bare = true,
        Some(HunkLine::Add(_)) => hunk.new_is_bare = true,
        Some(HunkLine::Keep(_)) => (hunk.old_is_bare, hunk.new_is_bare) = (true, true),
        None => {}
    }
}

fn added(number: usize, hunks: &[Hunk]) -> Result<String, String> {
    let mut text = String::new();
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        let HunkLine::Add(line) = line else {
            return Err(format!("line {number} of the patch: a new file has only lines that start with `+`"));
        };
        text.push_str(line);
        text.push('\n');
    }
    if hunks.last().is_some_and(|hunk| hunk.new_is_bare) {
        text.pop();
    }
    Ok(text)
}

/// A side of the header without its time and its `a/` or `b/`.
fn side(text: &str) -> Result<String, String> {
    let name = text.split('\t').next().unwrap_or(text).trim();
    if name.is_empty() || name.starts_with('"') {
        return Err(format!("the file name `{name}` of the patch is empty or quoted; write it plainly"));
    }
    let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    Ok(bare.unwrap_or(name).to_owned())
}

struct HunkRange {
    old_start: usize,
    old_count: usize,
    new_count: usize,
}

impl HunkRange {
    /// From `@@ -1,2 +3,4 @@ heading`; `None` where the header has no numbers.
    fn read(header: &str) -> Option<Self> {
        let mut words = header.trim_start_matches('@').split_whitespace();
        let (old_start, old_count) = range(words.next()?.strip_prefix('-')?)?;
        let (_, new_count) = range(words.next()?.strip_prefix('+')?)?;
        Some(Self { old_start, old_count, new_count })
    }
}

fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}
