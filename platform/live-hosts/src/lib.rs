//! Real agents, headless, against a model that follows a script: does a host call us, and does it do what we answer?

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod agent_run;
mod error;
mod host;
mod hosts;
mod http_exchange;
mod model;
mod model_request;
mod scratch;
mod step;
mod wire;

pub use agent_run::{AgentEnd, AgentRun};
pub use error::LiveError;
pub use host::{HostDriver, HostMode, NpmPackage, RunPlace};
pub use hosts::{all, by_id};
pub use model::ScriptedModel;
pub use model_request::ModelRequest;
pub use scratch::{PREPARED_RULES, ScratchProject};
pub use step::ModelStep;
