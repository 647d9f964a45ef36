//! The loop over steps: ask the model, run its calls, take in what was steered, until the model or a limit ends it.

use super::call::CallEnvironment;
use super::input::TurnInput;
use super::recorder::Recorder;
use super::step::{StepEnd, StepRun};
use crate::bus::WaitLog;
use crate::reconcile::{Extent, reconcile_as};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::Cancelled;
use dispatch_contracts::conversation::{Chunk, ChunkState, Message, Role, RowBody, project};
use dispatch_contracts::hooks::{REQUEST_BEFORE, RequestBefore, TURN_SEALED, TURN_STARTED, TurnSealed, TurnStarted};
use dispatch_contracts::ids::CallId;
use dispatch_contracts::provider::{ModelRequest, Usage};
use dispatch_contracts::turn::{Limit, SinkError, TurnEnd, TurnEvent, TurnOutcome};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::Poll;

/// What can end a turn from outside.
pub(super) struct StopSignals {
    pub(super) cancelled: Cancelled,
    pub(super) deadline: BoxFuture<'static, ()>,
}

/// What adds up over the steps of a turn.
pub(super) struct TurnTotals {
    pub(super) usage: Usage,
    pub(super) said_bytes: usize,
    pub(super) call_ids: BTreeSet<CallId>,
    steps: u32,
}

/// Runs one turn to its named end. Never panics for a tool's, a provider's or a handler's sake.
pub async fn run_turn(input: TurnInput<'_>) -> TurnOutcome {
    let waits = WaitLog::default();
    let recorder = Recorder {
        session: input.session.clone(),
        turn: input.turn.clone(),
        sink: input.steps,
        bus: input.bus,
        clock: input.clock,
        ids: input.ids,
        stored: Mutex::default(),
        held: Mutex::default(),
    };
    let known_calls = input.messages.iter().flat_map(Message::calls).map(|call| call.id.clone());
    let mut totals = TurnTotals { usage: Usage::default(), said_bytes: 0, call_ids: known_calls.collect(), steps: 0 };
    let turn = input.turn_ref();
    input.bus.emit(&TURN_STARTED, TurnStarted { turn: turn.clone(), model: input.model.clone() });

    let mut end = match run_steps(&input, &recorder, &waits, &mut totals).await {
        Ok(end) => end,
        Err(SinkError(message)) => TurnEnd::StoreFailed { message },
    };
    if !matches!(end, TurnEnd::StoreFailed { .. }) {
        let sealed = recorder.record(totals.steps.saturating_sub(1), RowBody::TurnEnded { end: end.clone() }).await;
        if let Err(SinkError(message)) = sealed {
            end = TurnEnd::StoreFailed { message };
        }
    }

    input.bus.emit(&TURN_SEALED, TurnSealed { turn, end: end.clone(), usage: totals.usage });
    (input.emit)(TurnEvent::TurnEnded { end: end.clone() });
    let messages = project(&reconcile_as(&recorder.rows(), Extent::EndedTurn).rows);
    TurnOutcome { turn: input.turn, end, messages, steps: totals.steps, usage: totals.usage, waits: waits.finish() }
}

async fn run_steps<'a>(
    input: &'a TurnInput<'a>,
    recorder: &'a Recorder<'a>,
    waits: &'a WaitLog,
    totals: &mut TurnTotals,
) -> Result<TurnEnd, SinkError> {
    let mut stop_signals =
        StopSignals { cancelled: input.cancel.cancelled(), deadline: input.clock.sleep_ms(input.limits.turn_ms) };
    for step in 0.. {
        if step >= input.limits.steps {
            return Ok(TurnEnd::LimitReached { limit: Limit::Steps });
        }
        let request = match select(stop_signals.stopped().boxed(), prepare(input, recorder, waits).boxed()).await {
            Either::Left((end, _)) => return Ok(end),
            Either::Right((request, _)) => request,
        };
        totals.steps = step + 1;
        let environment = CallEnvironment { input, recorder, waits, step };
        let called = match StepRun::new(environment, &mut stop_signals, totals).run(request).await {
            StepEnd::Stop(end) => return Ok(end),
            StepEnd::Replied { called } => called,
        };
        let steered: Vec<String> = input.inbox.take().await;
        if !called && steered.is_empty() {
            return Ok(TurnEnd::Finished);
        }
        for (index, text) in (0..).zip(steered) {
            let (step, body) =
                if called { (step, RowBody::Steer { index, text }) } else { (step + 1, asked(index, text)) };
            recorder.record(step, body).await?;
        }
    }
    Ok(TurnEnd::LimitReached { limit: Limit::Steps })
}

/// The next model call, after everybody who may change it has seen it.
async fn prepare(input: &TurnInput<'_>, recorder: &Recorder<'_>, waits: &WaitLog) -> ModelRequest {
    let said = project(&reconcile_as(&recorder.rows(), Extent::RunningTurn).rows);
    let request = ModelRequest {
        model: input.model.clone(),
        system: input.system.clone(),
        messages: input.messages.iter().cloned().chain(said).collect(),
        tools: input.tools.iter().map(|offered| offered.tool.spec().clone()).collect(),
        options: input.options.clone(),
    };
    let turn = input.turn_ref();
    let value = RequestBefore { turn, request: request.clone() };
    // The chain fails open, so an error here means that no handler could change the request.
    input.bus.apply(&REQUEST_BEFORE, value, waits).await.map_or(request, |value| value.request)
}

fn asked(index: u32, text: String) -> RowBody {
    RowBody::Chunk { role: Role::User, index, part: 0, chunk: Chunk::Text { text }, state: ChunkState::Whole }
}

impl StopSignals {
    /// Resolves when the turn must end.
    async fn stopped(&mut self) -> TurnEnd {
        poll_fn(|context| {
            if self.cancelled.poll_unpin(context).is_ready() {
                return Poll::Ready(TurnEnd::Cancelled);
            }
            match self.deadline.poll_unpin(context) {
                Poll::Ready(()) => Poll::Ready(TurnEnd::LimitReached { limit: Limit::Time }),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}
