//! Whether an answer is a refusal in the words of its host.

use dispatch_hook_dialects::{Answer, Reply};

use super::launch::CommandAnswer;
use super::probe::Probe;
use crate::plain::one_line;
use serde::Serialize;
use serde_json::Value;

/// The longest part of an answer that is shown.
const SHOWN_CHARS: usize = 96;
/// A shell's word for a program that is not there, and for one that cannot be started.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

/// How a registration does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum RegistrationHealth {
    /// The call was refused.
    Ok,
    /// It was not, or the registration is not what it should be.
    Drift,
    /// Nothing here refuses the call.
    Inconclusive,
    /// A file tells the host to skip its hooks.
    Off,
    /// There was no answer.
    Error,
}

impl RegistrationHealth {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Drift => "DRIFT",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Off => "OFF",
            Self::Error => "ERROR",
        }
    }
}

/// What was found out about one host.
#[derive(Debug, Serialize)]
pub(super) struct CanaryFinding {
    pub(super) host: &'static str,
    /// Whose registration it is.
    pub(super) scope: Option<&'static str>,
    pub(super) health: RegistrationHealth,
    pub(super) detail: String,
}

impl CanaryFinding {
    pub(super) fn new(
        host: &'static str,
        scope: Option<&'static str>,
        health: RegistrationHealth,
        detail: String,
    ) -> Self {
        Self { host, scope, health, detail }
    }
}

/// What an answer means.
pub(super) fn check_refusal(probe: &Probe, answered: &CommandAnswer) -> (RegistrationHealth, String) {
    let (code, stdout, stderr) = match answered {
        CommandAnswer::Never(why) => return (RegistrationHealth::Error, why.clone()),
        CommandAnswer::Ended { code: NOT_FOUND, .. } => {
            return (RegistrationHealth::Error, "the registered program does not exist".to_owned());
        }
        CommandAnswer::Ended { code: NOT_EXECUTABLE, .. } => {
            return (RegistrationHealth::Error, "the registered program cannot be started".to_owned());
        }
        CommandAnswer::Ended { code, stdout, stderr } => (*code, stdout, stderr),
    };
    let refusal = |reason: &str| probe.dialect.render(&probe.read, &Answer::deny(reason));
    let (one, other) = (refusal("one"), refusal("other"));
    if i32::from(one.exit_code) != code {
        return (
            RegistrationHealth::Drift,
            format!("it was not refused: exit code {code}, answer {}", one_line(stdout, SHOWN_CHARS)),
        );
    }
    if one.exit_code != 0 {
        return if stderr.trim().is_empty() {
            (
                RegistrationHealth::Drift,
                "it was refused without a reason, which the host takes for a failed hook".to_owned(),
            )
        } else {
            (RegistrationHealth::Ok, one_line(stderr, SHOWN_CHARS))
        };
    }
    let answer = match serde_json::from_str::<Value>(stdout.trim()) {
        Ok(answer) => answer,
        Err(_) if stdout.trim().is_empty() => {
            return (RegistrationHealth::Drift, "it was not refused: the answer is empty".to_owned());
        }
        Err(_) => {
            return (RegistrationHealth::Error, format!("the answer is not JSON: {}", one_line(stdout, SHOWN_CHARS)));
        }
    };
    match reason(&value(&one), &value(&other), &answer) {
        Some(reason) => (RegistrationHealth::Ok, one_line(&reason, SHOWN_CHARS)),
        None => (RegistrationHealth::Drift, format!("it was not refused: {}", one_line(stdout, SHOWN_CHARS))),
    }
}

fn value(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.stdout).unwrap_or_default()
}

/// The reason in an answer that has the form of a refusal. Two refusals of ours show the form: what is
/// the same in both must be in the answer, and where they differ the answer has its reason.
fn reason(one: &Value, other: &Value, answer: &Value) -> Option<String> {
    match (one, other, answer) {
        (Value::Object(one), Value::Object(other), Value::Object(answer)) => {
            let mut found = String::new();
            for (key, value) in one {
                let part = reason(value, other.get(key)?, answer.get(key)?)?;
                if found.is_empty() {
                    found = part;
                }
            }
            Some(found)
        }
        (one, other, answer) if one == other => (one == answer).then(String::new),
        (_, _, Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::init::hosts;
    use std::path::Path;

    fn ended(reply: &Reply) -> CommandAnswer {
        CommandAnswer::Ended {
            code: i32::from(reply.exit_code),
            stdout: String::from_utf8(reply.stdout.clone()).unwrap(),
            stderr: String::from_utf8(reply.stderr.clone()).unwrap(),
        }
    }

    #[test]
    fn a_refusal_is_known_from_everything_else_on_every_host() {
        for host in hosts::all() {
            let probe = Probe::of(host, Path::new("/repo")).unwrap();
            let render = |answer: &Answer| check_refusal(&probe, &ended(&probe.dialect.render(&probe.read, answer)));
            let (health, detail) = render(&Answer { code: Some("UB01".to_owned()), ..Answer::deny("too wide") });
            assert_eq!(health, RegistrationHealth::Ok, "{host}: {detail}");
            assert!(detail.contains("UB01") && detail.contains("too wide"), "{host}: {detail}");
            assert_eq!(render(&Answer::pass()).0, RegistrationHealth::Drift, "{host}");
            assert_eq!(render(&Answer::granted()).0, RegistrationHealth::Drift, "{host}");
            let told = Answer { context: vec!["hello".to_owned()], ..Answer::pass() };
            assert_eq!(render(&told).0, RegistrationHealth::Drift, "{host}");
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error_or_a_drift() {
        let probe = Probe::of("claude-code", Path::new("/repo")).unwrap();
        let check = |code, stdout: &str, expected| {
            let answered = CommandAnswer::Ended { code, stdout: stdout.to_owned(), stderr: String::new() };
            assert_eq!(check_refusal(&probe, &answered).0, expected, "{code} {stdout}");
        };
        check(127, "", RegistrationHealth::Error);
        check(126, "", RegistrationHealth::Error);
        check(0, "", RegistrationHealth::Drift);
        check(0, "{}", RegistrationHealth::Drift);
        check(0, "not JSON", RegistrationHealth::Error);
        check(1, "{}", RegistrationHealth::Drift);
        check(
            0,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#,
            RegistrationHealth::Drift,
        );
        check(
            0,
            r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"x"}}"#,
            RegistrationHealth::Drift,
        );
        assert_eq!(check_refusal(&probe, &CommandAnswer::Never("timed out".to_owned())).0, RegistrationHealth::Error);
        let silent = Probe::of("windsurf", Path::new("/repo")).unwrap();
        let answered = CommandAnswer::Ended { code: 2, stdout: String::new(), stderr: " ".to_owned() };
        assert_eq!(check_refusal(&silent, &answered).0, RegistrationHealth::Drift);
    }
}
