//! What to run and within which bounds.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::child_files::ChildFiles;
use super::observe::{Observing, OnWrite};
use super::{Canceller, CaptureLimit, ChildOutcome, WriteConfinement};

#[cfg(not(unix))]
use super::portable as supervise;
#[cfg(unix)]
use super::supervise;

const DEFAULT_GRACE: Duration = Duration::from_secs(2);

/// Which of the child's streams a chunk came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What happens to processes that the child leaves behind when it ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leftovers {
    /// They are killed: the process group always; those who left it, if they kept an output open.
    #[default]
    Kill,
    /// They live on, with closed output pipes.
    Leave,
}

/// What binds the child's descendants to the child and to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DescendantPolicy {
    /// The process group, and what a look at `/proc` finds when the tree is killed.
    #[default]
    Free,
    /// On Linux, a guardian process adopts every descendant, and kills them all when the child ends (unless
    /// they are left) and when this process dies. Costs one more process while the child runs. Elsewhere
    /// the same as free.
    Guarded,
}

/// A child to run: program, arguments as a list (never a shell text), environment, bounds.
#[derive(Clone)]
pub struct ChildSpec {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) working_folder: Option<PathBuf>,
    pub(super) allowed_variables: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) stdin: Vec<u8>,
    pub(super) open_stdin: Option<Arc<PipeReader>>,
    pub(super) timeout: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) capture: CaptureLimit,
    pub(super) leftovers: Leftovers,
    pub(super) descendants: DescendantPolicy,
    pub(super) confinement: Option<WriteConfinement>,
    pub(super) record_folder: Option<PathBuf>,
    pub(super) exit_marker: Option<PathBuf>,
    pub(super) observing: Observing,
}

