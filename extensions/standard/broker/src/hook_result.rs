//! What a routing hook returns, read strictly: a misspelt field must not become a default.
//!
//! Pure.

use crate::permission_set::{PermissionLevel, PermissionSet};
use dispatch_contracts::suggest::nearest;
use ext_event_ledger::contract::DeliveryContext;
use ext_session_orchestrator::contract::Mode;
use serde_json::{Map, Value};

/// The longest name of a persona, a session, a channel or a peer.
const MAX_NAME_CHARS: usize = 1_000;
/// The longest text that a hook adds to the system prompt.
const MAX_PROMPT_CHARS: usize = 32_000;
/// The most patterns in one list.
const MAX_PATTERNS: usize = 200;

/// A hook's result.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HookResult {
    pub(crate) fires: bool,
    pub(crate) persona: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) mode: Option<Mode>,
    pub(crate) permissions: Option<PermissionSet>,
    pub(crate) delivery: Option<DeliveryContext>,
    pub(crate) system_prompt: Option<String>,
    pub(crate) extracted: Option<Map<String, Value>>,
    pub(crate) include_thread_history: Option<bool>,
    pub(crate) disables_hook: bool,
}

/// What a result breaks, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub(crate) struct InvalidResult {
    /// The path of the field, for example `routing.queueMode`; `result` for the whole.
    pub(crate) path: String,
    pub(crate) problem: String,
}

/// Reads a result; `None` where the hook has nothing to say.
pub(crate) fn read_result(value: &Value) -> Result<Option<HookResult>, InvalidResult> {
    if value.is_null() {
        return Ok(None);
    }
    let fields =
        Fields::of("", value, &["fire", "routing", "permissions", "deliveryContext", "context", "disableHook"])?;
    let fires = fields.flag("fire")?.ok_or_else(|| invalid("fire", "it is missing; return `true` or `false`"))?;
    let mut result =
        HookResult { fires, disables_hook: fields.flag("disableHook")?.unwrap_or(false), ..HookResult::default() };
    if let Some(routing) = fields.object("routing", &["persona", "session", "queueMode"])? {
        result.persona = routing.name("persona")?;
        result.session = routing.name("session")?;
        result.mode = routing.name("queueMode")?.map(|word| mode(&word)).transpose()?;
    }
    if let Some(permissions) = fields.object("permissions", &["level", "tools", "credentials"])? {
        result.permissions = Some(permission_set(&permissions)?);
    }
    let delivery = ["channel", "accountId", "peerId", "threadId", "replyToId"];
    if let Some(delivery) = fields.object("deliveryContext", &delivery)? {
        result.delivery = Some(DeliveryContext {
            channel: delivery.required_name("channel")?,
            account_id: delivery.name("accountId")?,
            peer_id: delivery.name("peerId")?,
            thread_id: delivery.name("threadId")?,
            reply_to_id: delivery.name("replyToId")?,
        });
    }
    if let Some(context) = fields.object("context", &["systemPrompt", "extracted", "includeThreadHistory"])? {
        result.system_prompt = context.text("systemPrompt", MAX_PROMPT_CHARS)?;
        result.extracted = context.map("extracted")?;
        result.include_thread_history = context.flag("includeThreadHistory")?;
    }
    Ok(Some(result))
}

fn permission_set(permissions: &Fields<'_>) -> Result<PermissionSet, InvalidResult> {
    let word = permissions.required_name("level")?;
    let known = PermissionLevel::WORDS.iter().find(|(name, _)| *name == word);
    let Some((_, level)) = known else {
        let words = PermissionLevel::WORDS.map(|(name, _)| name).join(", ");
        return Err(invalid("permissions.level", &format!("`{word}` is not one of {words}")));
    };
    let mut set = PermissionSet::of_level(*level);
    if let Some(tools) = permissions.object("tools", &["allow", "deny"])? {
        if let Some(allow) = tools.names("allow")? {
            set.allow = allow;
        }
        set.deny = tools.names("deny")?.unwrap_or_default();
    }
    if let Some(credentials) = permissions.names("credentials")? {
        set.credentials = credentials;
    }
    Ok(set)
}

fn mode(word: &str) -> Result<Mode, InvalidResult> {
    match word {
        "steer" => Ok(Mode::Steer),
        "followup" => Ok(Mode::Followup),
        "collect" => Ok(Mode::Collect),
        "interrupt" => Ok(Mode::Interrupt),
        other => {
            let problem = format!("`{other}` is not one of steer, followup, collect, interrupt");
            Err(invalid("routing.queueMode", &problem))
        }
    }
}

fn invalid(path: &str, problem: &str) -> InvalidResult {
    let path = if path.is_empty() { "result" } else { path };
    InvalidResult { path: path.to_owned(), problem: problem.to_owned() }
}

