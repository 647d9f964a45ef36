//! The table of what is served: each route with its description and its handler.
//!
//! The router and the OpenAPI document are both made from this table, so a route cannot be in one alone.

use super::admission::{self, HEALTH};
use super::connection::ServerShared;
use super::describe::DescribedHandler;
use super::operation::{OperationDocument, SchemaSet};
use super::{chat, commands, contributed, events, openapi, read, socket, write};
use crate::refusal::Refusal;
use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, on};
use http::StatusCode;
use std::sync::Arc;

/// How a route is described.
pub(super) struct RouteSpec {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// What generated clients call the operation.
    pub(super) id: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    /// The answer that is not an error.
    pub(super) success: &'static str,
}

/// A route that is served.
pub(super) struct ServedRoute {
    pub(super) spec: RouteSpec,
    /// Describes the parameters, the body and the answers that the handler's signature names.
    pub(super) describe: fn(&mut OperationDocument, &str, &mut SchemaSet),
}

/// The routes, and the router that answers them.
#[derive(Default)]
pub(super) struct RouteTable {
    router: Router<Arc<ServerShared>>,
    routes: Vec<ServedRoute>,
}

/// Everything this server itself answers.
pub(super) fn route_table() -> RouteTable {
    let table = server_routes(RouteTable::default());
    let table = session_routes(table);
    dispatch_routes(table)
}

/// The names of these routes, as an extension would declare them.
pub(crate) fn own_route_names() -> Vec<String> {
    let table = route_table();
    table.routes.iter().map(|route| format!("{} {}", route.spec.method, route.spec.path)).collect()
}

fn server_routes(table: RouteTable) -> RouteTable {
    table
        .serve(
            RouteSpec {
                method: "GET",
                path: HEALTH,
                id: "health",
                tag: "server",
                summary: "Says whether the server works; needs no token.",
                success: "The server works.",
            },
            read::health,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/openapi.json",
                id: "document",
                tag: "server",
                summary: "This document, with the routes of all extensions.",
                success: "The document.",
            },
            openapi::document,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/extensions",
                id: "listExtensions",
                tag: "server",
                summary: "Lists the extensions and their state.",
                success: "The extensions.",
            },
            read::extensions,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/commands",
                id: "listCommands",
                tag: "server",
                summary: "Lists the commands that extensions add.",
                success: "The commands.",
            },
            commands::list,
        )
        .serve(
            RouteSpec {
                method: "POST",
                path: "/v1/commands/{name}",
                id: "runCommand",
                tag: "server",
                summary: "Runs a command that an extension adds.",
                success: "What it answered.",
            },
            commands::run,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/ws",
                id: "openWebSocket",
                tag: "server",
                summary: "Exchanges JSON messages: subscribe, submit, cancel, answer. Browsers offer the subprotocols \
                          `dispatch.v1` and `dispatch.token.TOKEN`.",
                success: "The protocol changes.",
            },
            socket::open,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/models",
                id: "listModels",
                tag: "openai",
                summary: "Lists the models of all providers, as OpenAI does.",
                success: "The models.",
            },
            read::models,
        )
        .serve(
            RouteSpec {
                method: "POST",
                path: "/v1/chat/completions",
                id: "createChatCompletion",
                tag: "openai",
                summary: "Sends the last user message to a session and returns the reply of its turn, as OpenAI does.",
                success: "The reply, whole or as a stream of chunks.",
            },
            chat::complete,
        )
}