impl ChildSpec {
    /// A child with no arguments, no stdin, no timeout, and the allow-listed environment.
    ///
    /// A name without a separator is looked up on the child's `PATH`; a relative path starts at the
    /// child's working folder. A script without a `#!` line is run by `sh` where the C library does so.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            working_folder: None,
            allowed_variables: Vec::new(),
            variables: Vec::new(),
            stdin: Vec::new(),
            open_stdin: None,
            timeout: None,
            grace: DEFAULT_GRACE,
            capture: CaptureLimit::default(),
            leftovers: Leftovers::default(),
            descendants: DescendantPolicy::default(),
            confinement: None,
            record_folder: None,
            exit_marker: None,
            observing: Observing::Off,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Runs the child in this folder instead of ours.
    #[must_use]
    pub fn working_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.working_folder = Some(folder.into());
        self
    }

    /// Sets a variable for the child; wins over an inherited one.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Passes one more variable of this process on, if it is set.
    #[must_use]
    pub fn pass_variable(mut self, name: impl Into<OsString>) -> Self {
        self.allowed_variables.push(name.into());
        self
    }

    /// Feeds these bytes to the child's stdin and closes it; without any, stdin is empty.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Gives the child a stdin that stays open; what is written reaches the child, and dropping the writer closes it.
    ///
    /// For one run: the writer notices that the child is gone once this specification is dropped.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn open_stdin(mut self) -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        self.open_stdin = Some(Arc::new(reader));
        Ok((self, writer))
    }

    /// Kills the tree when the child has not ended by then.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long the tree has between the polite signal and the kill (2 s unless told); zero kills at once.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How much of each output stream to keep.
    #[must_use]
    pub fn capture(mut self, limit: CaptureLimit) -> Self {
        self.capture = limit;
        self
    }

    /// What happens to processes that the child leaves behind.
    #[must_use]
    pub fn leftovers(mut self, leftovers: Leftovers) -> Self {
        self.leftovers = leftovers;
        self
    }

    /// What binds the child's descendants to the child and to us.
    #[must_use]
    pub fn descendants(mut self, descendants: DescendantPolicy) -> Self {
        self.descendants = descendants;
        self
    }

    /// Lets the child and its descendants write only where this says; they cannot take it off.
    #[must_use]
    pub fn confine_writes(mut self, confinement: WriteConfinement) -> Self {
        self.confinement = Some(confinement);
        self
    }

    /// Keeps a record in this folder while the child runs, for [`super::sweep`] after a crash of this process.
    #[must_use]
    pub fn record_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.record_folder = Some(folder.into());
        self
    }

    /// Creates this file, which must not exist, and has written into it how the child ended by itself, for
    /// [`super::read_exit_marker`]. It is the caller's to remove.
    ///
    /// A guarded [`DescendantPolicy`] writes it whatever happens to this process; otherwise this process does, once it
    /// has waited. Nothing of it is forced to the disk: it is about the end of a process, not of a machine.
    #[must_use]
    pub fn exit_marker(mut self, path: impl Into<PathBuf>) -> Self {
        self.exit_marker = Some(path.into());
        self
    }

    /// Sees what the child and its descendants write, for [`ChildOutcome::wrote`], and never stands in their way.
    ///
    /// Needs Linux 5.9 on x86-64 or 64-bit ARM, a guarded [`DescendantPolicy`] and leftovers that are killed; a child that
    /// is observed already cannot be observed again. Otherwise the child runs unobserved. ObservedWrites is every path
    /// that is opened for writing, made, moved or removed, also if the system then refuses it, free of links;
    /// files below `/dev`, `/proc` and `/sys` are not told. Not seen are programs of another architecture (32 bit).
    /// What goes through `io_uring`, or belongs to a program that may not be inspected, is reported as
    /// [`ChildOutcome::wrote_more`]. A set-id program gains nothing while it is observed. Costs some microseconds
    /// for each such call, and next to nothing for all others.
    #[must_use]
    pub fn observe_writes(mut self) -> Self {
        self.observing = Observing::Silent;
        self
    }

    /// The same, and tells each path once, before it is written for the first time. The writer waits for that,
    /// so it should be short. It is called from a separate thread.
    #[must_use]
    pub fn on_write(mut self, on_write: OnWrite) -> Self {
        self.observing = Observing::Reporting(on_write);
        self
    }

    /// The program as named.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The folder asked for.
    pub fn folder(&self) -> Option<&Path> {
        self.working_folder.as_deref()
    }

    /// Runs the child to its end.
    pub fn run(&self) -> ChildOutcome {
        self.run_with(&Canceller::new(), &mut |_, _| {})
    }

    /// Runs the child to its end, stoppable by `canceller`, handing every chunk of output to `on_output`
    /// as it comes.
    ///
    /// Blocks the calling thread, which is also what ties the child's life to ours: the kernel's
    /// parent-death signal follows the thread that started the child, and this one stays. While
    /// `on_output` runs, neither timeout nor cancel is noticed, so it should be short.
    pub fn run_with(&self, canceller: &Canceller, on_output: &mut dyn FnMut(OutputStream, &[u8])) -> ChildOutcome {
        let started = Instant::now();
        let outcome = ChildFiles::prepare(self)
            .and_then(|files_of_child| supervise::run(self, &files_of_child, canceller, on_output));
        match outcome {
            Ok(ended) => {
                let wrote_more = ended.seen.as_ref().is_some_and(|seen| seen.has_more);
                ChildOutcome {
                    end: ended.end,
                    duration: started.elapsed(),
                    stdout: ended.stdout,
                    stderr: ended.stderr,
                    wrote: ended.seen.map(|seen| seen.paths),
                    wrote_more,
                }
            }
            Err(failure) => ChildOutcome::not_started(failure, started.elapsed()),
        }
    }
}

impl std::fmt::Debug for ChildSpec {
    /// Arguments, variables and stdin may hold secrets and are only counted.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ChildSpec")
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .field("working_folder", &self.working_folder)
            .field("variables", &self.variables.len())
            .field("stdin_bytes", &self.stdin.len())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
