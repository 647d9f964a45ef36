//! Parses a shell command and says what it does: the entry point of the analysis.
//!
//! Pure.

mod ansi;
mod arguments;
mod brace;
mod builtins;
mod command;
mod declare;
mod destruction;
mod effects;
mod environment;
mod expansion;
mod extended_pattern;
mod field;
mod flow;
mod foreign;
mod heredoc;
mod interpreter;
mod joined;
mod lexer;
mod limits;
mod output;
mod parallel;
mod parameter;
mod pattern_cut;
mod possible_code;
mod program_pattern;
mod program_rows;
mod programs;
mod reading;
mod recorder;
mod redirect;
mod runners;
mod source;
mod state;
mod tree;
mod unbounded;
mod windows;
mod words;
mod wrappers;
mod written;
mod xargs;

pub use destruction::{DestroyedWord, destroyed_words};
pub use effects::{EffectPath, PathMove, ShellEffects, SimpleCommand, UnknownPart, UnknownReason};
pub use limits::MAX_COMMAND_BYTES;
pub use unbounded::{UnboundedCall, UnboundedKind};

use interpreter::Interpreter;

use crate::path;

/// Where a command runs.
#[derive(Debug, Clone, Copy)]
pub struct ShellContext<'a> {
    /// The working directory; empty when it is not known.
    pub cwd: &'a str,
    /// The user's home directory, if it is known.
    pub home: Option<&'a str>,
}

/// What a bash command line does. Total and bounded: what cannot be told is `unknown`.
#[must_use]
pub fn analyze(command: &str, context: &ShellContext<'_>) -> ShellEffects {
    let mut effects = Interpreter::new(context.home).run(command, context.cwd);
    if path::is_windows_absolute(context.cwd) && !is_plain(command) {
        effects.merge(ShellEffects::foreign_shell());
    }
    effects
}

/// What a command line for PowerShell or `cmd` does, as far as its words are plain; the rest is unknown.
#[must_use]
pub(crate) fn analyze_windows(command: &str, context: &ShellContext<'_>) -> ShellEffects {
    let mut effects = Interpreter::new(context.home).run_windows(command, context.cwd);
    effects.merge(ShellEffects::foreign_shell());
    effects
}

/// Whether a command means the same to every shell: on Windows it need not be bash that reads it.
fn is_plain(command: &str) -> bool {
    command.chars().all(|c| c.is_ascii_alphanumeric() || " -_./=:@+,".contains(c))
}
