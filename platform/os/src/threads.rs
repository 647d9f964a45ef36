//! Threads: starts them by name, and lets a task wait for blocking work whatever executor that task is on.

mod busy_threads;
mod kept_threads;

pub use busy_threads::BusyThreads;
pub use kept_threads::KeptThreads;

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

pub use std::thread::{Builder, JoinHandle, scope};

/// Starts a thread with a name. [`offload`] if a task waits for the result.
///
/// # Errors
/// When the system cannot start another thread.
#[inline]
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    builder(name).spawn(work)
}

/// A named thread that is yet to start: for another stack size, or within a [`scope`].
#[inline]
pub fn builder(name: &str) -> Builder {
    Builder::new().name(name.to_owned())
}

/// Blocks this thread. A task sleeps by its `Clock` port.
#[inline]
pub fn sleep(duration: Duration) {
    thread::sleep(duration);
}

/// The number of threads that can run at once on this machine; 1 where the system does not tell.
#[must_use]
pub fn parallelism() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Whether a thread is the one that calls, and would wait for itself.
#[must_use]
pub fn is_current<T>(handle: &JoinHandle<T>) -> bool {
    handle.thread().id() == thread::current().id()
}

/// Starts the work at once. Dropping the future does not stop it.
///
/// # Errors
/// When the system cannot start another thread.
pub fn offload<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Offloaded<T>> {
    let (work, offloaded) = Offloaded::of(work);
    spawn(name, work)?;
    Ok(offloaded)
}

/// Work on another thread. A panic there goes on here.
pub struct Offloaded<T> {
    shared: Arc<OffloadedShared<T>>,
}

struct OffloadedShared<T> {
    state: Mutex<OffloadedState<T>>,
}

struct OffloadedState<T> {
    ended: Option<thread::Result<T>>,
    waker: Option<Waker>,
}

impl<T: Send + 'static> Offloaded<T> {
    /// What a thread does, and what waits for it.
    fn of(work: impl FnOnce() -> T + Send + 'static) -> (impl FnOnce() + Send + 'static, Self) {
        let shared = Arc::new(OffloadedShared { state: Mutex::new(OffloadedState { ended: None, waker: None }) });
        let result = Arc::clone(&shared);
        let run = move || {
            let ended = catch_unwind(AssertUnwindSafe(work));
            let waker = {
                let mut state = result.lock();
                state.ended = Some(ended);
                state.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        };
        (run, Self { shared })
    }
}

impl<T> OffloadedShared<T> {
    fn lock(&self) -> MutexGuard<'_, OffloadedState<T>> {
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
    fn a_thread_has_its_name_and_knows_itself() {
        let named = spawn("named", || thread::current().name().map(str::to_owned)).unwrap();
        assert!(!is_current(&named));
        assert_eq!(named.join().unwrap().as_deref(), Some("named"));
        let ((give, take), (tell, told)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel());
        let own = spawn("own", move || tell.send(is_current(&take.recv().unwrap())).unwrap()).unwrap();
        give.send(own).unwrap();
        assert!(told.recv().unwrap());
        assert!(parallelism() >= 1);
    }

    #[test]
    fn a_panic_goes_on_where_the_result_is_awaited() {
        let broken = offload("broken", || panic!("on purpose")).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| wait::<()>(broken))).is_err());
    }
}
