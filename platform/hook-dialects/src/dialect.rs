//! Dialects: how each host spells its hook events and wants its answers, behind one type.

mod ask_handling;
mod claude_code;
mod cline;
mod codex;
mod copilot_cli;
mod crush;
mod cursor;
mod decode;
mod detect;
mod devin;
mod factory_droid;
mod fields;
mod gemini_cli;
mod goose;
mod hints;
mod kiro;
mod native;
mod nested;
mod opencode;
mod qwen_code;
mod read;
mod reported_exit;
mod settle;
mod support;
#[cfg(test)]
mod tests;
mod vscode_copilot;
mod windsurf;

use dispatch_hook_module::{EventName, HookEvent, same_name};
use serde_json::{Map, Value};

use crate::answer::{Answer, Reply};
use fields::Fields;
use settle::Outcome;

pub use ask_handling::AskHandling;
pub use decode::{INPUT_LIMIT_BYTES, InputError};
pub use detect::detect;
pub use hints::{HINT_VARIABLES, Hints};
#[cfg(any(test, feature = "schema"))]
pub use native::native_reply_schema;
pub use settle::TEXT_LIMIT_BYTES;
pub use support::{Abilities, Channel, EventSupport, Support, hosts_markdown};

/// One host's way of speaking.
pub struct Dialect {
    support: Support,
    /// What lets the host go on as if nobody had been asked.
    go_on: fn(&EventName) -> &'static [u8],
    /// Finds the event in a payload that does not name it.
    infer: for<'a> fn(Fields<'a>) -> Option<&'a str>,
    /// Reads what only this host has, on top of the fields all hosts share.
    read: fn(Fields<'_>, &mut HookEvent),
    /// Whose tool names the event uses, where they are not the host's own.
    tool_table: fn(&str) -> Option<&'static str>,
    /// Whether the host stops for a question at this event, where its table says that it can be told one.
    ask: fn(&HookEvent) -> AskHandling,
    /// Writes what is left to say.
    spell: fn(&HookEvent, &Outcome<'_>) -> Reply,
}

/// Every dialect, in the order the docs list them.
pub static ALL: [&Dialect; 16] = [
    &vscode_copilot::DIALECT,
    &claude_code::DIALECT,
    &copilot_cli::DIALECT,
    &cursor::DIALECT,
    &gemini_cli::DIALECT,
    &qwen_code::DIALECT,
    &codex::DIALECT,
    &windsurf::DIALECT,
    &devin::DIALECT,
    &cline::DIALECT,
    &kiro::DIALECT,
    &factory_droid::DIALECT,
    &crush::DIALECT,
    &goose::DIALECT,
    &opencode::DIALECT,
    &native::DIALECT,
];

impl Dialect {
    /// The id that `--host` and registrations use.
    #[must_use]
    pub fn id(&self) -> &'static str {
        self.support.id
    }

    /// What this host can be told, event by event.
    #[must_use]
    pub fn support(&self) -> &Support {
        &self.support
    }

    /// The standard output that lets the host go on; exit code 0 and nothing else goes with it.
    #[must_use]
    pub fn go_on_bytes(&self, name: &EventName) -> &'static [u8] {
        (self.go_on)(name)
    }

    /// The reply that lets the host go on, for when nothing could be decided.
    #[must_use]
    pub fn go_on(&self, name: &EventName) -> Reply {
        Reply::plain(self.go_on_bytes(name))
    }

    /// Spells `answer` for this host, brought down to what the event can express.
    #[must_use]
    pub fn render(&self, event: &HookEvent, answer: &Answer) -> Reply {
        let abilities = self.support.abilities(&event.host_event);
        let outcome = settle::settle(event, answer, abilities);
        if outcome.is_silent() {
            return self.go_on(&event.name);
        }
        (self.spell)(event, &outcome)
    }

    /// Whether the host stops for a question about this call.
    #[must_use]
    pub fn ask_handling(&self, event: &HookEvent) -> AskHandling {
        match (self.ask)(event) {
            later @ AskHandling::AskedAt { .. } => later,
            handling if self.support.abilities(&event.host_event).has(Abilities::ASK) => handling,
            _ => AskHandling::Lost,
        }
    }

    /// Whether the event is about a call that another event told already.
    #[must_use]
    pub fn repeats_call(&self, host_event: &str) -> bool {
        self.id() == cursor::DIALECT.id() && cursor::SECOND_LOOKS.contains(&host_event)
    }

    /// The event behind a name in the host's or in the common spelling.
    #[must_use]
    pub fn event_name(&self, spelling: &str) -> EventName {
        match self.support.event(spelling) {
            Some(EventSupport { name: EventName::Other(_), host_event, .. }) => {
                EventName::Other((*host_event).to_owned())
            }
            Some(row) => row.name.clone(),
            None => EventName::known(spelling).unwrap_or_else(|| EventName::Other(spelling.to_owned())),
        }
    }

    /// Whose tool names the host uses at this event, where they are not its own.
    #[must_use]
    pub fn tool_table(&self, host_event: &str) -> Option<&'static str> {
        (self.tool_table)(host_event)
    }

    fn to_event(&self, payload: Map<String, Value>, event_argument: Option<&str>, hints: &Hints) -> HookEvent {
        let fields = Fields::new(&payload);
        let named = self.support.event_keys.iter().find_map(|key| fields.str(key));
        let host_event = self.host_event(event_argument, named, || (self.infer)(fields));
        let name = self.event_name(&host_event);
        let mut event = HookEvent::new(name, self.id(), host_event, Value::Null);
        event.tool_table = self.tool_table(&event.host_event);
        read::shared(fields, &mut event);
        (self.read)(fields, &mut event);
        event.error = event.error.take().or_else(|| reported_exit::failure(&event));
        if event.cwd.is_none() {
            event.cwd = read::outer_cwd(self.support.project_variables, hints);
        }
        event.raw = Value::Object(payload);
        event
    }

    /// The event as this host spells it. The argument decides which event it is; the payload's
    /// spelling is kept when it only says the same thing more precisely.
    fn host_event<'a>(
        &self,
        argument: Option<&str>,
        named: Option<&str>,
        infer: impl FnOnce() -> Option<&'a str>,
    ) -> String {
        let known = |spelling: &&str| self.support.event(spelling).is_some() || EventName::known(spelling).is_some();
        let own = |spelling: &str| {
            let row = self.support.event(spelling);
            row.map_or(spelling, |row| row.host_event).to_owned()
        };
        match (argument.filter(known), named) {
            (Some(argument), Some(named)) if same_name(argument, named) => own(argument),
            (Some(argument), Some(named)) if known(&named) && self.event_name(argument) == self.event_name(named) => {
                own(named)
            }
            (Some(argument), None) => match infer() {
                Some(found) if self.event_name(found) == self.event_name(argument) => own(found),
                _ => own(argument),
            },
            (Some(argument), Some(_)) => own(argument),
            (None, Some(named)) => own(named),
            (None, None) => infer().map_or_else(String::new, ToOwned::to_owned),
        }
    }
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Dialect").field(&self.id()).finish()
    }
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

