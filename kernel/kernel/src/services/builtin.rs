//! The settings that Dispatch itself knows: their schema, their defaults, and how they are read.

use super::config::Layer;
use super::config::tree;
use dispatch_contracts::limits::{DispatchPolicy, TurnLimits};
use dispatch_contracts::permission::PermissionRule;
use dispatch_contracts::ports::Level;
use dispatch_contracts::settings::{Origin, Settings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

#[cfg(test)]
mod tests;

/// What a project's file must not decide before its owner trusted the project: where prompts and
/// keys are sent, what is allowed, what is hidden, what runs. For [`Layer::withhold`].
pub const NEEDS_TRUST: [&str; 11] = [
    "model.provider",
    "model.base_url",
    "model.headers",
    "storage",
    "permissions",
    "policy",
    "redact",
    "extensions",
    "grants",
    "route",
    "channels",
];

/// The greatest limit that can be set, so that a limit fits a 32-bit machine too.
const MAX_LIMIT: u32 = u32::MAX;

/// The schema of all settings; the tables of extensions are checked by their own.
pub fn builtin_schema() -> Value {
    table(json!({
        "model": table(json!({
            "provider": { "type": "string", "minLength": 1, "description": "Which model provider answers." },
            "model": { "type": "string", "minLength": 1, "description": "Which of its models." },
            "fallbacks": {
                "type": "array", "items": { "type": "string", "minLength": 1 },
                "description": "Models to try, in order, when the first cannot answer."
            },
            "base_url": { "type": "string", "minLength": 1, "description": "Where the provider is reached." },
            "headers": {
                "type": "object", "additionalProperties": { "type": "string" },
                "description": "Sent with every request; not the place for keys."
            },
            "options": { "type": "object", "description": "Passed to the provider as it is." }
        })),
        "tool_dispatch": table(json!({
            "max_concurrent": {
                "type": "integer", "minimum": 0, "maximum": u32::MAX,
                "description": "How many tool calls run at once: 0 for no limit, 1 for one after the other."
            },
            "eager": {
                "type": "boolean",
                "description": "Whether a call starts when it arrives, or when the model has finished speaking."
            }
        })),
        "limits": table(Value::Object(limits_schema())),
        "storage": table(json!({
            "url": {
                "type": "string", "minLength": 1,
                "description": "Where data is stored: sqlite:PATH, postgres://USER@HOST/DATABASE, or memory: to keep it only while the program runs."
            }
        })),
        "compaction": table(json!({
            "at": {
                "type": "number", "minimum": 0.1, "maximum": 1,
                "description": "Which part of the model's window a request may take before the history is summarised."
            },
            "keep": {
                "type": "integer", "minimum": 0, "maximum": 1000,
                "description": "How many of the last turns are not summarised, if they fit."
            },
            "window": {
                "type": "integer", "minimum": 256, "maximum": MAX_LIMIT,
                "description": "How many tokens fit the model, if its server does not say."
            }
        })),
        "route": table(json!({
            "owners": {
                "type": "array", "items": { "type": "string", "minLength": 3 }, "uniqueItems": true,
                "description": "Identities of the owner, as CHANNEL:ID; their events get full permissions."
            },
            "webhooks": {
                "type": "object", "additionalProperties": webhook_schema(),
                "description": "Webhooks by name; each is served at /v1/hooks/NAME."
            }
        })),
        "channels": {
            "type": "object",
            "additionalProperties": { "type": "object", "additionalProperties": { "type": "object" } },
            "description": "Accounts of channels, as [channels.CHANNEL.ACCOUNT]; the channel's adapter checks them."
        },
        "log": table(json!({
            "level": { "enum": ["debug", "info", "warn", "error"], "description": "The lowest level that is logged." }
        })),
        "permissions": table(json!({ "rules": { "type": "array", "items": rule_schema() } })),
        "policy": table(json!({
            "confirm": {
                "enum": ["terminal", "none"],
                "description": "Whether commands that change policy ask at a terminal; counts in the user's own file only."
            }
        })),
        "redact": table(json!({
            "patterns": { "type": "array", "items": pattern_schema() },
            "allow": {
                "type": "array", "items": { "type": "string" },
                "description": "Texts that look like secrets but are not."
            }
        })),
        "grants": {
            "type": "object",
            "additionalProperties": table(json!({
                "capabilities": {
                    "type": "array", "uniqueItems": true,
                    "items": { "enum": ["fs", "shell", "network", "secrets", "db", "spawn", "observe"] },
                    "description": "What the extension may use, of what its manifest asks for."
                }
            })),
            "description": "What extensions that do not ship with the program may use, as [grants.ID]."
        },
        "extensions": {
            "type": "object",
            "properties": {
                "disabled": {
                    "type": "array", "items": { "type": "string" }, "uniqueItems": true,
                    "description": "Ids of extensions that are switched off."
                }
            },
            "additionalProperties": { "type": "object" }
        }
    }))
}

/// The values of settings that are not set.
pub fn builtin_defaults() -> Value {
    json!({
        "tool_dispatch": snake(&DispatchPolicy::default()),
        "limits": snake(&TurnLimits::default()),
        "compaction": { "at": 0.8, "keep": 4 },
        "log": { "level": Level::Info },
        "permissions": { "rules": [] },
        "policy": { "confirm": "terminal" },
        "redact": { "patterns": [], "allow": [] },
        "extensions": { "disabled": [] }
    })
}

/// The weakest layer.
pub fn builtin_layer() -> Layer {
    Layer::new(Origin::BuiltIn, builtin_defaults())
}

/// The bounds of a turn.
pub fn turn_limits(settings: &Settings) -> TurnLimits {
    read_section(settings, "limits").unwrap_or_default()
}

/// How tool calls are started.
pub fn dispatch_policy(settings: &Settings) -> DispatchPolicy {
    read_section(settings, "tool_dispatch").unwrap_or_default()
}

/// The permission rules; unreadable ones leave every question to a person.
pub fn permission_rules(settings: &Settings) -> Vec<PermissionRule> {
    settings.read("permissions.rules").unwrap_or_default()
}

/// The least level that is logged.
pub fn log_level(settings: &Settings) -> Level {
    settings.read("log.level").unwrap_or(Level::Info)
}

fn table(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn limits_schema() -> Map<String, Value> {
    let limit = |name: String| {
        // A grace of nothing is a choice; any other limit of 0 would stop every turn.
        let minimum = u32::from(name != "cancel_grace_ms");
        (name, json!({ "type": "integer", "minimum": minimum, "maximum": MAX_LIMIT }))
    };
    snake(&TurnLimits::default()).into_iter().map(|(name, _)| limit(name)).collect()
}

fn rule_schema() -> Value {
    let mut schema = table(json!({
        "permission": { "type": "string" },
        "target": { "type": "string" },
        "verdict": { "enum": ["allow", "ask", "deny"] },
        "reason": { "type": "string" }
    }));
    schema["required"] = json!(["permission", "verdict"]);
    schema
}

fn webhook_schema() -> Value {
    let mut schema = table(json!({
        "signature": {
            "enum": ["standard", "github", "slack", "hmac", "none"],
            "description": "How a sender signs: Standard Webhooks, GitHub, Slack, plain HMAC-SHA-256, or not at all."
        },
        "secrets": {
            "type": "array", "items": { "type": "string", "minLength": 1 },
            "description": "The secrets of the signature, each as env:VARIABLE, file:PATH, or itself. Several while one is replaced."
        },
        "header": {
            "type": "string", "minLength": 1,
            "description": "The header with a plain HMAC; X-Signature-256 if not set."
        },
        "tolerance_s": {
            "type": "integer", "minimum": 1, "maximum": 86400,
            "description": "How old a signed time may be; 300 if not set."
        },
        "reply_url": {
            "type": "string", "minLength": 1,
            "description": "Where replies are posted, signed with the first secret; without it replies are not sent."
        }
    }));
    schema["required"] = json!(["signature"]);
    schema
}

fn pattern_schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let mut schema = table(json!({ "name": text, "regex": text }));
    schema["required"] = json!(["name", "regex"]);
    schema
}

/// The fields of a value under the spelling that settings use.
fn snake(value: &impl Serialize) -> Map<String, Value> {
    let fields = serde_json::to_value(value).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default();
    fields.into_iter().map(|(name, value)| (snake_name(&name), value)).collect()
}

fn read_section<T: DeserializeOwned>(settings: &Settings, section: &str) -> Option<T> {
    let Value::Object(values) = tree(&settings.section(section)) else { return None };
    let fields = values.into_iter().map(|(name, value)| (camel_name(&name), value)).collect();
    serde_json::from_value(Value::Object(fields)).ok()
}

fn snake_name(name: &str) -> String {
    name.chars().fold(String::new(), |mut snake, c| {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
        snake
    })
}

fn camel_name(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut camel, word| {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        camel.extend(letters);
        camel
    })
}
