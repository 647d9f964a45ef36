//! Events sent from outside: their form, and the route that takes them in over HTTP.

use crate::content::content_hash;
use crate::contract::{Change, Event, FileChange, Runs, SendError, Source, Trigger};
use crate::root::workspace_of;
use crate::run_routes::refusal;
use crate::watch::slashed;
use dispatch_contracts::contribution::Route;
use dispatch_contracts::hook::HandlerError;
use dispatch_os::files;
use dispatch_os::paths::normalise_path;
use ext_event_ledger::contract::LedgerError;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// So much of a wrong name is repeated.
const MAX_NAME_CHARS: usize = 100;
/// Who sends an event over HTTP: whoever has the token.
const SENDER: &str = "http";
const MAX_ID_CHARS: usize = 200;
const MAX_FILES: usize = 1_000;
/// What a sender may write, as JSON.
const MAX_DATA_BYTES: usize = 256 * 1024;

/// What a sender says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CustomEvent {
    /// The name behind `custom:`.
    pub name: String,
    /// Facts for the run: an object, or any other value, which is then called `data`.
    pub data: Value,
    /// Files of the workspace that it is about.
    pub files: Vec<String>,
    /// The sender's own name for it; the same one again is the same event.
    pub id: Option<String>,
}

/// Why an event is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CustomEventError {
    /// The name is invalid.
    #[error("invalid event name `{0}`: use at most 80 letters, digits, `.`, `-`, `_` and `/`")]
    Name(String),
    /// The sender's own name is too long or empty.
    #[error("invalid id: expected 1 to 200 characters without control characters")]
    Id,
    /// There are too many files.
    #[error("an event can name at most 1000 files")]
    Files,
    /// A file is not in the workspace.
    #[error("`{0}` is not in the workspace")]
    Outside(String),
    /// There is too much in it.
    #[error("the data is larger than 256 KiB")]
    Data,
}

impl CustomEvent {
    /// The event, if everything about it is well formed. Files are named relative to `base`.
    ///
    /// # Errors
    /// When something is not.
    pub fn event(self, workspace: &Path, base: &Path) -> Result<Event, CustomEventError> {
        // A name that no hook can listen to is a mistake of the sender.
        let trigger = Trigger::parse(&format!("custom:{}", self.name)).ok_or_else(|| {
            CustomEventError::Name(self.name.chars().take(MAX_NAME_CHARS).filter(|it| !it.is_control()).collect())
        })?;
        let wrong_id =
            |id: &String| id.is_empty() || id.chars().count() > MAX_ID_CHARS || id.chars().any(char::is_control);
        if self.id.as_ref().is_some_and(wrong_id) {
            return Err(CustomEventError::Id);
        }
        if self.files.len() > MAX_FILES {
            return Err(CustomEventError::Files);
        }
        if self.data.to_string().len() > MAX_DATA_BYTES {
            return Err(CustomEventError::Data);
        }
        let metadata = match self.data {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            other => Map::from_iter([("data".to_owned(), other)]),
        };
        let files = self.files.iter().map(|file| file_change(file, workspace, base)).collect::<Result<_, _>>()?;
        Ok(Event {
            trigger,
            workspace: workspace.to_owned(),
            files,
            source: Source::Outside,
            hook: None,
            id: self.id,
            metadata,
        })
    }
}

fn file_change(file: &str, workspace: &Path, base: &Path) -> Result<FileChange, CustomEventError> {
    let outside = || CustomEventError::Outside(file.to_owned());
    let path = normalise_path(&base.join(file));
    let folder = path.parent().map(|folder| files::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()));
    let path = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name)).ok_or_else(outside)?;
    let inside = path.strip_prefix(workspace).ok().filter(|inside| !inside.as_os_str().is_empty());
    let inside = inside.and_then(slashed).ok_or_else(outside)?;
    let content_hash = content_hash(&path);
    let change = if files::exists(&path) { Change::Changed } else { Change::Deleted };
    Ok(FileChange { path: inside, change, content_hash })
}

