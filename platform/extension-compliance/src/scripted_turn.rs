//! One turn in which a model that follows a script calls one tool, and what is left of it.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{Message, Role, Row, ToolResult};
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::limits::{DispatchPolicy, TurnLimits};
use dispatch_contracts::ports::{Spill, SpillError};
use dispatch_contracts::provider::{Finish, ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError};
use dispatch_contracts::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_contracts::turn::{ApproveUnasked, Inbox, SinkError, StepSink, TurnEnd, TurnEvent};
use dispatch_kernel::host::{ExtensionHost, Ports};
use dispatch_kernel::runtime::{OfferedTool, TurnInput, run_turn};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A tool of the suite itself, for calls that have nothing to do with the extension.
pub(crate) const BYSTANDER_TOOL: &str = "compliance_bystander";

/// What is left of a turn.
pub(crate) struct TurnRecord {
    pub(crate) end: TurnEnd,
    pub(crate) result: Option<ToolResult>,
}

impl TurnRecord {
    /// What the model was told.
    pub(crate) fn text(&self) -> &str {
        self.result.as_ref().map(|result| result.text.as_str()).unwrap_or_default()
    }
}

/// Plays a turn in which the model calls this tool. `watch` sees what a client would.
pub(crate) async fn play(
    host: &ExtensionHost,
    ports: &Ports,
    workdir: &Path,
    (tool, arguments): (&str, Value),
    watch: Arc<dyn Fn(TurnEvent) + Send + Sync>,
) -> TurnRecord {
    let offered = host.tools().into_iter().map(|owned| OfferedTool { owner: owned.owner, tool: owned.item });
    let outcome = run_turn(TurnInput {
        session: "compliance".into(),
        turn: TurnId::new(ports.ids.next_id()),
        provider: Arc::new(ScriptedModel::calling(tool, &arguments)),
        model: "scripted".to_owned(),
        options: Map::new(),
        system: Vec::new(),
        messages: vec![Message::text(Role::User, "go")],
        tools: offered.chain([bystander()]).collect(),
        workdir: workdir.to_path_buf(),
        policy: DispatchPolicy::default(),
        limits: TurnLimits::default(),
        bus: host.bus(),
        steps: &Nowhere,
        inbox: &Nowhere,
        approver: &ApproveUnasked,
        spill: &Nowhere,
        emit: watch,
        cancel: CancelToken::new(),
        clock: ports.clock.as_ref(),
        ids: ports.ids.as_ref(),
    })
    .await;
    let result = outcome.messages.iter().flat_map(Message::results).next().cloned();
    TurnRecord { end: outcome.end, result }
}

/// Rows, messages and long outputs of these turns are not kept.
struct Nowhere;

impl StepSink for Nowhere {
    fn record_all<'a>(&'a self, _rows: &'a [Row]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Inbox for Nowhere {
    fn take(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

impl Spill for Nowhere {
    fn keep<'a>(&'a self, name: &'a str, _text: &'a str) -> BoxFuture<'a, Result<String, SpillError>> {
        Box::pin(std::future::ready(Ok(name.to_owned())))
    }
}

/// A model that makes one call and then is done.
struct ScriptedModel {
    steps: Mutex<VecDeque<Vec<ModelEvent>>>,
}

impl ScriptedModel {
    fn calling(tool: &str, arguments: &Value) -> Self {
        let (id, name) = ("call".to_owned(), tool.to_owned());
        let call = ModelEvent::ToolCall { id, name, arguments: arguments.to_string() };
        let done = ModelEvent::TextDelta { text: "done".to_owned() };
        let step = |event, finish| vec![event, ModelEvent::Finished { finish }];
        Self { steps: Mutex::new([step(call, Finish::ToolCalls), step(done, Finish::Stop)].into()) }
    }
}

impl Provider for ScriptedModel {
    fn stream(&self, _request: ModelRequest, _cancel: CancelToken) -> ModelStream {
        let next = self.steps.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(futures_util::stream::iter(next.unwrap_or_default().into_iter().map(Ok)))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

struct Bystander(ToolSpec);

impl Tool for Bystander {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _arguments: Map<String, Value>,
        _context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::text("it ran"))))
    }
}

fn bystander() -> OfferedTool {
    let spec = ToolSpec {
        name: BYSTANDER_TOOL.to_owned(),
        description: "Does nothing.".to_owned(),
        parameters: json!({ "type": "object" }),
        concurrency_safe: false,
    };
    OfferedTool { owner: "compliance".into(), tool: Arc::new(Bystander(spec)) }
}
