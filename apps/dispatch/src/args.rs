//! The command line, as clap reads it.

use crate::commands::allow_once::AllowOnceRequest;
use crate::commands::auth::AuthCommand;
use crate::commands::canary::CanaryRequest;
use crate::commands::chat::ChatRequest;
use crate::commands::event::EventCommand;
use crate::commands::events::EventsRequest;
use crate::commands::explain::ExplainRequest;
use crate::commands::git_event::GitEventRequest;
use crate::commands::init::InitRequest;
use crate::commands::intent::IntentCommand;
use crate::commands::mcp::McpRequest;
use crate::commands::memory::MemoryCommand;
use crate::commands::module::ModuleCommand;
use crate::commands::phase::PhaseCommand;
use crate::commands::plan::PlanCommand;
use crate::commands::queue::QueueCommand;
use crate::commands::replay::ReplayRequest;
use crate::commands::runs::RunsCommand;
use crate::commands::schema::SchemaRequest;
use crate::commands::serve::ServeRequest;
use crate::commands::session::SessionCommand;
use crate::commands::state::StateCommand;
use crate::commands::trace::TraceCommand;
use crate::commands::trust::TrustRequest;
use crate::commands::up::UpRequest;
use crate::commands::watch::WatchRequest;
use crate::commands::why::WhyRequest;
use crate::commands::workspace_hooks::WorkspaceHooksCommand;
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// One policy pipeline between AI agents and the code, messages and machines they touch.
#[derive(Debug, Parser)]
#[command(name = "dispatch", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 done, 1 the answer is no, 2 usage, 3 configuration, 4 internal.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Work on the project in this folder instead of the current one
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) project: Option<PathBuf>,

    /// Set one setting for this run, for example --set model.model=qwen3
    #[arg(long = "set", value_name = "NAME=VALUE", global = true)]
    pub(crate) set: Vec<String>,

    /// Run with the core extensions alone
    #[arg(long, global = true)]
    pub(crate) minimal: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check, prepare and start everything that our own agent needs
    Up(UpRequest),
    /// Talk to Dispatch's own agent
    Chat(ChatRequest),
    /// Read and arrange the conversations of our own agent
    Session {
        #[command(subcommand)]
        command: SessionCommand,
    },
    /// Show what waits or runs in the sessions, and take it back
    Queue {
        #[command(subcommand)]
        command: QueueCommand,
    },
    /// Serve our own agent over HTTP, WebSocket, or standard input and output
    Serve(ServeRequest),
    /// Let an editor drive our own agent over ACP, on standard input and output
    Acp,
    /// Watch the workspace and run its hooks, until somebody ends it
    Watch(WatchRequest),
    /// Let an editor run the workspace's hooks over LSP, on standard input and output
    Lsp,
    /// Send an event that starts the workspace's `custom:` hooks
    Event {
        #[command(subcommand)]
        command: EventCommand,
    },
    /// Say what the workspace hooks are, which of them run, and what is wrong with their file
    WorkspaceHooks {
        #[command(subcommand)]
        command: WorkspaceHooksCommand,
    },
    /// Show, start, stop and repeat the runs of workspace hooks
    Runs {
        #[command(subcommand)]
        command: RunsCommand,
    },
    /// Make the agents' hosts call Dispatch, or say what differs, or take it back
    Init(InitRequest),
    /// Ask each registered host about a call that must be refused
    Canary(CanaryRequest),
    /// Print a JSON Schema of the hook pipeline
    Schema(SchemaRequest),
    /// Say what is configured, found and wrong, and how to fix it
    Doctor {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Keep keys for model servers, each for one server alone
    Auth {
        #[command(subcommand)]
        command: AuthCommand,
    },
    /// Show the settings in force
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Answer one hook event of a coding agent, read from standard input
    Hook(HookArgs),
    /// List and switch extensions
    Ext {
        #[command(subcommand)]
        command: ExtCommand,
    },
    /// Show what happened in the sessions of this workspace
    Events(EventsRequest),
    /// Say who decided about a hook event, on what, and what would change the answer
    Why(WhyRequest),
    /// Say what would be decided about a payload on standard input; nothing is written
    Explain(ExplainRequest),
    /// Judge recorded tool calls again by the present rules and show what differs
    Replay(ReplayRequest),
    /// Let one rule pass for a while
    AllowOnce(AllowOnceRequest),
    /// Show the state of a session, or make it again from its log
    State {
        #[command(subcommand)]
        command: StateCommand,
    },
    /// Show or set where the work of a session stands
    Phase {
        #[command(subcommand)]
        command: PhaseCommand,
    },
    /// Show the plan of a session and take it step by step
    Plan {
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// Declare what is meant to change and where, and bind sessions to it
    Intent {
        #[command(subcommand)]
        command: IntentCommand,
    },
    /// Serve intents and plans to an agent over MCP, on standard input and output
    Mcp(McpRequest),
    /// Show what sessions learned, and make reminders of it
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// Make, try and list the modules of the hook pipeline
    Module {
        #[command(subcommand)]
        command: ModuleCommand,
    },
    /// Ask the ledger of intents: what happened, whether it is whole, who wrote which line
    Trace {
        #[command(subcommand)]
        command: TraceCommand,
    },
    /// Approve the present content of files that came with a project
    Trust(TrustRequest),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Tell the workspace's hooks what git does; called by git
    #[command(hide = true)]
    GitEvent(GitEventRequest),
    /// Run scripts for another Dispatch process
    #[command(hide = true)]
    ScriptWorker,
}

/// For the help alone: the hook reads its arguments itself, so that it can never refuse them.
#[derive(Debug, clap::Args)]
pub(crate) struct HookArgs {
    /// The event, as the host or as Dispatch spells it
    #[arg(value_name = "EVENT")]
    _event: Option<String>,
    /// The host that fires it; found from the payload if absent
    #[arg(long = "host", value_name = "NAME")]
    _host: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each setting with its value and where it came from
    Show {
        /// Only this setting, or the settings below it
        name: Option<String>,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the files that are read, strongest last
    Paths {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of the settings
    Schema,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExtCommand {
    /// Print every extension with its state
    List {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Switch on an extension that was switched off because it kept failing
    Enable {
        /// The extension's id
        id: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
