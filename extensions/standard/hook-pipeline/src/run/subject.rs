//! What a `HOOK_RUN` record keeps of its event, so that the event can be judged again later.

use dispatch_hook_dialects::dialect;
use dispatch_hook_module::{EventName, HookEvent, Record, RecordType};
use serde_json::{Map, Value, json};

/// A longer text is cut.
const TEXT_LIMIT_BYTES: usize = 2 * 1024;
/// More of an input is left out altogether.
const INPUT_LIMIT_BYTES: usize = 12 * 1024;
const MAX_ITEMS: usize = 64;
const MAX_DEPTH: usize = 12;

/// The parts of an event that decide about it.
pub(super) fn subject_of(event: &HookEvent) -> Value {
    let (input, whole) = shortened(&event.tool_input);
    let mut fields = Map::new();
    let texts = [
        ("hostEvent", Some(&event.host_event)),
        ("toolName", event.tool_name.as_ref()),
        ("mcpServer", event.mcp_server.as_ref()),
        ("toolUseId", event.tool_use_id.as_ref()),
        ("cwd", event.cwd.as_ref()),
        ("agentId", event.agent_id.as_ref()),
        ("agentType", event.agent_type.as_ref()),
        ("source", event.source.as_ref()),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            fields.insert(name.to_owned(), text.as_str().into());
        }
    }
    if !event.tool_input.is_null() {
        fields.insert("toolInput".to_owned(), input);
    }
    if !whole {
        fields.insert("cut".to_owned(), true.into());
    }
    Value::Object(fields)
}

/// The event of a `HOOK_RUN` record, and whether all of it was kept.
#[must_use]
pub fn event_of(record: &Record) -> Option<(HookEvent, bool)> {
    if record.kind != RecordType::HookRun {
        return None;
    }
    let dialect = dialect::by_name(record.data.get("host")?.as_str()?)?;
    let subject = record.data.get("subject")?;
    let text = |name: &str| subject.get(name).and_then(Value::as_str).map(str::to_owned);
    let name = EventName::known(&record.event).unwrap_or_else(|| EventName::Other(record.event.clone()));
    let mut event = HookEvent::new(name, dialect.id(), text("hostEvent").unwrap_or_default(), Value::Null);
    event.tool_table = dialect.tool_table(&event.host_event);
    event.tool_name = text("toolName");
    event.mcp_server = text("mcpServer");
    event.tool_use_id = text("toolUseId");
    event.tool_input = subject.get("toolInput").cloned().unwrap_or_default();
    event.cwd = text("cwd");
    event.agent_id = text("agentId");
    event.agent_type = text("agentType");
    event.source = text("source");
    Some((event, subject.get("cut").is_none()))
}

/// The value with long texts cut, and whether nothing was lost.
fn shortened(value: &Value) -> (Value, bool) {
    let mut whole = true;
    let short = shorten(value, 0, &mut whole);
    if short.to_string().len() <= INPUT_LIMIT_BYTES { (short, whole) } else { (json!(null), false) }
}

fn shorten(value: &Value, depth: usize, whole: &mut bool) -> Value {
    match value {
        Value::String(text) if text.len() > TEXT_LIMIT_BYTES => {
            *whole = false;
            let end = text.floor_char_boundary(TEXT_LIMIT_BYTES);
            text.get(..end).unwrap_or_default().into()
        }
        Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => {
            *whole = false;
            Value::Null
        }
        Value::Array(items) => {
            *whole &= items.len() <= MAX_ITEMS;
            items.iter().take(MAX_ITEMS).map(|item| shorten(item, depth + 1, whole)).collect()
        }
        Value::Object(fields) => {
            *whole &= fields.len() <= MAX_ITEMS;
            let kept = fields.iter().take(MAX_ITEMS);
            Value::Object(kept.map(|(key, item)| (key.clone(), shorten(item, depth + 1, whole))).collect())
        }
        other => other.clone(),
    }
}