/// An object whose keys are known.
struct Fields<'a> {
    path: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn of(path: &str, value: &'a Value, known: &[&str]) -> Result<Self, InvalidResult> {
        let Some(fields) = value.as_object() else {
            return Err(invalid(path, &format!("it is {}, not an object", kind(value))));
        };
        let own = Self { path: path.to_owned(), fields };
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(own),
            Some(key) => {
                let hint = nearest(key, known.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
                Err(invalid(&own.at(key), &format!("unknown field{}", hint.unwrap_or_default())))
            }
        }
    }

    fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of a field; `undefined` and `null` are nothing.
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, InvalidResult> {
        let flag = |value: &Value| value.as_bool().ok_or_else(|| self.wrong(key, value, "true or false"));
        self.value(key).map(flag).transpose()
    }

    fn text(&self, key: &str, limit: usize) -> Result<Option<String>, InvalidResult> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| self.wrong(key, value, "a string"))?;
        if text.chars().count() > limit {
            return Err(invalid(&self.at(key), &format!("it is longer than {limit} characters")));
        }
        Ok(Some(text.to_owned()))
    }

    fn name(&self, key: &str) -> Result<Option<String>, InvalidResult> {
        let name = self.text(key, MAX_NAME_CHARS)?;
        match name {
            Some(name) if name.trim().is_empty() => Err(invalid(&self.at(key), "it is empty")),
            other => Ok(other),
        }
    }

    fn required_name(&self, key: &str) -> Result<String, InvalidResult> {
        self.name(key)?.ok_or_else(|| invalid(&self.at(key), "it is missing"))
    }

    fn names(&self, key: &str) -> Result<Option<Vec<String>>, InvalidResult> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let list = value.as_array().ok_or_else(|| self.wrong(key, value, "a list of strings"))?;
        if list.len() > MAX_PATTERNS {
            return Err(invalid(&self.at(key), &format!("it has more than {MAX_PATTERNS} entries")));
        }
        let name = |(at, value): (usize, &Value)| {
            let path = format!("{}[{at}]", self.at(key));
            let text = value.as_str().ok_or_else(|| invalid(&path, &format!("it is {}, not a string", kind(value))))?;
            if text.is_empty() { Err(invalid(&path, "it is empty")) } else { Ok(text.to_owned()) }
        };
        list.iter().enumerate().map(name).collect::<Result<_, _>>().map(Some)
    }

    fn map(&self, key: &str) -> Result<Option<Map<String, Value>>, InvalidResult> {
        let map = |value: &Value| value.as_object().cloned().ok_or_else(|| self.wrong(key, value, "an object"));
        self.value(key).map(map).transpose()
    }

    fn object(&self, key: &str, known: &[&str]) -> Result<Option<Fields<'a>>, InvalidResult> {
        self.value(key).map(|value| Fields::of(&self.at(key), value, known)).transpose()
    }

    fn wrong(&self, key: &str, value: &Value, wanted: &str) -> InvalidResult {
        invalid(&self.at(key), &format!("it is {}, not {wanted}", kind(value)))
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_whole_result_is_read() {
        let value = json!({
            "fire": true,
            "routing": { "persona": "atlas", "session": "family:mom", "queueMode": "collect" },
            "permissions": { "level": "restricted", "tools": { "allow": ["read_*"], "deny": ["run_*"] }, "credentials": ["weather"] },
            "deliveryContext": { "channel": "imessage", "peerId": "+1", "replyToId": "imessage:1" },
            "context": { "systemPrompt": "Be short.", "extracted": { "code": "123456" }, "includeThreadHistory": false },
            "disableHook": true
        });
        let read = read_result(&value).unwrap().unwrap();
        assert!(read.fires && read.disables_hook);
        assert_eq!((read.persona.as_deref(), read.session.as_deref()), (Some("atlas"), Some("family:mom")));
        assert_eq!(read.mode, Some(Mode::Collect));
        let permissions = read.permissions.unwrap();
        assert_eq!((permissions.allow, permissions.deny), (vec!["read_*".to_owned()], vec!["run_*".to_owned()]));
        assert_eq!(permissions.credentials, ["weather"]);
        assert_eq!(read.delivery.unwrap().peer_id.as_deref(), Some("+1"));
        assert_eq!(read.extracted.unwrap()["code"], "123456");
        assert_eq!((read.system_prompt.as_deref(), read.include_thread_history), (Some("Be short."), Some(false)));
        assert_eq!(read_result(&Value::Null), Ok(None));
        assert_eq!(read_result(&json!({"fire": false})).unwrap().unwrap(), HookResult::default());
    }

    #[test]
    fn what_is_wrong_is_named_by_its_path() {
        for (value, expected) in [
            (json!(5), "result: it is a number, not an object"),
            (json!({}), "fire: it is missing; return `true` or `false`"),
            (json!({"fire": 1}), "fire: it is a number, not true or false"),
            (json!({"fire": true, "permission": {}}), "permission: unknown field; did you mean `permissions`?"),
            (json!({"fire": true, "routing": {"queueMode": "later"}}), "routing.queueMode: `later` is not one of"),
            (json!({"fire": true, "routing": {"session": ""}}), "routing.session: it is empty"),
            (json!({"fire": true, "routing": "main"}), "routing: it is a string, not an object"),
            (json!({"fire": true, "permissions": {}}), "permissions.level: it is missing"),
            (json!({"fire": true, "permissions": {"level": "root"}}), "permissions.level: `root` is not one of"),
            (
                json!({"fire": true, "permissions": {"level": "full", "tools": {"allow": ["a", 1]}}}),
                "permissions.tools.allow[1]: it is a number, not a string",
            ),
            (
                json!({"fire": true, "permissions": {"level": "full", "credentials": ["mail", 1]}}),
                "permissions.credentials[1]: it is a number, not a string",
            ),
            (json!({"fire": true, "deliveryContext": {"peerId": "x"}}), "deliveryContext.channel: it is missing"),
            (json!({"fire": true, "context": {"extracted": []}}), "context.extracted: it is a list, not an object"),
        ] {
            let error = read_result(&value).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{value}: {error}");
        }
    }
}
