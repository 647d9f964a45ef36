//! The document against the route table, and its own consistency.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

fn operations(document: &Value) -> BTreeMap<(String, String), Value> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| ((method.to_ascii_uppercase(), path.clone()), operation.clone()))
    });
    operations.collect()
}

#[test]
fn every_declared_route_is_described() {
    let table = route_table();
    let document = own_document(&table);
    let described = operations(&document);
    assert_eq!(described.len(), table.routes().len(), "two routes with one method and path");
    let tags: BTreeSet<&str> = TAGS.iter().map(|(name, _)| *name).collect();
    let mut ids = BTreeSet::new();
    for route in table.routes() {
        let spec = &route.spec;
        let operation = &described[&(spec.method.to_owned(), spec.path.to_owned())];
        assert!(ids.insert(spec.id), "two operations are called {}", spec.id);
        assert!(tags.contains(spec.tag), "{}: unknown tag", spec.id);
        assert_eq!(operation["operationId"], spec.id);
        assert!(!spec.summary.is_empty() && !spec.success.is_empty(), "{}", spec.id);
        let answers = operation["responses"].as_object().unwrap();
        assert_eq!(answers["default"], json!({"$ref": "#/components/responses/Error"}), "{}", spec.id);
        assert!(answers.keys().any(|status| status.starts_with(['1', '2'])), "{}: no success", spec.id);
        let is_open = operation.get("security") == Some(&json!([]));
        assert_eq!(is_open, spec.path == "/healthz", "{}", spec.id);
        let named: BTreeSet<&str> =
            spec.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path");
        let described: BTreeSet<&str> = in_path.map(|parameter| parameter["name"].as_str().unwrap()).collect();
        assert_eq!(named, described, "{}", spec.id);
        for parameter in &parameters {
            assert!(parameter["description"].is_string(), "{}: {parameter}", spec.id);
        }
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_keyword_is_checked() {
    let document = own_document(&route_table());
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

#[test]
fn one_name_is_one_schema() {
    let mut schemas = SchemaSet::new();
    for route in route_table().routes() {
        (route.describe)(&mut OperationDocument::new(), route.spec.success, &mut schemas);
    }
    let [requests, answers] = schemas.clone_definitions();
    for (name, schema) in &requests {
        assert!(!name.ends_with(|letter: char| letter.is_ascii_digit()), "two types are called {name}");
        if let Some(other) = answers.get(name) {
            assert_eq!(schema, other, "{name} is read and written in different forms");
        }
    }
    assert!(answers.keys().all(|name| !name.ends_with(|letter: char| letter.is_ascii_digit())), "{:?}", answers.keys());
}
