//! Runs blocking work on a thread of its own and lets a task wait for it, whatever executor that task is on.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// Starts the work at once. Dropping the future does not stop it.
///
/// # Errors
/// When the system has no thread to give.
pub fn offload<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Offloaded<T>> {
    let shared = Arc::new(Shared { state: Mutex::new(State { ended: None, waker: None }) });
    let result = Arc::clone(&shared);
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        let ended = catch_unwind(AssertUnwindSafe(work));
        let waker = {
            let mut state = result.lock();
            state.ended = Some(ended);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    })?;
    Ok(Offloaded { shared })
}

/// Work on another thread. A panic there goes on here.
pub struct Offloaded<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    ended: Option<thread::Result<T>>,
    waker: Option<Waker>,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Future for Offloaded<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.shared.lock();
        match state.ended.take() {
            Some(Ok(value)) => Poll::Ready(value),
            Some(Err(panic)) => {
                drop(state);
                resume_unwind(panic)
            }
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls on this thread, parked in between.
    fn wait<T>(mut work: Offloaded<T>) -> T {
        struct Unpark(thread::Thread);
        impl std::task::Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        loop {
            match Pin::new(&mut work).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(value) => return value,
                Poll::Pending => thread::park(),
            }
        }
    }

    #[test]
    fn the_value_arrives_early_or_late() {
        let (release, held) = std::sync::mpsc::channel();
        let late = offload("late", move || held.recv().map(|number: i32| number + 1)).unwrap();
        release.send(41).unwrap();
        assert_eq!(wait(late), Ok(42));
        let name = offload("named", || thread::current().name().map(str::to_owned)).unwrap();
        assert_eq!(wait(name).as_deref(), Some("named"));
    }

    #[test]
    fn a_panic_goes_on_where_the_result_is_awaited() {
        let broken = offload("broken", || panic!("on purpose")).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| wait::<()>(broken))).is_err());
    }
}
