//! The table of what is served: one line per route.

use super::connection::Shared;
use super::door::{self, HEALTH};
use super::{chat, events, extra, openapi, read, socket, write};
use crate::refusal::Refusal;
use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, on};
use http::StatusCode;
use std::sync::Arc;

/// The routes, and their list.
pub(super) struct Table {
    router: Router<Arc<Shared>>,
    served: Vec<(&'static str, &'static str)>,
}

/// Everything this server itself answers.
pub(super) fn table() -> Table {
    Table { router: Router::new(), served: Vec::new() }
        .serve("GET", HEALTH, read::health)
        .serve("GET", "/openapi.json", openapi::document)
        .serve("GET", "/v1/sessions", read::sessions)
        .serve("GET", "/v1/sessions/{label}", read::session)
        .serve("PATCH", "/v1/sessions/{label}", write::change)
        .serve("DELETE", "/v1/sessions/{label}", write::delete)
        .serve("POST", "/v1/sessions/{label}/fork", write::fork)
        .serve("GET", "/v1/sessions/{label}/messages", read::history)
        .serve("POST", "/v1/sessions/{label}/messages", write::submit)
        .serve("GET", "/v1/sessions/{label}/events", events::events)
        .serve("GET", "/v1/dispatches/{id}", read::dispatch)
        .serve("POST", "/v1/dispatches/{id}/cancel", write::cancel)
        .serve("GET", "/v1/queue", read::queue)
        .serve("GET", "/v1/search", read::search)
        .serve("GET", "/v1/approvals", read::approvals)
        .serve("POST", "/v1/approvals/{id}", write::answer)
        .serve("GET", "/v1/models", read::models)
        .serve("GET", "/v1/extensions", read::extensions)
        .serve("GET", "/v1/ws", socket::open)
        .serve("POST", "/v1/chat/completions", chat::complete)
}

impl Table {
    fn serve<H, T>(mut self, method: &'static str, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, Arc<Shared>>,
        T: 'static,
    {
        let filter = match method {
            "GET" => MethodFilter::GET,
            "PATCH" => MethodFilter::PATCH,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::POST,
        };
        self.served.push((method, path));
        self.router = self.router.route(path, on(filter, handler));
        self
    }

    /// Method and path of every route.
    pub(super) fn served(&self) -> &[(&'static str, &'static str)] {
        &self.served
    }

    /// The routes behind the door; what is not in the table may be another extension's.
    pub(super) fn into_router(self, shared: Arc<Shared>) -> Router {
        let guarded = from_fn_with_state(Arc::clone(&shared), door::guard);
        let router = self.router.method_not_allowed_fallback(wrong_method).fallback(extra::serve);
        router.layer(guarded).with_state(shared)
    }
}

async fn wrong_method() -> Refusal {
    let said = "this path does not take this method";
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", said).hint("/openapi.json lists what is served")
}
