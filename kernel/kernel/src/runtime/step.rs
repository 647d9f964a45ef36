//! One step: the model speaks, its calls run as the policy allows, and every call gets its result.

use super::call::{CallEnvironment, CallProgress, PendingCall, claim, result, unknown};
use super::live_output::LiveOutput;
use super::reply::{StreamedReply, TextKind};
use super::schedule::CallSchedule;
use super::turn::{StopSignals, TurnTotals};
use crate::bus::isolate::{HandlerFailure, isolate_call};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{
    Chunk, ChunkState, INVALID_ARGUMENTS, ResultStatus, Role, RowBody, ToolCall, ToolResult,
};
use dispatch_contracts::ids::CallId;
use dispatch_contracts::provider::{
    Finish, ModelEvent, ModelRequest, ModelStream, ProviderError, ProviderErrorKind, Usage,
};
use dispatch_contracts::turn::{Limit, SinkError, TurnEnd, TurnEvent};
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// What the model reads for a call that a stop came before.
const STOPPED: &str = "This call was not run: the turn was stopped before it started.";

/// How a step ended.
pub(super) enum StepEnd {
    /// The model finished; it made calls, or it did not.
    Replied {
        /// Whether there are results that the model must see.
        called: bool,
    },
    /// The turn is over.
    Stop(TurnEnd),
}

/// What happens next.
enum StepEvent {
    Cancelled,
    OutOfTime,
    TextWaited,
    Model(Option<Result<ModelEvent, ProviderError>>),
    Call(usize, Result<CallProgress, SinkError>),
}

/// A call in the schedule, the later calls that repeat it, and its outcome.
struct CallSlot {
    pending: PendingCall,
    twins: Vec<ToolCall>,
    ended: Option<ResultStatus>,
}

pub(super) struct StepRun<'a, 't> {
    environment: CallEnvironment<'a>,
    stop_signals: &'t mut StopSignals,
    totals: &'t mut TurnTotals,
    cancel: CancelToken,
    stream: Option<ModelStream>,
    reply: StreamedReply,
    /// Rings when text has waited long enough to be stored.
    flush_timer: Option<BoxFuture<'static, ()>>,
    schedule: CallSchedule,
    slots: Vec<CallSlot>,
    by_content: BTreeMap<(String, String), usize>,
    running: FuturesUnordered<BoxFuture<'a, (usize, Result<CallProgress, SinkError>)>>,
    calls: u32,
    usage: Usage,
    failure: Option<TurnEnd>,
}

impl<'a, 't> StepRun<'a, 't> {
    pub(super) fn new(
        environment: CallEnvironment<'a>,
        stop_signals: &'t mut StopSignals,
        totals: &'t mut TurnTotals,
    ) -> Self {
        Self {
            stop_signals,
            totals,
            cancel: environment.input.cancel.child(),
            stream: None,
            reply: StreamedReply::default(),
            flush_timer: None,
            schedule: CallSchedule::new(environment.input.policy),
            slots: Vec::new(),
            by_content: BTreeMap::new(),
            running: FuturesUnordered::new(),
            calls: 0,
            usage: Usage::default(),
            failure: None,
            environment,
        }
    }

    /// Runs the step to its end, whatever that is.
    pub(super) async fn run(mut self, request: ModelRequest) -> StepEnd {
        (self.environment.input.emit)(TurnEvent::StepStarted { step: self.environment.step });
        self.open(request);
        let end = self.drive().await;
        self.totals.usage.add(self.usage);
        match end {
            Ok(end) => end,
            Err(SinkError(message)) => {
                self.abandon().await;
                StepEnd::Stop(TurnEnd::StoreFailed { message })
            }
        }
    }

    fn open(&mut self, request: ModelRequest) {
        let (provider, cancel) = (Arc::clone(&self.environment.input.provider), self.cancel.clone());
        match isolate_call(|| provider.stream(request, cancel)) {
            Ok(stream) => self.stream = Some(stream),
            Err(failure) => self.stream = Some(futures_util::stream::iter([Err(crashed(&failure))]).boxed()),
        }
    }

