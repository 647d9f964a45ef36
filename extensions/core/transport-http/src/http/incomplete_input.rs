//! How much is held of requests and messages that are not complete yet, and the limit on that for all clients.

use crate::settings::MAX_INCOMPLETE_BYTES;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for bodies is given out in pieces of this size.
const ROOM_UNIT_BYTES: usize = 1024;
/// What a control frame has around its data, at most.
const CONTROL_FRAME_HEAD_BYTES: usize = 6;

/// What all connections of a listener hold together.
pub(super) struct IncompleteInput {
    /// Bytes of WebSocket messages whose end has not come.
    sockets: AtomicUsize,
    /// Room for the bodies of requests.
    bodies: Arc<Semaphore>,
}

impl IncompleteInput {
    pub(super) fn new() -> Self {
        let bodies = Arc::new(Semaphore::new(MAX_INCOMPLETE_BYTES / ROOM_UNIT_BYTES));
        Self { sockets: AtomicUsize::new(0), bodies }
    }
}

/// What one connection holds.
pub(super) struct SocketInput {
    all: Arc<IncompleteInput>,
    counts: AtomicBool,
    held: AtomicUsize,
}

impl SocketInput {
    pub(super) fn new(all: &Arc<IncompleteInput>) -> Self {
        Self { all: Arc::clone(all), counts: AtomicBool::new(false), held: AtomicUsize::new(0) }
    }

    /// Waits for room for a body of this size; dropping the permit gives it back.
    pub(super) async fn room_for_body(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = bytes.min(MAX_INCOMPLETE_BYTES).div_ceil(ROOM_UNIT_BYTES);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        Arc::clone(&self.all.bodies).acquire_many_owned(units).await.ok()
    }

    /// From now on the connection is a WebSocket, whose bytes are counted until their message is complete.
    pub(super) fn count(&self) {
        self.counts.store(true, Ordering::Relaxed);
    }

    /// A message was taken: nothing of it is held any more.
    pub(super) fn message_complete(&self) {
        let held = self.held.swap(0, Ordering::Relaxed);
        self.all.sockets.fetch_sub(held, Ordering::Relaxed);
    }

    /// A ping or pong was taken, perhaps between the pieces of a message.
    pub(super) fn control_frame_complete(&self, data_bytes: usize) {
        let wanted = data_bytes + CONTROL_FRAME_HEAD_BYTES;
        let before =
            self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| Some(held.saturating_sub(wanted)));
        let released = before.unwrap_or_default().min(wanted);
        self.all.sockets.fetch_sub(released, Ordering::Relaxed);
    }

    /// Notes what was read; an error when all connections together hold too much.
    fn take_in(&self, bytes: usize) -> io::Result<()> {
        if !self.counts.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.held.fetch_add(bytes, Ordering::Relaxed);
        let all = self.all.sockets.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if all > MAX_INCOMPLETE_BYTES {
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, "too many incomplete messages"));
        }
        Ok(())
    }
}

impl Drop for SocketInput {
    fn drop(&mut self) {
        self.message_complete();
    }
}

/// A stream whose input is counted.
pub(super) struct CountedStream<S> {
    stream: S,
    input: Arc<SocketInput>,
}

impl<S> CountedStream<S> {
    pub(super) fn new(stream: S, input: Arc<SocketInput>) -> Self {
        Self { stream, input }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.input.take_in(buffer.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
