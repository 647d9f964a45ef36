//! Cancellation that needs no runtime: a flag, the wakers that wait for it, and children.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

/// Tells work to stop because its result is no longer wanted. Clones share one state.
#[derive(Clone, Default)]
pub struct CancelToken {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    cancelled: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    wakers: Vec<Waker>,
    children: Vec<Weak<State>>,
}

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is cancelled with this one, and can be cancelled alone.
    pub fn child(&self) -> Self {
        let child = Self::new();
        let mut waiting = self.state.lock();
        if self.is_cancelled() {
            drop(waiting);
            child.cancel();
        } else {
            waiting.children.retain(|known| known.strong_count() > 0);
            waiting.children.push(Arc::downgrade(&child.state));
        }
        child
    }

    /// Cancels this token and its children. A second call does nothing.
    pub fn cancel(&self) {
        self.state.cancel();
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.state.cancelled.load(Ordering::Acquire)
    }

    /// Resolves once the token is cancelled.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { state: Arc::clone(&self.state) }
    }
}

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("CancelToken").field("cancelled", &self.is_cancelled()).finish()
    }
}

impl State {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self) {
        let woken = {
            let mut waiting = self.lock();
            self.cancelled.store(true, Ordering::Release);
            std::mem::take(&mut *waiting)
        };
        woken.wakers.into_iter().for_each(Waker::wake);
        for child in woken.children.iter().filter_map(Weak::upgrade) {
            child.cancel();
        }
    }
}

/// The future of [`CancelToken::cancelled`].
pub struct Cancelled {
    state: Arc<State>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.state.lock();
        if self.state.cancelled.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        if !waiting.wakers.iter().any(|known| known.will_wake(context.waker())) {
            waiting.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(future: &mut Cancelled) -> Poll<()> {
        Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_child_follows_its_parent_but_not_the_other_way() {
        let parent = CancelToken::new();
        let (first, second) = (parent.child(), parent.child());
        first.cancel();
        assert!(!parent.is_cancelled() && !second.is_cancelled());
        parent.cancel();
        assert!(second.is_cancelled());
        assert!(parent.child().is_cancelled(), "a late child is born cancelled");
    }

    #[test]
    fn waiting_ends_with_the_cancel() {
        let token = CancelToken::new();
        let mut waiting = token.cancelled();
        assert_eq!(poll(&mut waiting), Poll::Pending);
        token.cancel();
        assert_eq!(poll(&mut waiting), Poll::Ready(()));
    }
}
