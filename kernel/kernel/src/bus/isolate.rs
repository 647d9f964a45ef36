//! Runs one piece of an extension's code so that its failure stays its own.
//!
//! An error, a panic (while starting, while polled, while dropped) and a wait beyond the limit all
//! come back as a [`HandlerFailure`]. Code that never gives control back cannot be stopped from here.

use super::wording::{duration, one_line};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::ports::Clock;
use futures_util::future::{Either, select};
use std::any::Any;
use std::fmt::Display;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What went wrong inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandlerFailure {
    pub(crate) kind: FaultKind,
    pub(crate) message: String,
}

impl HandlerFailure {
    pub(crate) fn error(cause: impl Display) -> Self {
        Self { kind: FaultKind::Error, message: one_line(&cause.to_string()) }
    }

    fn timeout(limit_ms: u64) -> Self {
        Self { kind: FaultKind::Timeout, message: format!("did not answer within {}", duration(limit_ms)) }
    }

    fn panic(payload: &(dyn Any + Send)) -> Self {
        let said =
            payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = said.map_or_else(|| "panicked".to_owned(), |text| format!("panicked: {}", one_line(text)));
        Self { kind: FaultKind::Panic, message }
    }
}

/// How long foreign code may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// As long as it likes; something else ends it.
    None,
    /// So many milliseconds.
    Ms(u64),
}

/// Calls foreign code that answers at once.
pub(crate) fn isolate_call<T>(call: impl FnOnce() -> T) -> Result<T, HandlerFailure> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| HandlerFailure::panic(payload.as_ref()))
}

/// Starts foreign work and waits for it; when the time is up the work is dropped.
pub(crate) async fn isolate<'a, T, E, S>(clock: &dyn Clock, limit: TimeLimit, start: S) -> Result<T, HandlerFailure>
where
    E: Display,
    S: FnOnce() -> BoxFuture<'a, Result<T, E>> + Send,
{
    let work = PanicSafeFuture { work: Some(isolate_call(start)?) };
    let outcome = match limit {
        TimeLimit::None => work.await,
        TimeLimit::Ms(limit_ms) => match select(work, clock.sleep_ms(limit_ms)).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => return Err(HandlerFailure::timeout(limit_ms)),
        },
    };
    outcome?.map_err(HandlerFailure::error)
}

/// A future whose panics do not leave it, whether it is polled or dropped.
struct PanicSafeFuture<'a, T> {
    work: Option<BoxFuture<'a, T>>,
}

impl<T> Future for PanicSafeFuture<'_, T> {
    type Output = Result<T, HandlerFailure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = self.work.as_mut() else { return Poll::Pending };
        match isolate_call(|| work.as_mut().poll(context)) {
            Ok(poll) => poll.map(Ok),
            Err(failure) => Poll::Ready(Err(failure)),
        }
    }
}

impl<T> Drop for PanicSafeFuture<'_, T> {
    fn drop(&mut self) {
        let work = self.work.take();
        // A destructor that panics has no one to report to but the work's own outcome, which is known.
        let _ = isolate_call(move || drop(work));
    }
}

/// Lets the other tasks run once.
pub(crate) async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_sim::Sim;

    struct PanicsOnDrop;

    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("even the end fails");
        }
    }

    fn run(start: impl FnOnce() -> BoxFuture<'static, Result<u8, String>> + Send) -> Result<u8, HandlerFailure> {
        let sim = Sim::new(1);
        let clock = sim.clock();
        sim.block_on(isolate(&clock, TimeLimit::Ms(5_000), start)).expect("no hang")
    }

    fn failed(kind: FaultKind, message: &str) -> Result<u8, HandlerFailure> {
        Err(HandlerFailure { kind, message: message.to_owned() })
    }

    #[test]
    fn every_way_to_fail_comes_back_as_a_value() {
        assert_eq!(run(|| Box::pin(async { Ok(7) })), Ok(7));
        assert_eq!(run(|| Box::pin(async { Err("no".to_owned()) })), failed(FaultKind::Error, "no"));
        assert_eq!(run(|| panic!("at once")), failed(FaultKind::Panic, "panicked: at once"));
        assert_eq!(run(|| Box::pin(async { panic!("at {}", 7) })), failed(FaultKind::Panic, "panicked: at 7"));
        assert_eq!(run(|| Box::pin(std::future::pending())), failed(FaultKind::Timeout, "did not answer within 5 s"));
    }

    #[test]
    fn a_destructor_that_panics_after_the_time_limit_is_contained() {
        let outcome = run(|| {
            let bomb = PanicsOnDrop;
            Box::pin(async move {
                std::future::pending::<()>().await;
                drop(bomb);
                Ok(0)
            })
        });
        assert_eq!(outcome, failed(FaultKind::Timeout, "did not answer within 5 s"));
    }
}
