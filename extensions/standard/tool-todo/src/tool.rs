//! `todo`: replaces the session's list, or reads it.

use std::sync::Arc;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::host::Host;
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::ports::Level;
use dispatch_contracts::storage::Storage;
use dispatch_contracts::tool::{Effect, Resources, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, read_arguments};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::TODO;
use crate::list::{MAX_ITEMS, MAX_TEXT_CHARACTERS, TodoItem, problem, show};
use crate::memory::TodoMemory;

pub(crate) struct TodoTool {
    spec: ToolSpec,
    host: Host,
    memory: TodoMemory,
}

impl TodoTool {
    pub(crate) fn new(host: Host) -> Self {
        Self { spec: spec(), host, memory: TodoMemory::default() }
    }

    /// The list in the store; one that only memory has is newer, because the store failed when it was written.
    async fn load(&self, session: &SessionId) -> Vec<TodoItem> {
        if let Some(items) = self.memory.get(session) {
            return items;
        }
        let Some(storage) = self.storage() else { return Vec::new() };
        match storage.get(&key(session)).await {
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Ok(None) => Vec::new(),
            Err(error) => {
                self.warn(&format!("The list of a session could not be read: {error}."));
                Vec::new()
            }
        }
    }

    async fn store(&self, session: &SessionId, items: Vec<TodoItem>) {
        let bytes = serde_json::to_vec(&items).ok();
        if let (Some(storage), Some(bytes)) = (self.storage(), bytes) {
            match storage.put(&key(session), Some(bytes)).await {
                Ok(()) => return self.memory.forget(session),
                Err(error) => self.warn(&format!("The list of a session is kept in memory only: {error}.")),
            }
        }
        self.memory.put(session, items);
    }

    fn storage(&self) -> Option<Arc<dyn Storage>> {
        self.host.storage().ok()
    }

    fn warn(&self, message: &str) {
        self.host.log(Level::Warn, message, Map::new());
    }
}

fn key(session: &SessionId) -> String {
    format!("todo/{session}")
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: TODO.to_owned(),
        description: "Keeps your list of what is left to do in this conversation. With items, they replace the whole list; \
                      without, the list is shown. Use it for work of several steps: write the steps down first, mark one \
                      as in_progress when you begin it and as done when it is finished."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "items": {
                    "type": "array",
                    "maxItems": MAX_ITEMS,
                    "description": "The new list, in order. Leave it out to read the list.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "text": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARACTERS, "description": "What to do."},
                            "status": {"type": "string", "enum": ["pending", "in_progress", "done"], "description": "How far it is."}
                        },
                        "required": ["text", "status"],
                        "additionalProperties": false
                    }
                }
            },
            "additionalProperties": false
        }),
        concurrency_safe: false,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TodoArguments {
    items: Option<Vec<TodoItem>>,
}

impl Tool for TodoTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn resources(&self, _: &Map<String, Value>) -> Resources {
        Resources::Keys(vec![TODO.to_owned()])
    }

    fn effect(&self, _: &Map<String, Value>) -> Effect {
        // A list that only the model reads.
        Effect::Looks
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let TodoArguments { items } = read_arguments(arguments)?;
            let Some(items) = items else {
                return Ok(ToolOutput::text(show(&self.load(&context.session).await)));
            };
            if let Some(problem) = problem(&items) {
                return Err(ToolError(format!("The list was not changed: {problem}.")));
            }
            let shown = show(&items);
            self.store(&context.session, items).await;
            Ok(ToolOutput::text(shown))
        })
    }
}
