//! A conversation: message after message, with commands of its own between them.

use super::fresh_label;
use super::idle_questions::{IdlePrompt, IdleQuestions};
use super::keyboard::{Keyboard, TypedLine};
use super::known_models;
use super::slash::{COMMANDS, Slash, continued, goes_on, parse};
use super::turns::{FollowResult, MessageSender};
use super::typed_history::TypedHistory;
use crate::app::Status;
use crate::commands::{queue, session};
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Printer, table};
use crate::stopping::Interrupts;
use dispatch_contracts::suggest::nearest;
use dispatch_kernel::host::ExtensionHost;
use dispatch_kernel::services::command_line::{CommandLine, answer_text};
use dispatch_os::terminal::take_typed_lines;
use ext_conversation_store::contract::{Conversations, SessionFilter, check_label};
use ext_provider_openai_compat::contract::{ProviderChoice, REHEARSAL};
use ext_session_orchestrator::contract::{Ask, MAX_TEXT_BYTES, Submission};
use futures_util::FutureExt;
use serde_json::json;
use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// How many sessions `/sessions` lists.
const LISTED_SESSIONS: u32 = 20;
/// The longest label or model in the prompt.
const PROMPT_CHARS: usize = 40;
/// What is shown of a line that was typed early.
const PROMPT_LINE_CHARS: usize = 200;

/// Where messages come from.
pub(super) enum MessageSource {
    /// A person.
    Person { keyboard: Keyboard, history: TypedHistory },
    /// A program: every line is a message.
    Lines,
}

/// How a conversation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConversationStart {
    /// With the first message.
    Fresh,
    /// Where the last one ended; the person reads what was said last.
    GoesOn,
}

/// A conversation that is being held.
pub(super) struct Conversation<'a> {
    pub(super) turns: MessageSender<'a>,
    pub(super) host: &'a ExtensionHost,
    pub(super) source: MessageSource,
    pub(super) conversations: Option<Arc<dyn Conversations>>,
    /// What is sent with every message; its session and model can change on the way.
    pub(super) submission: Submission,
    pub(super) choice: ProviderChoice,
    /// The folder whose sessions are listed.
    pub(super) folder: PathBuf,
    /// Ctrl-C between two prompts, where no line is being read: it must not end the program in the middle.
    pub(super) interrupts: Interrupts,
    /// What other processes ask while no turn of this one runs.
    pub(super) questions: IdleQuestions,
}

/// What comes next.
enum NextInput {
    Message(String),
    Command(Result<Slash, String>),
    Leave,
}

