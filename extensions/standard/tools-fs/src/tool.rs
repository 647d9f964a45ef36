//! What all file tools have in common: blocking work on another thread, from arguments to an answer.

use std::sync::Arc;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::tool::{Effect, Resources, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_os::threads::offload;
use serde_json::{Map, Value};

use crate::file_workspace::FileWorkspace;

type RunFileTool = fn(&FileWorkspace, Map<String, Value>, &ToolContext) -> Result<ToolOutput, ToolError>;
type TouchedResources = fn(&FileWorkspace, &Map<String, Value>) -> Resources;

/// What makes one file tool different from the others.
pub(crate) struct FileToolDefinition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: fn() -> Value,
    pub(crate) touches: TouchedResources,
    pub(crate) run: RunFileTool,
    pub(crate) effect: Effect,
}

pub(crate) struct FileTool {
    spec: ToolSpec,
    files: Arc<FileWorkspace>,
    touches: TouchedResources,
    run: RunFileTool,
    effect: Effect,
}

impl FileTool {
    pub(crate) fn new(definition: &FileToolDefinition, files: Arc<FileWorkspace>) -> Self {
        let spec = ToolSpec {
            name: definition.name.to_owned(),
            description: definition.description.to_owned(),
            parameters: (definition.parameters)(),
            concurrency_safe: definition.effect == Effect::Looks,
        };
        Self { spec, files, touches: definition.touches, run: definition.run, effect: definition.effect }
    }
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn resources(&self, arguments: &Map<String, Value>) -> Resources {
        (self.touches)(&self.files, arguments)
    }

    fn effect(&self, _: &Map<String, Value>) -> Effect {
        self.effect
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let (files, run) = (Arc::clone(&self.files), self.run);
        let name = self.spec.name.clone();
        Box::pin(async move {
            let work = offload(&name, move || run(&files, arguments, &context));
            work.map_err(|error| ToolError(format!("Cannot start a thread for this: {error}. Try again.")))?.await
        })
    }
}
