//! The one shape of all file tools: blocking work on a thread of its own, from arguments to an answer.

use std::sync::Arc;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::tool::{Effect, Resources, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_os::threads::offload;
use serde_json::{Map, Value};

use crate::desk::Desk;

type Run = fn(&Desk, Map<String, Value>, &ToolContext) -> Result<ToolOutput, ToolError>;
type Touches = fn(&Desk, &Map<String, Value>) -> Resources;

/// What makes one file tool different from the others.
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: fn() -> Value,
    pub(crate) touches: Touches,
    pub(crate) run: Run,
    pub(crate) effect: Effect,
}

pub(crate) struct FileTool {
    spec: ToolSpec,
    desk: Arc<Desk>,
    touches: Touches,
    run: Run,
    effect: Effect,
}

impl FileTool {
    pub(crate) fn new(definition: &Definition, desk: Arc<Desk>) -> Self {
        let spec = ToolSpec {
            name: definition.name.to_owned(),
            description: definition.description.to_owned(),
            parameters: (definition.parameters)(),
            concurrency_safe: definition.effect == Effect::Looks,
        };
        Self { spec, desk, touches: definition.touches, run: definition.run, effect: definition.effect }
    }
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn resources(&self, arguments: &Map<String, Value>) -> Resources {
        (self.touches)(&self.desk, arguments)
    }

    fn effect(&self, _: &Map<String, Value>) -> Effect {
        self.effect
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let (desk, run) = (Arc::clone(&self.desk), self.run);
        let name = self.spec.name.clone();
        Box::pin(async move {
            let work = offload(&name, move || run(&desk, arguments, &context));
            work.map_err(|error| ToolError(format!("No thread could be started for this: {error}. Try again.")))?.await
        })
    }
}
