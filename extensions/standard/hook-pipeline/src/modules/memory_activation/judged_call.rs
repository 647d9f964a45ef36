//! The call at hand as rules see it, and whether one applies. What costs most is asked last.
//!
//! Pure.

use std::cell::OnceCell;
use std::path::Path;

use dispatch_hook_module::phase::{Phase, kind_name};
use dispatch_hook_module::{Context, EventName};
use serde_json::Value;

use super::fill::PlaceholderValues;
use crate::followup::{FollowupRule, FollowupRuleProblem, NameList, compile, compile_path};

/// The longest part of a command or a result that a pattern is tried on.
const TEXT_LIMIT_BYTES: usize = 128 * 1024;
/// The most paths of one call that are compared.
const MAX_PATHS: usize = 200;

/// One call.
pub(super) struct JudgedCall<'a> {
    event: &'a EventName,
    tool: &'a str,
    kind: Option<&'static str>,
    paths: Vec<String>,
    command: Option<&'a str>,
    phase: Phase,
    intent: Option<&'a str>,
    response: &'a Value,
    error: Option<&'a str>,
    result: OnceCell<String>,
}

impl<'a> JudgedCall<'a> {
    /// The call of this event.
    pub(super) fn of(ctx: &'a Context<'_>) -> Self {
        let relative = |path: &str| ctx.paths.repo_relative(Path::new(path)).unwrap_or_else(|| path.to_owned());
        let paths = ctx.call.map(|call| call.paths.as_slice()).unwrap_or_default();
        Self {
            event: &ctx.event.name,
            tool: ctx.event.tool_name.as_deref().unwrap_or_default(),
            kind: ctx.call.map(|call| kind_name(call.kind)),
            paths: paths.iter().take(MAX_PATHS).map(|path| relative(&path.path)).collect(),
            command: ctx.call.and_then(|call| call.command.as_deref()),
            phase: ctx.phase(),
            intent: ctx.state.active_intent(),
            response: &ctx.event.tool_response,
            error: ctx.event.error.as_deref(),
            result: OnceCell::new(),
        }
    }

    /// Whether a rule applies, and to which path; the first path of the call if the rule names none.
    pub(super) fn matches(&self, rule: &FollowupRule) -> Result<Option<&str>, FollowupRuleProblem> {
        let when = &rule.when;
        let named = |names: &Option<NameList>, fits: &dyn Fn(&str) -> bool| {
            names.as_ref().is_none_or(|names| names.iter().any(fits))
        };
        let applies = when.event.iter().any(|name| EventName::known(name).as_ref() == Some(self.event))
            && named(&when.tools, &|name| is_tool(name, self.tool))
            && named(&when.kinds, &|name| self.kind.is_some_and(|kind| kind.eq_ignore_ascii_case(name)))
            && named(&when.phase, &|name| Phase::named(name) == Some(self.phase));
        let path = match &when.paths {
            _ if !applies => return Ok(None),
            None => self.paths.first(),
            Some(patterns) => match self.path_in(patterns)? {
                Some(path) => Some(path),
                None => return Ok(None),
            },
        };
        let holds = is_match(when.command.as_deref(), || self.command)?
            && is_match(when.result.as_deref(), || Some(self.result()))?;
        Ok(holds.then(|| path.map_or("", String::as_str)))
    }

    /// The first path of the call that matches a pattern.
    fn path_in(&self, patterns: &NameList) -> Result<Option<&String>, FollowupRuleProblem> {
        for pattern in patterns.iter().filter(|_| !self.paths.is_empty()) {
            let glob = compile_path(pattern)?;
            if let Some(path) = self.paths.iter().find(|path| glob.is_match(path)) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// What placeholders stand for.
    pub(super) fn values<'b>(&'b self, path: &'b str) -> PlaceholderValues<'b> {
        PlaceholderValues {
            tool: self.tool,
            path,
            command: self.command.unwrap_or_default(),
            intent: self.intent.unwrap_or_default(),
        }
    }

    /// All texts in what the tool returned.
    fn result(&self) -> &str {
        self.result.get_or_init(|| {
            let mut text = String::new();
            if let Some(error) = self.error {
                add_line(&mut text, error);
            }
            collect(self.response, &mut text);
            text
        })
    }
}

fn is_tool(pattern: &str, tool: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == tool, |start| tool.starts_with(start))
}

/// A text that is not there matches no pattern, and the pattern is not even compiled.
fn is_match<'t>(pattern: Option<&str>, text: impl FnOnce() -> Option<&'t str>) -> Result<bool, FollowupRuleProblem> {
    let Some(pattern) = pattern else {
        return Ok(true);
    };
    let Some(text) = text().filter(|text| !text.is_empty()) else {
        return Ok(false);
    };
    let regex = compile(pattern)?;
    let bytes = text.as_bytes();
    let end = bytes.get(bytes.len().saturating_sub(TEXT_LIMIT_BYTES)..).unwrap_or(bytes);
    let start = bytes.get(..TEXT_LIMIT_BYTES.min(bytes.len())).unwrap_or(bytes);
    Ok(regex.is_match(start) || (end.len() < bytes.len() && regex.is_match(end)))
}

fn collect(value: &Value, text: &mut String) {
    if text.len() >= 2 * TEXT_LIMIT_BYTES {
        return;
    }
    match value {
        Value::String(line) => add_line(text, line),
        Value::Array(items) => items.iter().for_each(|item| collect(item, text)),
        Value::Object(fields) => fields.values().for_each(|item| collect(item, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