    async fn drive(&mut self) -> Result<StepEnd, SinkError> {
        loop {
            self.launch();
            self.set_flush_timer();
            if self.stream.is_none() && self.schedule.is_idle() {
                return Ok(match self.failure.take() {
                    Some(end) => StepEnd::Stop(end),
                    None => StepEnd::Replied { called: self.calls > 0 },
                });
            }
            match self.next().await {
                StepEvent::Cancelled => return self.stop(TurnEnd::Cancelled).await,
                StepEvent::OutOfTime => return self.stop(TurnEnd::LimitReached { limit: Limit::Time }).await,
                StepEvent::TextWaited => record_all(self.environment, self.reply.flush()).await?,
                StepEvent::Call(slot, progress) => self.on_progress(slot, progress?).await?,
                StepEvent::Model(Some(Ok(event))) => {
                    self.on_event(event).await?;
                    if self.totals.said_bytes > self.environment.input.limits.reply_bytes {
                        return self.stop(TurnEnd::LimitReached { limit: Limit::ReplyBytes }).await;
                    }
                }
                StepEvent::Model(Some(Err(error))) => self.on_broken(error).await?,
                StepEvent::Model(None) => {
                    let message = "the model's reply stopped before it was finished";
                    self.on_broken(ProviderError::new(ProviderErrorKind::BrokenStream, message)).await?;
                }
            }
        }
    }

    /// Text that has come is stored soon, however slowly the rest of it comes.
    fn set_flush_timer(&mut self) {
        if !self.reply.waits() {
            self.flush_timer = None;
        } else if self.flush_timer.is_none() {
            self.flush_timer = Some(self.environment.input.clock.sleep_ms(self.environment.input.limits.flush_ms));
        }
    }

    async fn next(&mut self) -> StepEvent {
        poll_fn(|context| {
            if self.stop_signals.cancelled.poll_unpin(context).is_ready() {
                return Poll::Ready(StepEvent::Cancelled);
            }
            if self.stop_signals.deadline.poll_unpin(context).is_ready() {
                return Poll::Ready(StepEvent::OutOfTime);
            }
            if let Poll::Ready(Some((slot, progress))) = self.running.poll_next_unpin(context) {
                return Poll::Ready(StepEvent::Call(slot, progress));
            }
            if let Some(flush_timer) = self.flush_timer.as_mut()
                && flush_timer.poll_unpin(context).is_ready()
            {
                self.flush_timer = None;
                return Poll::Ready(StepEvent::TextWaited);
            }
            let Some(stream) = self.stream.as_mut() else { return Poll::Pending };
            match isolate_call(|| stream.poll_next_unpin(context)) {
                Ok(poll) => poll.map(StepEvent::Model),
                Err(failure) => Poll::Ready(StepEvent::Model(Some(Err(crashed(&failure))))),
            }
        })
        .await
    }

    /// Starts every call that may run now.
    fn launch(&mut self) {
        while let Some(at) = self.schedule.start_next() {
            let Some(slot) = self.slots.get(at) else { continue };
            let (environment, pending, cancel) = (self.environment, slot.pending.clone(), self.cancel.child());
            self.running.push(async move { (at, environment.run(pending, cancel).await) }.boxed());
        }
    }

    async fn on_event(&mut self, event: ModelEvent) -> Result<(), SinkError> {
        let step = self.environment.step;
        match event {
            ModelEvent::TextDelta { text } => {
                self.say(TextKind::Text, &text).await?;
                (self.environment.input.emit)(TurnEvent::TextDelta { step, text });
            }
            ModelEvent::ReasoningDelta { text } => {
                self.say(TextKind::Reasoning, &text).await?;
                (self.environment.input.emit)(TurnEvent::ReasoningDelta { step, text });
            }
            ModelEvent::ReasoningSealed { signature } => {
                let due = self.reply.seal(signature);
                record_all(self.environment, due).await?;
            }
            ModelEvent::ToolCall { id, name, arguments } => self.on_call(id, name, arguments).await?,
            ModelEvent::Usage(usage) => self.usage = usage,
            ModelEvent::Finished { finish } => self.on_finished(finish).await?,
        }
        Ok(())
    }

    async fn say(&mut self, kind: TextKind, text: &str) -> Result<(), SinkError> {
        self.totals.said_bytes = self.totals.said_bytes.saturating_add(text.len());
        let due = self.reply.add(kind, text, self.environment.input.limits.flush_bytes);
        record_all(self.environment, due).await
    }

