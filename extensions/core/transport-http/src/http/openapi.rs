//! The API as a document, with the routes that other extensions add.

use super::connection::Shared;
use super::routes;
use crate::refusal::Refusal;
use axum::Json;
use axum::extract::State;
use dispatch_contracts::contribution::Route;
use dispatch_kernel::host::Owned;
use serde_json::{Map, Value, json};
use std::sync::Arc;

const DOCUMENT: &str = include_str!("openapi/document.json");

pub(super) async fn document(State(shared): State<Arc<Shared>>) -> Result<Json<Value>, Refusal> {
    let mut document: Value = serde_json::from_str(DOCUMENT).map_err(Refusal::internal)?;
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    let routes = shared.desk.extensions()?.routes();
    if let Some(paths) = document["paths"].as_object_mut() {
        add(paths, &routes);
    }
    Ok(Json(document))
}

/// Adds contributed routes; one that this server answers itself is never asked.
fn add(paths: &mut Map<String, Value>, routes: &[Owned<Route>]) {
    let table = routes::table();
    for route in routes {
        let (method, path) = (route.item.method.to_ascii_uppercase(), route.item.path);
        if table.served().contains(&(method.as_str(), path)) {
            continue;
        }
        let item = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(operations) = item.as_object_mut() {
            operations.insert(method.to_ascii_lowercase(), operation(route));
        }
    }
}

fn operation(route: &Owned<Route>) -> Value {
    let names = route.item.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> =
        names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})).collect();
    json!({
        "summary": route.item.summary,
        "tags": [route.owner],
        "parameters": parameters,
        "responses": {
            "200": {"description": "The extension's answer.", "content": {"application/json": {"schema": {}}}},
            "default": {"$ref": "#/components/responses/Error"},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_is_in_the_document_and_every_path_is_served() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        let mut described = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys() {
                described.insert((method.to_ascii_uppercase(), path.clone()));
            }
        }
        let table = routes::table();
        let served: BTreeSet<(String, String)> =
            table.served().iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
        assert_eq!(described, served);
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_keyword_is_checked() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        let mut open = vec![&document];
        while let Some(value) = open.pop() {
            if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                assert!(document.pointer(target.trim_start_matches('#')).is_some(), "{target}");
            }
            match value {
                Value::Object(fields) => open.extend(fields.values()),
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            let mut root = schema.clone();
            root["components"] = document["components"].clone();
            let unsupported = dispatch_kernel::services::schema::unsupported_keywords(&root);
            assert!(unsupported.is_empty(), "{name}: {unsupported:?}");
        }
    }
}
