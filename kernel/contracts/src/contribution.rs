//! What an extension can add besides tools, providers and hooks: routes, commands and jobs.

use crate::BoxFuture;
use crate::hook::HandlerError;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Answers a JSON request with JSON; used by routes and commands.
///
/// A route is asked with `path`, `query`, `body` and `isApprover`: whether the client showed the approval token, which
/// tools of an agent cannot read.
///
/// A route may say more: `$status` is the HTTP status of the answer. `$events`, a list of `{ "event", "data" }`, makes it
/// (and `id`, if there is one) a stream of server-sent events; while the answer also has `$next`, the route is asked again with that value as `next`,
/// and what it answers is sent on.
pub type Responder = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, HandlerError>> + Send + Sync>;

/// An HTTP route, served by whatever transport is active.
#[derive(Clone)]
pub struct Route {
    /// `GET`, `POST`, ...
    pub method: Cow<'static, str>,
    /// The path, for example `/v1/sessions/{id}`.
    pub path: Cow<'static, str>,
    /// One sentence for the API document.
    pub summary: Cow<'static, str>,
    /// Answers a request.
    pub respond: Responder,
}

impl Route {
    /// The name a manifest declares it under.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A request as it arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRequest {
    /// The values of the path's `{placeholders}`.
    pub path: BTreeMap<String, String>,
    /// The query.
    pub query: BTreeMap<String, String>,
    /// The headers, with names in lower case; one that came twice is there twice.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, byte by byte.
    pub body: Vec<u8>,
}

impl RawRequest {
    /// The first header with this name, which is in lower case; `None` also if it is not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }
}

/// The answer to such a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawResponse {
    /// The HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the request proved who sent it. A client that did may keep its connection like one with the token.
    pub is_authentic: bool,
}

/// Answers a request as it arrived.
pub type RawResponder = Arc<dyn Fn(RawRequest) -> BoxFuture<'static, Result<RawResponse, HandlerError>> + Send + Sync>;

/// Who may call a raw route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    /// Whoever shows the server's token.
    Token,
    /// Anybody: the route itself finds out who calls, for example by a signature of the body.
    Own,
}

/// An HTTP route that reads headers and bytes itself and chooses the status of its answer.
#[derive(Clone)]
pub struct RawRoute {
    /// `GET`, `POST`, ...
    pub method: Cow<'static, str>,
    /// The path, for example `/v1/hooks/{name}`.
    pub path: Cow<'static, str>,
    /// One sentence for the API document.
    pub summary: Cow<'static, str>,
    /// Who may call it.
    pub access: RouteAccess,
    /// The largest body; more is refused with 413 before the route sees it.
    pub max_body_bytes: usize,
    /// Answers a request.
    pub respond: RawResponder,
}

impl RawRoute {
    /// The name a manifest declares it under.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A command that a user or a client can call by name.
#[derive(Clone)]
pub struct Command {
    /// Its name.
    pub name: String,
    /// One sentence for the help.
    pub summary: String,
    /// Runs it: asked with `args`, a list of texts.
    pub respond: Responder,
}

/// Work that is due again and again.
#[derive(Clone)]
pub struct Job {
    /// Its name.
    pub name: Cow<'static, str>,
    /// How long to wait between the end of one run and the start of the next.
    pub every_ms: u64,
    /// Does the work once.
    pub run: Arc<dyn Fn() -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>,
}
