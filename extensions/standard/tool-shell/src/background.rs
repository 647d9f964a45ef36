//! Commands that run in the background: a bounded number, each with bounded output in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dispatch_contracts::ids::SessionId;
use dispatch_contracts::tool::ToolError;
use dispatch_os::threads::offload;
use dispatch_os::time::{self, Instant};
use dispatch_os::{Canceller, ChildSpec};

use crate::tool_errors::{ended, seconds};
use crate::transcript::{OutputBuffer, OutputPart};

/// Commands that run at the same time, of one session and of all.
const MAX_RUNNING_OF_SESSION: usize = 8;
const MAX_RUNNING: usize = 32;
/// Ended commands that can still be asked about.
const MAX_ENDED: usize = 64;
/// Characters of a command in a report.
const SHOWN_CHARACTERS: usize = 200;

/// All background commands. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct BackgroundCommands {
    shared: Arc<BackgroundShared>,
}

#[derive(Default)]
struct BackgroundShared {
    commands: Mutex<CommandTable>,
    one_ended: Condvar,
}

#[derive(Default)]
struct CommandTable {
    last: u64,
    all: BTreeMap<u64, BackgroundCommand>,
}

struct BackgroundCommand {
    session: SessionId,
    text: String,
    started: Instant,
    canceller: Canceller,
    output: OutputBuffer,
    end: Option<String>,
}

impl BackgroundCommands {
    /// Starts a command; gives its id.
    pub(crate) fn start(&self, session: &SessionId, text: &str, child: ChildSpec) -> Result<String, ToolError> {
        let canceller = Canceller::new();
        let number = {
            let mut commands = self.commands();
            commands.check_room(session)?;
            commands.forget_old();
            commands.last += 1;
            let number = commands.last;
            let command = BackgroundCommand {
                session: session.clone(),
                text: text.chars().take(SHOWN_CHARACTERS).collect(),
                started: time::now(),
                canceller: canceller.clone(),
                output: OutputBuffer::default(),
                end: None,
            };
            commands.all.insert(number, command);
            number
        };
        let keeper = self.clone();
        // The thread is not joined; the table shows that it ended.
        let started = offload("background command", move || keeper.supervise(number, &child, &canceller));
        if let Err(error) = started {
            self.commands().all.remove(&number);
            return Err(ToolError(format!("Cannot start a thread for this: {error}. Try again.")));
        }
        Ok(format!("sh{number}"))
    }

    fn supervise(&self, number: u64, child: &ChildSpec, canceller: &Canceller) {
        let outcome = child.run_with(canceller, &mut |_, chunk| {
            if let Some(command) = self.commands().all.get_mut(&number) {
                command.output.push(chunk);
            }
        });
        if let Some(command) = self.commands().all.get_mut(&number) {
            command.end = Some(ended(&outcome, None));
        }
        self.shared.one_ended.notify_all();
    }

    /// How a command is doing.
    pub(crate) fn status(&self, session: &SessionId, id: &str) -> Result<String, ToolError> {
        self.with(session, id, |command| command.status(id))
    }

    /// What a command printed, and how it is doing.
    pub(crate) fn output(&self, session: &SessionId, id: &str, since: Option<usize>) -> Result<String, ToolError> {
        self.with(session, id, |command| {
            let OutputPart { text, lost, next, behind } = command.output.part(since);
            let lost = if lost > 0 { format!("[... {lost} bytes are not kept any more ...]\n") } else { String::new() };
            let behind = if behind > 0 { format!(" {behind} more bytes are there.") } else { String::new() };
            let text = if text.is_empty() || text.ends_with('\n') { text } else { format!("{text}\n") };
            format!("{lost}{text}[{} Read on with since: {next}.{behind}]", command.status(id))
        })
    }

    /// Ends a command with everything it started.
    pub(crate) fn kill(&self, session: &SessionId, id: &str) -> Result<String, ToolError> {
        self.with(session, id, |command| {
            command.canceller.cancel();
            match &command.end {
                Some(_) => command.status(id),
                None => format!("{id} and everything it started is being ended."),
            }
        })
    }

    /// Ends all commands and waits for their end, at most this long.
    pub(crate) fn end_all(&self, patience: Duration) {
        let commands = self.commands();
        let cancellers: Vec<Canceller> = commands.all.values().map(|command| command.canceller.clone()).collect();
        drop(commands);
        cancellers.iter().for_each(Canceller::cancel);
        let waited = self.shared.one_ended.wait_timeout_while(self.commands(), patience, |commands| {
            commands.all.values().any(|command| command.end.is_none())
        });
        drop(waited);
    }

    fn with(
        &self,
        session: &SessionId,
        id: &str,
        look: impl FnOnce(&BackgroundCommand) -> String,
    ) -> Result<String, ToolError> {
        let commands = self.commands();
        let number = id.strip_prefix("sh").and_then(|number| number.parse::<u64>().ok());
        let found = number.and_then(|number| commands.all.get(&number)).filter(|command| command.session == *session);
        found.map(look).ok_or_else(|| {
            let mine = commands.all.iter().filter(|(_, command)| command.session == *session);
            let known: Vec<String> = mine.map(|(number, _)| format!("sh{number}")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            ToolError(format!("Unknown background command `{id}`. Known ones: {known}."))
        })
    }

    fn commands(&self) -> MutexGuard<'_, CommandTable> {
        self.shared.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CommandTable {
    fn check_room(&self, session: &SessionId) -> Result<(), ToolError> {
        let running: Vec<(&u64, &BackgroundCommand)> =
            self.all.iter().filter(|(_, command)| command.end.is_none()).collect();
        let mine: Vec<String> = running
            .iter()
            .filter(|(_, command)| command.session == *session)
            .map(|(number, _)| format!("sh{number}"))
            .collect();
        if mine.len() >= MAX_RUNNING_OF_SESSION {
            return Err(ToolError(format!(
                "{MAX_RUNNING_OF_SESSION} background commands run already ({}). End one with shell_kill first.",
                mine.join(", ")
            )));
        }
        if running.len() >= MAX_RUNNING {
            return Err(ToolError(format!(
                "{MAX_RUNNING} background commands run already, in all sessions. Try again later."
            )));
        }
        Ok(())
    }

    fn forget_old(&mut self) {
        let ended: Vec<u64> =
            self.all.iter().filter(|(_, command)| command.end.is_some()).map(|(number, _)| *number).collect();
        let surplus = (ended.len() + 1).saturating_sub(MAX_ENDED);
        for number in ended.iter().take(surplus) {
            self.all.remove(number);
        }
    }
}

impl BackgroundCommand {
    fn status(&self, id: &str) -> String {
        match &self.end {
            Some(end) => format!("{id} ended: {end}. It printed {} bytes.", self.output.total()),
            None => format!(
                "{id} has been running for {}: `{}`. It printed {} bytes so far.",
                seconds(time::since(self.started)),
                self.text,
                self.output.total()
            ),
        }
    }
}
