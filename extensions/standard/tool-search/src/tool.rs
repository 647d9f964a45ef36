//! What both tools have in common: a walk on another thread, from arguments to a report.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::tool::{Effect, Resources, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_os::Confined;
use dispatch_os::threads::offload;
use serde_json::{Map, Value};

/// What one of the tools does.
pub(crate) type RunSearch = fn(Confined, Map<String, Value>, &ToolContext) -> Result<String, ToolError>;

pub(crate) struct SearchTool {
    spec: ToolSpec,
    run: RunSearch,
    folders: Folders,
}

impl SearchTool {
    pub(crate) fn new(spec: ToolSpec, run: RunSearch, folders: Folders) -> Self {
        Self { spec, run, folders }
    }
}

impl Tool for SearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn resources(&self, _: &Map<String, Value>) -> Resources {
        Resources::Keys(Vec::new())
    }

    fn effect(&self, _: &Map<String, Value>) -> Effect {
        Effect::Looks
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let run = self.run;
        Box::pin(async move {
            let workspace = Confined::workspace(self.folders.project.as_deref(), &context.workdir)
                .map(|workspace| workspace.closing(&self.folders.closed_to_tools()))
                .map_err(|error| ToolError(format!("The workspace cannot be searched: {error}.")))?;
            let work = offload("search", move || run(workspace, arguments, &context));
            let work =
                work.map_err(|error| ToolError(format!("Cannot start a thread for this: {error}. Try again.")))?;
            work.await.map(ToolOutput::text)
        })
    }
}
