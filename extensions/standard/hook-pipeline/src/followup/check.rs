//! What can be wrong with a rule, and the message for it.
//!
//! Pure.

use dispatch_glob::GlobError;
use dispatch_hook_module::EventName;
use dispatch_hook_module::phase::{Phase, kind_name};
use dispatch_toolcall::ToolKind;
use serde_json::Value;

use super::{FollowupRule, NameList};

const MAX_ID_BYTES: usize = 64;
const MAX_INJECT_CHARS: usize = 10_000;
const MAX_PATTERN_BYTES: usize = 2_000;
const KINDS: [ToolKind; 8] = [
    ToolKind::Read,
    ToolKind::Search,
    ToolKind::Write,
    ToolKind::Execute,
    ToolKind::Fetch,
    ToolKind::Agent,
    ToolKind::Mcp,
    ToolKind::Other,
];

/// A rule that is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("followup rule `{rule}` is not used: {cause}")]
pub struct FollowupRuleFault {
    /// Its id, or its place in the file.
    pub rule: String,
    /// Why.
    #[source]
    pub cause: FollowupRuleProblem,
}

/// Why a rule is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FollowupRuleProblem {
    /// The file is not JSON.
    #[error("the file is not JSON ({0})")]
    NotJson(String),
    /// The file holds something other than an object.
    #[error("the file is not an object")]
    NotAnObject,
    /// The file has no list of rules.
    #[error("the file has no list `rules`")]
    NoRules,
    /// Only the first ones count.
    #[error("the file has more than {max} rules", max = super::MAX_RULES)]
    TooMany,
    /// A field is missing, unknown or of the wrong type.
    #[error("{0}")]
    Shape(String),
    /// The id has other characters than letters, digits, `.`, `_` and `-`, or is too long.
    #[error("`id` must be 1 to {MAX_ID_BYTES} letters, digits, `.`, `_` or `-`")]
    Id,
    /// An earlier rule has the same id.
    #[error("an earlier rule has the same id")]
    Duplicate,
    /// Reminders are given before and after tool calls only.
    #[error("`event` must be PreToolUse or PostToolUse, not `{0}`")]
    Event(String),
    /// The tool kind is unknown.
    #[error("unknown tool kind `{0}`")]
    Kind(String),
    /// The phase is unknown.
    #[error("unknown phase `{0}`")]
    Phase(String),
    /// A result is there only after a call.
    #[error("`result` needs `event` to be PostToolUse only")]
    ResultBeforeCall,
    /// There is nothing to say, or too much.
    #[error("`inject` must have 1 to {MAX_INJECT_CHARS} characters")]
    Inject,
    /// A pattern of paths does not compile.
    #[error("invalid path pattern `{pattern}`: {source}")]
    Path {
        /// The pattern.
        pattern: String,
        /// Why.
        #[source]
        source: GlobError,
    },
    /// A regular expression does not compile within its limits.
    #[error("invalid regular expression: {0}")]
    Pattern(String),
}

impl FollowupRuleFault {
    pub(super) fn of_file(cause: FollowupRuleProblem) -> Self {
        Self { rule: "*".to_owned(), cause }
    }
}

/// What a rule is called in messages, however broken it is.
pub(super) fn name_of(index: usize, entry: &Value) -> String {
    let id = entry.get("id").and_then(Value::as_str).filter(|id| is_id(id));
    id.map_or_else(|| format!("#{}", index + 1), str::to_owned)
}

/// What is wrong with a rule that has the right shape.
pub(super) fn cause(rule: &FollowupRule, earlier: &[FollowupRule]) -> Option<FollowupRuleProblem> {
    let when = &rule.when;
    if !is_id(&rule.id) {
        return Some(FollowupRuleProblem::Id);
    }
    if earlier.iter().any(|other| other.id == rule.id) {
        return Some(FollowupRuleProblem::Duplicate);
    }
    if rule.inject.trim().is_empty() || rule.inject.chars().count() > MAX_INJECT_CHARS {
        return Some(FollowupRuleProblem::Inject);
    }
    if when.event.is_empty() {
        return Some(FollowupRuleProblem::Event(String::new()));
    }
    let is_after = |name: &str| EventName::known(name) == Some(EventName::PostToolUse);
    let is_event = |name: &str| is_after(name) || EventName::known(name) == Some(EventName::PreToolUse);
    let unknown = |names: Option<&NameList>, known: &dyn Fn(&str) -> bool| {
        names.and_then(|names| names.iter().find(|name| !known(name)).map(str::to_owned))
    };
    let is_kind = |name: &str| KINDS.into_iter().any(|kind| kind_name(kind).eq_ignore_ascii_case(name));
    let long = |pattern: &Option<String>| pattern.as_ref().is_some_and(|text| text.len() > MAX_PATTERN_BYTES);
    unknown(Some(&when.event), &is_event)
        .map(FollowupRuleProblem::Event)
        .or_else(|| unknown(when.kinds.as_ref(), &is_kind).map(FollowupRuleProblem::Kind))
        .or_else(|| unknown(when.phase.as_ref(), &|name| Phase::named(name).is_some()).map(FollowupRuleProblem::Phase))
        .or_else(|| {
            (when.result.is_some() && !when.event.iter().all(is_after)).then_some(FollowupRuleProblem::ResultBeforeCall)
        })
        .or_else(|| {
            (long(&when.command) || long(&when.result))
                .then(|| FollowupRuleProblem::Pattern(format!("it is longer than {MAX_PATTERN_BYTES} bytes")))
        })
}

fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !id.is_empty() && id.len() <= MAX_ID_BYTES && id.bytes().all(plain)
}