impl Conversation<'_> {
    fn printer(&self) -> &Printer {
        self.turns.printer
    }

    pub(super) async fn hold(&mut self, begins: ConversationStart) -> Result<Status, Failure> {
        self.greet();
        if begins == ConversationStart::GoesOn && matches!(self.source, MessageSource::Person { .. }) {
            self.show_last_exchange().await;
        }
        let mut status = Status::Done;
        loop {
            match self.next().await? {
                NextInput::Leave => return Ok(status),
                NextInput::Command(Ok(Slash::Exit)) => return Ok(status),
                NextInput::Command(Ok(command)) => {
                    if let Err(failure) = self.obey(command).await {
                        self.printer().failure(&failure);
                    }
                }
                NextInput::Command(Err(wrong)) => self.printer().note(&wrong),
                NextInput::Message(text) => match self.say(text).await {
                    Ok(Some(said)) => status = said,
                    Ok(None) => return Ok(Status::No),
                    // A person can say it otherwise; a program must hear of it.
                    Err(failure) if matches!(self.source, MessageSource::Person { .. }) => {
                        self.printer().failure(&failure)
                    }
                    Err(failure) => return Err(failure),
                },
            }
        }
    }

    fn greet(&self) {
        if self.choice.provider == REHEARSAL {
            self.printer().note(&format!(
                "No model answers here ({}):\nthe rehearsal answers by rule and drives the tools.\nFor a model: start a \
                 local server such as Ollama, or set model.base_url\nand model.model and keep a key with `dispatch auth \
                 add`; `dispatch up` helps.",
                self.choice.reason
            ));
        }
        if let MessageSource::Person { keyboard, history } = &self.source {
            history.load().iter().for_each(|line| keyboard.remember(line));
            self.printer().note("/help lists commands, ctrl-C stops a turn, ctrl-D leaves.");
        }
    }

    /// What was said last; a history that cannot be read is told about by the next message.
    async fn show_last_exchange(&self) {
        let Some(conversations) = &self.conversations else { return };
        if let Ok(history) = conversations.history(&self.submission.session).await
            && let Some(last) = session::transcript::last_exchange(&history)
        {
            self.printer().note(&last);
        }
    }

    /// One message; what it came to, or nothing when the person left.
    async fn say(&mut self, text: String) -> Result<Option<Status>, Failure> {
        self.questions.forget();
        let outcome = match self.turns.say(Submission { text, ..self.submission.clone() }).await? {
            FollowResult::Over(outcome) => outcome,
            FollowResult::Left => return Ok(None),
        };
        // What was pressed during the turn was for the turn.
        self.interrupts = Interrupts::listen();
        outcome.tell(self.printer());
        Ok(Some(if outcome.is_finished() { Status::Done } else { Status::No }))
    }

    fn model(&self) -> String {
        let named = self.submission.model.clone().or_else(|| self.choice.model.clone());
        named.unwrap_or_else(|| self.choice.provider.clone())
    }

    async fn next(&mut self) -> Result<NextInput, Failure> {
        let mut warned = false;
        let mut message: Option<String> = None;
        loop {
            let prompt = match &message {
                Some(_) => "... ".to_owned(),
                None => format!(
                    "{} · {} > ",
                    one_line(&self.submission.session, PROMPT_CHARS),
                    one_line(&self.model(), PROMPT_CHARS)
                ),
            };
            let line = match self.read(prompt).await {
                TypedLine::Line(line) if message.is_none() && self.answers(&line).await => continue,
                TypedLine::Line(line) => line,
                TypedLine::Interrupted if message.take().is_some() => continue,
                TypedLine::Interrupted if !warned => {
                    warned = true;
                    self.printer().note("ctrl-C again, ctrl-D or /exit leaves");
                    continue;
                }
                TypedLine::Interrupted => return Ok(NextInput::Leave),
                TypedLine::End => match message.take() {
                    Some(unfinished) => return Ok(self.whole(unfinished)),
                    None => return Ok(NextInput::Leave),
                },
            };
            let text = match message.take() {
                Some(begun) => continued(&begun, &line),
                None => line,
            };
            if text.len() > MAX_TEXT_BYTES {
                return Err(Failure::usage(format!("the message exceeds the limit of {MAX_TEXT_BYTES} bytes")));
            }
            if goes_on(&text) {
                message = Some(text);
            } else if !text.trim().is_empty() {
                return Ok(self.whole(text));
            }
        }
    }

    /// A message or command that is all there.
    fn whole(&self, text: String) -> NextInput {
        let MessageSource::Person { keyboard, history } = &self.source else { return NextInput::Message(text) };
        // What cannot be kept can still be said.
        let kept = history.add(&text).unwrap_or_else(|_| text.clone());
        keyboard.remember(&kept);
        parse(&text).map_or(NextInput::Message(text), NextInput::Command)
    }

    async fn read(&mut self, prompt: String) -> TypedLine {
        if let MessageSource::Person { .. } = &self.source {
            self.turns.typed_early.extend(take_typed_lines());
            if let Some(line) = self.turns.typed_early.pop_front() {
                // It was echoed where it was typed; here it stands where it is said.
                self.printer().note(&format!("{prompt}{}", one_line(&line, PROMPT_LINE_CHARS)));
                return TypedLine::Line(line);
            }
        }
        let typed = match &self.source {
            MessageSource::Person { .. } if self.interrupts.next().now_or_never().is_some() => {
                return TypedLine::Interrupted;
            }
            MessageSource::Person { keyboard, .. } if self.submission.ask == Ask::Person => {
                let typed = keyboard.ask(prompt);
                let idle = IdlePrompt {
                    sessions: self.turns.sessions.as_ref(),
                    session: &self.submission.session,
                    keyboard,
                    workdir: &self.turns.workdir,
                };
                return self.questions.read(idle, typed).await;
            }
            MessageSource::Person { keyboard, .. } => keyboard.ask(prompt),
            MessageSource::Lines => tokio::task::spawn_blocking(read_line),
        };
        tokio::select! {
            typed = typed => typed.unwrap_or(TypedLine::End),
            // A program that feeds us lines is stopped like any other.
            () = self.interrupts.next(), if matches!(self.source, MessageSource::Lines) => TypedLine::End,
        }
    }

    /// Whether the line is the answer to a question that was shown at the prompt.
    async fn answers(&mut self, line: &str) -> bool {
        self.questions.answer(line, self.turns.approvals.as_ref(), self.turns.printer).await
    }

    async fn obey(&mut self, command: Slash) -> Result<(), Failure> {
        match command {
            Slash::Help => {
                let own = COMMANDS.map(|(form, does)| vec![form.to_owned(), does.to_owned()]);
                let added = self.host.commands().into_iter().map(|command| {
                    vec![format!("/{} [ARGS]", command.name), format!("{} ({})", command.item.summary, command.owner)]
                });
                self.printer().note(&table(&own.into_iter().chain(added).collect::<Vec<_>>()));
            }
            Slash::Sessions => {
                let filter = SessionFilter {
                    folder: Some(self.folder.clone()),
                    limit: LISTED_SESSIONS,
                    ..SessionFilter::default()
                };
                let found = self.conversations()?.sessions(filter).await.map_err(session::refused)?;
                self.printer().note(&session::listed(&found));
            }
            Slash::Session(label) => self.go_to(label).await?,
            Slash::New(label) => {
                let label = label.unwrap_or_else(fresh_label);
                if self.known(&label).await? {
                    return Err(Failure::usage(format!("session `{label}` already exists"))
                        .hint("`/session LABEL` switches to it"));
                }
                self.go_to(label).await?;
            }
            Slash::Fork(label) => self.fork(label).await?,
            Slash::Model(name) => self.choose(name).await?,
            Slash::Queue => {
                let found = self.turns.sessions.queue(Some(&self.submission.session)).await;
                self.printer().note(&queue::listed(&found.map_err(super::turns::refused)?));
            }
            Slash::History => {
                let conversations = self.conversations()?;
                let history = conversations.history(&self.submission.session).await.map_err(session::refused)?;
                self.printer().note(&session::transcript::told(&history));
            }
            Slash::Contributed(line) => self.run_contributed(line).await?,
            Slash::Exit => {}
        }
        Ok(())
    }

    /// A command that an extension adds.
    async fn run_contributed(&self, line: CommandLine) -> Result<(), Failure> {
        let commands = self.host.commands();
        let Some(command) = commands.iter().find(|command| command.name == line.name) else {
            let known = commands.iter().map(|command| command.name.as_str());
            let known = known.chain(COMMANDS.iter().filter_map(|(form, _)| form.split(['/', ' ']).nth(1)));
            let meant = nearest(&line.name, known).map(|meant| format!("did you mean `/{meant}`?"));
            return Err(Failure::usage(format!("unknown command `/{}`", line.name))
                .hint(meant.unwrap_or_else(|| "/help lists the commands".to_owned())));
        };
        let answer = (command.item.respond)(json!({ "args": line.args })).await;
        let answer = answer.map_err(|error| Failure::internal(format!("extension `{}`: {error}", command.owner)))?;
        self.printer().out(&answer_text(&answer));
        Ok(())
    }

    fn conversations(&self) -> Result<&dyn Conversations, Failure> {
        self.conversations.as_deref().ok_or_else(|| {
            Failure::configuration("no storage is active, so only this conversation is available")
                .hint("`dispatch ext list` shows whether storage-sqlite and conversation-store are on")
        })
    }

    async fn known(&self, label: &str) -> Result<bool, Failure> {
        let Some(conversations) = &self.conversations else { return Ok(false) };
        Ok(conversations.session(label).await.map_err(session::refused)?.is_some())
    }

    async fn go_to(&mut self, label: String) -> Result<(), Failure> {
        check_label(&label).map_err(session::refused)?;
        let found = match &self.conversations {
            Some(conversations) => conversations.session(&label).await.map_err(session::refused)?,
            None => None,
        };
        let words = match found {
            Some(known) => format!("session {label}, {} so far", session::counted(known.turns, "turn")),
            None => format!("session {label} begins with your next message"),
        };
        self.submission.session = label;
        self.questions.forget();
        self.printer().note(&words);
        Ok(())
    }

    async fn fork(&mut self, label: Option<String>) -> Result<(), Failure> {
        let new = label.unwrap_or_else(|| format!("{}-{}", self.submission.session, super::short_id()));
        let forked = self.conversations()?.fork(&self.submission.session, None, &new).await;
        forked.map_err(session::refused)?;
        self.printer().note(&format!("{new} continues {}", self.submission.session));
        self.submission.session = new;
        Ok(())
    }

    async fn choose(&mut self, name: Option<String>) -> Result<(), Failure> {
        match name {
            Some(name) => {
                if self.choice.model.as_ref() != Some(&name) {
                    known_models::check(self.host, &self.choice.provider, &name).await?;
                }
                self.printer().note(&format!("{} answers from the next message on", one_line(&name, PROMPT_CHARS)));
                self.submission.model = Some(name);
            }
            None => {
                let why = match &self.submission.model {
                    Some(_) => "you chose it",
                    None => &self.choice.reason,
                };
                self.printer().note(&format!("{} ({why})", self.model()));
            }
        }
        Ok(())
    }
}

/// The next line of standard input, of a bounded length.
fn read_line() -> TypedLine {
    let mut bytes = Vec::new();
    let limit = MAX_TEXT_BYTES as u64 + 2;
    match std::io::stdin().lock().take(limit).read_until(b'\n', &mut bytes) {
        Ok(0) | Err(_) => TypedLine::End,
        Ok(_) => {
            let text = String::from_utf8_lossy(&bytes);
            TypedLine::Line(text.trim_end_matches(['\n', '\r']).to_owned())
        }
    }
}
