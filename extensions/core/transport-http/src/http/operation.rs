//! One operation of the OpenAPI document while it is put together, and the JSON Schemas of its types.
//!
//! Pure.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// Where the document keeps its schemas.
const SCHEMAS_PATH: &str = "/components/schemas";
/// Every refused request is described once.
const ERROR: &str = "#/components/responses/Error";

/// What is known of an operation so far.
pub(super) struct OperationDocument {
    parameters: Vec<Value>,
    body: Option<Value>,
    answers: Map<String, Value>,
}

impl OperationDocument {
    pub(super) fn new() -> Self {
        Self { parameters: Vec::new(), body: None, answers: Map::new() }
    }

    pub(super) fn take_parameter(&mut self, parameter: Value) {
        self.parameters.push(parameter);
    }

    /// The operation takes a JSON body.
    pub(super) fn take_body(&mut self, schema: Value) {
        self.body = Some(json!({"required": true, "content": {"application/json": {"schema": schema}}}));
    }

    /// The operation can answer with this status.
    pub(super) fn answer<const N: usize>(&mut self, status: &str, about: &str, content: [(&str, Value); N]) {
        let mut answer = json!({"description": about});
        for (media_type, schema) in content {
            answer["content"][media_type] = json!({"schema": schema});
        }
        self.answers.insert(status.to_owned(), answer);
    }

    /// The operation refuses requests with this status.
    pub(super) fn refuse(&mut self, status: &str) {
        self.answers.insert(status.to_owned(), json!({"$ref": ERROR}));
    }

    /// The fields of the operation; whatever is not described otherwise is an error.
    pub(super) fn into_fields(mut self) -> Map<String, Value> {
        self.refuse("default");
        let mut fields = Map::new();
        if !self.parameters.is_empty() {
            fields.insert("parameters".to_owned(), self.parameters.into());
        }
        if let Some(body) = self.body {
            fields.insert("requestBody".to_owned(), body);
        }
        fields.insert("responses".to_owned(), self.answers.into());
        fields
    }
}

/// Collects the schemas of all types: as they are read in requests, and as they are written in answers.
pub(super) struct SchemaSet {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl SchemaSet {
    pub(super) fn new() -> Self {
        let settings = || {
            let mut settings = SchemaSettings::draft2020_12();
            settings.definitions_path = SCHEMAS_PATH.into();
            settings
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    /// The schema of a type in a request.
    pub(super) fn request<T: JsonSchema>(&mut self) -> Value {
        self.requests.subschema_for::<T>().to_value()
    }

    /// The schema of a type in an answer.
    pub(super) fn answer<T: JsonSchema>(&mut self) -> Value {
        self.answers.subschema_for::<T>().to_value()
    }

    /// The fields of a type as parameters of a query.
    pub(super) fn query<T: JsonSchema>(&mut self) -> Vec<Value> {
        let schema = T::json_schema(&mut self.requests);
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let parameter = |(name, mut schema): (String, Value)| {
            let about = schema.as_object_mut().and_then(|fields| fields.remove("description")).unwrap_or_default();
            let is_required = required.contains(&Value::from(name.as_str()));
            without_null(&mut schema);
            json!({"name": name, "in": "query", "required": is_required, "description": about, "schema": schema})
        };
        fields.into_iter().map(parameter).collect()
    }

    /// The schemas that were referred to, by name.
    pub(super) fn into_definitions(mut self) -> Map<String, Value> {
        let mut all = self.requests.take_definitions(true);
        all.append(&mut self.answers.take_definitions(true));
        all.sort_keys();
        all
    }

    #[cfg(test)]
    pub(super) fn clone_definitions(&self) -> [Map<String, Value>; 2] {
        [self.requests.definitions().clone(), self.answers.definitions().clone()]
    }
}

/// A query has no way to write `null`: an optional parameter is left out.
fn without_null(schema: &mut Value) {
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            schema["type"] = kind;
        }
    }
}
