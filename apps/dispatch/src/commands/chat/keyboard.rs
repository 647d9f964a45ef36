//! The person's keyboard: lines with editing and history, read on a thread that may wait.

use super::completion::{CommandCompleter, CommandNames};
use crate::failure::Failure;
use rustyline::config::Behavior;
use rustyline::error::ReadlineError;
use rustyline::history::{History, MemHistory};
use rustyline::{Config, Editor, ExternalPrinter};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinHandle;

/// How many lines the arrow keys go back.
pub(super) const MAX_HISTORY: usize = 1_000;

/// What a person did at a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypedLine {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The keyboard. One prompt at a time is open.
#[derive(Clone)]
pub(super) struct Keyboard {
    editor: Arc<Mutex<Editor<CommandCompleter, MemHistory>>>,
    above: Arc<Mutex<dyn ExternalPrinter + Send>>,
}

impl Keyboard {
    pub(super) fn open() -> Result<Self, Failure> {
        // Where standard output goes to a file, prompts still go to the person.
        let behavior = if std::io::stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
        let failed = |error: ReadlineError| Failure::internal("cannot use the terminal").caused_by(&error);
        let config = Config::builder().max_history_size(MAX_HISTORY).map_err(failed)?.behavior(behavior).build();
        let history = MemHistory::with_config(&config);
        let mut editor: Editor<CommandCompleter, MemHistory> = Editor::with_history(config, history).map_err(failed)?;
        let above = Arc::new(Mutex::new(editor.create_external_printer().map_err(failed)?));
        Ok(Self { editor: Arc::new(Mutex::new(editor)), above })
    }

    /// Shows lines above the prompt that is open; what is typed there stays.
    pub(super) fn show_above(&self, text: &str) {
        let mut above = self.above.lock().unwrap_or_else(PoisonError::into_inner);
        // A terminal that is gone shows nothing; the prompt finds that out by itself.
        let _ = above.print(format!("{text}\n"));
    }

    /// Completes these commands from now on; each begins with a slash.
    pub(super) fn complete(&self, commands: CommandNames) {
        let mut editor = self.editor.lock().unwrap_or_else(PoisonError::into_inner);
        editor.set_helper(Some(CommandCompleter(commands)));
    }

    /// Makes a line reachable with the arrow keys.
    pub(super) fn remember(&self, line: &str) {
        let mut editor = self.editor.lock().unwrap_or_else(PoisonError::into_inner);
        // A line missing from the history does no harm.
        let _ = editor.history_mut().add(line);
    }

    /// Asks for a line.
    pub(super) fn ask(&self, prompt: String) -> JoinHandle<TypedLine> {
        let editor = Arc::clone(&self.editor);
        tokio::task::spawn_blocking(move || {
            let mut editor = editor.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                return match editor.readline(prompt.as_str()) {
                    Ok(line) => TypedLine::Line(line),
                    Err(ReadlineError::Interrupted) => TypedLine::Interrupted,
                    // The window changed its size.
                    Err(ReadlineError::Signal(_)) => continue,
                    Err(_) => TypedLine::End,
                };
            }
        })
    }
}
