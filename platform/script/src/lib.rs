//! The JavaScript and TypeScript engine that user modules, routing hooks and external extensions run in.
//!
//! Two ways to run a script, with the same limits and the same errors:
//!
//! * [`Engine`] runs it in this process and on this thread, with no async runtime. It is `!Send`: make it where it is
//!   used. Three kinds of native call ignore the interrupt handler (a huge `indexOf`, a huge `join`, a huge `BigInt`
//!   conversion), so a process that uses it directly also sets an [`Alarm`].
//! * [`Supervisor`] runs it in a child process that is killed at the deadline. It blocks; from async code, call it on a
//!   blocking thread.
//!
//! A script sees the language and nothing else: no files, network, environment, timers, real clock or real randomness,
//! and no code from strings (`eval` and the `Function` constructors are removed, so what runs is what was read). The
//! one ambient fact left is the machine's time zone in the local `Date` methods; the child runs in UTC.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod cache;
mod engine;
mod error;
mod grants;
mod limits;
mod log;
mod source;
mod typescript;
mod worker;

pub use cache::{Cache, CacheTrust, MemoryCache, SourceCache};
pub use engine::{Callee, Engine, Script, SequentialEngine};
pub use error::{ErrorKind, Frame, ScriptError};
pub use grants::{Alarm, ClockGrant, Grants, HostFunction, HostFunctions, Isolation};
pub use limits::Limits;
pub use log::{LogLevel, LogSink};
pub use source::{Language, ModuleSource, SentImport, Source};
pub use worker::{
    Action, Lifetime, Port, Request, ScriptClock, Supervisor, SupervisorLimits, WorkerCommand, worker_main,
};
