//! Edits one intent and leaves the rest of the file as it is: the text is changed in place, parsed again, and used
//! only if it says exactly what was wanted.
//!
//! Pure.

use serde_json::{Value as Json, json};

use super::loaded::ROOT_KEY;
use super::text_replacement::{self, TextReplacement};
use super::yaml_tree::{self, YamlNode, YamlValue};
use crate::error::IntentsError;
use crate::intent::IntentSpec;

pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// A field with one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntentTextField {
    /// `name`
    Name,
    /// `status`
    Status,
    /// `kind`
    Kind,
    /// `claim`
    Claim,
    /// `mode`
    Mode,
    /// `updated_at`
    UpdatedAt,
}

/// A field with a list of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntentListField {
    /// `owned_scope`
    OwnedScope,
    /// `constraints`
    Constraints,
    /// `acceptance_criteria`
    AcceptanceCriteria,
}

/// One edit of one intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentEdit {
    /// Sets the field to this text.
    Set(IntentTextField, String),
    /// Appends this to the list, unless the list contains it.
    Add(IntentListField, String),
    /// Removes this from the list.
    Remove(IntentListField, String),
}

impl IntentTextField {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Status => "status",
            Self::Kind => "kind",
            Self::Claim => "claim",
            Self::Mode => "mode",
            Self::UpdatedAt => "updated_at",
        }
    }
}

impl IntentListField {
    /// The key in the file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OwnedScope => "owned_scope",
            Self::Constraints => "constraints",
            Self::AcceptanceCriteria => "acceptance_criteria",
        }
    }
}

/// The file with one intent appended.
///
/// # Errors
/// When the id is taken, or the file cannot be edited in place.
pub(crate) fn add(text: &str, intent: &IntentSpec) -> Result<String, IntentsError> {
    on_plain_text(text, |text| {
        let root = read(text)?;
        let mut wanted = root.as_ref().map_or_else(|| json!({}), meaning);
        let fields = wanted.as_object_mut().ok_or(IntentsError::NotEditable)?;
        let list = fields.entry(ROOT_KEY).or_insert(Json::Null);
        if list.is_null() {
            *list = json!([]);
        }
        let list = list.as_array_mut().ok_or(IntentsError::NotEditable)?;
        if list.iter().any(|known| known["id"] == intent.id) {
            return Err(IntentsError::IdTaken { id: intent.id.clone() });
        }
        list.push(serde_json::to_value(intent)?);
        keep(text, &wanted, text_replacement::append(text, root.as_ref(), intent))
    })
}

/// The file with edits of one intent.
///
/// # Errors
/// When the intent is unknown, or the file cannot be edited in place.
pub(crate) fn change(text: &str, id: &str, changes: &[IntentEdit]) -> Result<String, IntentsError> {
    on_plain_text(text, |text| changes.iter().try_fold(text.to_owned(), |text, change| change_once(&text, id, change)))
}

fn change_once(text: &str, id: &str, change: &IntentEdit) -> Result<String, IntentsError> {
    let unknown = || IntentsError::UnknownIntent { id: id.to_owned() };
    let root = read(text)?.ok_or_else(unknown)?;
    let node = intent_node(&root, id).ok_or_else(unknown)?;
    let mut wanted = meaning(&root);
    let intents = wanted.get_mut(ROOT_KEY).and_then(Json::as_array_mut).ok_or_else(unknown)?;
    let intent = intents.iter_mut().find(|known| known["id"] == id).ok_or_else(unknown)?;
    let cuts = match change {
        IntentEdit::Set(field, value) => {
            intent[field.name()] = value.as_str().into();
            text_replacement::set(text, node, field.name(), value, QuotePolicy::of(*field)).into_iter().collect()
        }
        IntentEdit::Add(field, item) => {
            let list = list_of(intent, field.name())?;
            if list.iter().any(|known| known == item) {
                return Ok(text.to_owned());
            }
            list.push(item.as_str().into());
            text_replacement::add_item(text, node, field.name(), item).into_iter().collect()
        }
        IntentEdit::Remove(field, item) => {
            let name = field.name();
            let list = list_of(intent, name)?;
            let at = list.iter().position(|known| known == item);
            let at =
                at.ok_or_else(|| IntentsError::NotInList { id: id.to_owned(), field: name, item: item.clone() })?;
            list.remove(at);
            text_replacement::remove_item(text, node, name, at)
        }
    };
    keep(text, &wanted, vec![cuts])
}

/// Whether a text is always quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuotePolicy {
    WhereNeeded,
    Always,
}

impl QuotePolicy {
    /// Some parsers read a plain date as a date and not as text.
    fn of(field: IntentTextField) -> Self {
        if field == IntentTextField::UpdatedAt { Self::Always } else { Self::WhereNeeded }
    }
}

fn list_of<'a>(intent: &'a mut Json, field: &str) -> Result<&'a mut Vec<Json>, IntentsError> {
    let list = &mut intent[field];
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut().ok_or(IntentsError::NotEditable)
}

/// The first candidate that gives the text the wanted meaning.
fn keep(text: &str, wanted: &Json, candidates: Vec<Vec<TextReplacement>>) -> Result<String, IntentsError> {
    let texts = candidates.into_iter().filter(|cuts| !cuts.is_empty()).map(|cuts| text_replacement::apply(text, cuts));
    let has_meaning = |text: &String| {
        let root = yaml_tree::read(text).ok().flatten();
        root.is_some_and(|root| meaning(&root) == *wanted)
    };
    texts.into_iter().find(has_meaning).ok_or(IntentsError::NotEditable)
}

fn on_plain_text(text: &str, edit: impl FnOnce(&str) -> Result<String, IntentsError>) -> Result<String, IntentsError> {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => edit(rest).map(|changed| format!("{BYTE_ORDER_MARK}{changed}")),
        None => edit(text),
    }
}

fn read(text: &str) -> Result<Option<YamlNode>, IntentsError> {
    yaml_tree::read(text).map_err(|error| IntentsError::Syntax { position: error.position, message: error.message })
}

fn intent_node<'a>(root: &'a YamlNode, id: &str) -> Option<&'a YamlNode> {
    let YamlValue::List(items, _) = &root.entry(ROOT_KEY)?.1.value else { return None };
    items.iter().find(|item| item.entry("id").is_some_and(|(_, value)| value.text() == Some(id)))
}

/// What a tree means, however it is written. Plain numbers and booleans stay distinct from text.
fn meaning(node: &YamlNode) -> Json {
    match &node.value {
        _ if node.is_null() => Json::Null,
        YamlValue::Scalar(text, _) => match node.text() {
            Some(text) => text.into(),
            None => json!({ "plain": text }),
        },
        YamlValue::List(items, _) => items.iter().map(meaning).collect(),
        YamlValue::Mapping(entries, _) => {
            let key = |node: &YamlNode| meaning(node).as_str().map_or_else(|| meaning(node).to_string(), str::to_owned);
            Json::Object(entries.iter().map(|(name, value)| (key(name), meaning(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests;
