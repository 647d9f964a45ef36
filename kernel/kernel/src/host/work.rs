//! Work in the background: what an extension spawns, its jobs, and its answers to requests.

use super::HostState;
use super::roster::ExtensionScope;
use crate::bus::Bus;
use crate::bus::isolate::{TimeLimit, isolate};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::contribution::Job;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::host::{HostError, Registration};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::ports::Clock;
use futures_util::future::select;
use std::convert::Infallible;
use std::sync::Arc;

/// How long one run of a job may take.
pub const JOB_TIMEOUT_MS: u64 = 15 * 60 * 1000;

/// A job that wants to run more often than this runs this often.
pub const MIN_JOB_PERIOD_MS: u64 = 100;

/// What answers requests of one kind.
pub(super) type Answering<Asked, Answer> =
    Arc<dyn Fn(Asked) -> BoxFuture<'static, Result<Answer, HandlerError>> + Send + Sync>;

/// Whose work it is and where its faults go.
#[derive(Clone)]
pub(super) struct ExtensionWorker {
    pub(super) extension: ExtensionId,
    pub(super) place: String,
    clock: Arc<dyn Clock>,
    bus: Bus,
    scope: Arc<ExtensionScope>,
}

impl ExtensionWorker {
    pub(super) fn new(inner: &HostState, extension: &ExtensionId, scope: &Arc<ExtensionScope>, place: String) -> Self {
        Self {
            extension: extension.clone(),
            place,
            clock: Arc::clone(&inner.ports.clock),
            bus: inner.bus.clone(),
            scope: Arc::clone(scope),
        }
    }

    /// Runs work until it ends, the extension ends, or it is taken back.
    pub(super) fn spawn(self, inner: &HostState, work: BoxFuture<'static, Result<(), HandlerError>>) -> Registration {
        let whole = self.scope.cancel.clone();
        self.until_cancelled(inner, &whole, move |worker| {
            Box::pin(async move { worker.run_once(TimeLimit::None, || work).await })
        })
    }

    /// Runs a job again and again. The first run comes one period after the start.
    pub(super) fn repeat(self, inner: &HostState, job: Job) -> Registration {
        let whole = self.scope.jobs.clone();
        self.until_cancelled(inner, &whole, move |worker| {
            Box::pin(async move {
                loop {
                    worker.clock.sleep_ms(job.every_ms.max(MIN_JOB_PERIOD_MS)).await;
                    worker.run_once(TimeLimit::Ms(JOB_TIMEOUT_MS), || (job.run)()).await;
                }
            })
        })
    }

    /// A responder whose panic becomes an error for the caller and a fault of the extension.
    pub(super) fn contain<Asked, Answer>(self, respond: Answering<Asked, Answer>) -> Answering<Asked, Answer>
    where
        Asked: Send + 'static,
        Answer: Send + 'static,
    {
        Arc::new(move |request| {
            let (worker, respond) = (self.clone(), Arc::clone(&respond));
            Box::pin(async move {
                if worker.scope.is_over() {
                    let extension = worker.extension.clone();
                    return Err(HandlerError(HostError::Inactive { extension }.to_string()));
                }
                // An error is an answer, not a fault, so only what breaks out of it is a failure here.
                let answer = || -> BoxFuture<'static, _> {
                    let answering = respond(request);
                    Box::pin(async move { Ok::<_, Infallible>(answering.await) })
                };
                let outcome = isolate(worker.clock.as_ref(), TimeLimit::None, answer).await;
                outcome.unwrap_or_else(|failure| {
                    worker.bus.report(&worker.extension, &worker.place, failure.kind, &failure.message);
                    Err(HandlerError(format!("extension `{}` {}", worker.extension, failure.message)))
                })
            })
        })
    }

    async fn run_once<S>(&self, limit: TimeLimit, start: S)
    where
        S: FnOnce() -> BoxFuture<'static, Result<(), HandlerError>> + Send,
    {
        if let Err(failure) = isolate(self.clock.as_ref(), limit, start).await {
            self.bus.report(&self.extension, &self.place, failure.kind, &failure.message);
        }
    }

    fn until_cancelled(
        self,
        inner: &HostState,
        whole: &CancelToken,
        work: impl FnOnce(Self) -> BoxFuture<'static, ()> + Send + 'static,
    ) -> Registration {
        let cancel = whole.child();
        let cancelled = cancel.cancelled();
        let running = work(self);
        inner.ports.spawner.spawn(Box::pin(async move {
            // Dropping the loser ends the work where it stands.
            drop(select(running, cancelled).await);
        }));
        Registration::new(move || cancel.cancel())
    }
}