    async fn on_finished(&mut self, finish: Finish) -> Result<(), SinkError> {
        self.stream = None;
        let due = self.reply.close(ChunkState::Whole).into_iter();
        let due = due.chain([RowBody::StepEnded { finish, usage: self.usage }]);
        self.schedule.model_ended();
        if self.calls == 0 {
            // Nothing follows but the end of the turn, or what was steered: they are stored together.
            self.environment.recorder.hold(self.environment.step, due);
            return Ok(());
        }
        record_all(self.environment, due).await
    }

    /// The reply broke: what arrived is kept, what runs may end, what waits will not start.
    async fn on_broken(&mut self, error: ProviderError) -> Result<(), SinkError> {
        self.stream = None;
        let due = self.reply.close(ChunkState::Broken);
        record_all(self.environment, due).await?;
        self.schedule.model_ended();
        self.failure = Some(TurnEnd::ProviderFailed { error });
        self.refuse_queued("This call was not run: the reply that asked for it broke off.").await
    }

    async fn on_call(&mut self, id: String, name: String, arguments: String) -> Result<(), SinkError> {
        self.totals.said_bytes = self.totals.said_bytes.saturating_add(name.len() + arguments.len());
        let (due, index) = self.reply.take_index();
        let parsed = parse_arguments(&arguments);
        let kept = parsed.clone().unwrap_or_else(|_| unreadable(&arguments));
        let call = ToolCall { id: self.unique_id(id), name, arguments: kept };
        let chunk = Chunk::ToolCall(call.clone());
        let chunk = RowBody::Chunk { role: Role::Assistant, index, part: 0, chunk, state: ChunkState::Whole };
        record_all(self.environment, due.into_iter().chain([chunk])).await?;
        self.calls += 1;
        match self.admit(index, call, arguments, parsed.err()) {
            Some(outcome) => self.environment.end(outcome).await.map(drop),
            None => Ok(()),
        }
    }

    /// Puts a call into the schedule, or says why it will not run on its own.
    fn admit(&mut self, index: u32, call: ToolCall, content: String, unreadable: Option<String>) -> Option<ToolResult> {
        let limit = self.environment.input.limits.calls_per_step;
        if self.calls > limit {
            let text = format!("This call was not run: one step may make at most {limit} calls.");
            return Some(result(&call, ResultStatus::NotRun, text));
        }
        if let Some(problem) = unreadable {
            let text = format!("This call was not run, because its arguments are not a JSON object: {problem}.");
            return Some(result(&call, ResultStatus::NotRun, text));
        }
        let offered = self.environment.input.tools.iter().find(|offered| offered.tool.spec().name == call.name);
        let Some(offered) = offered.cloned() else {
            return Some(result(&call, ResultStatus::NotRun, self.no_such_tool(&call.name)));
        };
        if let Some(first) = self.by_content.get(&(call.name.clone(), content.clone())).copied() {
            return self.join_twin(first, call);
        }
        let at = self.schedule.arrive(claim(&offered, &call.arguments));
        self.by_content.insert((call.name.clone(), content), at);
        let (started, output) = (Arc::new(AtomicBool::new(false)), Arc::new(LiveOutput::default()));
        let pending = PendingCall { index, call, offered, judged: false, started, output };
        self.slots.push(CallSlot { pending, twins: Vec::new(), ended: None });
        None
    }

    /// A call that repeats an earlier one shares its run.
    fn join_twin(&mut self, first: usize, call: ToolCall) -> Option<ToolResult> {
        let slot = self.slots.get_mut(first)?;
        match slot.ended {
            Some(status) => Some(twin_result(&call, &slot.pending.call.id, status)),
            None => {
                slot.twins.push(call);
                None
            }
        }
    }

    async fn on_progress(&mut self, at: usize, progress: CallProgress) -> Result<(), SinkError> {
        match progress {
            CallProgress::Requeue(call, claim) => {
                if let Some(slot) = self.slots.get_mut(at) {
                    slot.pending.call = call;
                    slot.pending.judged = true;
                }
                self.schedule.requeue(at, claim);
                Ok(())
            }
            CallProgress::Ended(outcome) => self.settle(at, outcome.status).await,
        }
    }

