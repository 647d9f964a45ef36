//! Changes of one intent that leave the rest of the file as people wrote it: the text is changed in place, read
//! again, and kept only if it says exactly what was wanted.

use serde_json::{Value as Json, json};
use thiserror::Error;

use super::surgery::{self, Cut};
use super::tree::{self, Node, Value};
use super::{BYTE_ORDER_MARK, Place, check::ROOT_KEY};
use crate::intent::IntentSpec;

/// A field with one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextField {
    /// `name`
    Name,
    /// `status`
    Status,
    /// `kind`
    Kind,
    /// `claim`
    Claim,
    /// `updated_at`
    UpdatedAt,
}

/// A field with a list of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListField {
    /// `owned_scope`
    OwnedScope,
    /// `constraints`
    Constraints,
    /// `acceptance_criteria`
    AcceptanceCriteria,
}

/// One change of one intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The field gets this text.
    Set(TextField, String),
    /// The list gets this at its end, unless it has it.
    Add(ListField, String),
    /// The list loses this.
    Remove(ListField, String),
}

/// Why the file was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// It is no YAML.
    #[error("line {}, column {}: {message}", place.line, place.column)]
    Syntax {
        /// Where.
        place: Place,
        /// What is wrong.
        message: String,
    },
    /// It has no such intent.
    #[error("there is no intent `{id}`")]
    UnknownIntent {
        /// The id.
        id: String,
    },
    /// There is one already.
    #[error("there is an intent `{id}` already")]
    IdTaken {
        /// The id.
        id: String,
    },
    /// A list does not hold what should be removed.
    #[error("`{field}` of {id} does not hold `{item}`")]
    NotInList {
        /// The intent.
        id: String,
        /// The list.
        field: &'static str,
        /// What should be removed.
        item: String,
    },
    /// The way it is written does not allow the change without changing more.
    #[error("the file is written in a way that cannot be changed here without changing more")]
    Shape,
}

impl TextField {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Status => "status",
            Self::Kind => "kind",
            Self::Claim => "claim",
            Self::UpdatedAt => "updated_at",
        }
    }
}

impl ListField {
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

/// The file with one more intent at its end.
///
/// # Errors
/// When the id is taken, or the file cannot be changed so.
pub fn add(text: &str, intent: &IntentSpec) -> Result<String, EditError> {
    on_plain_text(text, |text| {
        let root = read(text)?;
        let mut wanted = root.as_ref().map_or_else(|| json!({}), meaning);
        let fields = wanted.as_object_mut().ok_or(EditError::Shape)?;
        let list = fields.entry(ROOT_KEY).or_insert(Json::Null);
        if list.is_null() {
            *list = json!([]);
        }
        let list = list.as_array_mut().ok_or(EditError::Shape)?;
        if list.iter().any(|known| known["id"] == intent.id) {
            return Err(EditError::IdTaken { id: intent.id.clone() });
        }
        list.push(serde_json::to_value(intent).map_err(|_| EditError::Shape)?);
        keep(text, &wanted, surgery::append(text, root.as_ref(), intent))
    })
}

/// The file with changes of one intent.
///
/// # Errors
/// When there is no such intent, or the file cannot be changed so.
pub fn change(text: &str, id: &str, changes: &[Change]) -> Result<String, EditError> {
    on_plain_text(text, |text| changes.iter().try_fold(text.to_owned(), |text, change| change_once(&text, id, change)))
}

fn change_once(text: &str, id: &str, change: &Change) -> Result<String, EditError> {
    let unknown = || EditError::UnknownIntent { id: id.to_owned() };
    let root = read(text)?.ok_or_else(unknown)?;
    let node = intent_node(&root, id).ok_or_else(unknown)?;
    let mut wanted = meaning(&root);
    let intents = wanted.get_mut(ROOT_KEY).and_then(Json::as_array_mut).ok_or_else(unknown)?;
    let intent = intents.iter_mut().find(|known| known["id"] == id).ok_or_else(unknown)?;
    let cuts = match change {
        Change::Set(field, value) => {
            intent[field.name()] = value.as_str().into();
            surgery::set(text, node, field.name(), value, Quotes::of(*field)).into_iter().collect()
        }
        Change::Add(field, item) => {
            let list = list_of(intent, field.name())?;
            if list.iter().any(|known| known == item) {
                return Ok(text.to_owned());
            }
            list.push(item.as_str().into());
            surgery::add_item(text, node, field.name(), item).into_iter().collect()
        }
        Change::Remove(field, item) => {
            let name = field.name();
            let list = list_of(intent, name)?;
            let at = list.iter().position(|known| known == item);
            let at = at.ok_or_else(|| EditError::NotInList { id: id.to_owned(), field: name, item: item.clone() })?;
            list.remove(at);
            surgery::remove_item(text, node, name, at)
        }
    };
    keep(text, &wanted, vec![cuts])
}

/// Whether a text is always quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    WhereNeeded,
    Always,
}

impl Quotes {
    /// Some readers make their own date type of a plain date.
    fn of(field: TextField) -> Self {
        if field == TextField::UpdatedAt { Self::Always } else { Self::WhereNeeded }
    }
}

fn list_of<'a>(intent: &'a mut Json, field: &str) -> Result<&'a mut Vec<Json>, EditError> {
    let list = &mut intent[field];
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut().ok_or(EditError::Shape)
}

/// The first of the candidates that makes the text say what is wanted.
fn keep(text: &str, wanted: &Json, candidates: Vec<Vec<Cut>>) -> Result<String, EditError> {
    let texts = candidates.into_iter().filter(|cuts| !cuts.is_empty()).map(|cuts| surgery::apply(text, cuts));
    let says_it = |text: &String| {
        let root = tree::read(text).ok().flatten();
        root.is_some_and(|root| meaning(&root) == *wanted)
    };
    texts.into_iter().find(says_it).ok_or(EditError::Shape)
}

fn on_plain_text(text: &str, edit: impl FnOnce(&str) -> Result<String, EditError>) -> Result<String, EditError> {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => edit(rest).map(|changed| format!("{BYTE_ORDER_MARK}{changed}")),
        None => edit(text),
    }
}

fn read(text: &str) -> Result<Option<Node>, EditError> {
    tree::read(text).map_err(|fault| EditError::Syntax { place: fault.place, message: fault.message })
}

fn intent_node<'a>(root: &'a Node, id: &str) -> Option<&'a Node> {
    let Value::List(items, _) = &root.entry(ROOT_KEY)?.1.value else { return None };
    items.iter().find(|item| item.entry("id").is_some_and(|(_, value)| value.text() == Some(id)))
}

/// What a tree says, however it is written. Plain numbers and the like stay apart from text.
fn meaning(node: &Node) -> Json {
    match &node.value {
        _ if node.is_null() => Json::Null,
        Value::Scalar(text, _) => match node.text() {
            Some(text) => text.into(),
            None => json!({ "plain": text }),
        },
        Value::List(items, _) => items.iter().map(meaning).collect(),
        Value::Mapping(entries, _) => {
            let key = |node: &Node| meaning(node).as_str().map_or_else(|| meaning(node).to_string(), str::to_owned);
            Json::Object(entries.iter().map(|(name, value)| (key(name), meaning(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests;
