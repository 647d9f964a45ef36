//! What an extension can add besides tools, providers and hooks: routes, commands and jobs.

use crate::BoxFuture;
use crate::hook::HandlerError;
use serde_json::Value;
use std::sync::Arc;

/// Answers a JSON request with JSON; used by routes and commands.
///
/// A route is asked with `path`, `query`, `body` and `isApprover`: whether the client showed the approval token, which
/// tools of an agent cannot read.
///
/// A route may say more: `$status` is the HTTP status of the answer. `$events`, a list of `{ "event", "data" }`, makes it
/// a stream of server-sent events; while the answer also has `$next`, the route is asked again with that value as `next`,
/// and what it answers is sent on.
pub type Responder = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, HandlerError>> + Send + Sync>;

/// An HTTP route, served by whatever transport is active.
#[derive(Clone)]
pub struct Route {
    /// `GET`, `POST`, ...
    pub method: &'static str,
    /// The path, for example `/v1/sessions/{id}`.
    pub path: &'static str,
    /// One sentence for the API document.
    pub summary: &'static str,
    /// Answers a request.
    pub respond: Responder,
}

impl Route {
    /// The name a manifest declares it under.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A command that a user or a client can call by name.
#[derive(Clone)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// One sentence for the help.
    pub summary: &'static str,
    /// Runs it.
    pub respond: Responder,
}

/// Work that is due again and again.
#[derive(Clone)]
pub struct Job {
    /// Its name.
    pub name: &'static str,
    /// How long to wait between the end of one run and the start of the next.
    pub every_ms: u64,
    /// Does the work once.
    pub run: Arc<dyn Fn() -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>,
}
