//! A turn from a script: a model that follows it, tools that take time, a sink that remembers.

use crate::bus::{Bus, BusPorts, FaultSink, Subscriber};
use crate::runtime::{OfferedTool, TurnInput, run_turn};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{Chunk, ChunkState, Message, Role, Row, RowBody};
use dispatch_contracts::fault::Fault;
use dispatch_contracts::ids::{CallId, RowId, SessionId, TurnId};
use dispatch_contracts::limits::{DispatchPolicy, TurnLimits};
use dispatch_contracts::ports::{Clock, LogRecord, LogSink, Spawner, Spill, SpillError};
use dispatch_contracts::provider::{
    Finish, ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError, ProviderErrorKind,
};
use dispatch_contracts::tool::{OutputStream, Resources, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_contracts::turn::{ApproveUnasked, Approver, Inbox, SinkError, StepSink, TurnEvent, TurnOutcome};
use dispatch_sim::{CountingIds, Sim, SimClock, Stalled};
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// What the model does next, after a delay.
#[derive(Clone, Debug)]
pub(super) enum ModelAction {
    Event(ModelEvent),
    Fail,
    BreakOff,
    Crash,
    Hang,
}

pub(super) fn text(text: &str) -> ModelAction {
    ModelAction::Event(ModelEvent::TextDelta { text: text.into() })
}

pub(super) fn call(id: &str, name: &str, arguments: Value) -> ModelAction {
    ModelAction::Event(ModelEvent::ToolCall { id: id.into(), name: name.into(), arguments: arguments.to_string() })
}

pub(super) fn finish() -> ModelAction {
    ModelAction::Event(ModelEvent::Finished { finish: Finish::Stop })
}

/// One script per model call; when they run out the model says "done".
pub(super) type ModelScript = Vec<Vec<(u64, ModelAction)>>;

struct ScriptedModel {
    clock: SimClock,
    script: Mutex<VecDeque<Vec<(u64, ModelAction)>>>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

impl Provider for ScriptedModel {
    fn stream(&self, request: ModelRequest, _cancel: CancelToken) -> ModelStream {
        self.requests.lock().unwrap().push(request);
        let acts = self.script.lock().unwrap().pop_front().unwrap_or_else(|| vec![(1, text("done")), (0, finish())]);
        let clock = self.clock.clone();
        futures_util::stream::iter(acts)
            .then(move |(delay_ms, model_action)| {
                let clock = clock.clone();
                async move {
                    clock.sleep_ms(delay_ms).await;
                    match model_action {
                        ModelAction::Event(event) => Some(Ok(event)),
                        ModelAction::Fail => {
                            Some(Err(ProviderError::new(ProviderErrorKind::Network, "the line is dead")))
                        }
                        ModelAction::BreakOff => None,
                        ModelAction::Crash => panic!("the model tripped"),
                        ModelAction::Hang => std::future::pending().await,
                    }
                }
            })
            .take_while(|item| std::future::ready(item.is_some()))
            .filter_map(std::future::ready)
            .boxed()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// What a tool did, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolSpan {
    pub(super) call: CallId,
    pub(super) tool: String,
    pub(super) keys: Vec<String>,
    pub(super) start_ms: u64,
    /// When it returned or was dropped.
    pub(super) end_ms: Option<u64>,
    /// Whether its start was on disk when it started.
    pub(super) recorded: bool,
}

/// A tool that takes `ms` milliseconds and touches the resource `key`; its name says how it behaves.
struct TimedTool {
    spec: ToolSpec,
    recorded: Arc<RecordedTurn>,
}

impl Tool for TimedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn resources(&self, arguments: &Map<String, Value>) -> Resources {
        match arguments.get("key").and_then(Value::as_str) {
            Some(key) if self.spec.name == "keyed" => Resources::Keys(vec![key.to_owned()]),
            _ => Resources::Undeclared,
        }
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let ms = arguments.get("ms").and_then(Value::as_u64).unwrap_or(10);
            let _span = self.recorded.begin(&context.call_id, &self.spec.name, &arguments);
            context.output(OutputStream::Stdout, b"working\n");
            match self.spec.name.as_str() {
                "stubborn" => std::future::pending().await,
                "patient" => context.cancel.cancelled().await,
                _ => self.recorded.clock.sleep_ms(ms).await,
            }
            match self.spec.name.as_str() {
                "failing" => Err(ToolError("it failed".into())),
                "crashing" => panic!("it crashed"),
                "loud" => Ok(ToolOutput::text("x".repeat(1000))),
                _ => Ok(ToolOutput::text(format!("ran {}", context.call_id))),
            }
        })
    }
}

