//! Who answers the prompt of a hook: our own agent, another agent's program, a server.
//!
//! Pure.

mod address;

use super::fields::{ConfigObject, Located};
use super::findings::Findings;
use super::format::{COMMAND, HTTP_RUNNER, PROGRAM_RUNNER};
use super::json::{JsonNode, JsonValue, shown};
use super::limits::{MAX_ARGUMENT_BYTES, MAX_NAMES};
use crate::contract::{AgentTemplate, Runner, SessionScope};
use crate::runner::{OWN_AGENT, known_agent, runner_names};
use dispatch_contracts::suggest::nearest;
use std::collections::BTreeMap;

/// Where the prompt goes in the arguments of a program.
pub(crate) const PLACEHOLDER: &str = "{prompt}";
/// The runner of a hook; our own agent if it names none.
pub(crate) fn read(hook: &ConfigObject<'_>, session: SessionScope, findings: &mut Findings) -> Option<Runner> {
    let Some(found) = hook.get("runner") else { return Some(Runner::Agent { session }) };
    match &found.value.json {
        JsonValue::Text(name) if name == OWN_AGENT => Some(Runner::Agent { session }),
        JsonValue::Text(name) => known(&found.clone().map(|_| name.as_str()), findings),
        JsonValue::Object(_) => written_out(&found.object(findings)?, findings),
        _ => {
            let message = format!("expected the name of a runner or an object, found {}", found.value.kind());
            found.wrong_hinted(findings, "type", message, format!("expected one of {}", runner_names().join(", ")));
            None
        }
    }
}

fn known(name: &Located<&str>, findings: &mut Findings) -> Option<Runner> {
    if let Some(template) = known_agent(name.value) {
        let command = template.command.iter().map(|argument| (*argument).to_owned()).collect();
        return Some(Runner::External(AgentTemplate { name: template.name.to_owned(), command }));
    }
    let hint = match nearest(name.value, runner_names()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("expected one of {}, or an object with `command` or `http`", runner_names().join(", ")),
    };
    name.wrong_hinted(findings, "runner", format!("unknown runner `{}`", shown(name.value)), hint);
    None
}

fn written_out(runner: &ConfigObject<'_>, findings: &mut Findings) -> Option<Runner> {
    match (runner.get("command"), runner.get("http")) {
        (Some(_), None) => {
            runner.refuse_unknown(&PROGRAM_RUNNER.names(), findings);
            template(runner, findings)
        }
        (None, Some(url)) => {
            runner.refuse_unknown(&HTTP_RUNNER.names(), findings);
            let headers = headers(runner, findings);
            let url = url.text(findings)?;
            let url = address::read(&url, findings)?;
            Some(Runner::Http { url, headers })
        }
        _ => {
            runner.refuse_unknown(&[PROGRAM_RUNNER.names(), HTTP_RUNNER.names()].concat(), findings);
            let message = "a runner needs exactly one of `command` and `http`";
            findings.add(runner.at, &runner.pointer, "runner", message);
            None
        }
    }
}

fn template(runner: &ConfigObject<'_>, findings: &mut Findings) -> Option<Runner> {
    let command = arguments(runner, findings)?;
    let found = runner.get("command")?;
    let holders = || command.iter().enumerate().filter(|(_, argument)| argument.contains(PLACEHOLDER));
    let times: usize = command.iter().map(|argument| argument.matches(PLACEHOLDER).count()).sum();
    let hint = format!("write {PLACEHOLDER} once, in one of the arguments");
    if times != 1 {
        let message = format!("{PLACEHOLDER} appears {times} times in the arguments, expected once");
        found.wrong_hinted(findings, "template", message, hint);
        return None;
    }
    if holders().next().is_some_and(|(index, _)| index == 0) {
        found.wrong_hinted(findings, "template", "{prompt} cannot be the program", hint);
        return None;
    }
    Some(Runner::External(AgentTemplate { name: "custom".to_owned(), command }))
}

/// A program with its arguments, under the key `command`.
pub(crate) fn arguments(object: &ConfigObject<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    let found = object.get("command")?;
    if let JsonValue::Text(_) = found.value.json {
        let hint = "write the program and each argument as separate texts: [\"npm\", \"test\"]";
        found.wrong_hinted(findings, "type", "expected a list, found a text; commands do not run in a shell", hint);
        return None;
    }
    let texts = object.texts(&COMMAND, findings)?;
    let entries = list_length(found.value);
    if texts.len() < entries {
        return None;
    }
    let mut fine = true;
    if texts.first().is_none_or(|program| program.value.trim().is_empty()) {
        found.wrong_hinted(findings, "command", "the program is missing", "the first entry is the program");
        fine = false;
    }
    for text in texts.iter().filter(|text| text.value.contains('\0')) {
        text.wrong(findings, "command", "an argument contains the character U+0000");
        fine = false;
    }
    let bytes: usize = texts.iter().map(|text| text.value.len()).sum();
    if bytes > MAX_ARGUMENT_BYTES {
        let message = format!("the arguments have {bytes} bytes, more than the limit of {MAX_ARGUMENT_BYTES}");
        found.wrong(findings, "too-large", message);
        fine = false;
    }
    fine.then(|| texts.iter().map(|text| text.value.to_owned()).collect())
}

fn list_length(node: &JsonNode) -> usize {
    match &node.json {
        JsonValue::List(items) => items.len(),
        _ => 0,
    }
}

fn headers(runner: &ConfigObject<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    let Some(object) = runner.get("headers").and_then(|found| found.object(findings)) else { return BTreeMap::new() };
    if object.members.len() > MAX_NAMES {
        let message = format!("{} headers, more than the limit of {MAX_NAMES}", object.members.len());
        findings.add(object.at, &object.pointer, "too-large", message);
        return BTreeMap::new();
    }
    let mut headers = BTreeMap::new();
    for member in object.members {
        let pointer = object.below(&member.key);
        if !is_header_name(&member.key) {
            let message = format!("invalid header name `{}`", shown(&member.key));
            findings.add(member.key_at, &pointer, "header", message);
        }
        let Some(value) = Located::of(&member.value, pointer).text(findings) else { continue };
        if value.value.chars().any(char::is_control) {
            value.wrong(findings, "header", "the header value contains a control character");
        }
        headers.insert(member.key.clone(), value.value.to_owned());
    }
    headers
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
