//! The tools with which our own agent finds and selects its intent. The hook pipeline sees the call and binds the session.

use std::path::Path;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::tool::{Effect, Resources, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, read_arguments};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::call_targets::SELECT_TOOL;
use crate::intent::IntentSpec;
use crate::intent_file::{IntentFileState, LoadedIntents};
use crate::intent_workspace::IntentWorkspace;

const LIST_TOOL: &str = "list_intents";
/// The most intents in a list.
const MAX_LISTED: usize = 200;

/// `select_active_intent`.
pub(crate) struct SelectIntentTool {
    spec: ToolSpec,
}

/// `list_intents`.
pub(crate) struct ListIntentsTool {
    spec: ToolSpec,
}

impl SelectIntentTool {
    pub(crate) fn new() -> Self {
        let description = "Selects the intent that your task belongs to. In a workspace with intents, call this before you \
                           change any file: afterwards only files that match its owned_scope globs may be changed. Returns \
                           its scope, constraints, acceptance criteria and most recent changes.";
        let parameters = json!({
            "type": "object",
            "properties": {
                "intent_id": {"type": "string", "minLength": 1, "description": "The id of a declared intent, such as INT-001."}
            },
            "required": ["intent_id"],
            "additionalProperties": false
        });
        let spec = ToolSpec {
            name: SELECT_TOOL.to_owned(),
            description: description.to_owned(),
            parameters,
            concurrency_safe: false,
        };
        Self { spec }
    }
}

impl ListIntentsTool {
    pub(crate) fn new() -> Self {
        let description =
            "Lists the open intents of this workspace with their status and the globs of the files they own.";
        let parameters = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let spec = ToolSpec {
            name: LIST_TOOL.to_owned(),
            description: description.to_owned(),
            parameters,
            concurrency_safe: true,
        };
        Self { spec }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SelectArguments {
    intent_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {}

impl Tool for SelectIntentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn resources(&self, _: &Map<String, Value>) -> Resources {
        Resources::Keys(vec![SELECT_TOOL.to_owned()])
    }

    fn effect(&self, _: &Map<String, Value>) -> Effect {
        // It narrows what may be changed, and changes nothing.
        Effect::Looks
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let SelectArguments { intent_id } = read_arguments(arguments)?;
            let (workspace, intents) = declared(&context.workdir)?;
            match intents.intent(&intent_id).filter(|intent| intent.status.is_open()) {
                Some(intent) => Ok(ToolOutput::text(workspace.context_of(intent).text)),
                None => Err(ToolError(format!("{intent_id} is not an open intent. {}", list(&intents)))),
            }
        })
    }
}

impl Tool for ListIntentsTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn resources(&self, _: &Map<String, Value>) -> Resources {
        Resources::Keys(vec![LIST_TOOL.to_owned()])
    }

    fn effect(&self, _: &Map<String, Value>) -> Effect {
        Effect::Looks
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let ListArguments {} = read_arguments(arguments)?;
            let (_, intents) = declared(&context.workdir)?;
            Ok(ToolOutput::text(list(&intents)))
        })
    }
}

fn declared(workdir: &Path) -> Result<(IntentWorkspace, LoadedIntents), ToolError> {
    let none = || ToolError("This workspace has no intents, so nothing has to be selected.".to_owned());
    let workspace = IntentWorkspace::find(workdir).ok_or_else(none)?;
    let intents = workspace.load_intents();
    match intents.state {
        IntentFileState::Read => Ok((workspace, intents)),
        IntentFileState::Absent => Err(none()),
        IntentFileState::Malformed => {
            Err(ToolError("The intent file has errors; ask the user to run `dispatch intent check`.".to_owned()))
        }
    }
}

fn list(intents: &LoadedIntents) -> String {
    let row = |intent: &IntentSpec| {
        format!("{} ({}), {}: {}", intent.id, intent.name, intent.status.as_str(), intent.owned_scope.join(", "))
    };
    let open: Vec<String> =
        intents.intents.iter().filter(|intent| intent.status.is_open()).take(MAX_LISTED).map(row).collect();
    match open.is_empty() {
        true => "No intent is open; ask the user to declare one.".to_owned(),
        false => format!("Open intents:\n{}", open.join("\n")),
    }
}