/// Remembers everything that happens in a turn.
pub(super) struct RecordedTurn {
    pub(super) clock: SimClock,
    pub(super) spans: Mutex<Vec<ToolSpan>>,
    pub(super) rows: Mutex<Vec<Row>>,
    pub(super) events: Mutex<Vec<TurnEvent>>,
    pub(super) faults: Mutex<Vec<Fault>>,
    pub(super) spilled: Mutex<Vec<(String, String)>>,
    pub(super) mail: Mutex<Vec<(u64, String)>>,
    pub(super) rows_until_full: Mutex<usize>,
}

impl RecordedTurn {
    fn begin(&self, call: &CallId, tool: &str, arguments: &Map<String, Value>) -> RunningToolSpan<'_> {
        let started = |row: &Row| matches!(&row.body, RowBody::CallStarted { call: known, .. } if known.id == *call);
        let recorded = self.rows.lock().unwrap().iter().any(started);
        let keys = arguments.get("key").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
        let start_ms = self.clock.monotonic_ms();
        let span = ToolSpan { call: call.clone(), tool: tool.to_owned(), keys, start_ms, end_ms: None, recorded };
        let mut spans = self.spans.lock().unwrap();
        spans.push(span);
        RunningToolSpan { recorded: self, at: spans.len() - 1 }
    }
}

/// Notes the end of a span, however the tool ends.
struct RunningToolSpan<'a> {
    recorded: &'a RecordedTurn,
    at: usize,
}

impl Drop for RunningToolSpan<'_> {
    fn drop(&mut self) {
        self.recorded.spans.lock().unwrap()[self.at].end_ms = Some(self.recorded.clock.monotonic_ms());
    }
}

impl StepSink for RecordedTurn {
    fn record_all<'a>(&'a self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async move {
            let mut room = self.rows_until_full.lock().unwrap();
            *room = room.checked_sub(rows.len()).ok_or_else(|| SinkError("the disk is full".into()))?;
            self.rows.lock().unwrap().extend_from_slice(rows);
            Ok(())
        })
    }
}

impl Inbox for RecordedTurn {
    fn take(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async move {
            let now_ms = self.clock.monotonic_ms();
            let mut mail = self.mail.lock().unwrap();
            let (due, later) = std::mem::take(&mut *mail).into_iter().partition(|(at_ms, _)| *at_ms <= now_ms);
            *mail = later;
            let due: Vec<(u64, String)> = due;
            due.into_iter().map(|(_, text)| text).collect()
        })
    }
}

impl Spill for RecordedTurn {
    fn keep<'a>(&'a self, name: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, SpillError>> {
        Box::pin(async move {
            self.spilled.lock().unwrap().push((name.to_owned(), text.to_owned()));
            Ok(format!("spill/{name}"))
        })
    }
}

impl FaultSink for RecordedTurn {
    fn report(&self, fault: Fault) {
        self.faults.lock().unwrap().push(fault);
    }
}

impl LogSink for RecordedTurn {
    fn write(&self, _record: LogRecord) {}
}

/// A turn to be result.
pub(super) struct TurnScenario {
    pub(super) seed: u64,
    pub(super) script: ModelScript,
    pub(super) policy: DispatchPolicy,
    pub(super) limits: TurnLimits,
    pub(super) mail: Vec<(u64, String)>,
    pub(super) cancel_at_ms: Option<u64>,
    pub(super) rows_until_full: usize,
    pub(super) approver: Arc<dyn Approver>,
    pub(super) prepare: PrepareBus,
}

/// Puts handlers on the bus before the turn begins.
type PrepareBus = Box<dyn Fn(&Bus)>;

impl std::fmt::Debug for TurnScenario {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("TurnScenario")
            .field("seed", &self.seed)
            .field("script", &self.script)
            .field("policy", &self.policy)
            .field("limits", &self.limits)
            .field("mail", &self.mail)
            .field("cancel_at_ms", &self.cancel_at_ms)
            .field("rows_until_full", &self.rows_until_full)
            .finish_non_exhaustive()
    }
}

impl Default for TurnScenario {
    fn default() -> Self {
        Self {
            seed: 1,
            script: Vec::new(),
            policy: DispatchPolicy::default(),
            limits: TurnLimits { cancel_grace_ms: 50, call_ms: 10_000, turn_ms: 100_000, ..TurnLimits::default() },
            mail: Vec::new(),
            cancel_at_ms: None,
            rows_until_full: usize::MAX,
            approver: Arc::new(ApproveUnasked),
            prepare: Box::new(|_| {}),
        }
    }
}

