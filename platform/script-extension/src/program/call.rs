//! One call of a program: it waits for the answer, and answers what the program asks meanwhile.

use super::protocol;
use super::running::{CallMessage, ProgramEnd, RunningProgram};
use crate::call_scope::CallScope;
use crate::host_calls::HostCalls;
use crate::limits::ABANDONED_GRACE;
use crate::worker::CallFailure;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::Cancelled;
use dispatch_contracts::fault::FaultKind;
use dispatch_os::threads;
use futures_channel::mpsc::UnboundedReceiver;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::Value;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A request of the host.
pub(crate) struct ProgramRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    pub(crate) time: Duration,
    pub(crate) scope: Arc<CallScope>,
}

/// Sends a request and waits for its answer. Whoever drops this gives the call up.
pub(crate) async fn call(
    program: &Arc<RunningProgram>,
    request: ProgramRequest,
    host: &HostCalls,
) -> Result<Value, CallFailure> {
    let ProgramRequest { method, params, time, scope } = request;
    let (id, messages) = program.open(&scope).map_err(|_| failure(program.take_end(), host))?;
    program.send(protocol::request(id, method, &params));
    let mut call = ProgramCall {
        program: Arc::clone(program),
        id,
        messages,
        host: host.clone(),
        questions: FuturesUnordered::new(),
        asked: Vec::new(),
        timer: host.host().clock().sleep_ms(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        time,
        cancelled: Some(scope.cancel.cancelled()),
        scope,
    };
    std::future::poll_fn(|context| call.poll(context)).await
}

struct ProgramCall {
    program: Arc<RunningProgram>,
    id: u64,
    messages: UnboundedReceiver<CallMessage>,
    host: HostCalls,
    questions: FuturesUnordered<BoxFuture<'static, (Value, Result<Value, String>)>>,
    /// The ids of the questions that wait for an answer.
    asked: Vec<Value>,
    timer: BoxFuture<'static, ()>,
    time: Duration,
    /// Until the program was told that the call is cancelled.
    cancelled: Option<Cancelled>,
    scope: Arc<CallScope>,
}

impl ProgramCall {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Value, CallFailure>> {
        while let Poll::Ready(message) = self.messages.poll_next_unpin(context) {
            match message {
                Some(CallMessage::Answered(outcome)) => {
                    let thrown =
                        |message: String| CallFailure { message: self.host.hide_secrets(&message), fault: None };
                    return Poll::Ready(outcome.map_err(thrown));
                }
                Some(CallMessage::Asked { id, operation, arguments }) => self.begin(id, operation, arguments),
                None => return Poll::Ready(Err(failure(self.program.take_end(), &self.host))),
            }
        }
        while let Poll::Ready(Some((id, answer))) = self.questions.poll_next_unpin(context) {
            self.asked.retain(|asked| *asked != id);
            self.program.question_is_answered(self.id);
            self.program.send(protocol::answer(&id, answer));
        }
        if self.cancelled.as_mut().is_some_and(|cancelled| cancelled.poll_unpin(context).is_ready()) {
            self.cancelled = None;
            self.program.send(protocol::cancel(self.id));
        }
        if self.timer.poll_unpin(context).is_ready() {
            return Poll::Ready(Err(self.time_out()));
        }
        Poll::Pending
    }

    fn begin(&mut self, id: Value, operation: String, arguments: Vec<Value>) {
        let (host, scope) = (self.host.clone(), Arc::clone(&self.scope));
        self.asked.push(id.clone());
        self.questions.push(Box::pin(async move {
            let answer = host.answer(&operation, &arguments, &scope).await;
            (id, answer)
        }));
    }

    /// Ends the program, because nothing else stops code that does not answer.
    fn time_out(&self) -> CallFailure {
        let reason = "its program was ended, because another call of it did not answer in time".to_owned();
        self.program.end(ProgramEnd { reason, fault: None });
        let message = format!("timed out after {} ms; its program was ended", self.time.as_millis());
        CallFailure { message, fault: Some(FaultKind::Timeout) }
    }
}

impl Drop for ProgramCall {
    fn drop(&mut self) {
        for id in &self.asked {
            self.program.send(protocol::answer(id, Err("the call is over".to_owned())));
        }
        if !self.program.is_open(self.id) {
            return;
        }
        if self.cancelled.is_some() {
            self.program.send(protocol::cancel(self.id));
        }
        let (program, id) = (Arc::clone(&self.program), self.id);
        let watched = threads::spawn("extension-program-grace", move || {
            threads::sleep(ABANDONED_GRACE);
            if program.is_open(id) {
                let reason = "its program was ended, because it went on with a call that was cancelled".to_owned();
                program.end(ProgramEnd { reason, fault: None });
            }
        });
        if watched.is_err() {
            self.program.close(self.id);
        }
    }
}

fn failure(end: ProgramEnd, host: &HostCalls) -> CallFailure {
    CallFailure { message: host.hide_secrets(&end.reason), fault: end.fault }
}
