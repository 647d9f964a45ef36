//! What a module hands back: a value that says what it decided and what should be kept, never an effect.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::record::RecordType;

/// What a module says about a call. The order is the precedence: the stronger one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// No objection.
    #[default]
    Allow,
    /// The user must confirm.
    Ask,
    /// Not permitted.
    Deny,
}

impl Decision {
    /// The word that records and reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Everything a module can answer. All of it is optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HookAction {
    /// The decision; none is the same as no objection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// With no objection: answer the host's own permission prompt too. Only for a rule that says so.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    pub grant: bool,
    /// Why it is denied, or why the user is asked: one or two sentences for model and user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny_reason: Option<String>,
    /// A stable name for the reason, such as `UB01`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Stamps of ids and paths; only those of `session` count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_metadata: Option<Map<String, Value>>,
    /// The keys of the tool input to overwrite; only those of the rewrite owner count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Value>,
    /// Text the model should read.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub additional_context: Vec<ContextNote>,
    /// Text the user should read, where the host can show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// After a tool: what the model sees in place of its result. The first module that gives one counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_output: Option<Value>,
    /// Why the agent should stop altogether; a host that cannot stop refuses the call instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt: Option<String>,
    /// A merge patch of `state.json`: pointers that may be written twice, no lists and no counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_patch: Option<Value>,
    /// Records for `events.jsonl`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub emit_events: Vec<EmittedRecord>,
    /// Lines for `registry.jsonl`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub register_artifacts: Vec<Artifact>,
    /// Sentences for people; each becomes a `WARNING` record.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Numbers for the `HOOK_RUN` record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Map<String, Value>>,
    /// Files below the module's own output folder.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileWrite>,
}

impl HookAction {
    /// No opinion and nothing to keep.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// A refusal.
    #[must_use]
    pub fn deny(code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::objection(Decision::Deny, code, reason)
    }

    /// A question to the user.
    #[must_use]
    pub fn ask(code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::objection(Decision::Ask, code, reason)
    }

    /// A decision with its code and reason.
    #[must_use]
    pub fn objection(decision: Decision, code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { decision: Some(decision), code: Some(code.into()), deny_reason: Some(reason.into()), ..Self::default() }
    }

    /// Adds text for the model.
    #[must_use]
    pub fn with_context(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.additional_context.push(ContextNote { key: key.into(), value: value.into() });
        self
    }

    /// Adds a record.
    #[must_use]
    pub fn with_record(mut self, kind: RecordType, data: Value) -> Self {
        self.emit_events.push(EmittedRecord { kind, data });
        self
    }

    /// Sets the state patch.
    #[must_use]
    pub fn with_state(mut self, patch: Value) -> Self {
        self.state_patch = Some(patch);
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn with_file(mut self, file: FileWrite) -> Self {
        self.files.push(file);
        self
    }

    /// Adds a warning.
    #[must_use]
    pub fn with_warning(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }
}

/// Text for the model and what it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ContextNote {
    /// What it is about; not shown to the model.
    #[serde(default)]
    pub key: String,
    /// The text.
    #[serde(default, deserialize_with = "text_of_anything")]
    pub value: String,
}

/// A record as a module emits it; the pipeline adds ids and time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct EmittedRecord {
    /// What happened.
    #[serde(rename = "type")]
    pub kind: RecordType,
    /// The facts.
    pub data: Value,
}

impl<'de> Deserialize<'de> for EmittedRecord {
    /// `{type, data}`, or `{type, ...facts}` as a script may write it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let kind = match fields.remove("type") {
            Some(Value::String(name)) if !name.is_empty() => RecordType::from(name),
            _ => return Err(serde::de::Error::missing_field("type")),
        };
        let data = fields.remove("data").unwrap_or_else(|| Value::Object(std::mem::take(&mut fields)));
        Ok(Self { kind, data })
    }
}

/// Something a module made or checked, for `registry.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// What it is, such as `planGraph`.
    #[serde(default)]
    pub kind: String,
    /// Where it is, relative to the session's folder or the repository.
    pub path: String,
    /// SHA-256 of the content, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Size of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Anything else worth keeping.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A file below the module's own output folder, written by the pipeline after the decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileWrite {
    /// Relative to the output folder, with `/` between the parts.
    pub path: String,
    /// The content, redacted on its way to the disk.
    pub content: String,
    /// Whether it replaces the file or is added to it.
    #[serde(default)]
    pub mode: WriteMode,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// The content becomes the whole file, atomically.
    #[default]
    Replace,
    /// The content is added as whole lines, in one write.
    Append,
}

impl FileWrite {
    /// A file with this content.
    #[must_use]
    pub fn replace(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), content: content.into(), mode: WriteMode::Replace }
    }

    /// Lines at the end of a file.
    #[must_use]
    pub fn append(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), content: content.into(), mode: WriteMode::Append }
    }
}

/// `null` where a script means "nothing".
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn text_of_anything<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_action_of_a_script_is_read_with_nulls_and_loose_records() {
        let action: HookAction = serde_json::from_value(json!({
            "decision": "deny", "denyReason": "no", "warnings": null, "grant": null,
            "additionalContext": [{"key": "k", "value": {"a": 1}}],
            "emitEvents": [{"type": "NOTE", "x": 1}, {"type": "PROMPT", "data": {"y": 2}}],
        }))
        .expect("readable");
        assert_eq!(action.decision, Some(Decision::Deny));
        assert_eq!(action.additional_context[0].value, r#"{"a":1}"#);
        assert_eq!(action.emit_events[0].data, json!({"x": 1}));
        assert_eq!(action.emit_events[1], EmittedRecord { kind: RecordType::Prompt, data: json!({"y": 2}) });
    }

    #[test]
    fn an_empty_action_is_written_as_an_empty_object() {
        assert_eq!(serde_json::to_value(HookAction::none()).expect("serialisable"), json!({}));
    }

    #[test]
    fn deny_is_stronger_than_ask_is_stronger_than_allow() {
        assert!(Decision::Deny > Decision::Ask && Decision::Ask > Decision::Allow);
    }

    #[test]
    fn a_record_without_a_type_is_refused() {
        assert!(serde_json::from_value::<EmittedRecord>(json!({"data": 1})).is_err());
    }
}
