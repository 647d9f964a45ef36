//! Runs work that waits for files and processes on another thread.

use crate::error::KeyError;
use dispatch_os::threads::KeptThreads;
use futures_channel::oneshot;
use std::sync::LazyLock;

/// A turn asks for its key each time it asks its model.
static THREADS: LazyLock<KeptThreads> = LazyLock::new(|| KeptThreads::new("keys"));

/// The result of blocking work, without holding up the caller's runtime.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, KeyError> + Send + 'static,
) -> Result<T, KeyError> {
    let (sender, receiver) = oneshot::channel();
    let started = THREADS.run(move || {
        // The caller may have stopped waiting.
        let _ = sender.send(work());
    });
    started.map_err(KeyError::Thread)?;
    receiver.await.unwrap_or(Err(KeyError::Interrupted))
}
