//! A kernel on a real runtime, a model that follows a script, tools that only note that they ran.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{Message, Role, Row, ToolResult};
use dispatch_contracts::extension::Extension;
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::limits::{DispatchPolicy, TurnLimits};
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Clock, Ids, LogRecord, LogSink, Spawner, Spill, SpillError};
use dispatch_contracts::provider::{Finish, ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError};
use dispatch_contracts::settings::Settings;
use dispatch_contracts::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_contracts::turn::{ApproveUnasked, Inbox, SinkError, StepSink};
use dispatch_kernel::host::{Boot, Candidate, ExtensionHost, ExtensionState, MemoryDisabledStore, Ports, boot};
use dispatch_kernel::runtime::{OfferedTool, TurnInput, run_turn};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// Waits in the kernel's own time limits are divided by this where a limit is the test.
const HASTE: u64 = 20;

pub(crate) fn run(main: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(main);
}

/// A project, with or without rules.
pub(crate) struct AgentWorkspace {
    folder: TempDir,
}

impl AgentWorkspace {
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// With this manifest, and budgets that a busy machine does not exceed.
    pub(crate) fn with_rules(mut manifest: Value) -> Self {
        let workspace = Self::empty();
        let hooks = workspace.root().join(".ai/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        let events = ["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "Stop"];
        manifest["budgets"] =
            events.iter().map(|event| ((*event).to_owned(), json!(60_000))).collect::<Map<_, _>>().into();
        std::fs::write(hooks.join("dispatch.manifest.json"), manifest.to_string()).unwrap();
        workspace
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Every record of every session.
    pub(crate) fn records(&self) -> Vec<Value> {
        let sessions = std::fs::read_dir(self.root().join(".ai/tmp")).into_iter().flatten().flatten();
        let logs = sessions.filter_map(|session| std::fs::read_to_string(session.path().join("events.jsonl")).ok());
        logs.flat_map(|log| log.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>()).collect()
    }

    pub(crate) fn of_type(&self, kind: &str) -> Vec<Value> {
        self.records().into_iter().filter(|record| record["type"] == kind).collect()
    }
}

/// A started kernel.
pub(crate) struct TestAgent {
    host: ExtensionHost,
    clock: Arc<WallClock>,
    turns: AtomicU64,
}

/// What is left of a turn.
pub(crate) struct TurnRecord {
    pub(crate) results: Vec<ToolResult>,
    /// The arguments of the calls that ran, in order.
    pub(crate) ran: Vec<Value>,
    pub(crate) requests: Vec<ModelRequest>,
}

impl TestAgent {
    pub(crate) async fn boot(extensions: Vec<Arc<dyn Extension>>) -> Self {
        Self::start(extensions, Verdict::Ask, 1).await
    }

    /// With permission rules that always answer so.
    pub(crate) async fn boot_with(extensions: Vec<Arc<dyn Extension>>, verdict: Verdict) -> Self {
        Self::start(extensions, verdict, 1).await
    }

    /// With time limits that pass quickly.
    pub(crate) async fn boot_impatient(extensions: Vec<Arc<dyn Extension>>) -> Self {
        Self::start(extensions, Verdict::Ask, HASTE).await
    }

    async fn start(extensions: Vec<Arc<dyn Extension>>, verdict: Verdict, haste: u64) -> Self {
        let clock = Arc::new(WallClock { haste });
        let host = boot(Boot {
            ports: Ports {
                clock: Arc::clone(&clock) as Arc<dyn Clock>,
                ids: Arc::new(Numbers::default()),
                spawner: Arc::new(TokioSpawner),
                log: Arc::new(NoLog),
            },
            extensions: extensions.into_iter().map(Candidate::bundled).collect(),
            settings: Settings::default(),
            folders: Folders::default(),
            permissions: Arc::new(move |_| PermissionDecision { verdict, rule: None, reason: "by rule".to_owned() }),
            budget: FaultBudget::default(),
            disabled: Arc::new(MemoryDisabledStore::default()),
            grants: BTreeMap::new(),
        })
        .await
        .unwrap();
        Self { host, clock, turns: AtomicU64::new(1) }
    }

    pub(crate) fn state(&self, id: &str) -> Option<ExtensionState> {
        self.host.status().into_iter().find(|status| status.id.as_str() == id).map(|status| status.state)
    }

