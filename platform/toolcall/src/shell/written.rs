//! Files that the same command writes and then runs or reads.
//!
//! Pure.

use std::collections::BTreeMap;

use super::effects::UnknownReason;
use super::field::ShellField;
use super::interpreter::{CommandContext, Interpreter};
use super::state::ShellState;

/// Texts that are kept; what is written beyond that is not known.
const MAX_FILES: usize = 64;
/// A longer text is not kept.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The files written so far, by absolute path; nothing stands for a text that is not known.
#[derive(Debug, Default)]
pub(super) struct WrittenFiles(BTreeMap<String, Option<String>>);

impl WrittenFiles {
    /// Keeps what a file holds from now on.
    pub(super) fn set(&mut self, path: &str, text: Option<String>) {
        if self.0.len() < MAX_FILES || self.0.contains_key(path) {
            self.0.insert(path.to_owned(), text.filter(|text| text.len() <= MAX_TEXT_BYTES));
        }
    }

    /// Adds to what a file holds.
    pub(super) fn append(&mut self, path: &str, text: Option<String>) {
        let before = match self.0.get(path) {
            Some(Some(before)) => before.clone(),
            Some(None) => return,
            // What was there before is the user's; what is added is what this command can run.
            None => String::new(),
        };
        let joined = text.map(|text| before + &text);
        self.set(path, joined);
    }

    /// The files whose text is known.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The text of a file, if this command wrote it.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.as_deref()
    }
}

impl Interpreter {
    /// The text of a file that the same command wrote.
    pub(super) fn written_text(&self, file: &ShellField, state: &ShellState) -> Option<String> {
        if self.written.0.is_empty() {
            return None;
        }
        let paths = file.known().and_then(|text| state.directories.resolve(text))?;
        paths.iter().find_map(|path| self.written.text(path)).map(str::to_owned)
    }

    /// Runs a script that the same command wrote; `false` if it did not.
    pub(super) fn run_written(&mut self, file: &ShellField, state: ShellState, context: &CommandContext) -> bool {
        let Some(text) = self.written_text(file, &state) else {
            return false;
        };
        let language = text.strip_prefix("#!").and_then(|rest| rest.lines().next()).unwrap_or_default().to_owned();
        match super::foreign::language_of(&language) {
            Some(foreign) => {
                self.recorder.code(UnknownReason::ForeignCode, &language);
                super::foreign::judge(self, foreign, &text, &state, context);
            }
            None => {
                self.script(&text, state, context);
            }
        }
        true
    }

    /// A copy, or another name, of a file holds what the file holds.
    pub(super) fn copy_written(&mut self, from: &ShellField, to: &ShellField, state: &ShellState) {
        let target = to.known().and_then(|text| state.directories.resolve(text));
        let text = self.written_text(from, state).or_else(|| from.known().and_then(program_as_script));
        if let (Some(text), Some(paths)) = (text, target) {
            for path in paths {
                self.written.set(&path, Some(text.clone()));
            }
        }
    }

    /// The file of this name that the same command wrote, wherever it lies: a search path may lead there.
    pub(super) fn written_program(&self, name: &str) -> Option<String> {
        let is_named = |path: &&String| path.rsplit('/').next() == Some(name);
        self.written.0.iter().find(|(path, text)| is_named(path) && text.is_some()).map(|(path, _)| path.clone())
    }
}

/// A copy of a program does what the program does: it is kept as a script that runs it.
pub(super) fn program_as_script(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/')?;
    let is_program = matches!(folder.rsplit('/').next(), Some("bin" | "sbin" | "debug" | "release"));
    let plain = !name.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+".contains(c));
    (is_program && plain).then(|| format!("{path} \"$@\"\n"))
}
