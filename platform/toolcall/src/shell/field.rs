//! A word after expansion: its text as far as it is known.
//!
//! Pure.

/// One argument as the program receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellField {
    /// The text; only what stands before the first computed part if not `exact`.
    pub(super) text: String,
    /// The word as written, for reports.
    pub(super) raw: String,
    /// Whether `text` is all of it.
    pub(super) exact: bool,
    /// Whether `text` is a pattern that is replaced by what it matches.
    pub(super) glob: bool,
    /// Whether the shell may make several words, or none, of it.
    pub(super) splits: bool,
}

impl ShellField {
    pub(super) fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), raw: text.to_owned(), exact: true, glob: false, splits: false }
    }

    /// A word of which nothing is known, not even how many words it becomes.
    pub(super) fn unknown(raw: &str) -> Self {
        Self { text: String::new(), raw: raw.to_owned(), exact: false, glob: false, splits: true }
    }

    /// The text, if all of it is known and it stands for itself.
    pub(super) fn known(&self) -> Option<&str> {
        (self.exact && !self.glob).then_some(self.text.as_str())
    }

    /// Whether a program could take this for an option that is not visible here.
    pub(super) fn may_hide_option(&self) -> bool {
        !self.exact && (self.text.is_empty() || self.text.starts_with('-'))
    }

    /// For reports: the text if it is known, else the word as written.
    pub(super) fn shown(&self) -> &str {
        if self.exact { &self.text } else { &self.raw }
    }
}

/// What a variable holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VariableValue {
    /// This text.
    Known(String),
    /// Some name that matches this pattern.
    Pattern(String),
    /// These words (`"$@"`).
    List(Vec<ShellField>),
    /// Anything.
    Unknown,
}

impl VariableValue {
    /// The value of an assignment whose right side expanded to this word.
    pub(super) fn of(field: &ShellField) -> Self {
        match (field.exact, field.glob) {
            (true, false) => Self::Known(field.text.clone()),
            (true, true) => Self::Pattern(field.text.clone()),
            _ => Self::Unknown,
        }
    }
}
