//! Fits arguments to the schema of a tool that is offered, so that only what is there is called.
//!
//! Pure.

use dispatch_contracts::tool::ToolSpec;
use serde_json::{Map, Value, json};

/// How deep a schema is followed.
const MAX_DEPTH: u32 = 6;

/// The first of these tools that is offered.
pub(super) fn offered<'a>(tools: &'a [ToolSpec], names: &[&str]) -> Option<&'a ToolSpec> {
    names.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name))
}

/// Arguments for a tool: each value under the first of its names that the schema has. `None` if a
/// value has no place or something required is left open.
pub(super) fn arguments(tool: &ToolSpec, values: &[(&[&str], &str)]) -> Option<Value> {
    let properties = tool.parameters.get("properties").and_then(Value::as_object)?;
    let mut arguments = Map::new();
    for (names, value) in values {
        let name = names.iter().find(|name| properties.contains_key(**name))?;
        arguments.insert((*name).to_owned(), json!(value));
    }
    let required = tool.parameters.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let has_all = required.iter().filter_map(Value::as_str).all(|name| arguments.contains_key(name));
    has_all.then_some(Value::Object(arguments))
}

/// Something that fits a schema, with `text` wherever free text may stand.
pub(super) fn filled(schema: &Value, text: &str) -> Value {
    fill(schema, text, 0)
}

fn fill(schema: &Value, text: &str, depth: u32) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    if let Some(fixed) = schema.get("const") {
        return fixed.clone();
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return choice(choices);
    }
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.as_array()?.first());
    if let Some(first) = alternatives {
        return fill(first, text, depth + 1);
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        Some(kind) => kind.as_str(),
        None if schema.get("properties").is_some() => Some("object"),
        None => None,
    };
    match kind {
        Some("object") => object(schema, text, depth),
        Some("array") => json!([fill(schema.get("items").unwrap_or(&Value::Null), text, depth + 1)]),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(false),
        Some("null") => Value::Null,
        _ => json!(text),
    }
}

/// What is required, and of the rest what plainly holds the text.
fn object(schema: &Value, text: &str, depth: u32) -> Value {
    const TEXT_NAMES: [&str; 6] = ["text", "content", "title", "items", "todos", "task"];
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_required = |name: &str| required.iter().any(|known| known.as_str() == Some(name));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let wanted = properties
        .filter(|(name, _)| is_required(name) || (required.is_empty() && TEXT_NAMES.contains(&name.as_str())));
    Value::Object(wanted.map(|(name, inner)| (name.clone(), fill(inner, text, depth + 1))).collect())
}

/// The choice that begins something new.
fn choice(choices: &[Value]) -> Value {
    const BEGINNINGS: [&str; 6] = ["add", "write", "set", "create", "pending", "open"];
    let begins = BEGINNINGS.iter().find_map(|word| choices.iter().find(|choice| choice.as_str() == Some(word)));
    begins.or(choices.first()).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(parameters: Value) -> ToolSpec {
        ToolSpec { name: "t".into(), description: String::new(), parameters, concurrency_safe: true }
    }

    #[test]
    fn values_go_where_the_schema_has_a_place() {
        let spec = tool(
            json!({ "type": "object", "properties": { "file_path": {}, "limit": {} }, "required": ["file_path"] }),
        );
        assert_eq!(arguments(&spec, &[(&["path", "file_path"], "a")]), Some(json!({ "file_path": "a" })));
        assert_eq!(arguments(&spec, &[(&["query"], "a")]), None);
        let more = tool(json!({ "properties": { "path": {}, "mode": {} }, "required": ["path", "mode"] }));
        assert_eq!(arguments(&more, &[(&["path"], "a")]), None, "something required is open");
        assert_eq!(arguments(&tool(Value::Null), &[]), None);
    }

    #[test]
    fn any_schema_is_filled() {
        let todo = json!({
            "type": "object",
            "properties": {
                "action": { "enum": ["list", "add"] },
                "items": { "type": "array", "items": {
                    "type": "object",
                    "properties": { "text": { "type": "string" }, "state": { "type": "string", "enum": ["done", "pending"] }, "note": { "type": "string" } },
                    "required": ["text", "state"],
                } },
            },
            "required": ["action", "items"],
        });
        assert_eq!(
            filled(&todo, "milk"),
            json!({ "action": "add", "items": [{ "text": "milk", "state": "pending" }] })
        );
        assert_eq!(filled(&json!({ "type": ["integer", "null"], "minimum": 3 }), "x"), json!(3));
        assert_eq!(filled(&json!({ "anyOf": [{ "type": "boolean" }] }), "x"), json!(false));
        assert_eq!(filled(&json!(true), "x"), json!("x"));
    }
}
