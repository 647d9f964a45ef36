//! A workspace hook as it is in force: validated, with every default filled in.
//!
//! Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What starts a hook.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trigger {
    /// `onDidSaveTextDocument`: a file has new content.
    DidSave,
    /// `onWillSaveTextDocument`: an editor is about to save; only editors know.
    WillSave,
    /// `onDidCreateFiles`.
    DidCreate,
    /// `onDidDeleteFiles`.
    DidDelete,
    /// `onDidRenameFiles`.
    DidRename,
    /// `gitCommit`: a commit was made.
    GitCommit,
    /// `git:<hook>`: another hook of git, such as `git:pre-push`.
    Git(String),
    /// `manual`: a person.
    Manual,
    /// `schedule`: a time table in cron's words.
    Schedule,
    /// `custom:<name>`: an event sent from outside.
    Custom(String),
}

/// What a hook does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A prompt for an agent.
    Prompt(String),
    /// A program with its arguments; it gets the event as JSON on its standard input.
    Command(Vec<String>),
}

/// Who answers a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runner {
    /// Our own agent.
    Agent {
        /// Which conversation a run belongs to.
        session: SessionScope,
    },
    /// Another agent's program.
    External(AgentTemplate),
    /// A server that takes the prompt as JSON.
    Http {
        /// Where it is posted to.
        url: String,
        /// Headers; a value `${NAME}` is read from the environment when the run starts.
        headers: BTreeMap<String, String>,
    },
}

/// Which conversation a run of our own agent belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionScope {
    /// One for all runs of the hook.
    #[default]
    Hook,
    /// One for each file.
    File,
    /// A new one for each run.
    Run,
}

/// How another agent's program is called: a list of arguments, one of which holds `{prompt}`; never a shell line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTemplate {
    /// The name of the template: `claude`, `codex`, or `custom`.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
}

/// Where a run works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunPlace {
    /// In the workspace.
    #[default]
    Tree,
    /// In its own git worktree; the change is offered as a patch.
    Patch,
}

/// What our own agent may do in a run, where nobody can be asked. Rules and guards that refuse still do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentPermissions {
    /// What needs no question: looking.
    #[default]
    Read,
    /// Changing files too.
    Write,
    /// Running programs and reaching the network too.
    Full,
}

impl AgentPermissions {
    /// Those of a hook that says none: in a worktree of its own a change is only an offer.
    #[must_use]
    pub const fn of_place(place: RunPlace) -> Self {
        match place {
            RunPlace::Tree => Self::Read,
            RunPlace::Patch => Self::Write,
        }
    }
}

/// What happens after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// How many times it is tried again.
    pub count: u32,
    /// The wait before the first repetition.
    pub backoff_ms: u64,
    /// What each further wait is multiplied by.
    pub backoff_factor: f64,
}

/// The most runs in a span of time; more wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// How many runs.
    pub runs: u32,
    /// In how many milliseconds.
    pub per_ms: u64,
}

/// What a hook may spend in a day (UTC); beyond it runs wait for the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Tokens, read and written.
    pub tokens_per_day: Option<u64>,
    /// Money, in millionths of a dollar.
    pub micro_usd_per_day: Option<u64>,
}

/// Limits of all hooks of a workspace together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookLimits {
    /// How many runs go at a time, of all hooks.
    pub concurrency: u32,
    /// How many runs may wait.
    pub queued: u32,
}

impl HookLimits {
    /// Those of a workspace that sets none.
    pub const DEFAULT: Self = Self { concurrency: 16, queued: 10_000 };
}

impl Default for HookLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A hook in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// Its name, unique in the workspace.
    pub id: String,
    /// What starts it.
    pub trigger: Trigger,
    /// Globs of files, relative to the workspace; none means every file. One that starts with `!` takes files out.
    pub pattern: Vec<String>,
    /// What it does.
    pub action: Action,
    /// Who answers its prompt; of no meaning for a command.
    pub runner: Runner,
    /// Where it works.
    pub place: RunPlace,
    /// What our own agent may do.
    pub permissions: AgentPermissions,
    /// Whether one run handles all files that change within its wait.
    pub batch: bool,
    /// Whether a change of its files while it runs ends that run and starts it anew.
    pub restart: bool,
    /// Whether changes that other hooks make start it.
    pub chain: bool,
    /// Whether git waits for it and does not go on if it fails.
    pub blocking: bool,
    /// Whether it runs at all.
    pub enabled: bool,
    /// How many of its runs go at a time.
    pub concurrency: u32,
    /// When a run is stopped.
    pub timeout_ms: u64,
    /// What happens after a failure.
    pub retry: Retry,
    /// How long it waits for the next change of the same files before it runs.
    pub debounce_ms: u64,
    /// The most runs in a span of time.
    pub rate_limit: Option<RateLimit>,
    /// What it may spend.
    pub budget: Budget,
    /// Whether git may start it.
    pub allow_git: bool,
    /// The repository that may start it, relative to the workspace or absolute.
    pub repo_root: Option<String>,
    /// The time table of a scheduled hook.
    pub schedule: Option<String>,
    /// Further forms of secrets, as regular expressions.
    pub secret_patterns: Vec<String>,
    /// Environment variables that its program may see beside the usual ones.
    pub pass_env: Vec<String>,
    /// Whether the result is told to the next turn of an agent in this workspace.
    pub tell_agent: bool,
    /// Free for the author; part of the event that a run gets.
    pub metadata: Map<String, Value>,
    /// SHA-256 of what it does, in hex: a changed hook has another one.
    pub fingerprint: String,
}
