//! Checks a value against a JSON Schema, for settings and for the arguments of tools.
//!
//! A subset of draft 2020-12, chosen so that a check is total and its work bounded:
//!
//! | about | keywords |
//! |---|---|
//! | any value | `type` (one or several), `enum`, `const` |
//! | numbers | `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf` |
//! | text | `minLength`, `maxLength` (in characters) |
//! | lists | `items`, `prefixItems`, `minItems`, `maxItems`, `uniqueItems` |
//! | objects | `properties`, `required`, `additionalProperties`, `propertyNames`, `minProperties`, `maxProperties` |
//! | combining | `anyOf`, `oneOf`, `allOf`, `not`, `$ref` to `#` or `#/...` |
//!
//! `default`, `title`, `description`, `examples`, `format` and every unknown keyword are notes for
//! people and restrict nothing. A keyword that does restrict but is not in the table (`pattern`,
//! `if`, `contains`, ...) or has a malformed value is ignored by [`check`] and named by
//! [`unsupported_keywords`], so that whoever loads a schema can refuse it. Where
//! `patternProperties` is present, `additionalProperties` is ignored with it.
//!
//! What cannot be decided is refused, never accepted: a `$ref` that leads nowhere or in a circle,
//! a value nested deeper than [`MAX_VALUE_DEPTH`], a check that needs more than [`MAX_WORK`].

mod checker;
mod combine;
mod describe;
mod finding;
mod list;
mod measure;
mod number;
mod object;
mod order;
mod reference;
mod scalar;
mod unsupported;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub(crate) use finding::Finding;
pub(crate) use measure::is_deeper_than;
pub(crate) use reference::target;
pub use unsupported::unsupported_keywords;

use serde_json::Value;
use std::fmt;

/// How deep a value may be nested.
pub const MAX_VALUE_DEPTH: usize = 64;
/// How many schemas may be applied inside one another; small enough for a stack of 1 MiB.
pub const MAX_SCHEMA_DEPTH: usize = 192;
/// Applications of a schema to a value in one check.
pub const MAX_WORK: usize = 1_000_000;
/// Violations that are listed; further ones are only counted.
pub const MAX_VIOLATIONS: usize = 100;
/// Text longer than this is described in a message, not repeated.
pub const MAX_ECHO_CHARS: usize = 16;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where, as a dotted name such as `a.b[2]`; empty for the value itself.
    pub path: String,
    /// What, in words for people.
    pub message: String,
    /// What would help, when that is known.
    pub hint: Option<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(out, "{}: ", self.path)?;
        }
        out.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(out, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with `value`; empty when it fits the schema.
pub fn check(schema: &Value, value: &Value) -> Vec<Violation> {
    findings(schema, value).into_iter().map(Violation::from).collect()
}

/// The same with the places as steps, for callers that look them up.
pub(crate) fn findings(schema: &Value, value: &Value) -> Vec<Finding> {
    checker::Checker::new(schema).run(value)
}
