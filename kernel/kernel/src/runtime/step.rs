//! One step: the model speaks, its calls run as the policy allows, and every call gets its result.

use super::call::{CallScene, Pending, Progress, claim, result, unknown};
use super::live_output::LiveOutput;
use super::reply::{Reply, Voice};
use super::schedule::Schedule;
use super::turn::{Tally, Watch};
use crate::bus::isolate::{Failure, isolate_call};
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
enum Happening {
    Cancelled,
    OutOfTime,
    TextWaited,
    Model(Option<Result<ModelEvent, ProviderError>>),
    Call(usize, Result<Progress, SinkError>),
}

/// A call in the schedule, the later calls that repeat it, and its outcome.
struct Slot {
    pending: Pending,
    twins: Vec<ToolCall>,
    ended: Option<ResultStatus>,
}

pub(super) struct StepRun<'a, 't> {
    scene: CallScene<'a>,
    watch: &'t mut Watch,
    tally: &'t mut Tally,
    cancel: CancelToken,
    stream: Option<ModelStream>,
    reply: Reply,
    /// Rings when text has waited long enough to be stored.
    bell: Option<BoxFuture<'static, ()>>,
    schedule: Schedule,
    slots: Vec<Slot>,
    by_content: BTreeMap<(String, String), usize>,
    running: FuturesUnordered<BoxFuture<'a, (usize, Result<Progress, SinkError>)>>,
    calls: u32,
    usage: Usage,
    failure: Option<TurnEnd>,
}

impl<'a, 't> StepRun<'a, 't> {
    pub(super) fn new(scene: CallScene<'a>, watch: &'t mut Watch, tally: &'t mut Tally) -> Self {
        Self {
            watch,
            tally,
            cancel: scene.input.cancel.child(),
            stream: None,
            reply: Reply::default(),
            bell: None,
            schedule: Schedule::new(scene.input.policy),
            slots: Vec::new(),
            by_content: BTreeMap::new(),
            running: FuturesUnordered::new(),
            calls: 0,
            usage: Usage::default(),
            failure: None,
            scene,
        }
    }

    /// Runs the step to its end, whatever that is.
    pub(super) async fn run(mut self, request: ModelRequest) -> StepEnd {
        (self.scene.input.emit)(TurnEvent::StepStarted { step: self.scene.step });
        self.open(request);
        let end = self.drive().await;
        self.tally.usage.add(self.usage);
        match end {
            Ok(end) => end,
            Err(SinkError(message)) => {
                self.abandon().await;
                StepEnd::Stop(TurnEnd::StoreFailed { message })
            }
        }
    }

    fn open(&mut self, request: ModelRequest) {
        let (provider, cancel) = (Arc::clone(&self.scene.input.provider), self.cancel.clone());
        match isolate_call(|| provider.stream(request, cancel)) {
            Ok(stream) => self.stream = Some(stream),
            Err(failure) => self.stream = Some(futures_util::stream::iter([Err(crashed(&failure))]).boxed()),
        }
    }

    async fn drive(&mut self) -> Result<StepEnd, SinkError> {
        loop {
            self.launch();
            self.set_bell();
            if self.stream.is_none() && self.schedule.is_idle() {
                return Ok(match self.failure.take() {
                    Some(end) => StepEnd::Stop(end),
                    None => StepEnd::Replied { called: self.calls > 0 },
                });
            }
            match self.next().await {
                Happening::Cancelled => return self.stop(TurnEnd::Cancelled).await,
                Happening::OutOfTime => return self.stop(TurnEnd::LimitReached { limit: Limit::Time }).await,
                Happening::TextWaited => record_all(self.scene, self.reply.flush()).await?,
                Happening::Call(slot, progress) => self.on_progress(slot, progress?).await?,
                Happening::Model(Some(Ok(event))) => {
                    self.on_event(event).await?;
                    if self.tally.said_bytes > self.scene.input.limits.reply_bytes {
                        return self.stop(TurnEnd::LimitReached { limit: Limit::ReplyBytes }).await;
                    }
                }
                Happening::Model(Some(Err(error))) => self.on_broken(error).await?,
                Happening::Model(None) => {
                    let message = "the model's reply stopped before it was finished";
                    self.on_broken(ProviderError::new(ProviderErrorKind::BrokenStream, message)).await?;
                }
            }
        }
    }

