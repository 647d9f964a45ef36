//! Completes the names of commands at the prompt.

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::sync::Arc;

/// The commands that there are when the person asks, each with its slash.
pub(super) type CommandNames = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// What the editor asks.
pub(super) struct CommandCompleter(pub(super) CommandNames);

impl Completer for CommandCompleter {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _context: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok((0, fitting(line.get(..at).unwrap_or_default(), (self.0)())))
    }
}

impl Hinter for CommandCompleter {
    type Hint = String;
}

impl Highlighter for CommandCompleter {}
impl Validator for CommandCompleter {}
impl Helper for CommandCompleter {}

/// The commands that begin with what is typed; none for a message.
fn fitting(typed: &str, commands: Vec<String>) -> Vec<String> {
    if !typed.starts_with('/') || typed.contains(char::is_whitespace) {
        return Vec::new();
    }
    commands.into_iter().filter(|command| command.starts_with(typed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_word_of_a_command_is_completed() {
        let fitting = |typed: &str| fitting(typed, ["/help", "/history", "/exit"].map(str::to_owned).to_vec());
        assert_eq!(fitting("/h"), ["/help", "/history"]);
        assert_eq!(fitting("/he"), ["/help"]);
        assert!(fitting("h").is_empty() && fitting("/help me").is_empty() && fitting("").is_empty());
    }
}