    /// Marks a call as ended and answers those that repeat it.
    async fn settle(&mut self, at: usize, status: ResultStatus) -> Result<(), SinkError> {
        self.schedule.end(at);
        let Some(slot) = self.slots.get_mut(at) else { return Ok(()) };
        slot.ended = Some(status);
        let first = slot.pending.call.id.clone();
        for twin in std::mem::take(&mut slot.twins) {
            self.environment.end(twin_result(&twin, &first, status)).await?;
        }
        Ok(())
    }

    /// Ends the step early: calls get a moment to end by themselves, then the rest is accounted for.
    async fn stop(&mut self, end: TurnEnd) -> Result<StepEnd, SinkError> {
        self.stream = None;
        let due = self.reply.close(ChunkState::Broken);
        record_all(self.environment, due).await?;
        self.cancel.cancel();
        self.refuse_queued(STOPPED).await?;
        let mut grace = self.grace();
        while let Either::Left((Some((at, progress)), rest)) = select(self.running.next(), grace).await {
            grace = rest;
            self.on_progress(at, progress?).await?;
            self.refuse_queued(STOPPED).await?;
        }
        self.running.clear();
        self.account_for_lost().await?;
        Ok(StepEnd::Stop(end))
    }

    async fn refuse_queued(&mut self, text: &str) -> Result<(), SinkError> {
        for at in self.schedule.queued() {
            let Some(slot) = self.slots.get(at) else { continue };
            let refusal = result(&slot.pending.call, ResultStatus::NotRun, text);
            self.environment.end(refusal).await?;
            self.settle(at, ResultStatus::NotRun).await?;
        }
        Ok(())
    }

    /// Results for the calls that were dropped while they ran.
    async fn account_for_lost(&mut self) -> Result<(), SinkError> {
        for at in 0..self.slots.len() {
            let Some(slot) = self.slots.get(at).filter(|slot| slot.ended.is_none()) else { continue };
            let pending = &slot.pending;
            let lost = if pending.started.load(Ordering::Relaxed) {
                unknown(&pending.call, &pending.output)
            } else {
                result(&pending.call, ResultStatus::NotRun, STOPPED)
            };
            let status = lost.status;
            self.environment.end(lost).await?;
            self.settle(at, status).await?;
        }
        Ok(())
    }

    /// Nothing can be stored any more: tools are told to stop and get a moment to do so.
    async fn abandon(&mut self) {
        self.stream = None;
        self.cancel.cancel();
        let grace = self.grace();
        let ended = std::mem::take(&mut self.running).for_each(|_| std::future::ready(()));
        select(ended, grace).await;
    }

    fn grace(&self) -> BoxFuture<'static, ()> {
        self.environment.input.clock.sleep_ms(self.environment.input.limits.cancel_grace_ms)
    }

    /// The provider's id when it can be used, else one of our own.
    fn unique_id(&mut self, id: String) -> CallId {
        let mut candidate = CallId::new(id);
        while candidate.as_str().trim().is_empty() || !self.totals.call_ids.insert(candidate.clone()) {
            candidate = CallId::new(self.environment.input.ids.next_id());
        }
        candidate
    }

    fn no_such_tool(&self, name: &str) -> String {
        let names: Vec<&str> =
            self.environment.input.tools.iter().map(|offered| offered.tool.spec().name.as_str()).collect();
        let known = if names.is_empty() {
            "no tools are offered".to_owned()
        } else {
            format!("the tools are: {}", names.join(", "))
        };
        format!("This call was not run: unknown tool `{name}`; {known}.")
    }
}

/// Takes the environment and not the step, so that the step may be driven by any thread.
async fn record_all(
    environment: CallEnvironment<'_>,
    bodies: impl IntoIterator<Item = RowBody>,
) -> Result<(), SinkError> {
    environment.recorder.record_all(environment.step, bodies).await
}

fn parse_arguments(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("they are JSON, but not an object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn unreadable(text: &str) -> Map<String, Value> {
    Map::from_iter([(INVALID_ARGUMENTS.to_owned(), Value::String(text.to_owned()))])
}

fn twin_result(twin: &ToolCall, first: &CallId, status: ResultStatus) -> ToolResult {
    let text = format!(
        "This call is identical to call {first} of the same step, which was run once for both; see its result."
    );
    result(twin, status, text)
}

fn crashed(failure: &HandlerFailure) -> ProviderError {
    ProviderError::new(ProviderErrorKind::BrokenStream, format!("the provider crashed: it {}", failure.message))
}
