//! `GET /v1/route/metrics`: counts and times of routing hooks and channels, for clients with the token.

use crate::contract::Routes;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::Route;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::ports::Clock;
use serde_json::{Value, json};
use std::sync::Arc;

/// How far back is counted, if the client does not say: thirty days.
const USUAL_MS: u64 = 30 * 86_400_000;

/// The route.
pub(crate) fn metrics_route(routes: Arc<dyn Routes>, clock: Arc<dyn Clock>) -> Route {
    let respond = move |asked: Value| -> BoxFuture<'static, Result<Value, HandlerError>> {
        let (routes, now_ms) = (Arc::clone(&routes), clock.now_ms());
        Box::pin(async move {
            let since = asked.pointer("/query/sinceMs").and_then(Value::as_str);
            let since_ms = match since.map(str::parse).transpose() {
                Ok(since_ms) => since_ms.unwrap_or_else(|| now_ms.saturating_sub(USUAL_MS)),
                Err(_) => return Ok(refused(400, "invalid", "invalid sinceMs: it is not a whole number")),
            };
            Ok(match routes.metrics(since_ms).await {
                Ok(metrics) => json!(metrics),
                Err(_) => refused(503, "storage", "the database does not answer; try again"),
            })
        })
    };
    Route {
        method: "GET".into(),
        path: "/v1/route/metrics".into(),
        summary: "Counts and times of routing hooks and channels since a time.".into(),
        respond: Arc::new(respond),
    }
}

fn refused(status: u16, code: &str, message: &str) -> Value {
    json!({ "$status": status, "error": { "code": code, "message": message } })
}
