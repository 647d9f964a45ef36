//! Watches one child where there is no poll over pipes: one thread per pipe, all reporting to one queue.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::capture::Capture;
use super::launch::{self, Ended, Started};
use super::observe::Observer;
use super::outcome::StartFailure;
use super::papers::Papers;
use super::spec::{ChildSpec, OutputStream};
use super::{Canceller, End};
use crate::Deadline;

const CHUNK_BYTES: usize = 64 * 1024;
const MAX_QUEUED_CHUNKS: usize = 16;
const DRAIN: Duration = Duration::from_millis(250);
/// The death of a child wakes nobody here, so it is looked for this often.
const DEATH_CHECK: Duration = Duration::from_millis(10);

enum News {
    Output(OutputStream, Vec<u8>),
    Closed,
}

pub(super) fn run(
    spec: &ChildSpec,
    papers: &Papers,
    canceller: &Canceller,
    on_output: &mut dyn FnMut(OutputStream, &[u8]),
) -> Result<Ended, StartFailure> {
    let Started { mut child, observer } = launch::start(spec, papers)?;
    if let Err(failure) = papers.add_group(spec, child.id().cast_signed()) {
        papers.announce_stop();
        kill_tree(&mut child);
        return Err(failure);
    }
    let news = start_threads(spec, &mut child);
    let mut watch =
        Watch { child, stdout: Capture::new(spec.capture), stderr: Capture::new(spec.capture), open_pipes: 2 };
    let end = watch.until_end(spec, papers, canceller, &news, on_output);
    papers.note_end(spec, &end);
    watch.drain(&news, on_output);
    let seen = observer.and_then(Observer::finish);
    Ok(Ended { end, stdout: watch.stdout.take(), stderr: watch.stderr.take(), seen })
}

struct Watch {
    child: Child,
    stdout: Capture,
    stderr: Capture,
    open_pipes: usize,
}

impl Watch {
    fn until_end(
        &mut self,
        spec: &ChildSpec,
        papers: &Papers,
        canceller: &Canceller,
        news: &Receiver<News>,
        on_output: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> End {
        let deadline = spec.timeout.map_or(Deadline::NEVER, Deadline::after);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    return status.code().map_or(End::StatusUnknown, |code| End::Exited { code });
                }
                Ok(None) => {}
                Err(_) => return End::StatusUnknown,
            }
            if canceller.is_cancelled() {
                papers.announce_stop();
                kill_tree(&mut self.child);
                return End::Cancelled;
            }
            if deadline.expired() {
                papers.announce_stop();
                kill_tree(&mut self.child);
                return End::TimedOut;
            }
            self.take(news, DEATH_CHECK.min(deadline.remaining()), on_output);
        }
    }

    fn drain(&mut self, news: &Receiver<News>, on_output: &mut dyn FnMut(OutputStream, &[u8])) {
        let deadline = Deadline::after(DRAIN);
        while self.open_pipes > 0 && !deadline.expired() {
            self.take(news, deadline.remaining(), on_output);
        }
    }

    fn take(&mut self, news: &Receiver<News>, wait: Duration, on_output: &mut dyn FnMut(OutputStream, &[u8])) {
        match news.recv_timeout(wait) {
            Ok(News::Output(stream, chunk)) => {
                match stream {
                    OutputStream::Stdout => self.stdout.push(&chunk),
                    OutputStream::Stderr => self.stderr.push(&chunk),
                }
                on_output(stream, &chunk);
            }
            Ok(News::Closed) => self.open_pipes = self.open_pipes.saturating_sub(1),
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
fn start_threads(spec: &ChildSpec, child: &mut Child) -> Receiver<News> {
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

fn forward(mut pipe: impl Read, stream: OutputStream, sender: &SyncSender<News>) {
    let mut buffer = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let chunk = buffer.get(..count).unwrap_or_default().to_vec();
        if sender.send(News::Output(stream, chunk)).is_err() {
            return;
        }
    }
    let _ = sender.send(News::Closed);
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
