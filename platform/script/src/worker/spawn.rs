//! Starting and ending the child process.

use std::ffi::OsString;
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use dispatch_os::process::{Child, Command, Stdio, command};
use dispatch_os::threads;

use super::frame;
use super::protocol::FromWorker;

/// Frames that may wait in either direction.
const QUEUE_FRAMES: usize = 64;

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

/// A running child. Its pipes have a thread each, because a child that is stuck reads and writes nothing.
pub(super) struct Worker {
    child: Child,
    pub(super) to: SyncSender<Vec<u8>>,
    pub(super) from: Receiver<io::Result<FromWorker>>,
}

impl Worker {
    fn connect(mut child: Child) -> io::Result<Self> {
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let (to, frames) = sync_channel::<Vec<u8>>(QUEUE_FRAMES);
        let (messages, from) = sync_channel(QUEUE_FRAMES);
        let worker = Self { child, to, from };
        threads::spawn("script-worker-input", move || {
            while let Ok(bytes) = frames.recv() {
                if io::Write::write_all(&mut input, &bytes).is_err() {
                    break;
                }
            }
        })?;
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
