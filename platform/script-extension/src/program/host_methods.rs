//! What a program may ask of the host: each method with its parameters, in the order in which the host takes them.
//!
//! Pure.

use serde_json::{Map, Value};

/// Which call of the host a question belongs to; every method has it.
pub(crate) const CALL: &str = "call";

/// A parameter and, as JSON, what stands for it when it is left out; it may not be where that is empty.
type Parameter = (&'static str, &'static str);

/// The methods that the questions of an extension in TypeScript are, too.
pub(crate) const HOST_METHODS: [(&str, &[Parameter]); 20] = [
    ("log", &[("level", "\"info\""), ("message", ""), ("fields", "{}")]),
    ("output", &[("text", "")]),
    ("model.event", &[("event", "")]),
    ("permissions.check", &[("permission", ""), ("target", "\"*\"")]),
    ("storage.get", &[("namespace", ""), ("key", "")]),
    ("storage.set", &[("namespace", ""), ("key", ""), ("value", "")]),
    ("storage.delete", &[("namespace", ""), ("key", "")]),
    ("storage.list", &[("namespace", ""), ("prefix", "\"\"")]),
    ("storage.sql", &[("namespace", ""), ("statement", ""), ("parameters", "[]")]),
    ("secrets.get", &[("name", "")]),
    ("secrets.set", &[("name", ""), ("value", "")]),
    ("secrets.delete", &[("name", "")]),
    ("files.read", &[("path", "")]),
    ("files.write", &[("path", ""), ("content", "")]),
    ("files.list", &[("path", "\".\"")]),
    ("fetch", &[("url", ""), ("method", "\"GET\""), ("headers", "{}"), ("body", "null"), ("stream", "false")]),
    ("fetch.read", &[("handle", "")]),
    ("fetch.close", &[("handle", "")]),
    ("events.emit", &[("event", ""), ("payload", "null")]),
    ("service.call", &[("service", ""), ("method", ""), ("args", "[]")]),
];

/// The arguments of a question, in the host's order.
pub(crate) fn arguments(method: &str, params: &Map<String, Value>) -> Result<Vec<Value>, String> {
    let known = HOST_METHODS.iter().find(|(name, _)| *name == method);
    let Some((_, parameters)) = known else { return Err(format!("unknown method `{method}`")) };
    let is_known = |given: &str| given == CALL || parameters.iter().any(|(name, _)| *name == given);
    if let Some(unknown) = params.keys().find(|given| !is_known(given)) {
        return Err(format!("`{method}` has no parameter `{unknown}`"));
    }
    let argument = |(name, default): &Parameter| match params.get(*name) {
        Some(given) => Ok(given.clone()),
        None => serde_json::from_str(default).map_err(|_| format!("`{method}` needs the parameter `{name}`")),
    };
    let arguments: Vec<Value> = parameters.iter().map(argument).collect::<Result<_, _>>()?;
    if method == "permissions.check" {
        let names = parameters.iter().map(|(name, _)| (*name).to_owned());
        return Ok(vec![Value::Object(names.zip(arguments).collect())]);
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(method: &str, params: Value) -> Result<Vec<Value>, String> {
        arguments(method, params.as_object().unwrap())
    }

    #[test]
    fn parameters_go_by_name_and_have_defaults() {
        assert_eq!(
            asked("storage.get", json!({ "key": "k", "namespace": "n", "call": 3 })),
            Ok(vec!["n".into(), "k".into()])
        );
        assert_eq!(
            asked("fetch", json!({ "url": "u" })).unwrap(),
            [json!("u"), json!("GET"), json!({}), json!(null), json!(false)]
        );
        let permission = json!({ "permission": "edit", "target": "*" });
        assert_eq!(asked("permissions.check", json!({ "permission": "edit" })), Ok(vec![permission]));
        assert_eq!(
            asked("storage.get", json!({ "key": "k" })).unwrap_err(),
            "`storage.get` needs the parameter `namespace`"
        );
        assert_eq!(
            asked("files.read", json!({ "path": "a", "pth": "b" })).unwrap_err(),
            "`files.read` has no parameter `pth`"
        );
        assert_eq!(asked("files.eat", json!({})).unwrap_err(), "unknown method `files.eat`");
    }

    #[test]
    fn the_manual_names_every_method_with_its_parameters() {
        let manual = include_str!("../../../../docs/extension-protocol.md");
        for (method, parameters) in HOST_METHODS {
            let names: Vec<String> = parameters.iter().map(|(name, _)| format!("`{name}`")).collect();
            let row = format!("| `{method}` | {} |", names.join(", "));
            assert!(manual.contains(&row), "docs/extension-protocol.md has no row {row}");
        }
    }
}
