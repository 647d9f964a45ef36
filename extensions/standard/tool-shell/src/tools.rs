//! The four tools, as the model sees them.

use std::sync::Arc;
use std::time::Duration;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::tool::{Effect, Resources, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, read_arguments};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::{RUN_SHELL, SHELL_KILL, SHELL_OUTPUT, SHELL_STATUS};
use crate::settings::OverlapPolicy;
use crate::shared::ShellToolsShared;
use crate::shell::Shell;
use crate::{closed_folders, foreground};

const DEFAULT_TIMEOUT_MS: u64 = 2 * 60 * 1000;
const MAX_TIMEOUT_MS: u64 = 20 * 60 * 1000;

/// Every tool of this extension.
pub(crate) fn all(shared: &Arc<ShellToolsShared>) -> Vec<Arc<dyn Tool>> {
    let about = |name, description, with_since| -> Arc<dyn Tool> {
        Arc::new(ShellOutputTool { spec: about_spec(name, description, with_since), shared: Arc::clone(shared) })
    };
    vec![
        Arc::new(RunShellTool { spec: run_spec(shared.shell.overlap()), shared: Arc::clone(shared) }),
        about(SHELL_STATUS, "Says whether a background command still runs, or how it ended.", OutputSince::Unknown),
        about(
            SHELL_OUTPUT,
            "Shows what a background command printed: the newest part, or from the position `since` on. The answer says \
             where to read on.",
            OutputSince::Known,
        ),
        about(SHELL_KILL, "Ends a background command and everything it started.", OutputSince::Unknown),
    ]
}

struct RunShellTool {
    spec: ToolSpec,
    shared: Arc<ShellToolsShared>,
}

fn run_spec(overlap: OverlapPolicy) -> ToolSpec {
    ToolSpec {
        name: RUN_SHELL.to_owned(),
        description: "Runs a command with bash (sh where there is none) and shows what it printed and how it ended. There \
                      is no terminal and no input, so use options that do not ask. When the command ends, everything it \
                      left running is killed: for a server or a watcher set background: true, and use shell_output, \
                      shell_status and shell_kill with the id in the answer. Each call is a new shell: `cd` and \
                      variables do not carry over. To read, search or change files prefer the tools for that."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command line."},
                "timeout_ms": {
                    "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS,
                    "description": "The command is killed after this many milliseconds. Default: 120000; none in the background."
                },
                "workdir": {"type": "string", "description": "The folder to run in, inside the workspace. Default: the working folder."},
                "background": {"type": "boolean", "description": "Do not wait for the end. Default: false."}
            },
            "required": ["command"],
            "additionalProperties": false
        }),
        concurrency_safe: overlap == OverlapPolicy::Allowed,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunShellArguments {
    command: String,
    timeout_ms: Option<u64>,
    workdir: Option<String>,
    #[serde(default)]
    background: bool,
}

impl Tool for RunShellTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments: RunShellArguments = read_arguments(arguments)?;
            Shell::check(&arguments.command)?;
            let asked = arguments.timeout_ms.map(|ms| Duration::from_millis(ms.clamp(1, MAX_TIMEOUT_MS)));
            let (workspace, folder) = self.shared.place(&context, arguments.workdir.as_deref())?;
            closed_folders::check(&arguments.command, &folder, &workspace, &self.shared.folders)?;
            if arguments.background {
                let child = self.shared.shell.child(&arguments.command, &workspace, &folder, asked)?;
                let id = self.shared.background.start(&context.session, &arguments.command, child)?;
                return Ok(ToolOutput::text(format!(
                    "Started in the background as {id}. Use shell_output, shell_status and shell_kill with this id."
                )));
            }
            let timeout = asked.unwrap_or(Duration::from_millis(DEFAULT_TIMEOUT_MS));
            let child = self.shared.shell.child(&arguments.command, &workspace, &folder, Some(timeout))?;
            foreground::run(child, context, timeout).await
        })
    }
}

/// A tool that only looks at the table of background commands.
struct ShellOutputTool {
    spec: ToolSpec,
    shared: Arc<ShellToolsShared>,
}

/// Whether a tool takes a position in the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputSince {
    Known,
    Unknown,
}

fn about_spec(name: &str, description: &str, since: OutputSince) -> ToolSpec {
    let mut properties = json!({"id": {"type": "string", "description": "The id that run_shell gave, such as sh1."}});
    if since == OutputSince::Known
        && let Some(properties) = properties.as_object_mut()
    {
        let description = "Position of the first byte to show; the answer of the call before names it.";
        properties.insert("since".to_owned(), json!({"type": "integer", "minimum": 0, "description": description}));
    }
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object", "properties": properties, "required": ["id"], "additionalProperties": false
        }),
        concurrency_safe: true,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShellOutputArguments {
    id: String,
    since: Option<usize>,
}

impl Tool for ShellOutputTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn resources(&self, _: &Map<String, Value>) -> Resources {
        Resources::Keys(Vec::new())
    }

    fn effect(&self, _: &Map<String, Value>) -> Effect {
        // Ending a process that the session started only takes back what was allowed.
        Effect::Looks
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let ShellOutputArguments { id, since } = read_arguments(arguments)?;
            let background = &self.shared.background;
            let text = match self.spec.name.as_str() {
                SHELL_OUTPUT => background.output(&context.session, &id, since),
                SHELL_KILL => background.kill(&context.session, &id),
                _ => background.status(&context.session, &id),
            };
            text.map(ToolOutput::text)
        })
    }
}
