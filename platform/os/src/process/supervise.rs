//! Watches one child on Unix: a single poll loop over its pipes, its death, the canceller and the clock.

use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::process::Child;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::capture::Capture;
use super::child_files::ChildFiles;
use super::launch::{self, EndedChild, StartedChild};
use super::observe::Observer;
use super::outcome::StartFailure;
use super::spec::{ChildSpec, Leftovers, OutputStream};
use super::tree::ProcessTree;
use super::{Canceller, ChildEnd, Subscription};
use crate::Deadline;

const CHUNK_BYTES: usize = 64 * 1024;
/// How long a pipe may stay open after the child is gone, because a descendant holds it.
const DRAIN: Duration = Duration::from_millis(250);
/// How long a killed child may take to die; one stuck in the kernel is then left to a thread.
const DEATH: Duration = Duration::from_secs(5);
/// How often the rest of the tree is looked at during its grace period, because its death does not wake us.
const TREE_CHECK: Duration = Duration::from_millis(20);

pub(super) fn run(
    spec: &ChildSpec,
    files_of_child: &ChildFiles,
    canceller: &Canceller,
    on_output: &mut dyn FnMut(OutputStream, &[u8]),
) -> Result<EndedChild, StartFailure> {
    let StartedChild { child, observer } = launch::start(spec, files_of_child)?;
    let mut supervisor = Supervisor::new(spec, files_of_child, child, canceller)?;
    files_of_child.add_group(spec, supervisor.tree_leader())?;
    supervisor.drive(on_output);
    let ended = supervisor.finish();
    Ok(EndedChild { seen: observer.and_then(Observer::finish), ..ended })
}

/// Why the tree is being ended.
#[derive(Clone, Copy)]
enum StopCause {
    TimedOut,
    Cancelled,
}

#[derive(Clone, Copy)]
enum SupervisionPhase {
    Running,
    /// Asked to end; killed at this instant.
    Asked(Instant),
    /// Killed; given up at this instant.
    Killed(Instant),
    /// The child is dead; its pipes are read until this instant.
    Draining(Instant),
    Done,
}

struct Supervisor<'run> {
    spec: &'run ChildSpec,
    files_of_child: &'run ChildFiles,
    canceller: &'run Canceller,
    child: Child,
    tree: ProcessTree,
    leader: Pid,
    deadline: Deadline,
    phase: SupervisionPhase,
    stop: Option<StopCause>,
    child_is_dead: bool,
    is_finished: bool,
    signals: WakeSources,
    stdin_sent: usize,
    stdout: Capture,
    stderr: Capture,
    buffer: Vec<u8>,
}

impl<'run> Supervisor<'run> {
    fn new(
        spec: &'run ChildSpec,
        files_of_child: &'run ChildFiles,
        mut child: Child,
        canceller: &'run Canceller,
    ) -> Result<Self, StartFailure> {
        let leader = Pid::from_child(&child);
        let prepared = prepare_pipes(&child, leader, canceller);
        let signals = match prepared {
            Ok(signals) => signals,
            Err(error) => {
                files_of_child.announce_stop();
                ProcessTree::new(leader, &files_of_child.token.own).kill_group();
                let _ = child.wait();
                return Err(launch::resource_failure(spec, error));
            }
        };
        Ok(Self {
            spec,
            files_of_child,
            canceller,
            child,
            tree: ProcessTree::new(leader, &files_of_child.token.own),
            leader,
            deadline: spec.timeout.map_or(Deadline::NEVER, Deadline::after),
            phase: SupervisionPhase::Running,
            stop: None,
            child_is_dead: false,
            is_finished: false,
            signals,
            stdin_sent: 0,
            stdout: Capture::new(spec.capture),
            stderr: Capture::new(spec.capture),
            buffer: vec![0; CHUNK_BYTES],
        })
    }

    fn tree_leader(&self) -> i32 {
        self.leader.as_raw_pid()
    }

    fn drive(&mut self, on_output: &mut dyn FnMut(OutputStream, &[u8])) {
        loop {
            let wait_until = self.advance();
            if matches!(self.phase, SupervisionPhase::Done) {
                return;
            }
            self.wait_for_events(wait_until, on_output);
        }
    }

