//! What a patch says, whichever form it is written in.
//!
//! Pure.

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) change: ChangeKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Add {
        text: String,
    },
    /// With hunks, the file must hold exactly what they remove.
    Delete {
        hunks: Vec<Hunk>,
    },
    Update {
        move_to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

/// Lines that belong together, and where they are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The line of the patch at which it starts, counted from 1, for messages.
    pub(super) at: usize,
    /// Lines that stand before the place, one inside the other.
    pub(super) anchors: Vec<String>,
    /// The line of the old file where it is expected, counted from 1.
    pub(super) old_start: Option<usize>,
    pub(super) lines: Vec<HunkLine>,
    /// Whether the place is at the end of the file.
    pub(super) is_at_end: bool,
    /// Whether the last line of the old file, and of the new one, has no line end.
    pub(super) old_is_bare: bool,
    pub(super) new_is_bare: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HunkLine {
    Keep(String),
    Remove(String),
    Add(String),
}

impl HunkLine {
    /// A body line by its first character; an empty one is an empty line that stays.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut characters = text.chars();
        match characters.next() {
            None => Some(Self::Keep(String::new())),
            Some(' ') => Some(Self::Keep(characters.as_str().to_owned())),
            Some('-') => Some(Self::Remove(characters.as_str().to_owned())),
            Some('+') => Some(Self::Add(characters.as_str().to_owned())),
            Some(_) => None,
        }
    }
}

impl Hunk {
    /// The lines that must be in the old file.
    pub(super) fn old_lines(&self) -> Vec<&str> {
        let old = self.lines.iter().filter_map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text.as_str()),
            HunkLine::Add(_) => None,
        });
        old.collect()
    }

    pub(super) fn counts(&self) -> (usize, usize) {
        let added = self.lines.iter().filter(|line| matches!(line, HunkLine::Add(_))).count();
        let removed = self.lines.iter().filter(|line| matches!(line, HunkLine::Remove(_))).count();
        (added, removed)
    }
}
