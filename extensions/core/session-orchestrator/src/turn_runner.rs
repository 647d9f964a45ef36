//! Runs turns with a model: assembles what a turn needs from the active extensions and runs the kernel's loop.

mod choose;
mod job;
mod permission_gate;
mod redacted_provider;
mod redacted_tool;
mod taking_part;
mod turn_notices;
mod withheld_tools;

pub(crate) use job::{TurnJob, TurnResult};

use crate::approval_service::ApprovalService;
use crate::contract::{CONTEXT, HistoryUse, Submission, ToolBounds, ToolChoice, TurnContext};
use crate::fallback::{ModelChain, PassedOver};
use crate::history_reader::HistoryReader;
use crate::inputs::conversation;
use crate::queue_store::StartedTurn;
use crate::redaction::{RedactingSink, redactor_with};
use crate::reply::system_sections;
use crate::scope::{FolderCheck, RunnerScope};
use crate::spill::{SpillFolder, fetch_outputs};
use crate::tool_bounds::{chooses, leaves};
use crate::turn_environment::TurnEnvironment;
use choose::choices;
use dispatch_contracts::host::Host;
use dispatch_contracts::limits::{DispatchPolicy, TurnLimits};
use dispatch_contracts::permission::PermissionRule;
use dispatch_contracts::ports::Level;
use dispatch_contracts::provider::{ProviderError, ProviderErrorKind, Usage};
use dispatch_contracts::settings::Settings;
use dispatch_contracts::tool::Tool;
use dispatch_contracts::turn::TurnEnd;
use dispatch_kernel::host::{HostHandle, Owned};
use dispatch_kernel::runtime::{OfferedTool, TurnInput, run_turn};
use dispatch_kernel::services::builtin::{dispatch_policy, permission_rules, turn_limits};
use dispatch_os::files::canonicalize;
use dispatch_redact::{RedactError, Redactor};
use permission_gate::PermissionGate;
use redacted_provider::RedactedProvider;
use redacted_tool::RedactedTool;
use serde_json::Map;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use taking_part::TakingPart;
use turn_notices::TurnNotices;
use withheld_tools::withheld_tools;

/// What the model is told before anybody adds to it.
const SYSTEM: &str = "You are Dispatch, an agent that works in the user's workspace. Use the tools on offer to find \
out what is true before you say it, keep changes small, and say plainly what you did and what you could not do. \
A refused tool call is final: do without it or ask.";

/// How long a question waits for its answer, if the settings do not say.
const APPROVAL_TIMEOUT_S: u64 = 86_400;

/// Runs turns with whatever the active extensions offer.
pub(crate) struct TurnRunner {
    pub(crate) host: Host,
    pub(crate) kernel: Arc<HostHandle>,
    pub(crate) approvals: Arc<ApprovalService>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) history: Arc<HistoryReader>,
    settings: AgentSettings,
    taking_part: TakingPart,
    notices: TurnNotices,
    workspace: PathBuf,
}

/// The settings that a turn depends on.
struct AgentSettings {
    all: Settings,
    limits: TurnLimits,
    policy: DispatchPolicy,
    rules: Vec<PermissionRule>,
    models: Vec<String>,
    approval_timeout_ms: u64,
}

impl TurnRunner {
    pub(crate) fn new(
        host: Host,
        kernel: Arc<HostHandle>,
        approvals: Arc<ApprovalService>,
        redactor: Arc<Redactor>,
        all: Settings,
    ) -> Self {
        let settings = AgentSettings {
            limits: turn_limits(&all),
            policy: dispatch_policy(&all),
            rules: permission_rules(&all),
            models: choose::configured(&all),
            approval_timeout_ms: host.settings().read("approval_timeout_s").unwrap_or(APPROVAL_TIMEOUT_S) * 1_000,
            all,
        };
        let workspace = real_folder(&host.folders().workdir);
        let (history, taking_part) = (Arc::default(), TakingPart::default());
        let notices = TurnNotices::default();
        Self { host, kernel, approvals, redactor, history, settings, taking_part, notices, workspace }
    }

