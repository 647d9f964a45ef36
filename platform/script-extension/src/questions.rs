//! Answers the questions of one running call: those that were asked together are worked on together.

use crate::call_scope::CallScope;
use crate::host_calls::HostCalls;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::Cancelled;
use futures_channel::mpsc::UnboundedReceiver;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::task::{Context, Poll};

/// The call's code waits: for what it asked, for a timer, or until the call is cancelled.
pub(crate) struct WaitQuestion {
    /// What it asks now, each as `[id, operation, arguments]`.
    pub(crate) begun: Vec<Value>,
    /// How long it waits at most.
    pub(crate) timer_ms: Option<u64>,
    /// Where the answer goes.
    pub(crate) answer: Sender<Result<Value, String>>,
}

type Finished = (Value, Result<Value, String>);

/// Code that waits.
struct WaitingCode {
    answer: Sender<Result<Value, String>>,
    timer: Option<BoxFuture<'static, ()>>,
}

/// What one call has asked for and not got yet.
pub(crate) struct OpenQuestions {
    host: HostCalls,
    scope: Arc<CallScope>,
    asked: UnboundedReceiver<WaitQuestion>,
    running: FuturesUnordered<BoxFuture<'static, Finished>>,
    finished: Vec<Finished>,
    waiting: Option<WaitingCode>,
    /// Until the code was told that it is cancelled.
    cancelled: Option<Cancelled>,
}

impl OpenQuestions {
    pub(crate) fn new(host: HostCalls, scope: Arc<CallScope>, asked: UnboundedReceiver<WaitQuestion>) -> Self {
        let cancelled = Some(scope.cancel.cancelled());
        Self { host, scope, asked, running: FuturesUnordered::new(), finished: Vec::new(), waiting: None, cancelled }
    }

    /// Goes on with everything that can go on.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) {
        loop {
            while let Poll::Ready(Some(question)) = self.asked.poll_next_unpin(context) {
                self.begin(question);
            }
            while let Poll::Ready(Some(finished)) = self.running.poll_next_unpin(context) {
                self.finished.push(finished);
            }
            let Some(WaitingCode { timer, .. }) = &mut self.waiting else { return };
            let is_due = timer.as_mut().is_some_and(|timer| timer.poll_unpin(context).is_ready());
            let is_cancelled = self.cancelled.as_mut().is_some_and(|cancel| cancel.poll_unpin(context).is_ready());
            if !is_due && !is_cancelled && self.finished.is_empty() {
                return;
            }
            self.tell(is_cancelled);
        }
    }

    fn begin(&mut self, question: WaitQuestion) {
        for begun in question.begun {
            let (host, scope) = (self.host.clone(), Arc::clone(&self.scope));
            self.running.push(Box::pin(async move {
                let operation = begun.get(1).and_then(Value::as_str).unwrap_or_default();
                let arguments = begun.get(2).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let answer = host.answer(operation, arguments, &scope).await;
                (begun.get(0).cloned().unwrap_or_default(), answer)
            }));
        }
        let timer = question.timer_ms.map(|ms| self.host.host().clock().sleep_ms(ms));
        self.waiting = Some(WaitingCode { answer: question.answer, timer });
    }

    fn tell(&mut self, is_cancelled: bool) {
        let Some(WaitingCode { answer, .. }) = self.waiting.take() else { return };
        if is_cancelled {
            self.cancelled = None;
        }
        let done: Vec<Value> = std::mem::take(&mut self.finished)
            .into_iter()
            .map(|(id, outcome)| match outcome {
                Ok(value) => json!([id, null, value]),
                Err(message) => json!([id, message, null]),
            })
            .collect();
        // Code that was stopped meanwhile hears no answer.
        let _ = answer.send(Ok(json!({ "done": done, "cancelled": is_cancelled })));
    }
}
