//! The API as an OpenAPI document: the route table, and the routes that other extensions add.

use super::admission::needs_token;
use super::connection::ServerShared;
use super::operation::{OperationDocument, SchemaSet};
use super::routes::{RouteTable, route_table};
use crate::refusal::{ErrorBody, Refusal};
use axum::Json;
use axum::extract::State;
use dispatch_contracts::contribution::{RawRoute, Route, RouteAccess};
use dispatch_contracts::ids::ExtensionId;
use dispatch_kernel::host::Owned;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

const ABOUT: &str = "Sessions of Dispatch's own agent. Every request but /healthz needs the server's token; it is in \
                     the file that `dispatch serve` names.";
const TAGS: [(&str, &str); 5] = [
    ("sessions", "Conversations."),
    ("dispatches", "Messages on their way."),
    ("approvals", "Questions to a person."),
    ("openai", "For clients of OpenAI."),
    ("server", "The server itself."),
];

/// The document, as it is sent.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct ApiDocument(Value);

impl JsonSchema for ApiDocument {
    fn schema_name() -> Cow<'static, str> {
        "ApiDocument".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "required": ["openapi", "paths"]})
    }
}

/// Answers with the document as it is now: the routes of extensions come and go with them.
pub(super) async fn document(State(shared): State<Arc<ServerShared>>) -> Result<Json<ApiDocument>, Refusal> {
    static OWN: OnceLock<Value> = OnceLock::new();
    let mut document = OWN.get_or_init(|| own_document(&route_table())).clone();
    let routes = shared.services.extensions()?.routes();
    if let Some(paths) = document["paths"].as_object_mut() {
        add_contributed(paths, &routes);
        add_raw(paths, &shared.services.extensions()?.raw_routes());
    }
    Ok(Json(ApiDocument(document)))
}

/// The document of the routes of this server.
fn own_document(table: &RouteTable) -> Value {
    let mut schemas = SchemaSet::new();
    let mut paths = Map::new();
    for route in table.routes() {
        let mut operation = OperationDocument::new();
        (route.describe)(&mut operation, route.spec.success, &mut schemas);
        let mut fields = Map::from_iter([
            ("operationId".to_owned(), route.spec.id.into()),
            ("summary".to_owned(), route.spec.summary.into()),
            ("tags".to_owned(), json!([route.spec.tag])),
        ]);
        fields.append(&mut operation.into_fields());
        if !needs_token(route.spec.path) {
            fields.insert("security".to_owned(), json!([]));
        }
        paths.entry(route.spec.path).or_insert_with(|| json!({}))[route.spec.method.to_ascii_lowercase()] =
            Value::Object(fields);
    }
    let error = json!({"application/json": {"schema": schemas.answer::<ErrorBody>()}});
    let tags = TAGS.map(|(name, about)| json!({"name": name, "description": about}));
    let license = env!("CARGO_PKG_LICENSE");
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Dispatch",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": license, "identifier": license},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Error": {"description": "The request was refused.", "content": error}},
            "schemas": schemas.into_definitions(),
        },
    })
}

/// Adds contributed routes; the server answers its own routes itself, so one with the same method and path is left out.
fn add_contributed(paths: &mut Map<String, Value>, routes: &[Owned<Route>]) {
    for route in routes {
        let item = paths.entry(&*route.item.path).or_insert_with(|| json!({}));
        if let Some(operations) = item.as_object_mut() {
            operations.entry(route.item.method.to_ascii_lowercase()).or_insert_with(|| contributed(route));
        }
    }
}

/// The same for routes that read headers and bytes themselves.
fn add_raw(paths: &mut Map<String, Value>, routes: &[Owned<RawRoute>]) {
    for route in routes {
        let item = paths.entry(&*route.item.path).or_insert_with(|| json!({}));
        let mut described = operation(&route.item.path, &route.item.summary, &route.owner);
        if route.item.access == RouteAccess::Own {
            described["security"] = json!([]);
        }
        described["requestBody"] = json!({"content": {"*/*": {"schema": {}}}});
        if let Some(operations) = item.as_object_mut() {
            operations.entry(route.item.method.to_ascii_lowercase()).or_insert(described);
        }
    }
}

fn contributed(route: &Owned<Route>) -> Value {
    operation(&route.item.path, &route.item.summary, &route.owner)
}

fn operation(path: &str, summary: &str, owner: &ExtensionId) -> Value {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> =
        names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})).collect();
    json!({
        "summary": summary,
        "tags": [owner],
        "parameters": parameters,
        "responses": {
            "200": {"description": "The extension's answer.", "content": {"application/json": {"schema": {}}}},
            "default": {"$ref": "#/components/responses/Error"},
        },
    })
}

#[cfg(test)]
mod tests;