    /// What this process can run now: an extension that is not active takes no part in a turn.
    pub(crate) fn scope(&self, folder_exists: &FolderCheck) -> RunnerScope {
        let (extensions, settings) = self.taking_part.now(&self.kernel, &self.settings.all);
        RunnerScope {
            workspace: self.workspace.clone(),
            settings,
            extensions,
            folder_exists: Arc::clone(folder_exists),
        }
    }

    /// The configured permission rules.
    pub(crate) fn rules(&self) -> &[PermissionRule] {
        &self.settings.rules
    }

    /// The turn as the context filters leave it.
    async fn context(&self, job: &TurnJob, submission: &Submission) -> TurnContext {
        let models = match &submission.model {
            Some(model) => vec![model.clone()],
            None => self.settings.models.clone(),
        };
        let context = TurnContext {
            session: job.lease.session.clone(),
            label: job.lease.label.clone(),
            turn: job.begun.turn.clone(),
            persona: submission.persona.clone().or_else(|| job.begun.persona.clone()),
            system: vec![SYSTEM.to_owned(), format!("The workspace is {}.", self.workdir(submission).display())],
            tools: ToolChoice::All,
            models: models.clone(),
            policy: self.settings.policy,
            options: submission.options.clone(),
            obstacle: None,
        };
        let shaped = self.host.apply(&CONTEXT, context.clone()).await;
        let mut shaped = shaped.ok().and_then(Result::ok).unwrap_or(context);
        shaped.system.extend(system_sections(job.begun.inputs.iter().map(|input| &input.submission)));
        // What the turn itself says counts more than what a persona says.
        if submission.model.is_some() {
            shaped.models = models;
        }
        shaped.policy = submission.policy.unwrap_or(shaped.policy);
        shaped
    }

    fn workdir(&self, submission: &Submission) -> PathBuf {
        submission.workdir.clone().unwrap_or_else(|| self.workspace.clone())
    }

    /// What takes secrets out of a turn.
    fn redactor(&self, submission: &Submission) -> Result<Arc<Redactor>, RedactError> {
        match submission.secret_patterns.as_slice() {
            [] => Ok(Arc::clone(&self.redactor)),
            more => redactor_with(&self.host.settings(), more).map(Arc::new),
        }
    }

    /// The model that would answer now, for the record.
    pub(crate) fn model(&self) -> String {
        self.settings.models.first().cloned().unwrap_or_default()
    }

    /// Runs one turn to its end; all that lasts goes through the environment.
    pub(crate) async fn run(&self, job: TurnJob, environment: &TurnEnvironment) -> TurnResult {
        let Some(kernel) = self.kernel.get() else { return faulted("the program is shutting down") };
        if let Some(reason) = kernel.fatal() {
            return faulted(&reason);
        }
        let submission = lead(&job.begun);
        // An extension that is replaced meanwhile stays as it is for this turn.
        let turn = kernel.begin_turn();
        let withheld = withheld_tools(&kernel, turn.tools(), submission.tools.as_ref());
        let faults = kernel.faults();
        let context = self.context(&job, &submission).await;
        if let Some(obstacle) = &context.obstacle {
            return faulted(obstacle);
        }
        let choices = choices(&context.models, &self.settings.all, &kernel).await;
        let choices = match choices {
            Ok(choices) => choices,
            Err(error) => return self.unanswered(&job, environment, error).await,
        };
        let redactor = match self.redactor(&submission) {
            Ok(redactor) => redactor,
            Err(error) => return faulted(&format!("the forms of secrets cannot be used: {error}")),
        };
        let tools = offered(turn.tools(), &context.tools, submission.tools.as_ref(), &withheld, &redactor);
        let gate = PermissionGate::new(self, &job, &submission, withheld, Arc::clone(&redactor));
        let redacting = RedactingSink { sink: environment, redactor: Arc::clone(&redactor) };
        let outputs = self.host.folders().outputs();
        let spill = SpillFolder {
            folder: outputs.join(job.lease.session.as_str()),
            redactor: Arc::clone(&redactor),
            turn: job.begun.turn.clone(),
            environment,
        };
        let model = choices.first().map(|choice| choice.model.clone()).unwrap_or_default();
        let provider = ModelChain { choices, passed_over: self.passed_over() };
        let provider =
            Arc::new(RedactedProvider { provider, redactor: Arc::clone(&redactor), clock: self.host.clock() });
        let past = match submission.history {
            HistoryUse::Whole => fetch_outputs(&outputs, job.history, environment).await,
            HistoryUse::None => Vec::new(),
        };
        let read = self.history.read(&job.lease.session, past, provider).await;
        let (clock, ids) = (self.host.clock(), self.host.ids());
        let outcome = run_turn(TurnInput {
            session: job.lease.session.clone(),
            turn: job.begun.turn.clone(),
            provider: read.provider,
            model,
            options: context.options,
            system: context.system,
            messages: conversation(read.history, &job.begun.inputs),
            tools,
            workdir: self.workdir(&submission),
            policy: context.policy,
            limits: self.settings.limits,
            bus: turn.bus(),
            steps: &redacting,
            inbox: environment,
            approver: &gate,
            spill: &spill,
            emit: redacting.watcher(environment.watcher(job.begun.turn.clone())),
            cancel: job.cancel.clone(),
            clock: clock.as_ref(),
            ids: ids.as_ref(),
        })
        .await;
        let watcher = environment.watcher(job.begun.turn.clone());
        for notice in self.notices.of_turn(&kernel, &faults, &outcome.waits) {
            if notice.is_wait {
                // Faults and what they lead to are in the log already.
                self.host.log(Level::Warn, &format!("turn {}: {}", job.begun.turn, notice.text), Map::new());
            }
            watcher(notice.event());
        }
        TurnResult { end: outcome.end, usage: outcome.usage }
    }