    /// Moves from phase to phase as far as possible; says when to look again even if nothing happens.
    fn advance(&mut self) -> Deadline {
        loop {
            let now = Instant::now();
            match self.phase {
                SupervisionPhase::Running if self.child_is_dead => self.phase = SupervisionPhase::Draining(now + DRAIN),
                SupervisionPhase::Running if self.canceller.is_cancelled() => self.ask(StopCause::Cancelled),
                SupervisionPhase::Running if self.deadline.expired() => self.ask(StopCause::TimedOut),
                SupervisionPhase::Running => return self.deadline,
                SupervisionPhase::Asked(until) if now >= until => self.kill(),
                SupervisionPhase::Asked(until) if !self.child_is_dead => return Deadline::at(until),
                SupervisionPhase::Asked(_) if self.tree.look_around().unwrap_or(0) == 0 => self.kill(),
                SupervisionPhase::Asked(until) => return Deadline::at(until.min(now + TREE_CHECK)),
                SupervisionPhase::Killed(_) if self.child_is_dead => {
                    self.phase = SupervisionPhase::Draining(now + DRAIN)
                }
                SupervisionPhase::Killed(until) if now >= until => self.phase = SupervisionPhase::Done,
                SupervisionPhase::Killed(until) => return Deadline::at(until),
                SupervisionPhase::Draining(_) if !self.has_open_output() => self.end_of_drain(),
                SupervisionPhase::Draining(until) if now >= until => self.end_of_drain(),
                SupervisionPhase::Draining(until) => return Deadline::at(until),
                SupervisionPhase::Done => return Deadline::NEVER,
            }
        }
    }

    fn ask(&mut self, stop: StopCause) {
        self.stop = Some(stop);
        self.files_of_child.announce_stop();
        if self.spec.grace.is_zero() {
            self.kill();
            return;
        }
        self.tree.terminate();
        let far = Instant::now() + Duration::from_secs(3_600);
        let until = Deadline::after(self.spec.grace).instant();
        self.phase = SupervisionPhase::Asked(until.unwrap_or(far));
    }

    fn kill(&mut self) {
        self.tree.kill();
        self.phase = SupervisionPhase::Killed(Instant::now() + DEATH);
    }

    /// The child is dead but not reaped, so its group can still be signalled without hitting a stranger.
    fn end_of_drain(&mut self) {
        if self.stop.is_none() && self.spec.leftovers == Leftovers::Kill {
            if self.has_open_output() {
                self.tree.kill();
            } else {
                self.tree.kill_group();
            }
        }
        self.phase = SupervisionPhase::Done;
    }

    fn has_open_output(&self) -> bool {
        self.child.stdout.is_some() || self.child.stderr.is_some()
    }

    fn wait_for_events(&mut self, until: Deadline, on_output: &mut dyn FnMut(OutputStream, &[u8])) {
        let ready = self.poll(until);
        if ready.death {
            self.child_is_dead = true;
        }
        if ready.stdin {
            self.feed_stdin();
        }
        if ready.stdout {
            self.read_output(OutputStream::Stdout, on_output);
        }
        if ready.stderr {
            self.read_output(OutputStream::Stderr, on_output);
        }
    }

