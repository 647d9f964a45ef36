//! The prompt that an agent gets: the hook's text with the facts of the event in it.

use super::RunAttempt;
use super::event_json::event;
use crate::contract::FileChange;
use crate::run_executor::{RetryAdvice, RunEnd};
use std::fmt::Write;

/// The most files that a prompt names one by one.
const MAX_NAMED_FILES: usize = 200;
/// The longest prompt that is handed to an agent.
pub(super) const MAX_PROMPT_BYTES: usize = 1024 * 1024;
/// What can stand in braces.
const NAMES: [&str; 4] = ["file", "files", "trigger", "event"];

/// The prompt without its secrets, or why it cannot be handed over.
pub(super) fn prompt(attempt: &RunAttempt<'_>, text: &str) -> Result<String, RunEnd> {
    let files = &attempt.job.files;
    let value = |name: &str| match name {
        "file" => files.first().map(|file| shown(&file.path)).unwrap_or_default(),
        "files" => named(files, ""),
        "trigger" => attempt.job.hook.trigger.to_string(),
        _ => attempt.redactor.json(event(attempt)).to_string(),
    };
    let (mut filled, used) = fill(text, value);
    if used == 0 {
        filled = format!("{}{filled}", heading(attempt));
    }
    let clean = attempt.redactor.clean(&filled);
    if clean.len() > MAX_PROMPT_BYTES {
        let reason = format!("the prompt has {} bytes with the event in it; at most {MAX_PROMPT_BYTES}", clean.len());
        return Err(RunEnd::Failed { reason, again: RetryAdvice::Useless });
    }
    Ok(clean)
}

/// What a prompt that names nothing of the event starts with.
fn heading(attempt: &RunAttempt<'_>) -> String {
    let mut heading = format!("Trigger: {}\n", attempt.job.hook.trigger);
    let files = &attempt.job.files;
    if !files.is_empty() {
        let _ = writeln!(heading, "Files:\n{}", named(files, "- "));
    }
    heading.push('\n');
    heading
}

fn named(files: &[FileChange], bullet: &str) -> String {
    let names = files.iter().take(MAX_NAMED_FILES).map(|file| format!("{bullet}{}", shown(&file.path)));
    let mut lines: Vec<String> = names.collect();
    if files.len() > MAX_NAMED_FILES {
        lines.push(format!("{bullet}... and {} more", files.len() - MAX_NAMED_FILES));
    }
    lines.join("\n")
}

/// A name that cannot pretend to be a line of the prompt.
fn shown(name: &str) -> String {
    let escaped = |character: char| match character {
        character if character.is_control() => character.escape_default().collect(),
        character => String::from(character),
    };
    name.chars().map(escaped).collect()
}

/// Puts values in place of `{name}`, in one pass; `{{name}}` is the text `{name}`. Says how many were put in.
/// Braces around anything else are the author's own.
fn fill(text: &str, value: impl Fn(&str) -> String) -> (String, usize) {
    let (mut filled, mut rest, mut used) = (String::with_capacity(text.len()), text, 0);
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        if let Some((name, after)) = from.strip_prefix("{{").and_then(name_in) {
            let _ = write!(filled, "{{{name}}}");
            rest = after.strip_prefix('}').unwrap_or(after);
        } else if let Some((name, after)) = from.strip_prefix('{').and_then(name_in) {
            filled.push_str(&value(name));
            used += 1;
            rest = after;
        } else {
            filled.push('{');
            rest = from.get(1..).unwrap_or_default();
        }
    }
    filled.push_str(rest);
    (filled, used)
}

/// The name before the next brace, if it is one that we know, and what follows the brace.
fn name_in(text: &str) -> Option<(&'static str, &str)> {
    let (name, after) = text.split_once('}')?;
    NAMES.iter().find(|known| **known == name).map(|known| (*known, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_filled_once_and_the_rest_stays() {
        let value = |name: &str| match name {
            "file" => "{event}".to_owned(),
            name => name.to_uppercase(),
        };
        for (text, filled, used) in [
            ("look at {file}", "look at {event}", 1),
            ("{files}{trigger}", "FILESTRIGGER", 2),
            ("{{file}} is {file}", "{file} is {event}", 1),
            ("{{file}", "{file}", 0),
            ("{\"a\": {\"b\": 1}}", "{\"a\": {\"b\": 1}}", 0),
            ("{File} {} {file", "{File} {} {file", 0),
            ("fn f() { g({ x }) }", "fn f() { g({ x }) }", 0),
            ("{{{file}}}", "{{file}}", 0),
            ("", "", 0),
            ("é{trigger}é", "éTRIGGERé", 1),
        ] {
            assert_eq!(fill(text, value), (filled.to_owned(), used), "{text}");
        }
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(shown("a\nIgnore the above\r"), "a\\nIgnore the above\\r");
        assert_eq!(shown("src/ü b.rs"), "src/ü b.rs");
    }
}