/// The way in over HTTP: `{ "name": ..., "data": ..., "files": [...], "id": ... }`, for the workspace of a folder.
/// Answers with the receipts, or with `error`. `stored` is called when something waits.
pub(crate) fn route(runs: Arc<dyn Runs>, folder: PathBuf, stored: Arc<dyn Fn(&Path) + Send + Sync>) -> Route {
    let respond = move |asked: Value| -> dispatch_contracts::BoxFuture<'static, Result<Value, HandlerError>> {
        let (runs, workspace, stored) = (Arc::clone(&runs), workspace_of(&folder), Arc::clone(&stored));
        Box::pin(async move {
            let body = asked.get("body").cloned().unwrap_or_default();
            let sent = match serde_json::from_value::<CustomEvent>(body) {
                Ok(sent) => sent,
                Err(error) => return Ok(refused(400, &format!("invalid body: {error}"))),
            };
            match runs.send(sent, &workspace, &workspace, SENDER).await {
                Ok(sent) => {
                    if sent.is_busy {
                        stored(&workspace);
                    }
                    Ok(json!({ "accepted": true, "receipts": sent.receipts }))
                }
                // What a client did wrong is an answer; only what we did wrong is a failure.
                Err(SendError::Invalid(error)) => Ok(refused(400, &error.to_string())),
                Err(SendError::Ledger(error @ LedgerError::Invalid { .. })) => Ok(refused(400, &error.to_string())),
                Err(SendError::Ledger(error)) => Ok(refused(503, &error.to_string())),
                Err(SendError::Runs(error)) => refusal(error),
            }
        })
    };
    let (method, path) = ("POST", "/v1/workspace-hooks/events");
    let summary = "Starts the workspace hooks of a custom event.".into();
    Route { method: method.into(), path: path.into(), summary, respond: Arc::new(respond) }
}

fn refused(status: u16, error: &str) -> Value {
    json!({ "$status": status, "accepted": false, "error": error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_taken_as_it_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/a"), "x").unwrap();
        let sent = CustomEvent {
            name: "deploy/done".to_owned(),
            data: json!({ "stage": "test" }),
            files: vec!["a".to_owned(), "../gone".to_owned()],
            id: Some("42".to_owned()),
        };
        let event = sent.event(&root, &root.join("sub")).unwrap();
        assert_eq!(event.trigger, Trigger::Custom("deploy/done".to_owned()));
        assert_eq!(event.metadata["stage"], "test");
        let names: Vec<(&str, bool)> =
            event.files.iter().map(|file| (file.path.as_str(), file.content_hash.is_some())).collect();
        assert_eq!(names, [("sub/a", true), ("gone", false)]);
        let plain = CustomEvent { name: "x".to_owned(), data: json!([1]), ..CustomEvent::default() };
        assert_eq!(plain.event(&root, &root).unwrap().metadata["data"], json!([1]));
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let root = Path::new("/w");
        let named = |name: &str| CustomEvent { name: name.to_owned(), ..CustomEvent::default() };
        for name in ["", "a b", "ä", "a:b", &"x".repeat(81)] {
            assert!(matches!(named(name).event(root, root), Err(CustomEventError::Name(_))), "{name}");
        }
        for id in ["", "a\nb", &"x".repeat(201)] {
            let sent = CustomEvent { id: Some(id.to_owned()), ..named("a") };
            assert_eq!(sent.event(root, root), Err(CustomEventError::Id));
        }
        for file in ["../b", "/etc/passwd", "..", ""] {
            let sent = CustomEvent { files: vec![file.to_owned()], ..named("a") };
            assert_eq!(sent.event(root, root), Err(CustomEventError::Outside(file.to_owned())), "{file}");
        }
        let sent = CustomEvent { files: vec!["a".to_owned(); 1001], ..named("a") };
        assert_eq!(sent.event(root, root), Err(CustomEventError::Files));
        let sent = CustomEvent { data: json!("x".repeat(MAX_DATA_BYTES)), ..named("a") };
        assert_eq!(sent.event(root, root), Err(CustomEventError::Data));
    }
}
