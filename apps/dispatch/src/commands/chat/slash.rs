//! What a line that begins with a slash asks for.
//!
//! Pure.

use dispatch_kernel::services::command_line::{CommandLine, parse_command_line};

/// A command of the conversation itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    Sessions,
    Session(String),
    New(Option<String>),
    Fork(Option<String>),
    Model(Option<String>),
    Queue,
    History,
    /// One that an extension may have.
    Contributed(CommandLine),
    Exit,
}

/// Every command with its words for the help.
pub(super) const COMMANDS: [(&str, &str); 9] = [
    ("/help", "this list"),
    ("/sessions", "the sessions, newest first"),
    ("/session LABEL", "switch to a session, or create it"),
    ("/new [LABEL]", "begin a new session"),
    ("/fork [LABEL]", "continue in a new session that shares this history"),
    ("/model [NAME]", "which model answers, or another one from now on"),
    ("/queue", "what waits or runs in this session"),
    ("/history", "what was said in this session"),
    ("/exit", "leave; ctrl-D does too"),
];

/// The command of a line; `None` for anything that is said to the agent.
pub(super) fn parse(line: &str) -> Option<Result<Slash, String>> {
    let body = line.trim().strip_prefix('/')?;
    // A path or a comment is something that people say.
    if body.starts_with('/') || body.split_whitespace().next().is_some_and(|word| word.contains('/')) {
        return None;
    }
    let (name, rest) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    let rest = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
    Some(match (name, rest) {
        ("help" | "?", _) => Ok(Slash::Help),
        ("sessions", None) => Ok(Slash::Sessions),
        ("session", Some(label)) => Ok(Slash::Session(label)),
        ("session", None) => Err("name the session: /session LABEL".to_owned()),
        ("new", label) => Ok(Slash::New(label)),
        ("fork", label) => Ok(Slash::Fork(label)),
        ("model", name) => Ok(Slash::Model(name)),
        ("queue", None) => Ok(Slash::Queue),
        ("history", None) => Ok(Slash::History),
        ("exit" | "quit", None) => Ok(Slash::Exit),
        _ => parse_command_line(line)
            .map(Slash::Contributed)
            .ok_or_else(|| format!("unknown command `/{name}`; /help lists the commands")),
    })
}

/// Whether a message goes on in the next line: it ends in a backslash or has an open code fence.
pub(super) fn goes_on(message: &str) -> bool {
    let fences = message.lines().filter(|line| line.trim_start().starts_with("```")).count();
    fences % 2 == 1 || message.ends_with('\\')
}

/// The message with one more line; a backslash at the end of the one before is gone.
pub(super) fn continued(message: &str, line: &str) -> String {
    format!("{}\n{line}", message.strip_suffix('\\').unwrap_or(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_messages() {
        for (line, expected) in [
            ("hello", None),
            ("", None),
            ("/etc/passwd is what?", None),
            ("// a comment", None),
            ("/help", Some(Ok(Slash::Help))),
            ("  /exit ", Some(Ok(Slash::Exit))),
            ("/session main", Some(Ok(Slash::Session("main".to_owned())))),
            ("/fork", Some(Ok(Slash::Fork(None)))),
            ("/model  qwen3", Some(Ok(Slash::Model(Some("qwen3".to_owned()))))),
            ("/session", Some(Err("name the session: /session LABEL".to_owned()))),
            (
                "/jump 'two words'",
                Some(Ok(Slash::Contributed(CommandLine {
                    name: "jump".to_owned(),
                    args: vec!["two words".to_owned()],
                }))),
            ),
            ("/ju,mp", Some(Err("unknown command `/ju,mp`; /help lists the commands".to_owned()))),
        ] {
            assert_eq!(parse(line), expected, "{line:?}");
        }
    }

    #[test]
    fn every_command_of_the_help_is_understood() {
        for (form, _) in COMMANDS {
            assert!(parse(&form.replace(['[', ']'], "")).unwrap().is_ok(), "{form}");
        }
    }

    #[test]
    fn a_message_goes_on_where_it_says_so() {
        for (message, open) in [("a", false), ("a\\", true), ("```", true), ("```\nx\n```", false), ("x ``` y", false)]
        {
            assert_eq!(goes_on(message), open, "{message:?}");
        }
        assert_eq!(continued("a\\", "b"), "a\nb");
        assert_eq!(continued("```", "b"), "```\nb");
    }
}