    /// Text that has come is stored soon, however slowly the rest of it comes.
    fn set_bell(&mut self) {
        if !self.reply.waits() {
            self.bell = None;
        } else if self.bell.is_none() {
            self.bell = Some(self.scene.input.clock.sleep_ms(self.scene.input.limits.flush_ms));
        }
    }

    async fn next(&mut self) -> Happening {
        poll_fn(|context| {
            if self.watch.cancelled.poll_unpin(context).is_ready() {
                return Poll::Ready(Happening::Cancelled);
            }
            if self.watch.deadline.poll_unpin(context).is_ready() {
                return Poll::Ready(Happening::OutOfTime);
            }
            if let Poll::Ready(Some((slot, progress))) = self.running.poll_next_unpin(context) {
                return Poll::Ready(Happening::Call(slot, progress));
            }
            if let Some(bell) = self.bell.as_mut()
                && bell.poll_unpin(context).is_ready()
            {
                self.bell = None;
                return Poll::Ready(Happening::TextWaited);
            }
            let Some(stream) = self.stream.as_mut() else { return Poll::Pending };
            match isolate_call(|| stream.poll_next_unpin(context)) {
                Ok(poll) => poll.map(Happening::Model),
                Err(failure) => Poll::Ready(Happening::Model(Some(Err(crashed(&failure))))),
            }
        })
        .await
    }

    /// Starts every call that may run now.
    fn launch(&mut self) {
        while let Some(at) = self.schedule.start_next() {
            let Some(slot) = self.slots.get(at) else { continue };
            let (scene, pending, cancel) = (self.scene, slot.pending.clone(), self.cancel.child());
            self.running.push(async move { (at, scene.run(pending, cancel).await) }.boxed());
        }
    }

    async fn on_event(&mut self, event: ModelEvent) -> Result<(), SinkError> {
        let step = self.scene.step;
        match event {
            ModelEvent::TextDelta { text } => {
                self.say(Voice::Text, &text).await?;
                (self.scene.input.emit)(TurnEvent::TextDelta { step, text });
            }
            ModelEvent::ReasoningDelta { text } => {
                self.say(Voice::Reasoning, &text).await?;
                (self.scene.input.emit)(TurnEvent::ReasoningDelta { step, text });
            }
            ModelEvent::ReasoningSealed { signature } => {
                let due = self.reply.seal(signature);
                record_all(self.scene, due).await?;
            }
            ModelEvent::ToolCall { id, name, arguments } => self.on_call(id, name, arguments).await?,
            ModelEvent::Usage(usage) => self.usage = usage,
            ModelEvent::Finished { finish } => self.on_finished(finish).await?,
        }
        Ok(())
    }

    async fn say(&mut self, voice: Voice, text: &str) -> Result<(), SinkError> {
        self.tally.said_bytes = self.tally.said_bytes.saturating_add(text.len());
        let due = self.reply.add(voice, text, self.scene.input.limits.flush_bytes);
        record_all(self.scene, due).await
    }

    async fn on_finished(&mut self, finish: Finish) -> Result<(), SinkError> {
        self.stream = None;
        let due = self.reply.close(ChunkState::Whole);
        record_all(self.scene, due).await?;
        record_all(self.scene, [RowBody::StepEnded { finish, usage: self.usage }]).await?;
        self.schedule.model_ended();
        Ok(())
    }

    /// The reply broke: what arrived is kept, what runs may end, what waits will not start.
    async fn on_broken(&mut self, error: ProviderError) -> Result<(), SinkError> {
        self.stream = None;
        let due = self.reply.close(ChunkState::Broken);
        record_all(self.scene, due).await?;
        self.schedule.model_ended();
        self.failure = Some(TurnEnd::ProviderFailed { error });
        self.refuse_queued("This call was not run: the reply that asked for it broke off.").await
    }

    async fn on_call(&mut self, id: String, name: String, arguments: String) -> Result<(), SinkError> {
        self.tally.said_bytes = self.tally.said_bytes.saturating_add(name.len() + arguments.len());
        let (due, index) = self.reply.take_index();
        record_all(self.scene, due).await?;
        let parsed = parse_arguments(&arguments);
        let kept = parsed.clone().unwrap_or_else(|_| unreadable(&arguments));
        let call = ToolCall { id: self.unique_id(id), name, arguments: kept };
        let chunk = Chunk::ToolCall(call.clone());
        record_all(
            self.scene,
            [RowBody::Chunk { role: Role::Assistant, index, part: 0, chunk, state: ChunkState::Whole }],
        )
        .await?;
        self.calls += 1;
        match self.admit(index, call, arguments, parsed.err()) {
            Some(outcome) => self.scene.end(outcome).await.map(drop),
            None => Ok(()),
        }
    }

