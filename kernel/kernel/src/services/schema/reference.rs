//! Follows a `$ref` inside its own document.

use serde_json::Value;

/// The schema that a reference names: `#` is the document, `#/a/b` a place in it.
pub(crate) fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    root.pointer(reference.strip_prefix('#')?).filter(|schema| schema.is_object() || schema.is_boolean())
}
