//! `dispatch session`: lists, reads, forks, renames and deletes conversations while others may run them.

pub(crate) mod transcript;
mod undo;

use super::queue;
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::ids::TurnId;
use dispatch_os::files::{Access, ReplaceOptions, canonicalize, replace_with};
use ext_conversation_store::contract::{CONVERSATIONS, ConversationError, Conversations, Hit, Session, SessionFilter};
use ext_session_orchestrator::contract::{SESSIONS, Sessions};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// The longest title or snippet on a line.
const TEXT_CHARS: usize = 100;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum SessionCommand {
    /// List the sessions of this folder, most recently changed first
    List {
        /// Only labels that start with this prefix
        prefix: Option<String>,
        /// List the sessions of every folder
        #[arg(long)]
        all_folders: bool,
        /// Print at most COUNT
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        limit: u32,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the whole conversation, also what a summary stands for
    Show {
        /// The session
        label: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Create a session that continues another one; their history is shared, not copied
    Fork {
        /// The session
        label: String,
        /// The label of the new session
        new_label: String,
        /// Continue from this turn; default: the last one
        #[arg(long, value_name = "TURN")]
        at: Option<String>,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print every stored row of a session as one JSON object
    Export {
        /// The session
        label: String,
        /// Write to this file instead, readable by you alone
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Search messages, newest first
    Search {
        /// The text to find
        text: String,
        /// Print at most COUNT
        #[arg(long, value_name = "COUNT", default_value_t = 20)]
        limit: u32,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Delete a session and the turns that no other session continues
    Delete {
        /// The session
        label: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Take the last summary of a long conversation back; the model reads again what it stood for
    Undo {
        /// The session
        label: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Change a session's label
    Rename {
        /// The session
        label: String,
        /// Its new label
        new_label: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &SessionCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    if let SessionCommand::Undo { label, json } = command {
        return undo::run(loaded, extensions, label, (*json).into(), printer);
    }
    let running = Running::look_at_conversations(loaded, extensions)?;
    let outcome = running.service(&CONVERSATIONS).and_then(|conversations| {
        let sessions = running.service(&SESSIONS)?;
        let store = SessionStore { conversations, sessions, folder: session_folder(loaded), printer };
        running.block_on(store.run(command))
    });
    running.shutdown();
    outcome.map(|()| Status::Done)
}

struct SessionStore<'a> {
    conversations: Arc<dyn Conversations>,
    sessions: Arc<dyn Sessions>,
    /// The folder that the command works on.
    folder: PathBuf,
    printer: &'a Printer,
}

impl SessionStore<'_> {
    async fn run(&self, command: &SessionCommand) -> Result<(), Failure> {
        match command {
            SessionCommand::List { prefix, all_folders, limit, json } => {
                let filter = SessionFilter {
                    label_prefix: prefix.clone(),
                    folder: (!all_folders).then(|| self.folder.clone()),
                    limit: *limit,
                    ..SessionFilter::default()
                };
                let found = self.conversations.sessions(filter).await.map_err(refused)?;
                self.tell((*json).into(), &json!({ "sessions": found }), || listed(&found))
            }
            SessionCommand::Show { label, json } => {
                let history = self.conversations.history(label).await.map_err(refused)?;
                let value = json!({ "session": history.session, "messages": history.messages() });
                self.tell((*json).into(), &value, || transcript::told(&history))
            }
            SessionCommand::Fork { label, new_label, at, json } => {
                let at = at.as_deref().map(TurnId::from);
                let made = self.conversations.fork(label, at.as_ref(), new_label).await.map_err(refused)?;
                let value = json!({ "session": made });
                self.tell((*json).into(), &value, || format!("{new_label} continues {label}"))
            }
            SessionCommand::Export { label, output } => self.export(label, output.as_ref()).await,
            SessionCommand::Search { text, limit, json } => {
                let hits = self.conversations.search(text, *limit).await.map_err(refused)?;
                self.tell((*json).into(), &json!({ "hits": hits }), || found(&hits))
            }
            SessionCommand::Delete { label, json } => {
                self.require_idle(label).await?;
                self.conversations.delete(label).await.map_err(refused)?;
                self.tell((*json).into(), &json!({ "deleted": label }), || format!("deleted {label}"))
            }
            // Undone before the store was opened: it needs another service.
            SessionCommand::Undo { .. } => Ok(()),
            SessionCommand::Rename { label, new_label, json } => {
                self.require_idle(label).await?;
                let renamed = self.conversations.rename(label, new_label).await.map_err(refused)?;
                let value = json!({ "session": renamed });
                self.tell((*json).into(), &value, || format!("renamed {label} to {new_label}"))
            }
        }
    }

    async fn export(&self, label: &str, output: Option<&PathBuf>) -> Result<(), Failure> {
        let export = self.conversations.export(label).await.map_err(refused)?;
        let Some(path) = output else { return self.printer.json(&export) };
        let text = serde_json::to_string_pretty(&export).map_err(|error| Failure::of(Status::Internal, &error))?;
        let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
        replace_with(path, format!("{text}\n").as_bytes(), options)?;
        self.printer.note(&format!("wrote {}", path.display()));
        Ok(())
    }

    /// What waits for a session is kept under its label and would be lost with it.
    async fn require_idle(&self, label: &str) -> Result<(), Failure> {
        let waiting = self.sessions.queue(Some(label)).await.map_err(super::chat::turns::refused)?;
        match waiting.first() {
            None => Ok(()),
            Some(first) => Err(Failure::usage(format!(
                "{} in `{label}`",
                match waiting.len() {
                    1 => "a message waits or runs".to_owned(),
                    many => format!("{many} messages wait or run"),
                }
            ))
            .hint(format!("wait for the end, or `dispatch queue cancel {}`", first.id))),
        }
    }

    fn tell(&self, format: Format, value: &serde_json::Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
        match format {
            Format::Json => self.printer.json(value)?,
            Format::Text => self.printer.out(&text()),
        }
        Ok(())
    }
}

/// The folder by which the sessions of the project are known: without links in its path.
pub(crate) fn session_folder(loaded: &Loaded) -> PathBuf {
    let folder = loaded.folders().workdir;
    canonicalize(&folder).unwrap_or(folder)
}

/// Sessions as a table.
pub(crate) fn listed(sessions: &[Session]) -> String {
    if sessions.is_empty() {
        return "no sessions here yet; `dispatch chat` starts one, `session list --all-folders` shows those of other \
                folders"
            .to_owned();
    }
    let row = |session: &Session| {
        let title = session.title.as_deref().map(|title| one_line(title, TEXT_CHARS)).unwrap_or_default();
        vec![
            one_line(&session.label, TEXT_CHARS),
            counted(session.turns, "turn"),
            queue::moment(session.updated_at_ms),
            title,
        ]
    };
    table(&sessions.iter().map(row).collect::<Vec<_>>())
}

fn found(hits: &[Hit]) -> String {
    if hits.is_empty() {
        return "no messages match".to_owned();
    }
    let row =
        |hit: &Hit| vec![one_line(&hit.label, TEXT_CHARS), hit.turn.to_string(), one_line(&hit.snippet, TEXT_CHARS)];
    table(&hits.iter().map(row).collect::<Vec<_>>())
}

/// `1 turn`, `2 turns`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What the conversations refused, as a failure of the command.
pub(crate) fn refused(error: ConversationError) -> Failure {
    let message = error.to_string();
    match error {
        ConversationError::NoSession { .. } => {
            Failure::usage(message).hint("`dispatch session list` lists the sessions")
        }
        ConversationError::LabelTaken { .. } => Failure::usage(message).hint("choose another label"),
        ConversationError::NoTurn { .. } => {
            Failure::usage(message).hint("`dispatch session export` prints the turns of a session")
        }
        ConversationError::Running { .. } => Failure::usage(message).hint("`dispatch queue show` shows what runs"),
        ConversationError::BadLabel { .. } => Failure::usage(message),
        ConversationError::Storage(_) => Failure::internal(message).hint("`dispatch doctor` checks the storage"),
    }
}
