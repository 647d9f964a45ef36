//! What a host is told in place of our reply where the program is not installed: to go on, and once what is missing.

use dispatch_hook_module::{EventName, HookEvent};

use crate::answer::Answer;
use crate::dialect::{self, Dialect};

const MISSING: &str = "This project is guarded by Dispatch, and dispatch-hook is not on PATH: nothing is checked or \
                       recorded here until it is installed.";

/// Windsurf's event at which a person sees what a hook prints.
pub(super) const MISSING_AT_PROMPT: &str = "pre_user_prompt";

/// A folder that the first to say something makes: one for each process of the host. Making a folder follows no link.
const SAID_ONCE: &str = "mkdir \"${TMPDIR:-/tmp}/dispatch-missing-$PPID\" 2>/dev/null";

/// What the host reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MissingReply {
    go_on: String,
    notice: Notice,
}

/// How the missing program is mentioned.
#[derive(Debug, PartialEq, Eq)]
enum Notice {
    None,
    /// In the reply to this event, which comes once.
    Reply(String),
    /// In the first reply to this event.
    FirstReply(String),
    /// On standard error of the first reply, with the exit code that passes it on to the model.
    FirstRefusal,
}

impl MissingReply {
    pub(super) fn of(event: &str, host: &str) -> Self {
        let Some(dialect) = dialect::by_name(host) else {
            return Self { go_on: "{}".to_owned(), notice: Notice::None };
        };
        let name = dialect.event_name(event);
        let go_on = line(dialect.go_on_bytes(&name));
        let notice = match (dialect.id(), &name) {
            // It shows nothing at the start of a session, and a block at its end is told to the model.
            ("goose", EventName::Stop) => Notice::FirstRefusal,
            // Its model does not see what is said at the start of a task.
            ("cline", EventName::PreToolUse) | ("crush", EventName::PreToolUse) => {
                Notice::FirstReply(said(dialect, event, name))
            }
            ("windsurf", _) if event == MISSING_AT_PROMPT => Notice::FirstReply(MISSING.to_owned()),
            // Without a terminal it has no start of a session.
            ("qwen-code", EventName::UserPromptSubmit) => Notice::FirstReply(said(dialect, event, name)),
            ("cline" | "goose" | "qwen-code", _) => Notice::None,
            (_, EventName::SessionStart) => Notice::Reply(said(dialect, event, name)),
            _ => Notice::None,
        };
        Self { go_on, notice }
    }

    /// For shells in which nothing can be said only once.
    pub(super) fn each_time(&self) -> &str {
        match &self.notice {
            Notice::Reply(text) => text,
            Notice::None | Notice::FirstReply(_) | Notice::FirstRefusal => &self.go_on,
        }
    }

    /// The commands before `exit 0`.
    pub(super) fn posix(&self, quote: impl Fn(&str) -> String) -> String {
        let print = |text: &str| if text.is_empty() { ":".to_owned() } else { format!("echo {}", quote(text)) };
        match &self.notice {
            Notice::FirstReply(text) => format!("{SAID_ONCE} && {} || {}; ", print(text), print(&self.go_on)),
            Notice::FirstRefusal => {
                format!("{SAID_ONCE} && {{ echo {} >&2; exit 2; }}; {}; ", quote(MISSING), print(&self.go_on))
            }
            Notice::None | Notice::Reply(_) if self.each_time().is_empty() => String::new(),
            Notice::None | Notice::Reply(_) => format!("{}; ", print(self.each_time())),
        }
    }
}

/// The reply of the event with the notice for the person and for the model.
fn said(dialect: &Dialect, event: &str, name: EventName) -> String {
    let mut event = HookEvent::new(name, dialect.id(), event.to_owned(), Default::default());
    event.host_event =
        dialect.support().event(&event.host_event).map_or_else(String::new, |row| row.host_event.to_owned());
    // Gemini CLI without a terminal prints what is for the person twice; what is for the model arrives once.
    let for_person = (dialect.id() != "gemini-cli").then(|| MISSING.to_owned());
    let answer = Answer { context: vec![MISSING.to_owned()], system_message: for_person, ..Answer::pass() };
    line(&dialect.render(&event, &answer).stdout)
}

fn line(reply: &[u8]) -> String {
    String::from_utf8_lossy(reply).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_one_event_at_which_it_is_said() {
        for dialect in dialect::ALL.iter().filter(|dialect| !["native", "opencode"].contains(&dialect.id())) {
            let events = dialect.support().events.iter().map(|row| row.host_event);
            let told: Vec<&str> =
                events.filter(|event| MissingReply::of(event, dialect.id()).notice != Notice::None).collect();
            assert!(!told.is_empty(), "{}", dialect.id());
        }
    }
}
