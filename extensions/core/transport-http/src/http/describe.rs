//! What a handler's signature says about its route: every argument and every answer describes itself.

use super::answering::AnsweringClient;
use super::answers::{Accepted, ChatAnswer, Created, Health, NoContent, ProtocolSwitch, SessionEventStream};
use super::chat::ChatHeaders;
use super::events::LastEventId;
use super::input::{CommandName, FromHead, JsonBody, QueryInput, SessionLabel};
use super::operation::{OperationDocument, SchemaSet};
use crate::openai::ChatCompletion;
use crate::refusal::Refusal;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::{Extension, Json};
use ext_session_orchestrator::contract::{ApprovalId, Ask, DispatchId, SessionEvent};
use schemars::JsonSchema;
use serde_json::{Value, json};
use std::future::Future;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// An argument of a handler.
pub(super) trait DescribeInput {
    fn describe(operation: &mut OperationDocument, schemas: &mut SchemaSet);
}

/// What a handler returns. `success` is the description of the answer that is not an error.
pub(super) trait DescribeAnswer {
    fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet);
}

/// A handler whose arguments and answer describe themselves.
pub(super) trait DescribedHandler<Inputs, Answer> {
    fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet);
}

macro_rules! described_handler {
    ($($input:ident),*) => {
        impl<H, F, Answer, $($input),*> DescribedHandler<($($input,)*), Answer> for H
        where
            H: Fn($($input),*) -> F,
            F: Future<Output = Answer>,
            Answer: DescribeAnswer,
            $($input: DescribeInput),*
        {
            fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet) {
                $($input::describe(operation, schemas);)*
                Answer::describe(operation, success, schemas);
            }
        }
    };
}

described_handler!(A);
described_handler!(A, B);
described_handler!(A, B, C);
described_handler!(A, B, C, D);

impl<T> DescribeInput for State<T> {
    fn describe(_operation: &mut OperationDocument, _schemas: &mut SchemaSet) {}
}

impl<T> DescribeInput for Extension<T> {
    fn describe(_operation: &mut OperationDocument, _schemas: &mut SchemaSet) {}
}

impl<E> DescribeInput for Result<WebSocketUpgrade, E> {
    fn describe(_operation: &mut OperationDocument, _schemas: &mut SchemaSet) {}
}

impl<T: JsonSchema, const LIMIT: usize> DescribeInput for JsonBody<T, LIMIT> {
    fn describe(operation: &mut OperationDocument, schemas: &mut SchemaSet) {
        operation.take_body(schemas.request::<T>());
    }
}

impl<T: DescribeHead> DescribeInput for FromHead<T> {
    fn describe(operation: &mut OperationDocument, schemas: &mut SchemaSet) {
        T::parameters(schemas).into_iter().for_each(|parameter| operation.take_parameter(parameter));
    }
}

/// The parameters of a request's head.
pub(super) trait DescribeHead {
    fn parameters(schemas: &mut SchemaSet) -> Vec<Value>;
}

impl<T: QueryInput + JsonSchema> DescribeHead for T {
    fn parameters(schemas: &mut SchemaSet) -> Vec<Value> {
        schemas.query::<T>()
    }
}

impl DescribeHead for SessionLabel {
    fn parameters(_schemas: &mut SchemaSet) -> Vec<Value> {
        vec![path("label", "The session's label; `/` in it is written as %2F.")]
    }
}

impl DescribeHead for CommandName {
    fn parameters(_schemas: &mut SchemaSet) -> Vec<Value> {
        vec![path("name", "The command's name.")]
    }
}

impl DescribeHead for DispatchId {
    fn parameters(_schemas: &mut SchemaSet) -> Vec<Value> {
        vec![path("id", "The dispatch.")]
    }
}

impl DescribeHead for ApprovalId {
    fn parameters(_schemas: &mut SchemaSet) -> Vec<Value> {
        vec![path("id", "The question.")]
    }
}

/// The token is described once for the whole document.
impl DescribeHead for AnsweringClient {
    fn parameters(_schemas: &mut SchemaSet) -> Vec<Value> {
        Vec::new()
    }
}

impl DescribeHead for LastEventId {
    fn parameters(_schemas: &mut SchemaSet) -> Vec<Value> {
        let about = "The same as `after`, sent by clients that reconnect; takes precedence over it.";
        vec![header("Last-Event-ID", about, json!({"type": "string"}))]
    }
}

impl DescribeHead for ChatHeaders {
    fn parameters(schemas: &mut SchemaSet) -> Vec<Value> {
        let text = || json!({"type": "string"});
        vec![
            header("X-Dispatch-Session", "The label of the session.", text()),
            header(
                "X-Dispatch-Ask",
                "Who answers questions; by default every question is answered no.",
                schemas.request::<Ask>(),
            ),
            header("Idempotency-Key", "The same key again is the same message.", text()),
        ]
    }
}

fn path(name: &str, about: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "description": about, "schema": {"type": "string"}})
}

fn header(name: &str, about: &str, schema: Value) -> Value {
    json!({"name": name, "in": "header", "required": false, "description": about, "schema": schema})
}

impl<T: DescribeAnswer> DescribeAnswer for Result<T, Refusal> {
    fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet) {
        T::describe(operation, success, schemas);
    }
}

impl<T: JsonSchema> DescribeAnswer for Json<T> {
    fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet) {
        operation.answer("200", success, [(JSON, schemas.answer::<T>())]);
    }
}

impl<T: JsonSchema> DescribeAnswer for Created<T> {
    fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet) {
        operation.answer("201", success, [(JSON, schemas.answer::<T>())]);
    }
}

impl<T: JsonSchema> DescribeAnswer for Accepted<T> {
    fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet) {
        operation.answer("202", success, [(JSON, schemas.answer::<T>())]);
    }
}

impl DescribeAnswer for NoContent {
    fn describe(operation: &mut OperationDocument, success: &str, _schemas: &mut SchemaSet) {
        operation.answer("204", success, []);
    }
}

impl DescribeAnswer for Health {
    fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet) {
        operation.answer("200", success, [(JSON, schemas.answer::<Self>())]);
        operation.answer("503", "The server is shutting down or has failed.", [(JSON, schemas.answer::<Self>())]);
    }
}

impl DescribeAnswer for SessionEventStream {
    fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet) {
        operation.answer("200", success, [(EVENTS, schemas.answer::<SessionEvent>())]);
    }
}

impl DescribeAnswer for ChatAnswer {
    fn describe(operation: &mut OperationDocument, success: &str, schemas: &mut SchemaSet) {
        let whole = schemas.answer::<ChatCompletion>();
        operation.answer("200", success, [(JSON, whole), (EVENTS, json!({"type": "object"}))]);
    }
}

impl DescribeAnswer for ProtocolSwitch {
    fn describe(operation: &mut OperationDocument, success: &str, _schemas: &mut SchemaSet) {
        operation.answer("101", success, []);
        operation.refuse("426");
    }
}
