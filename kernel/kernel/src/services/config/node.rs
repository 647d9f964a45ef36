//! The tree under construction: each value with its origin.

use crate::services::dotted::{PathStep, dotted};
use dispatch_contracts::settings::{Origin, Setting};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A table or a value in the merged tree.
#[derive(Debug)]
pub(super) enum SettingsNode {
    /// Anything but a table.
    Leaf(Setting),
    /// Named values, and the last layer that named the table.
    Table {
        /// That layer.
        origin: Origin,
        /// The values.
        entries: BTreeMap<String, SettingsNode>,
    },
}

impl SettingsNode {
    pub(super) fn table(origin: Origin) -> Self {
        Self::Table { origin, entries: BTreeMap::new() }
    }

    /// Lays a table over this node.
    pub(super) fn merge(&mut self, values: &Map<String, Value>, by: &Origin) {
        if let Self::Leaf(_) = self {
            *self = Self::table(by.clone());
        }
        let Self::Table { origin, entries } = self else { return };
        origin.clone_from(by);
        for (key, value) in values {
            match value {
                Value::Null => _ = entries.remove(key),
                Value::Object(values) => {
                    entries.entry(key.clone()).or_insert_with(|| Self::table(by.clone())).merge(values, by);
                }
                _ => {
                    let setting = Setting { value: whole(value), origin: by.clone() };
                    entries.insert(key.clone(), Self::Leaf(setting));
                }
            }
        }
    }

    /// The plain value.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Leaf(setting) => setting.value.clone(),
            Self::Table { entries, .. } => {
                Value::Object(entries.iter().map(|(key, node)| (key.clone(), node.value())).collect())
            }
        }
    }

    /// All values by dotted name.
    pub(super) fn leaves(self) -> BTreeMap<String, Setting> {
        let mut leaves = BTreeMap::new();
        let Self::Table { entries, .. } = self else { return leaves };
        for (key, node) in entries {
            node.collect(&mut vec![PathStep::Key(key)], &mut leaves);
        }
        leaves
    }

    /// Who set the value at a place, or the nearest thing around it.
    pub(super) fn origin_at(&self, steps: &[PathStep]) -> &Origin {
        match (self, steps.split_first()) {
            (Self::Leaf(setting), _) => &setting.origin,
            (Self::Table { origin, entries }, Some((PathStep::Key(key), rest))) => {
                entries.get(key).map_or(origin, |node| node.origin_at(rest))
            }
            (Self::Table { origin, .. }, _) => origin,
        }
    }

    fn collect(self, steps: &mut Vec<PathStep>, leaves: &mut BTreeMap<String, Setting>) {
        let (origin, entries) = match self {
            Self::Leaf(setting) => {
                leaves.insert(dotted(steps), setting);
                return;
            }
            Self::Table { origin, entries } => (origin, entries),
        };
        if entries.is_empty() {
            leaves.insert(dotted(steps), Setting { value: Value::Object(Map::new()), origin });
            return;
        }
        for (key, node) in entries {
            steps.push(PathStep::Key(key));
            node.collect(steps, leaves);
            steps.pop();
        }
    }
}

/// The value with `3.0` written as `3`: a schema takes both for a whole number, readers only one.
fn whole(value: &Value) -> Value {
    /// Below this every whole float names exactly one integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(items) => items.iter().map(whole).collect(),
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), whole(value))).collect())
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => Value::from(float as i64),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}