/// What is left of a result turn.
pub(super) struct ScenarioResult {
    pub(super) outcome: TurnOutcome,
    pub(super) recorded: Arc<RecordedTurn>,
    pub(super) requests: Vec<ModelRequest>,
}

pub(super) const TOOLS: [(&str, bool); 8] = [
    ("safe", true),
    ("exclusive", false),
    ("keyed", false),
    ("failing", true),
    ("crashing", true),
    ("patient", true),
    ("stubborn", true),
    ("loud", true),
];

pub(super) fn subscriber(name: &str) -> Subscriber {
    Subscriber { extension: name.into(), rank: 0, generation: 0 }
}

impl TurnScenario {
    pub(super) fn run(self) -> Result<ScenarioResult, Stalled> {
        let sim = Sim::new(self.seed);
        let recorded = Arc::new(RecordedTurn {
            clock: sim.clock(),
            spans: Mutex::default(),
            rows: Mutex::default(),
            events: Mutex::default(),
            faults: Mutex::default(),
            spilled: Mutex::default(),
            mail: Mutex::new(self.mail),
            rows_until_full: Mutex::new(self.rows_until_full),
        });
        let ports = BusPorts {
            clock: Arc::new(sim.clock()),
            spawner: Arc::new(sim.spawner()),
            log: Arc::clone(&recorded) as Arc<dyn LogSink>,
        };
        let bus = Bus::new(ports, Arc::clone(&recorded) as Arc<dyn FaultSink>);
        (self.prepare)(&bus);
        let cancel = CancelToken::new();
        if let Some(at_ms) = self.cancel_at_ms {
            let (clock, cancel) = (sim.clock(), cancel.clone());
            sim.spawner().spawn(Box::pin(async move {
                clock.sleep_ms(at_ms).await;
                cancel.cancel();
            }));
        }
        let requests = Arc::new(Mutex::new(Vec::new()));
        let provider = ScriptedModel {
            clock: sim.clock(),
            script: Mutex::new(self.script.into()),
            requests: Arc::clone(&requests),
        };
        let watcher = Arc::clone(&recorded);
        let input = TurnInput {
            session: SessionId::new("session"),
            turn: TurnId::new("turn"),
            provider: Arc::new(provider),
            model: "scripted".into(),
            options: Map::new(),
            system: vec!["be brief".into()],
            messages: vec![Message::text(Role::User, "go")],
            tools: TOOLS.iter().map(|(name, safe)| offer(name, *safe, &recorded)).collect(),
            workdir: "/project".into(),
            policy: self.policy,
            limits: self.limits,
            bus: &bus,
            steps: recorded.as_ref(),
            inbox: recorded.as_ref(),
            approver: self.approver.as_ref(),
            spill: recorded.as_ref(),
            emit: Arc::new(move |event| watcher.events.lock().unwrap().push(event)),
            cancel,
            clock: &sim.clock(),
            ids: &CountingIds::default(),
        };
        let outcome = sim.block_on(run_turn(input))?;
        let requests = requests.lock().unwrap().clone();
        Ok(ScenarioResult { outcome, recorded, requests })
    }
}

fn offer(name: &str, concurrency_safe: bool, recorded: &Arc<RecordedTurn>) -> OfferedTool {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"ms": {"type": "integer"}, "key": {"type": "string"}}}),
        concurrency_safe,
    };
    OfferedTool { owner: "tools".into(), tool: Arc::new(TimedTool { spec, recorded: Arc::clone(recorded) }) }
}

impl ScenarioResult {
    pub(super) fn rows(&self) -> Vec<Row> {
        self.recorded.rows.lock().unwrap().clone()
    }

    pub(super) fn spans(&self) -> Vec<ToolSpan> {
        self.recorded.spans.lock().unwrap().clone()
    }

    /// The results in the order the model reads them: id, status, text.
    pub(super) fn results(&self) -> Vec<(String, dispatch_contracts::conversation::ResultStatus, String)> {
        let results = self.outcome.messages.iter().flat_map(Message::results);
        results.map(|result| (result.call.to_string(), result.status, result.text.clone())).collect()
    }

    /// The whole log: the user's question and what the turn recorded.
    pub(super) fn log(&self) -> Vec<Row> {
        let body = RowBody::Chunk {
            role: Role::User,
            index: 0,
            part: 0,
            chunk: Chunk::Text { text: "go".into() },
            state: ChunkState::Whole,
        };
        let question = Row { id: RowId::new("question"), turn: TurnId::new("turn"), step: 0, at_ms: 0, body };
        [question].into_iter().chain(self.rows()).collect()
    }
}
