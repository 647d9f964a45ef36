//! Watches one child where pipes cannot be polled: one thread per pipe, all reporting to one queue.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::capture::Capture;
use super::child_files::ChildFiles;
use super::launch::{self, EndedChild, StartedChild};
use super::observe::Observer;
use super::outcome::StartFailure;
use super::spec::{ChildSpec, OutputStream};
use super::{Canceller, ChildEnd};
use crate::Deadline;

const CHUNK_BYTES: usize = 64 * 1024;
const MAX_QUEUED_CHUNKS: usize = 16;
const DRAIN: Duration = Duration::from_millis(250);
/// The death of a child does not wake us here, so we look this often.
const DEATH_CHECK: Duration = Duration::from_millis(10);

enum PipeEvent {
    Output(OutputStream, Vec<u8>),
    Closed,
}

pub(super) fn run(
    spec: &ChildSpec,
    files_of_child: &ChildFiles,
    canceller: &Canceller,
    on_output: &mut dyn FnMut(OutputStream, &[u8]),
) -> Result<EndedChild, StartFailure> {
    let StartedChild { mut child, observer } = launch::start(spec, files_of_child)?;
    if let Err(failure) = files_of_child.add_group(spec, child.id().cast_signed()) {
        files_of_child.announce_stop();
        kill_tree(&mut child);
        return Err(failure);
    }
    let news = start_threads(spec, &mut child);
    let mut watch =
        ChildWatch { child, stdout: Capture::new(spec.capture), stderr: Capture::new(spec.capture), open_pipes: 2 };
    let end = watch.until_end(spec, files_of_child, canceller, &news, on_output);
    files_of_child.note_end(spec, &end);
    watch.drain(&news, on_output);
    let seen = observer.and_then(Observer::finish);
    Ok(EndedChild { end, stdout: watch.stdout.take(), stderr: watch.stderr.take(), seen })
}

struct ChildWatch {
    child: Child,
    stdout: Capture,
    stderr: Capture,
    open_pipes: usize,
}

impl ChildWatch {
    fn until_end(
        &mut self,
        spec: &ChildSpec,
        files_of_child: &ChildFiles,
        canceller: &Canceller,
        news: &Receiver<PipeEvent>,
        on_output: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> ChildEnd {
        let deadline = spec.timeout.map_or(Deadline::NEVER, Deadline::after);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    return status.code().map_or(ChildEnd::StatusUnknown, |code| ChildEnd::Exited { code });
                }
                Ok(None) => {}
                Err(_) => return ChildEnd::StatusUnknown,
            }
            if canceller.is_cancelled() {
                files_of_child.announce_stop();
                kill_tree(&mut self.child);
                return ChildEnd::Cancelled;
            }
            if deadline.expired() {
                files_of_child.announce_stop();
                kill_tree(&mut self.child);
                return ChildEnd::TimedOut;
            }
            self.take(news, DEATH_CHECK.min(deadline.remaining()), on_output);
        }
    }

    fn drain(&mut self, news: &Receiver<PipeEvent>, on_output: &mut dyn FnMut(OutputStream, &[u8])) {
        let deadline = Deadline::after(DRAIN);
        while self.open_pipes > 0 && !deadline.expired() {
            self.take(news, deadline.remaining(), on_output);
        }
    }

    fn take(&mut self, news: &Receiver<PipeEvent>, wait: Duration, on_output: &mut dyn FnMut(OutputStream, &[u8])) {
        match news.recv_timeout(wait) {
            Ok(PipeEvent::Output(stream, chunk)) => {
                match stream {
                    OutputStream::Stdout => self.stdout.push(&chunk),
                    OutputStream::Stderr => self.stderr.push(&chunk),
                }
                on_output(stream, &chunk);
            }
            Ok(PipeEvent::Closed) => self.open_pipes = self.open_pipes.saturating_sub(1),
            Err(RecvTimeoutError::Timeout) => {}
            // Every reader is gone, so waiting on the queue would no longer wait.
            Err(RecvTimeoutError::Disconnected) => {
                self.open_pipes = 0;
                std::thread::sleep(wait);
            }
        }
    }
}

/// A thread whose pipe a descendant keeps open ends when that descendant does.
fn start_threads(spec: &ChildSpec, child: &mut Child) -> Receiver<PipeEvent> {
    let (sender, news) = sync_channel(MAX_QUEUED_CHUNKS);
    if let Some(pipe) = child.stdout.take() {
        let sender = sender.clone();
        std::thread::spawn(move || forward(pipe, OutputStream::Stdout, &sender));
    }
    if let Some(pipe) = child.stderr.take() {
        std::thread::spawn(move || forward(pipe, OutputStream::Stderr, &sender));
    }
    if let Some(mut pipe) = child.stdin.take() {
        let bytes = spec.stdin.clone();
        std::thread::spawn(move || {
            let _ = pipe.write_all(&bytes);
        });
    }
    news
}

fn forward(mut pipe: impl Read, stream: OutputStream, sender: &SyncSender<PipeEvent>) {
    let mut buffer = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let chunk = buffer.get(..count).unwrap_or_default().to_vec();
        if sender.send(PipeEvent::Output(stream, chunk)).is_err() {
            return;
        }
    }
    let _ = sender.send(PipeEvent::Closed);
}

fn kill_tree(child: &mut Child) {
    let _ = Command::new("taskkill")
        .args(["/T", "/F", "/PID", &child.id().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let _ = child.kill();
    let _ = child.wait();
}
