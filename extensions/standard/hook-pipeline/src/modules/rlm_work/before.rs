//! Holds a call of the main agent against the rules.
//!
//! Pure.

use std::path::Path;

use dispatch_glob::Glob;
use dispatch_hook_module::phase::kind_name;
use dispatch_hook_module::{Context, HookAction, MAIN_AGENT, Record, RecordType};
use dispatch_toolcall::{Access, ToolCall, ToolKind};
use regex::bytes::RegexBuilder;
use serde_json::{Value, json};

use super::policy::{DelegationPolicy, DelegationRule, RuleMatch};
use super::{NAME, is_satisfied};

/// Memory a pattern may take when it is compiled.
const PATTERN_LIMIT_BYTES: usize = 256 * 1024;
/// A file is not read further than this to find out that it is large.
const SIZE_PROBE_LIMIT_BYTES: u64 = 8 * 1024 * 1024;
/// Fields by which a call reads only a part of a file.
const PART_FIELDS: [&str; 7] = ["limit", "endLine", "end_line", "endLineNumberBaseZero", "view_range", "end", "lines"];

/// What the rules say about a call: the strongest objection, and every warning.
pub(super) fn judge(ctx: &Context<'_>, policy: &DelegationPolicy) -> HookAction {
    let Some(call) = ctx.call.filter(|call| ctx.ids.agent_id == MAIN_AGENT && call.kind != ToolKind::Agent) else {
        return HookAction::none();
    };
    let mut action = HookAction::none();
    let mut objection: Option<HookAction> = None;
    for rule in policy.rules.iter().filter(|rule| !is_satisfied(ctx, rule)) {
        if !applies(ctx, call, &rule.matches) {
            continue;
        }
        let reason = reason(rule);
        match rule.action.decision() {
            Some(decision) => {
                if ctx.is_excused(&rule.code()) {
                    continue;
                }
                if objection.as_ref().is_none_or(|found| found.decision < Some(decision)) {
                    objection = Some(HookAction::objection(decision, rule.code(), reason));
                }
            }
            None => action = action.with_warning(format!("{}: {reason}", rule.code())).with_context(NAME, reason),
        }
        if !is_on_record(ctx, rule) {
            let data = json!({"rule": rule.id, "action": rule.action.decision().map_or("warn", |d| d.as_str()),
                "subagent": rule.require.subagent, "tool": call.name});
            action = action.with_record(RecordType::RlmRequired, data);
        }
    }
    match objection {
        Some(found) => {
            HookAction { decision: found.decision, code: found.code, deny_reason: found.deny_reason, ..action }
        }
        None => action,
    }
}

fn reason(rule: &DelegationRule) -> String {
    let agents = rule.require.subagent.join(" or ");
    let message = if rule.message.is_empty() { "This work must be delegated." } else { rule.message.as_str() };
    format!(
        "{message} Start a subagent of type {agents} for it; the rule `{}` no longer applies once that subagent has delivered.",
        rule.id
    )
}

fn is_on_record(ctx: &Context<'_>, rule: &DelegationRule) -> bool {
    let same = |record: &&Record| {
        record.kind == RecordType::RlmRequired
            && record.work_id == ctx.ids.work_id
            && record.data.get("rule").and_then(Value::as_str) == Some(&rule.id)
    };
    ctx.session.tail().iter().any(|record| same(&record))
}

/// Whether everything the rule names holds; what costs most is looked at last.
fn applies(ctx: &Context<'_>, call: &ToolCall, rule: &RuleMatch) -> bool {
    let facts = CallFacts { tool: &call.name, kind: kind_name(call.kind), paths: relative_paths(ctx, call) };
    facts.fit(rule, &globs(rule))
        && rule.calls_per_turn_over.is_none_or(|limit| calls_in_turn(ctx, rule) + 1 > limit)
        && rule.bytes_over.is_none_or(|limit| is_larger(ctx, call, limit))
        && rule.command.as_deref().is_none_or(|pattern| command_matches(ctx, call, pattern))
}