    /// Plays a turn in which the model makes these calls, one step each.
    pub(crate) async fn turn(&self, workspace: &AgentWorkspace, calls: &[(&str, Value)]) -> TurnRecord {
        let number = self.turns.fetch_add(1, Ordering::SeqCst);
        let model = Arc::new(ScriptedModel::new(number, calls));
        let ran = Arc::new(Mutex::new(Vec::new()));
        let outcome = run_turn(TurnInput {
            session: "conversation".into(),
            turn: TurnId::new(format!("turn-{number}")),
            provider: Arc::clone(&model) as Arc<dyn Provider>,
            model: "scripted".to_owned(),
            options: Map::new(),
            system: Vec::new(),
            messages: vec![Message::text(Role::User, "go")],
            tools: ["run_shell", "write_file"].into_iter().map(|name| offer(name, &ran)).collect(),
            workdir: workspace.root().to_path_buf(),
            policy: DispatchPolicy::default(),
            limits: TurnLimits::default(),
            bus: self.host.bus(),
            steps: &Nowhere,
            inbox: &Nowhere,
            approver: &ApproveUnasked,
            spill: &Nowhere,
            emit: Arc::new(|_| {}),
            cancel: CancelToken::new(),
            clock: self.clock.as_ref(),
            ids: &Numbers::default(),
        })
        .await;
        let results = outcome.messages.iter().flat_map(Message::results).cloned().collect();
        let ran = ran.lock().unwrap().clone();
        let requests = model.requests.lock().unwrap().clone();
        TurnRecord { results, ran, requests }
    }

    /// Waits until so many records of this kind are there: what is observed is not waited for by the turn.
    pub(crate) async fn settle(&self, workspace: &AgentWorkspace, kind: &str, count: usize) {
        for _ in 0..2_000 {
            if workspace.of_type(kind).len() >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("there are {} {kind} records", workspace.of_type(kind).len());
    }
}

struct WallClock {
    haste: u64,
}

impl Clock for WallClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(dispatch_os::time::unix_ms()).unwrap()
    }

    fn monotonic_ms(&self) -> u64 {
        dispatch_os::time::monotonic_ms()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms / self.haste)))
    }
}

#[derive(Default)]
struct Numbers(AtomicU64);

impl Ids for Numbers {
    fn next_id(&self) -> String {
        self.0.fetch_add(1, Ordering::SeqCst).to_string()
    }
}

struct TokioSpawner;

impl Spawner for TokioSpawner {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }
}

struct NoLog;

impl LogSink for NoLog {
    fn write(&self, _record: LogRecord) {}
}

struct Nowhere;

impl StepSink for Nowhere {
    fn record_all<'a>(&'a self, _rows: &'a [Row]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async { Ok(()) })
    }
}

impl Inbox for Nowhere {
    fn take(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async { Vec::new() })
    }
}

impl Spill for Nowhere {
    fn keep<'a>(&'a self, name: &'a str, _text: &'a str) -> BoxFuture<'a, Result<String, SpillError>> {
        Box::pin(async move { Ok(name.to_owned()) })
    }
}

struct ScriptedModel {
    steps: Mutex<VecDeque<Vec<ModelEvent>>>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl ScriptedModel {
    fn new(turn: u64, calls: &[(&str, Value)]) -> Self {
        let step = |(index, (name, arguments)): (usize, &(&str, Value))| {
            vec![
                ModelEvent::ToolCall {
                    id: format!("call-{turn}-{index}"),
                    name: (*name).to_owned(),
                    arguments: arguments.to_string(),
                },
                ModelEvent::Finished { finish: Finish::Stop },
            ]
        };
        let end =
            vec![ModelEvent::TextDelta { text: "done".to_owned() }, ModelEvent::Finished { finish: Finish::Stop }];
        let steps = calls.iter().enumerate().map(step).chain([end]).collect();
        Self { steps: Mutex::new(steps), requests: Mutex::default() }
    }
}

impl Provider for ScriptedModel {
    fn stream(&self, request: ModelRequest, _cancel: CancelToken) -> ModelStream {
        self.requests.lock().unwrap().push(request);
        let events = self.steps.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(futures_util::stream::iter(events.into_iter().map(Ok)))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

struct NotingTool {
    spec: ToolSpec,
    ran: Arc<Mutex<Vec<Value>>>,
}

impl Tool for NotingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.ran.lock().unwrap().push(Value::Object(arguments));
        Box::pin(async { Ok(ToolOutput::text("it ran")) })
    }
}

fn offer(name: &str, ran: &Arc<Mutex<Vec<Value>>>) -> OfferedTool {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        concurrency_safe: false,
    };
    OfferedTool { owner: "tools".into(), tool: Arc::new(NotingTool { spec, ran: Arc::clone(ran) }) }
}
