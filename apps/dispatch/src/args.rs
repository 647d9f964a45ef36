//! The command line, as clap reads it.

#[cfg(test)]
mod commands_page;
mod groups;

use crate::commands::allow_once::AllowOnceRequest;
use crate::commands::approvals::ApprovalsCommand;
use crate::commands::auth::AuthCommand;
use crate::commands::canary::CanaryRequest;
use crate::commands::channel::ChannelCommand;
use crate::commands::chat::ChatRequest;
use crate::commands::check::PolicyCheckRequest;
use crate::commands::event::EventCommand;
use crate::commands::events::EventsRequest;
use crate::commands::explain::ExplainRequest;
use crate::commands::git_event::GitEventRequest;
use crate::commands::init::InitRequest;
use crate::commands::intent::IntentCommand;
use crate::commands::lsp::LspRequest;
use crate::commands::mcp::McpRequest;
use crate::commands::memory::MemoryCommand;
use crate::commands::module::ModuleCommand;
use crate::commands::outbox::OutboxCommand;
use crate::commands::permissions::PermissionsCommand;
use crate::commands::person::PersonCommand;
use crate::commands::phase::PhaseCommand;
use crate::commands::plan::PlanCommand;
use crate::commands::queue::QueueCommand;
use crate::commands::replay::ReplayRequest;
use crate::commands::route::RouteCommand;
use crate::commands::rules::RulesCommand;
use crate::commands::run::RunRequest;
use crate::commands::runs::RunsCommand;
use crate::commands::schema::SchemaRequest;
use crate::commands::serve::ServeRequest;
use crate::commands::service::ServiceCommand;
use crate::commands::session::SessionCommand;
use crate::commands::state::StateCommand;
use crate::commands::storage::StorageCommand;
use crate::commands::trace::TraceCommand;
use crate::commands::trust::TrustRequest;
use crate::commands::up::UpRequest;
use crate::commands::watch::WatchRequest;
use crate::commands::why::WhyRequest;
use crate::commands::workspace_hooks::WorkspaceHooksCommand;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// One policy pipeline between AI agents and your code
#[derive(Debug, Parser)]
#[command(name = "dispatch", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 done, 1 the answer is no, 2 usage, 3 configuration, 4 internal.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// What the process was started with. A wrong command line, `--help` and `--version` end the process.
    pub(crate) fn from_process() -> Self {
        let mut matches = groups::with_groups(Self::command()).get_matches();
        Self::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut Self::command()).exit())
    }
}

