//! Hooks and runs over HTTP: what is on, what ran, what it prints, again, no more.

use crate::contract::{RunId, RunQuery, Runs, RunsError, Status};
use crate::root::workspace_of;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::Route;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::ports::Clock;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How often a run that goes is looked at for more output.
const LOOK_MS: u64 = 200;
/// How many looks one request for more output takes at most, so that a client that left is noticed.
const MAX_LOOKS: u32 = 50;
const BAD_REQUEST: u16 = 400;
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;
const UNAVAILABLE: u16 = 503;

type Answer = BoxFuture<'static, Result<Value, HandlerError>>;

/// What the routes work with.
#[derive(Clone)]
pub(crate) struct RunRoutes {
    pub(crate) runs: Arc<dyn Runs>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Whose workspace is meant.
    pub(crate) folder: PathBuf,
    /// Called when something waits.
    pub(crate) stored: Arc<dyn Fn(&Path) + Send + Sync>,
}

impl RunRoutes {
    pub(crate) fn all(&self) -> Vec<Route> {
        vec![
            self.route("GET", "/v1/workspace-hooks", "Lists the workspace hooks, and why one does not run.", hooks),
            self.route("GET", "/v1/runs", "Lists runs, the newest first.", list),
            self.route("GET", "/v1/runs/{id}", "One run with what it printed so far.", show),
            self.route("GET", "/v1/runs/{id}/output", "What a run prints, as server-sent events.", output),
            self.route("POST", "/v1/runs/{id}/retry", "Runs it once more.", retry),
            self.route("POST", "/v1/runs/{id}/cancel", "Takes a run back, or stops it.", cancel),
            self.route("GET", "/v1/workspace-hooks/metrics", "How many runs go, wait, succeeded, failed.", metrics),
        ]
    }

    fn route<F>(
        &self,
        method: &'static str,
        path: &'static str,
        summary: &'static str,
        respond: fn(RunRoutes, Value) -> F,
    ) -> Route
    where
        F: Future<Output = Result<Value, RunsError>> + Send + 'static,
    {
        let routes = self.clone();
        let respond = move |asked: Value| -> Answer {
            let answer = respond(routes.clone(), asked);
            Box::pin(async move { answer.await.or_else(refusal) })
        };
        Route { method: method.into(), path: path.into(), summary: summary.into(), respond: Arc::new(respond) }
    }

    fn workspace(&self) -> PathBuf {
        workspace_of(&self.folder)
    }
}

/// What a client did wrong has a status of its own; what we did wrong is a failure.
pub(crate) fn refusal(error: RunsError) -> Result<Value, HandlerError> {
    let status = match &error {
        RunsError::Unknown { .. } => NOT_FOUND,
        RunsError::Refused(_) => CONFLICT,
        RunsError::Full { .. } => UNAVAILABLE,
        RunsError::Away(_) => return Ok(with_status(UNAVAILABLE, "the database does not answer; try again")),
        RunsError::Storage(message) => return Err(HandlerError(message.clone())),
    };
    Ok(with_status(status, &error.to_string()))
}

/// An answer with another status than 200.
pub(crate) fn with_status(status: u16, error: &str) -> Value {
    json!({ "$status": status, "error": error })
}

async fn hooks(routes: RunRoutes, _: Value) -> Result<Value, RunsError> {
    let workspace = routes.workspace();
    let set = routes.runs.refresh(&workspace).await?;
    let on = set.hooks.iter().map(|hook| {
        json!({
            "id": hook.id, "trigger": hook.trigger.to_string(), "pattern": hook.pattern,
            "inForce": true, "fingerprint": hook.fingerprint, "budget": hook.budget,
        })
    });
    let off = set.dormant.iter().map(|dormant| {
        json!({
            "id": dormant.hook_id, "inForce": false, "reason": dormant.reason,
            "waitsForApproval": dormant.waits_for_approval,
        })
    });
    let hooks: Vec<Value> = on.chain(off).collect();
    Ok(json!({ "workspace": workspace, "hooks": hooks, "problems": set.problems }))
}

async fn list(routes: RunRoutes, asked: Value) -> Result<Value, RunsError> {
    let query = |name: &str| asked.pointer(&format!("/query/{name}")).and_then(Value::as_str);
    let mut status = Vec::new();
    for word in query("status").into_iter().flat_map(|words| words.split(',')) {
        match Status::parse(word) {
            Some(known) => status.push(known),
            None => return Ok(with_status(BAD_REQUEST, &format!("unknown status `{word}`"))),
        }
    }
    let limit = match query("limit").map(str::parse).transpose() {
        Ok(limit) => limit,
        Err(_) => return Ok(with_status(BAD_REQUEST, "`limit` is not a number")),
    };
    let runs = RunQuery {
        workspace: Some(routes.workspace()),
        hook: query("hook").map(str::to_owned),
        status,
        text: query("q").map(str::to_owned),
        limit,
    };
    Ok(json!({ "runs": routes.runs.list(runs).await? }))
}

async fn show(routes: RunRoutes, asked: Value) -> Result<Value, RunsError> {
    routes.runs.run(&id(&asked)).await.map(|record| json!(record))
}

/// What a run has printed since the last look, and how to ask for more; the end of the run ends it.
async fn output(routes: RunRoutes, asked: Value) -> Result<Value, RunsError> {
    let sent = asked.pointer("/next/sent").and_then(Value::as_str).unwrap_or_default().to_owned();
    let id = id(&asked);
    for look in 0..MAX_LOOKS {
        let record = routes.runs.run(&id).await?;
        let printed = record.logs.clone().unwrap_or_default();
        let more = printed.strip_prefix(sent.as_str()).unwrap_or_default();
        if record.status.is_over() {
            let piece = (!more.is_empty()).then(|| event("output", &json!({ "text": more })));
            let events: Vec<Value> = piece.into_iter().chain([event("end", &json!(record))]).collect();
            return Ok(json!({ "$events": events }));
        }
        if !more.is_empty() || look + 1 == MAX_LOOKS {
            let piece = (!more.is_empty()).then(|| event("output", &json!({ "text": more })));
            let events: Vec<Value> = piece.into_iter().collect();
            return Ok(json!({ "$events": events, "$next": { "sent": printed } }));
        }
        routes.clock.sleep_ms(LOOK_MS).await;
    }
    Ok(json!({ "$events": [] }))
}

async fn retry(routes: RunRoutes, asked: Value) -> Result<Value, RunsError> {
    let record = routes.runs.run(&id(&asked)).await?;
    let run = routes.runs.retry(&record.id).await?;
    (routes.stored)(Path::new(&record.workspace));
    Ok(json!({ "run": run }))
}

async fn cancel(routes: RunRoutes, asked: Value) -> Result<Value, RunsError> {
    routes.runs.cancel(&RunId(id(&asked))).await.map(|record| json!(record))
}

async fn metrics(routes: RunRoutes, _: Value) -> Result<Value, RunsError> {
    routes.runs.metrics(&routes.workspace()).await.map(|metrics| json!(metrics))
}

fn event(name: &str, data: &Value) -> Value {
    json!({ "event": name, "data": data })
}

fn id(asked: &Value) -> String {
    asked.pointer("/path/id").and_then(Value::as_str).unwrap_or_default().to_owned()
}