/// The dialect with this id or alias.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Dialect> {
    ALL.into_iter().find(|dialect| {
        let support = dialect.support();
        same_name(support.id, name) || support.aliases.iter().any(|alias| same_name(alias, name))
    })
}

/// A payload that was understood.
#[derive(Debug)]
pub struct Parsed {
    /// The dialect to answer in.
    pub dialect: &'static Dialect,
    /// What happened.
    pub event: HookEvent,
}

/// A payload that was not understood, and enough to let its host go on.
#[derive(Debug, PartialEq)]
pub struct ParseFailure {
    /// The dialect to answer in.
    pub dialect: &'static Dialect,
    /// The event, as far as the command line says.
    pub name: EventName,
    /// What is wrong with the payload.
    pub cause: InputError,
}

impl ParseFailure {
    /// The reply that lets the host go on.
    #[must_use]
    pub fn reply(&self) -> Reply {
        self.dialect.go_on(&self.name)
    }
}

/// Reads a payload. `host` wins over detection; the event argument wins over the payload.
///
/// # Errors
/// When the bytes are no JSON object. The failure still knows how to let the host go on.
pub fn parse(
    bytes: &[u8],
    host: Option<&str>,
    event_argument: Option<&str>,
    hints: &Hints,
) -> Result<Parsed, ParseFailure> {
    let flagged = host.and_then(by_name);
    let payload = decode::decode(bytes).or_else(|cause| match cause {
        InputError::Empty => kiro::payload_from_environment(flagged, hints).ok_or(cause),
        _ => Err(cause),
    });
    let payload = payload.map_err(|cause| match cause {
        // Half a payload is not told from one that is no JSON.
        InputError::Empty | InputError::NotJson { .. } if hints.is_input_unfinished() => InputError::Unfinished,
        _ => cause,
    });
    match payload {
        Ok(payload) => {
            let dialect = match flagged {
                Some(flagged) => detect::confirm(flagged, Fields::new(&payload), hints),
                None => detect::by_fields(Fields::new(&payload), event_argument, hints).unwrap_or(&native::DIALECT),
            };
            let event = dialect.to_event(payload, event_argument, hints);
            Ok(Parsed { dialect, event })
        }
        Err(cause) => {
            let dialect = flagged.or_else(|| detect::by_environment(hints)).unwrap_or(&native::DIALECT);
            let name = dialect.event_name(event_argument.unwrap_or_default());
            Err(ParseFailure { dialect, name, cause })
        }
    }
}

/// The host stops for every question that it can be told.
fn ask_holds(_: &HookEvent) -> AskHandling {
    AskHandling::Holds
}

/// `{}`: the "go on" of every host that reads JSON and takes nothing for granted.
fn empty_object(_: &EventName) -> &'static [u8] {
    b"{}\n"
}

fn infer_nothing(_: Fields<'_>) -> Option<&str> {
    None
}

fn own_tools(_: &str) -> Option<&'static str> {
    None
}

fn read_nothing(_: Fields<'_>, _: &mut HookEvent) {}