/// What every command understands.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CommonArgs {
    /// Use the project in DIR instead of the one of the current folder
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) project: Option<PathBuf>,

    /// Override one setting for this run, for example --set model.model=qwen3
    #[arg(long = "set", value_name = "NAME=VALUE", global = true)]
    pub(crate) set: Vec<String>,

    /// Load the core extensions only
    #[arg(long, global = true)]
    pub(crate) minimal: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check the machine, write settings, find a model and start the server
    Up(UpRequest),
    /// Talk to Dispatch's own agent
    Chat(ChatRequest),
    /// Run a command that an extension adds
    Run(RunRequest),
    /// List, read, fork and delete conversations
    Session {
        #[command(subcommand)]
        command: SessionCommand,
    },
    /// Show and cancel messages that wait or run
    Queue {
        #[command(subcommand)]
        command: QueueCommand,
    },
    /// Show which database is used, or copy it to another
    Storage {
        #[command(subcommand)]
        command: StorageCommand,
    },
    /// Show and answer the questions of agents that wait for a person
    Approvals {
        #[command(subcommand)]
        command: ApprovalsCommand,
    },
    /// Show and remove what was allowed for good
    Permissions {
        #[command(subcommand)]
        command: PermissionsCommand,
    },
    /// Serve the agent over HTTP, WebSocket, or standard input and output
    Serve(ServeRequest),
    /// Let an editor drive the agent over ACP on standard input and output
    Acp,
    /// Watch the workspace and run its hooks until interrupted
    Watch(WatchRequest),
    /// Let an editor run the workspace's hooks over LSP on standard input and output
    Lsp(LspRequest),
    /// Keep the workspace watched without an open terminal, as a service of your system
    Service {
        #[command(subcommand)]
        command: ServiceCommand,
    },
    /// Store events from outside, list them, and show what was done with one
    Event {
        #[command(subcommand)]
        command: EventCommand,
    },
    /// Say which senders are the same person, and list the persons
    Person {
        #[command(subcommand)]
        command: PersonCommand,
    },
    /// List the accounts of channels, and try one
    Channel {
        #[command(subcommand)]
        command: ChannelCommand,
    },
    /// List, test and switch routing hooks, which say where an event goes
    Route {
        #[command(subcommand)]
        command: RouteCommand,
    },
    /// Show replies on their way to a channel, and settle those that may have arrived
    Outbox {
        #[command(subcommand)]
        command: OutboxCommand,
    },
    /// Check, list and describe the hooks of the workspace
    WorkspaceHooks {
        #[command(subcommand)]
        command: WorkspaceHooksCommand,
    },
    /// List, follow, start, cancel and retry runs of workspace hooks
    Runs {
        #[command(subcommand)]
        command: RunsCommand,
    },
    /// Register Dispatch with coding agents, check the registration or undo it
    Init(InitRequest),
    /// Check that every registered agent asks Dispatch before it acts
    Canary(CanaryRequest),
    /// Check the files of the policy: what is wrong, in which file, line and key
    Check(PolicyCheckRequest),
    /// Print the JSON Schemas of hook payloads and configuration files
    Schema(SchemaRequest),
    /// Report what is configured, found and wrong, and how to fix it
    Doctor {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Store API keys, each for exactly one model server
    Auth {
        #[command(subcommand)]
        command: AuthCommand,
    },
    /// Show the settings in force and where each one comes from
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Answer one hook event of a coding agent, read from standard input
    Hook(HookArgs),
    /// List, describe, make, switch on and off, and remove extensions
    Ext {
        #[command(subcommand)]
        command: ExtCommand,
    },
    /// Show what the agents did and what was decided
    Events(EventsRequest),
    /// Explain a decision: who decided, by which rule, and what would change it
    Why(WhyRequest),
    /// Judge a command, or a payload from standard input, without recording anything
    Explain(ExplainRequest),
    /// List your own rules and try them on a call
    Rules {
        #[command(subcommand)]
        command: RulesCommand,
    },
    /// Judge recorded tool calls by the current rules and show what differs
    Replay(ReplayRequest),
    /// Let one call pass a rule, or suspend the rule for a limited time
    AllowOnce(AllowOnceRequest),
    /// Show the state of a session or rebuild it from its log
    State {
        #[command(subcommand)]
        command: StateCommand,
    },
    /// Show or set the phase of a session
    Phase {
        #[command(subcommand)]
        command: PhaseCommand,
    },
    /// Submit, show and work through the plan of a session
    Plan {
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// Declare what is meant to change and where, and bind sessions to it
    Intent {
        #[command(subcommand)]
        command: IntentCommand,
    },
    /// Serve intents and plans to an agent over MCP on standard input and output
    Mcp(McpRequest),
    /// Show what sessions learned and turn it into reminders
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// Create, test and list modules of the hook pipeline
    Module {
        #[command(subcommand)]
        command: ModuleCommand,
    },
    /// Query, verify and export the ledger of changes
    Trace {
        #[command(subcommand)]
        command: TraceCommand,
    },
    /// Approve the current content of files that came with a project
    Trust(TrustRequest),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Report a git hook to the workspace's hooks; called by git
    #[command(hide = true)]
    GitEvent(GitEventRequest),
    /// Run scripts for another Dispatch process
    #[command(hide = true)]
    ScriptWorker,
}

/// For the help only: `dispatch hook` reads its arguments itself, so that no argument is a usage error.
#[derive(Debug, clap::Args)]
pub(crate) struct HookArgs {
    /// The event, as the host or Dispatch spells it
    #[arg(value_name = "EVENT")]
    _event: Option<String>,
    /// The host that fires it; detected from the payload by default
    #[arg(long = "host", value_name = "NAME")]
    _host: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each setting with its value and origin
    Show {
        /// Only this setting and those below it
        name: Option<String>,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the settings files in the order they are read; later ones win
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
    /// List every extension with its state
    List {
        /// Print one JSON list instead of text
        #[arg(long)]
        json: bool,
    },
    /// Make a new extension that works, in .dispatch/extensions of the project
    New {
        /// Its id: lower-case words joined by `-`
        name: String,
        /// What it adds
        #[arg(long, value_enum, default_value = "tool")]
        kind: ExtensionKind,
        /// Make it in your own extensions folder instead, for every project
        #[arg(long)]
        user: bool,
    },
    /// Run the unit tests of an extension and the compliance suite, in a home of its own
    Test {
        /// Its folder, or the id of an extension that is there
        #[arg(value_name = "PATH")]
        extension: PathBuf,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Install an extension for every project, once you saw what it is and agreed
    Install {
        /// A folder, a packed package (.tgz), npm:NAME, or a git address
        source: String,
        /// Also grant it what its manifest asks for
        #[arg(long)]
        grant: bool,
    },
    /// Describe one extension: manifest, state, and what it says about itself
    Info {
        /// The extension's id
        id: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Enable an extension that was disabled, by you or because it kept failing
    Enable {
        /// The extension's id
        id: String,
    },
    /// Disable an extension until it is enabled again
    Disable {
        /// The extension's id
        id: String,
    },
    /// Load extensions again in every running `serve`, `chat`, `up` and `acp`
    Reload {
        /// Only this one; default: all that changed
        id: Option<String>,
    },
    /// Approve every future content of an extension's folder, while you work on it
    Dev {
        /// The extension's id
        id: String,
        /// End it: the content must be approved again
        #[arg(long)]
        off: bool,
    },
    /// Delete the folder of an extension of the project or of your own, and its approval
    Remove {
        /// The extension's id
        id: String,
        /// Delete what it stored too: keys and tables, and its settings and grants
        #[arg(long)]
        purge: bool,
    },
}

/// What a new extension adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExtensionKind {
    /// A tool that a model calls
    Tool,
    /// A model
    Provider,
    /// A command that people call with `dispatch run`
    Command,
    /// A change of what tools are asked or answer
    Filter,
    /// Something that happens when something happened
    Event,
    /// An address that a server answers
    Route,
    /// Work that is done again and again
    Job,
    /// A tool in Python: a program of its own
    Program,
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