fn session_routes(table: RouteTable) -> RouteTable {
    table
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/sessions",
                id: "listSessions",
                tag: "sessions",
                summary: "Lists sessions, the one that changed last first.",
                success: "The sessions.",
            },
            read::sessions,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/sessions/{label}",
                id: "getSession",
                tag: "sessions",
                summary: "Shows one session.",
                success: "The session.",
            },
            read::session,
        )
        .serve(
            RouteSpec {
                method: "PATCH",
                path: "/v1/sessions/{label}",
                id: "changeSession",
                tag: "sessions",
                summary: "Changes the label or the title of a session.",
                success: "The changed session.",
            },
            write::change,
        )
        .serve(
            RouteSpec {
                method: "DELETE",
                path: "/v1/sessions/{label}",
                id: "deleteSession",
                tag: "sessions",
                summary: "Deletes a session and the turns that no other session continues from.",
                success: "The session is deleted.",
            },
            write::delete,
        )
        .serve(
            RouteSpec {
                method: "POST",
                path: "/v1/sessions/{label}/fork",
                id: "forkSession",
                tag: "sessions",
                summary: "Creates a session that continues from a turn of this one.",
                success: "The new session.",
            },
            write::fork,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/sessions/{label}/messages",
                id: "getMessages",
                tag: "sessions",
                summary: "Returns the whole conversation, as the model would get it.",
                success: "The conversation.",
            },
            read::history,
        )
        .serve(
            RouteSpec {
                method: "POST",
                path: "/v1/sessions/{label}/messages",
                id: "postMessage",
                tag: "sessions",
                summary: "Submits a message. Answers once it is durable; creates the session if it does not exist.",
                success: "The message is durable.",
            },
            write::submit,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/sessions/{label}/events",
                id: "getEvents",
                tag: "sessions",
                summary: "Streams the news of a session as server-sent events. `id` is the position of a stored row.",
                success: "Events until the client disconnects; the data of each is a SessionEvent.",
            },
            events::events,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/search",
                id: "search",
                tag: "sessions",
                summary: "Searches what people and models said, newest first.",
                success: "The hits, one per turn.",
            },
            read::search,
        )
}

fn dispatch_routes(table: RouteTable) -> RouteTable {
    table
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/dispatches/{id}",
                id: "getDispatch",
                tag: "dispatches",
                summary: "Shows the state of a message.",
                success: "The dispatch.",
            },
            read::dispatch,
        )
        .serve(
            RouteSpec {
                method: "POST",
                path: "/v1/dispatches/{id}/cancel",
                id: "cancelDispatch",
                tag: "dispatches",
                summary: "Withdraws a message that waits, or stops its turn.",
                success: "What the cancellation did.",
            },
            write::cancel,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/queue",
                id: "getQueue",
                tag: "dispatches",
                summary: "Lists what waits or runs, in order.",
                success: "The dispatches.",
            },
            read::queue,
        )
        .serve(
            RouteSpec {
                method: "GET",
                path: "/v1/approvals",
                id: "listApprovals",
                tag: "approvals",
                summary: "Lists the tool calls that wait for a person.",
                success: "The open questions, oldest first.",
            },
            read::approvals,
        )
        .serve(
            RouteSpec {
                method: "POST",
                path: "/v1/approvals/{id}",
                id: "answerApproval",
                tag: "approvals",
                summary: "Answers a question.",
                success: "The question is answered.",
            },
            write::answer,
        )
}

impl RouteTable {
    fn serve<H, T, Inputs, Answer>(mut self, spec: RouteSpec, handler: H) -> Self
    where
        H: Handler<T, Arc<ServerShared>> + DescribedHandler<Inputs, Answer>,
        T: 'static,
    {
        let filter = match spec.method {
            "GET" => MethodFilter::GET,
            "PATCH" => MethodFilter::PATCH,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::POST,
        };
        self.router = self.router.route(spec.path, on(filter, handler));
        self.routes.push(ServedRoute { spec, describe: <H as DescribedHandler<Inputs, Answer>>::describe });
        self
    }

    pub(super) fn routes(&self) -> &[ServedRoute] {
        &self.routes
    }

    /// The routes behind the admission check; what is not in the table may be another extension's.
    pub(super) fn into_router(self, shared: Arc<ServerShared>) -> Router {
        let guarded = from_fn_with_state(Arc::clone(&shared), admission::guard);
        let router = self.router.method_not_allowed_fallback(wrong_method).fallback(contributed::serve);
        router.layer(guarded).with_state(shared)
    }
}

async fn wrong_method() -> Refusal {
    let message = "this path does not take this method";
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
        .hint("/openapi.json lists what is served")
}