/// What is known both of a call and of the record of one.
struct CallFacts<'c> {
    tool: &'c str,
    kind: &'c str,
    paths: Vec<String>,
}

impl CallFacts<'_> {
    fn fit(&self, rule: &RuleMatch, globs: &[Glob]) -> bool {
        let tool = rule.tools.as_ref().is_none_or(|tools| tools.iter().any(|tool| tool == self.tool));
        let kind =
            rule.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|kind| kind.eq_ignore_ascii_case(self.kind)));
        let path = || self.paths.iter().any(|path| globs.iter().any(|glob| glob.is_match(path)));
        tool && kind && (rule.paths.is_none() || path())
    }
}

fn globs(rule: &RuleMatch) -> Vec<Glob> {
    rule.paths.iter().flatten().filter_map(|glob| Glob::new(glob).ok()).collect()
}

fn relative_paths(ctx: &Context<'_>, call: &ToolCall) -> Vec<String> {
    call.paths.iter().filter_map(|path| ctx.paths.repo_relative(Path::new(&path.path))).collect()
}

/// The earlier calls of this turn by the main agent that fit what the log knows of a call.
fn calls_in_turn(ctx: &Context<'_>, rule: &RuleMatch) -> usize {
    let globs = globs(rule);
    let fits = |record: &&&Record| {
        let text = |field: &str| record.data.get(field).and_then(Value::as_str).unwrap_or_default();
        let paths = record.data.get("paths").and_then(Value::as_array).into_iter().flatten();
        let paths = paths.filter_map(|entry| ctx.paths.repo_relative(Path::new(entry.get("path")?.as_str()?)));
        let facts = CallFacts { tool: text("tool"), kind: text("kind"), paths: paths.collect() };
        record.kind == RecordType::ToolCall && record.agent_id == MAIN_AGENT && facts.fit(rule, &globs)
    };
    ctx.turn_records().iter().filter(fits).count()
}

/// Whether the input of the call, or a file that it reads as a whole, is larger.
fn is_larger(ctx: &Context<'_>, call: &ToolCall, limit_bytes: u64) -> bool {
    if text_bytes(&ctx.event.tool_input) > limit_bytes {
        return true;
    }
    let in_part =
        PART_FIELDS.iter().any(|field| ctx.event.tool_input.get(*field).is_some_and(|value| !value.is_null()));
    let reads = call.paths.iter().filter(|path| path.access == Access::Read && !path.glob);
    !in_part && reads.into_iter().any(|path| is_large_file(ctx, Path::new(&path.path), limit_bytes))
}

fn is_large_file(ctx: &Context<'_>, path: &Path, limit_bytes: u64) -> bool {
    let exists = ctx.session.modified_ms(path).is_some();
    let is_folder = || !ctx.session.list(path, 1).is_empty();
    exists && ctx.session.read(path, limit_bytes.min(SIZE_PROBE_LIMIT_BYTES)).is_none() && !is_folder()
}

/// The bytes of all texts in a value.
fn text_bytes(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(entries) => entries.iter().map(text_bytes).sum(),
        Value::Object(fields) => fields.values().map(text_bytes).sum(),
        _ => 0,
    }
}

/// The pattern is the user's: it is compiled only when everything else holds, within a size, and
/// takes linear time. It works on bytes, so that `.` and `\w` need no tables.
fn command_matches(ctx: &Context<'_>, call: &ToolCall, pattern: &str) -> bool {
    let Some(command) = &call.command else {
        return false;
    };
    match RegexBuilder::new(pattern).unicode(false).size_limit(PATTERN_LIMIT_BYTES).build() {
        Ok(regex) => regex.is_match(command.as_bytes()),
        Err(_) => {
            ctx.warn(format!("rlm-policy.json: the pattern `{pattern}` is invalid, so its rule does not apply"));
            false
        }
    }
}
