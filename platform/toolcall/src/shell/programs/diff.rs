//! The files that a patch changes, where its text is part of the command.
//!
//! Pure.

use super::super::field::ShellField;
use super::super::interpreter::{Interpreter, Stdin};
use super::super::recorder::EffectReach;
use super::super::state::ShellState;
use crate::access::Access;

/// Records the files that a unified diff names, with `strip` leading parts of their paths left out.
pub(super) fn touch_files(
    interpreter: &mut Interpreter,
    stdin: &Stdin,
    file: Option<&ShellField>,
    state: &ShellState,
    strip: usize,
) {
    let text = match (file, stdin) {
        (Some(file), _) => interpreter.written_text(file, state),
        (None, Stdin::Text(text)) => Some(text.clone()),
        _ => None,
    };
    for line in text.as_deref().unwrap_or_default().lines() {
        let named = ["+++ ", "--- ", "rename to ", "rename from "].iter().find_map(|mark| line.strip_prefix(mark));
        let Some(path) = named.map(|path| path.split('\t').next().unwrap_or(path)).filter(|path| *path != "/dev/null")
        else {
            continue;
        };
        let whole = line.starts_with("rename");
        let mut parts = path.splitn(strip + 1, '/');
        let path = if whole { Some(path) } else { parts.nth(strip).or(Some(path)) };
        if let Some(path) = path {
            interpreter.recorder.touch(state, &ShellField::literal(path), Access::Write, EffectReach::Itself);
        }
    }
}