    fn poll(&self, until: Deadline) -> ReadyPipes {
        // A thrown canceller and a dead child stay readable, so they are watched only until seen.
        let watch_death = (!self.child_is_dead).then(|| self.signals.death.as_fd());
        let watch_wake = self.stop.is_none().then(|| self.signals.wake.as_fd());
        let sources = [
            (watch_death, PollFlags::IN),
            (watch_wake, PollFlags::IN),
            (self.child.stdin.as_ref().map(AsFd::as_fd), PollFlags::OUT),
            (self.child.stdout.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (self.child.stderr.as_ref().map(AsFd::as_fd), PollFlags::IN),
        ];
        let watched = sources.map(|(source, _)| source.is_some());
        let mut polled: Vec<PollFd<'_>> =
            sources.iter().filter_map(|(source, flags)| Some(PollFd::from_borrowed_fd((*source)?, *flags))).collect();
        let timeout = until.instant().map(|_| timespec(until.remaining()));
        // An interrupted poll reports nothing; the loop comes back after looking at the clock.
        let happened = poll(&mut polled, timeout.as_ref()).is_ok();
        let mut results = polled.iter().map(|entry| happened && !entry.revents().is_empty());
        let [death, _, stdin, stdout, stderr] = watched.map(|is_watched| is_watched && results.next().unwrap_or(false));
        ReadyPipes { death, stdin, stdout, stderr }
    }

    fn feed_stdin(&mut self) {
        let Some(pipe) = self.child.stdin.as_mut() else {
            return;
        };
        let rest = self.spec.stdin.get(self.stdin_sent..).unwrap_or_default();
        match pipe.write(rest) {
            Ok(sent) => self.stdin_sent += sent,
            Err(error) if is_transient(&error) => return,
            // The child closed its end: it does not want the rest.
            Err(_) => self.stdin_sent = self.spec.stdin.len(),
        }
        if self.stdin_sent >= self.spec.stdin.len() {
            self.child.stdin = None;
        }
    }

    fn read_output(&mut self, stream: OutputStream, on_output: &mut dyn FnMut(OutputStream, &[u8])) {
        let result = match stream {
            OutputStream::Stdout => self.child.stdout.as_mut().map(|pipe| pipe.read(&mut self.buffer)),
            OutputStream::Stderr => self.child.stderr.as_mut().map(|pipe| pipe.read(&mut self.buffer)),
        };
        match result {
            Some(Ok(count)) if count > 0 => {
                let chunk = self.buffer.get(..count).unwrap_or_default();
                match stream {
                    OutputStream::Stdout => self.stdout.push(chunk),
                    OutputStream::Stderr => self.stderr.push(chunk),
                }
                on_output(stream, chunk);
            }
            Some(Err(error)) if is_transient(&error) => {}
            _ => match stream {
                OutputStream::Stdout => self.child.stdout = None,
                OutputStream::Stderr => self.child.stderr = None,
            },
        }
    }

    /// Reaps the child, unless it does not die, and tells how it ended.
    fn finish(mut self) -> EndedChild {
        self.is_finished = true;
        let status = if self.child_is_dead {
            // The watcher has told the death and is on its way out.
            let _ = self.signals.watcher.take().map(JoinHandle::join);
            self.child.wait().ok()
        } else {
            self.child.try_wait().ok().flatten()
        };
        let end = match (self.stop, status) {
            (Some(StopCause::TimedOut), _) => ChildEnd::TimedOut,
            (Some(StopCause::Cancelled), _) => ChildEnd::Cancelled,
            (None, Some(status)) => end_of(status),
            (None, None) => ChildEnd::StatusUnknown,
        };
        self.files_of_child.note_end(self.spec, &end);
        EndedChild { end, stdout: self.stdout.take(), stderr: self.stderr.take(), seen: None }
    }
}

impl Drop for Supervisor<'_> {
    /// Only a panic of the caller's callback, or a record that could not be written, gets here unfinished.
    fn drop(&mut self) {
        if !self.is_finished {
            self.files_of_child.announce_stop();
            self.tree.kill();
            let _ = self.child.wait();
        }
    }
}

/// What can wake the loop besides the child's pipes.
struct WakeSources {
    death: PipeReader,
    watcher: Option<JoinHandle<()>>,
    wake: PipeReader,
    _subscription: Subscription,
}

struct ReadyPipes {
    death: bool,
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

fn prepare_pipes(child: &Child, leader: Pid, canceller: &Canceller) -> io::Result<WakeSources> {
    let pipes = [
        child.stdin.as_ref().map(AsFd::as_fd),
        child.stdout.as_ref().map(AsFd::as_fd),
        child.stderr.as_ref().map(AsFd::as_fd),
    ];
    for pipe in pipes.into_iter().flatten() {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    let (death, tell_death) = io::pipe()?;
    let (wake, waker) = io::pipe()?;
    let watcher = std::thread::Builder::new()
        .name("child-watch".to_owned())
        .stack_size(64 * 1024)
        .spawn(move || watch_for_death(leader, tell_death))?;
    let subscription = canceller.subscribe(move || {
        let _ = (&waker).write(b"!");
    });
    Ok(WakeSources { death, watcher: Some(watcher), wake, _subscription: subscription })
}

/// Waits for the death without reaping, so that the id stays taken until the supervisor is done with it.
fn watch_for_death(leader: Pid, mut tell: io::PipeWriter) {
    let options = WaitIdOptions::EXITED;
    let is_interrupted = || {
        let waited = waitid(WaitId::Pid(leader), options | WaitIdOptions::NOWAIT);
        matches!(waited, Err(rustix::io::Errno::INTR))
    };
    while is_interrupted() {}
    if tell.write_all(b"!").is_err() {
        // The supervisor gave up on a child stuck in the kernel; somebody must still reap it.
        let _ = waitid(WaitId::Pid(leader), options);
    }
}

fn end_of(status: std::process::ExitStatus) -> ChildEnd {
    match (status.code(), std::os::unix::process::ExitStatusExt::signal(&status)) {
        (Some(code), _) => ChildEnd::Exited { code },
        (None, Some(signal)) => ChildEnd::Signalled { signal },
        (None, None) => ChildEnd::StatusUnknown,
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}