    /// A turn that no model can answer ends with the reason in its history.
    async fn unanswered(&self, job: &TurnJob, environment: &TurnEnvironment, error: ProviderError) -> TurnResult {
        use dispatch_contracts::conversation::{Row, RowBody};
        use dispatch_contracts::ids::RowId;
        use dispatch_contracts::turn::{StepSink, TurnEvent};
        let end = TurnEnd::ProviderFailed { error };
        let row = Row {
            id: RowId::new(self.host.ids().next_id()),
            turn: job.begun.turn.clone(),
            step: 0,
            at_ms: self.host.clock().now_ms(),
            body: RowBody::TurnEnded { end: end.clone() },
        };
        let end = match environment.record_all(&[row]).await {
            Ok(()) => end,
            Err(error) => TurnEnd::StoreFailed { message: error.to_string() },
        };
        environment.watcher(job.begun.turn.clone())(TurnEvent::TurnEnded { end: end.clone() });
        TurnResult { end, usage: Usage::default() }
    }

    fn passed_over(&self) -> PassedOver {
        let host = self.host.clone();
        Arc::new(move |model, error| {
            host.log(Level::Warn, &format!("model `{model}` could not answer, the next is asked: {error}"), Map::new());
        })
    }
}

/// The input whose wishes a turn follows; inputs that share a turn have the same.
fn lead(begun: &StartedTurn) -> Submission {
    begun.inputs.first().map(|input| input.submission.clone()).unwrap_or_default()
}

/// The tools of active extensions that the turn may use, in the order of their names.
fn offered(
    tools: &[Owned<Arc<dyn Tool>>],
    choice: &ToolChoice,
    bounds: Option<&ToolBounds>,
    withheld: &BTreeSet<String>,
    redactor: &Arc<Redactor>,
) -> Vec<OfferedTool> {
    let wanted = |name: &str| chooses(choice, name) && leaves(bounds, name) && !withheld.contains(name);
    let tools = tools.iter().filter(|tool| wanted(&tool.name)).cloned();
    let redacted = |tool| Arc::new(RedactedTool { tool, redactor: Arc::clone(redactor) });
    tools.map(|tool| OfferedTool { owner: tool.owner, tool: redacted(tool.item) }).collect()
}

/// The folder without links in its path, so that two ways to it are one.
pub(crate) fn real_folder(folder: &Path) -> PathBuf {
    canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

fn faulted(message: &str) -> TurnResult {
    TurnResult { end: TurnEnd::Faulted { message: message.to_owned() }, usage: Usage::default() }
}

fn no_model(message: String) -> ProviderError {
    ProviderError::new(ProviderErrorKind::InvalidRequest, message)
}
