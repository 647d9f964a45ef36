//! The part of JSON Schema that policies use: types, required keys, properties, items, enumerations, least sizes.
//!
//! Pure.

use std::path::Component;

use dispatch_hook_module::Context;
use serde_json::Value;

const SCHEMA_LIMIT_BYTES: u64 = 256 * 1024;
const MAX_DEPTH: usize = 32;
const MAX_VIOLATIONS: usize = 20;

/// The schema itself, or the one of this name in the schema folder.
pub(super) fn resolve(ctx: &Context<'_>, schema: &Value) -> Option<Value> {
    let Value::String(name) = schema else {
        return Some(schema.clone());
    };
    let path = std::path::Path::new(name);
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let bytes = inside.then(|| ctx.session.read(&ctx.paths.schema_dir().join(path), SCHEMA_LIMIT_BYTES))??;
    serde_json::from_slice(&bytes).ok()
}

/// A schema in a few words, for the model.
pub(super) fn summary(ctx: &Context<'_>, schema: &Value) -> Option<String> {
    let schema = resolve(ctx, schema)?;
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("value");
    let keys = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let keys: Vec<&str> = keys.collect();
    Some(if keys.is_empty() { format!("one JSON {kind}") } else { format!("one JSON {kind} with {}", keys.join(", ")) })
}

/// Where a value is not what the schema says. Keywords that are not known say nothing.
pub(super) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, "", MAX_DEPTH, &mut found);
    found
}

fn check(schema: &Value, value: &Value, place: &str, depth: usize, found: &mut Vec<String>) {
    if depth == 0 || found.len() >= MAX_VIOLATIONS {
        return;
    }
    let at = if place.is_empty() { "the document" } else { place };
    if *schema == Value::Bool(false) {
        found.push(format!("{at} is not allowed"));
    }
    if let Some(wanted) = schema.get("type") {
        let names: Vec<&str> = match wanted {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().into_iter().collect(),
        };
        if !names.is_empty() && !names.iter().any(|name| is_type(value, name)) {
            found.push(format!("{at} must be {}", names.join(" or ")));
            return;
        }
    }
    if schema.get("const").is_some_and(|wanted| wanted != value) {
        found.push(format!("{at} must be {}", schema["const"]));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        found.push(format!("{at} must be one of {}", Value::Array(allowed.clone())));
    }
    sizes(schema, value, at, found);
    members(schema, value, place, depth, found);
}

fn sizes(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
    let length = match value {
        Value::String(text) => Some((text.chars().count() as u64, "minLength", "maxLength")),
        Value::Array(entries) => Some((entries.len() as u64, "minItems", "maxItems")),
        Value::Object(fields) => Some((fields.len() as u64, "minProperties", "maxProperties")),
        _ => None,
    };
    if let Some((length, least, most)) = length {
        if let Some(limit) = limit(least).filter(|limit| length < *limit) {
            found.push(format!("{at} must have at least {limit}"));
        }
        if let Some(limit) = limit(most).filter(|limit| length > *limit) {
            found.push(format!("{at} must have at most {limit}"));
        }
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            found.push(format!("{at} must be at least {least}"));
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            found.push(format!("{at} must be at most {most}"));
        }
    }
}

fn members(schema: &Value, value: &Value, place: &str, depth: usize, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            for name in required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
                found.push(format!("{place}.{name} is missing"));
            }
            let known = schema.get("properties").and_then(Value::as_object);
            for (name, inner) in fields {
                let place = format!("{place}.{name}");
                match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
                    (Some(schema), _) | (None, Some(schema)) => check(schema, inner, &place, depth - 1, found),
                    (None, None) => {}
                }
            }
        }
        Value::Array(entries) => {
            if let Some(schema) = schema.get("items") {
                for (index, inner) in entries.iter().enumerate() {
                    check(schema, inner, &format!("{place}[{index}]"), depth - 1, found);
                }
            }
        }
        _ => {}
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}
