//! Scripts in a child process, for programs that must outlive any script they run.

mod backoff;
mod frame;
mod known_modules;
mod protocol;
mod request;
mod serve;
mod spawn;
mod supervisor;

pub use request::{Action, Lifetime, Port, Request, ScriptClock};
pub use serve::worker_main;
pub use spawn::WorkerCommand;
pub use supervisor::{Supervisor, SupervisorLimits};
