//! Starting and ending the child process.

use std::ffi::OsString;
use std::io::{self, BufReader, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use dispatch_os::process::{Child, ChildStdin, Command, Stdio, command};
use dispatch_os::threads;

use super::frame;
use super::known_modules::KnownModules;
use super::protocol::FromWorker;

/// Frames of the child that may wait.
const QUEUE_FRAMES: usize = 64;
/// What every system's pipe holds.
const PIPE_BYTES: usize = 4096;

type PrepareCommand = Box<dyn Fn(&mut Command) + Send + Sync>;

/// The command line of a program that calls [`crate::worker_main`] on its standard input and output.
pub struct WorkerCommand {
    program: PathBuf,
    arguments: Vec<OsString>,
    prepare: Option<PrepareCommand>,
}

impl WorkerCommand {
    /// A program and its arguments.
    pub fn new(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { program: program.into(), arguments: arguments.into_iter().map(Into::into).collect(), prepare: None }
    }

    /// Lets the caller add operating-system limits (address space, priority, sandbox) to each start.
    #[must_use]
    pub fn prepared_by(mut self, prepare: impl Fn(&mut Command) + Send + Sync + 'static) -> Self {
        self.prepare = Some(Box::new(prepare));
        self
    }

    /// Starts the child with an empty environment, in UTC.
    pub(super) fn start(&self) -> io::Result<Worker> {
        let mut command = command(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(prepare) = &self.prepare {
            prepare(&mut command);
        }
        let child = command.spawn()?;
        Worker::connect(child)
    }
}

/// A running child. A thread reads its output, because a child that is stuck writes nothing. It reads what it is sent
/// before it is sent more, so a frame that an empty pipe holds is written at once; a larger one has a thread of its own.
pub(super) struct Worker {
    child: Child,
    input: Arc<ChildStdin>,
    pub(super) from: Receiver<io::Result<FromWorker>>,
    pub(super) known: KnownModules,
}

impl Worker {
    fn connect(mut child: Child) -> io::Result<Self> {
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let (messages, from) = sync_channel(QUEUE_FRAMES);
        let worker = Self { child, input: Arc::new(input), from, known: KnownModules::default() };
        threads::spawn("script-worker-output", move || {
            let mut output = BufReader::new(output);
            while let Some(message) = frame::read(&mut output).transpose() {
                let failed = message.is_err();
                if messages.send(message).is_err() || failed {
                    break;
                }
            }
        })?;
        Ok(worker)
    }

    /// Sends a frame, without waiting for a child that does not read. One that is gone shows in its output.
    pub(super) fn send(&self, frame: Vec<u8>) -> io::Result<()> {
        if frame.len() <= PIPE_BYTES {
            return (&*self.input).write_all(&frame);
        }
        let input = Arc::clone(&self.input);
        threads::spawn("script-worker-input", move || (&*input).write_all(&frame)).map(drop)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the child at once and says how it ended.
    pub(super) fn kill(&mut self) -> String {
        // A child that is dead already keeps the status it died with.
        let _ = self.child.kill();
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}
