//! One source of settings, already read and parsed.

use crate::services::dotted::keys;
use dispatch_contracts::settings::Origin;
use serde_json::{Map, Value};

/// How deep tables of settings may be nested.
pub const MAX_NESTING: usize = 32;

/// The values of one file, variable or flag.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Where they come from.
    pub origin: Origin,
    /// A tree of named values.
    pub values: Value,
}

impl Layer {
    /// A layer from a tree of values.
    pub fn new(origin: Origin, values: Value) -> Self {
        Self { origin, values }
    }

    /// A layer that sets one thing, by its dotted name; `None` when that is not a name.
    pub fn single(origin: Origin, name: &str, value: Value) -> Option<Self> {
        let path = keys(name).filter(|path| path.len() <= MAX_NESTING)?;
        Some(Self { origin, values: Value::Object(nest(&path, value)) })
    }

    /// Takes settings out, by dotted name, and says which of them were there: for a file that came
    /// with a project that is not trusted yet.
    pub fn withhold(mut self, names: &[&str]) -> (Self, Vec<String>) {
        let taken = names.iter().filter(|name| keys(name).is_some_and(|path| remove(&mut self.values, &path)));
        let taken = taken.map(|name| (*name).to_owned()).collect();
        (self, taken)
    }

    /// The place of this layer among the others; the greater wins.
    pub(super) fn strength(&self) -> u8 {
        match self.origin {
            Origin::BuiltIn => 0,
            Origin::Global { .. } => 1,
            Origin::Project { .. } => 2,
            Origin::Environment { .. } => 3,
            Origin::Flag { .. } => 4,
        }
    }
}

/// A tree with one value in it.
pub(super) fn nest(path: &[String], value: Value) -> Map<String, Value> {
    let Some((key, rest)) = path.split_first() else { return Map::new() };
    let inner = if rest.is_empty() { value } else { Value::Object(nest(rest, value)) };
    Map::from_iter([(key.clone(), inner)])
}

fn remove(value: &mut Value, path: &[String]) -> bool {
    let (Value::Object(entries), Some((key, rest))) = (value, path.split_first()) else { return false };
    if rest.is_empty() {
        return entries.remove(key).is_some();
    }
    entries.get_mut(key).is_some_and(|inner| remove(inner, rest))
}