    /// Puts a call into the schedule, or says why it will not run on its own.
    fn admit(&mut self, index: u32, call: ToolCall, content: String, unreadable: Option<String>) -> Option<ToolResult> {
        let limit = self.scene.input.limits.calls_per_step;
        if self.calls > limit {
            let text = format!("This call was not run: one step may make at most {limit} calls.");
            return Some(result(&call, ResultStatus::NotRun, text));
        }
        if let Some(problem) = unreadable {
            let text = format!("This call was not run, because its arguments are not a JSON object: {problem}.");
            return Some(result(&call, ResultStatus::NotRun, text));
        }
        let offered = self.scene.input.tools.iter().find(|offered| offered.tool.spec().name == call.name);
        let Some(offered) = offered.cloned() else {
            return Some(result(&call, ResultStatus::NotRun, self.no_such_tool(&call.name)));
        };
        if let Some(first) = self.by_content.get(&(call.name.clone(), content.clone())).copied() {
            return self.join_twin(first, call);
        }
        let at = self.schedule.arrive(claim(&offered, &call.arguments));
        self.by_content.insert((call.name.clone(), content), at);
        let (started, output) = (Arc::new(AtomicBool::new(false)), Arc::new(LiveOutput::default()));
        let pending = Pending { index, call, offered, judged: false, started, output };
        self.slots.push(Slot { pending, twins: Vec::new(), ended: None });
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

    async fn on_progress(&mut self, at: usize, progress: Progress) -> Result<(), SinkError> {
        match progress {
            Progress::Requeue(call, claim) => {
                if let Some(slot) = self.slots.get_mut(at) {
                    slot.pending.call = call;
                    slot.pending.judged = true;
                }
                self.schedule.requeue(at, claim);
                Ok(())
            }
            Progress::Ended(outcome) => self.settle(at, outcome.status).await,
        }
    }

    /// Marks a call as ended and answers those that repeat it.
    async fn settle(&mut self, at: usize, status: ResultStatus) -> Result<(), SinkError> {
        self.schedule.end(at);
        let Some(slot) = self.slots.get_mut(at) else { return Ok(()) };
        slot.ended = Some(status);
        let first = slot.pending.call.id.clone();
        for twin in std::mem::take(&mut slot.twins) {
            self.scene.end(twin_result(&twin, &first, status)).await?;
        }
        Ok(())
    }

    /// Ends the step early: calls get a moment to end by themselves, then the rest is accounted for.
    async fn stop(&mut self, end: TurnEnd) -> Result<StepEnd, SinkError> {
        self.stream = None;
        let due = self.reply.close(ChunkState::Broken);
        record_all(self.scene, due).await?;
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
            self.scene.end(refusal).await?;
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
            self.scene.end(lost).await?;
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
        self.scene.input.clock.sleep_ms(self.scene.input.limits.cancel_grace_ms)
    }

    /// The provider's id when it can be used, else one of our own.
    fn unique_id(&mut self, id: String) -> CallId {
        let mut candidate = CallId::new(id);
        while candidate.as_str().trim().is_empty() || !self.tally.call_ids.insert(candidate.clone()) {
            candidate = CallId::new(self.scene.input.ids.next_id());
        }
        candidate
    }

    fn no_such_tool(&self, name: &str) -> String {
        let names: Vec<&str> = self.scene.input.tools.iter().map(|offered| offered.tool.spec().name.as_str()).collect();
        let known =
            if names.is_empty() { "there are none".to_owned() } else { format!("there are: {}", names.join(", ")) };
        format!("This call was not run: there is no tool named `{name}`; {known}.")
    }
}

/// Takes the scene and not the step, so that the step may be driven by any thread.
async fn record_all(scene: CallScene<'_>, bodies: impl IntoIterator<Item = RowBody>) -> Result<(), SinkError> {
    for body in bodies {
        scene.recorder.record(scene.step, body).await?;
    }
    Ok(())
}

fn parse_arguments(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("it is JSON of another kind".to_owned()),
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

fn crashed(failure: &Failure) -> ProviderError {
    ProviderError::new(ProviderErrorKind::BrokenStream, format!("the provider crashed: it {}", failure.message))
}
