//! The MCP tools with their descriptions and arguments.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

/// A call with valid arguments.
#[derive(Debug, PartialEq)]
pub(super) enum McpCall {
    Select { intent_id: String },
    List,
    Status { intent_id: Option<String> },
    SubmitPlan { plan: Value, session: Option<String> },
    StartNode { node_id: String, session: Option<String> },
    CompleteNode { node_id: String, result: Option<String>, session: Option<String> },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IntentArguments {
    intent_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MaybeIntentArguments {
    intent_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanArguments {
    plan: Value,
    session: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeArguments {
    node_id: String,
    session: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultArguments {
    node_id: String,
    result: Option<String>,
    session: Option<String>,
}

impl McpCall {
    /// `Ok(None)` for an unknown tool, `Err` with a message for invalid arguments.
    pub(super) fn read(tool: &str, arguments: JsonObject) -> Result<Option<Self>, String> {
        Ok(Some(match tool {
            "select_active_intent" => {
                let IntentArguments { intent_id } = read(tool, arguments)?;
                Self::Select { intent_id }
            }
            "list_intents" => {
                let NoArguments {} = read(tool, arguments)?;
                Self::List
            }
            "intent_status" => {
                let MaybeIntentArguments { intent_id } = read(tool, arguments)?;
                Self::Status { intent_id }
            }
            "plan_submit" => {
                let PlanArguments { plan, session } = read(tool, arguments)?;
                Self::SubmitPlan { plan, session }
            }
            "plan_node_start" => {
                let NodeArguments { node_id, session } = read(tool, arguments)?;
                Self::StartNode { node_id, session }
            }
            "plan_node_complete" => {
                let ResultArguments { node_id, result, session } = read(tool, arguments)?;
                Self::CompleteNode { node_id, result, session }
            }
            _ => return Ok(None),
        }))
    }
}

fn read<T: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| format!("{tool}: invalid arguments: {error}"))
}

/// Whether a tool changes anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolEffect {
    Reads,
    Changes,
}

/// Every tool.
pub(super) fn all() -> Vec<Tool> {
    let intent_id =
        json!({"type": "string", "description": "The id of a declared intent, such as INT-001", "minLength": 1});
    let node_id = json!({"type": "string", "description": "The id of a node of the plan in force", "minLength": 1});
    let session = json!({
        "type": "string",
        "description": "Your session, by the id that the host uses or by its id in .ai/tmp; needed only if several are active",
        "minLength": 1,
    });
    vec![
        tool(
            "select_active_intent",
            "Select the intent that your task belongs to. Call this before you change any file: without an active intent \
             changes are refused, and with one only files that match its owned_scope globs may be changed. Returns the \
             intent: its scope, constraints, acceptance criteria, the files it has changed so far and its \
             most recent changes. Selecting another intent replaces the active one.",
            object(json!({ "intent_id": intent_id }), &["intent_id"]),
            ToolEffect::Changes,
        ),
        tool(
            "list_intents",
            "List the open intents of this workspace with their status and the globs of the files they own, so that you \
             can choose the one your task belongs to.",
            object(json!({}), &[]),
            ToolEffect::Reads,
        ),
        tool(
            "intent_status",
            "Show the state of an intent: status, scope, constraints, acceptance criteria, last activity and which \
             sessions work on it. Without intent_id: which intent each recent session works on.",
            object(json!({ "intent_id": intent_id }), &[]),
            ToolEffect::Reads,
        ),
        tool(
            "plan_submit",
            "Put a plan in force for the current session. Its nodes say which files each step may change; afterwards \
             start and complete them one by one.",
            object(json!({ "plan": plan_schema(), "session": session }), &["plan"]),
            ToolEffect::Changes,
        ),
        tool(
            "plan_node_start",
            "Begin work on a node of the plan in force. The nodes that it depends on must be completed.",
            object(json!({ "node_id": node_id, "session": session }), &["node_id"]),
            ToolEffect::Changes,
        ),
        tool(
            "plan_node_complete",
            "Complete a node that you started. Its validation commands are run first; if one fails the node is not \
             completed and its output is returned.",
            object(
                json!({
                    "node_id": node_id,
                    "result": {"type": "string", "description": "The result of the work, in a sentence"},
                    "session": session,
                }),
                &["node_id"],
            ),
            ToolEffect::Changes,
        ),
    ]
}

fn plan_schema() -> Value {
    let texts = |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
    json!({
        "type": "object",
        "description": "The plan",
        "required": ["version", "nodes"],
        "properties": {
            "version": {"type": "integer", "const": 1},
            "nodes": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["id", "title", "scope", "dependsOn"],
                    "properties": {
                        "id": {"type": "string", "description": "A short unique id, such as n1"},
                        "title": {"type": "string", "description": "What the step does"},
                        "scope": texts("Globs of the files that the step may change"),
                        "tools": texts("The tools that it may use; all if absent"),
                        "dependsOn": texts("Ids of nodes that must be completed before"),
                        "validations": texts("Shell commands that must succeed before the node counts as completed"),
                    },
                },
            },
        },
    })
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn tool(name: &'static str, description: &'static str, schema: Value, effect: ToolEffect) -> Tool {
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let reads = effect == ToolEffect::Reads;
    let hints = ToolAnnotations::new().read_only(reads).destructive(false).open_world(false);
    Tool::new(name, description, Arc::new(schema)).with_annotations(hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_description_and_refuses_unknown_arguments() {
        for tool in all() {
            let schema = Value::Object((*tool.input_schema).clone());
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            assert!(tool.description.is_some_and(|text| text.len() > 40));
            let mut arguments = JsonObject::new();
            for name in schema["required"].as_array().unwrap() {
                arguments.insert(name.as_str().unwrap().to_owned(), "x".into());
            }
            assert!(matches!(McpCall::read(&tool.name, arguments.clone()), Ok(Some(_))), "{}", tool.name);
            arguments.insert("more".to_owned(), 1.into());
            assert!(McpCall::read(&tool.name, arguments).unwrap_err().contains("more"), "{}", tool.name);
        }
        assert_eq!(McpCall::read("rm", JsonObject::new()), Ok(None));
        assert!(McpCall::read("select_active_intent", JsonObject::new()).unwrap_err().contains("intent_id"));
    }
}
