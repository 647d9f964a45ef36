//! Gives keys that came from variable names the spelling that the schema knows.
//!
//! A variable cannot say `my-limit` or `maxItems`, only `MY_LIMIT` and `MAX_ITEMS`. Where the schema
//! has no such key, the lower-cased one stays.

use super::{DISABLED, EXTENSIONS};
use crate::services::schema::target;
use dispatch_contracts::ids::ExtensionId;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// References that are followed to find the keys of a table.
const MAX_HOPS: usize = 8;

/// A schema and the document it stands in.
#[derive(Clone, Copy)]
struct SchemaLocation<'s> {
    root: &'s Value,
    schema: &'s Value,
}

/// The same values under the schema's keys.
pub(super) fn respell(
    values: &Map<String, Value>,
    schema: &Value,
    extensions: &BTreeMap<ExtensionId, Value>,
) -> Map<String, Value> {
    let mut spelled = rename(values, Some(SchemaLocation { root: schema, schema }));
    if let Some(Value::Object(section)) = spelled.get_mut(EXTENSIONS) {
        *section = respell_extensions(section, extensions);
    }
    spelled
}

fn respell_extensions(section: &Map<String, Value>, extensions: &BTreeMap<ExtensionId, Value>) -> Map<String, Value> {
    let respelled = section.iter().map(|(key, value)| {
        if key == DISABLED {
            return (key.clone(), value.clone());
        }
        // Ids are made of words joined by `-`, so no schema is needed to know the spelling.
        let id = key.replace('_', "-");
        let location = extensions.get(&ExtensionId::new(&*id)).map(|schema| SchemaLocation { root: schema, schema });
        (id, rename_value(value, location))
    });
    respelled.collect()
}

fn rename(values: &Map<String, Value>, location: Option<SchemaLocation<'_>>) -> Map<String, Value> {
    let renamed = values.iter().map(|(key, value)| {
        let (name, below) = location.map_or((key.as_str(), None), |location| location.property(key));
        (name.to_owned(), rename_value(value, below))
    });
    renamed.collect()
}

fn rename_value(value: &Value, location: Option<SchemaLocation<'_>>) -> Value {
    match value {
        Value::Object(values) => Value::Object(rename(values, location)),
        _ => value.clone(),
    }
}

impl<'s> SchemaLocation<'s> {
    /// The known spelling of a key, and the location below it.
    fn property<'k>(self, key: &'k str) -> (&'k str, Option<Self>)
    where
        's: 'k,
    {
        let schema = self.resolved();
        let properties = schema.get("properties").and_then(Value::as_object);
        let exact = properties.and_then(|properties| properties.get_key_value(key));
        let alike = || properties?.iter().find(|(name, _)| folded(name).eq(folded(key)));
        match exact.or_else(alike) {
            Some((name, schema)) => (name, Some(Self { schema, ..self })),
            None => (key, schema.get("additionalProperties").map(|schema| Self { schema, ..self })),
        }
    }

    fn resolved(self) -> &'s Value {
        let mut schema = self.schema;
        for _ in 0..MAX_HOPS {
            let reference = schema.get("$ref").and_then(Value::as_str);
            match reference.and_then(|reference| target(self.root, reference)) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }
}

/// A key without what a variable name cannot tell apart.
fn folded(key: &str) -> impl Iterator<Item = char> {
    key.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase())
}
