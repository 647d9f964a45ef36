//! Custom events as the event ledger keeps them, and as hooks get them from there.

use crate::content::content_hash;
use crate::contract::{Change, CustomEvent, Event, FileChange, Hook, Source, Trigger};
use dispatch_os::digest::{hex, sha256};
use dispatch_os::files;
use dispatch_redact::{Options, Redactor, UserPattern};
use ext_event_ledger::contract::{Event as StoredEvent, NewEvent, PeerKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The channel of events that start workspace hooks.
pub(crate) const CHANNEL: &str = "workspace";
/// The field of an event's metadata that names the workspace it belongs to. Events without it are of a time when hooks did
/// not listen to the ledger.
const WORKSPACE_FIELD: &str = "workspace";
/// How much of a folder's hash tells workspaces apart.
const WORKSPACE_DIGITS: usize = 16;
/// So much of the workspace's folder is the name of the conversation.
const MAX_FOLDER_CHARS: usize = 200;

/// What the event ledger stores of an event before any hook starts, without what these hooks call a secret. The same id in
/// the same workspace is the same event.
pub(crate) fn recorded(sent: &CustomEvent, event: &Event, from: &str, hooks: &[Arc<Hook>]) -> NewEvent {
    let folder = event.workspace.to_string_lossy();
    let place = hex(sha256(folder.as_bytes()));
    let place = place.get(..WORKSPACE_DIGITS).unwrap_or_default();
    let files: Vec<&str> = event.files.iter().map(|file| file.path.as_str()).collect();
    let mut facts = json!({ "data": sent.data, "files": files });
    let mut id = sent.id.clone();
    match secrets_of(hooks) {
        Some(redactor) => {
            redactor.redact_json(&mut facts);
            id = id.map(|id| if redactor.redact(&id) == id { id } else { hex(sha256(id.as_bytes())) });
        }
        None => facts = json!({}),
    }
    let mut metadata = Map::from_iter([
        ("trigger".to_owned(), event.trigger.to_string().into()),
        (WORKSPACE_FIELD.to_owned(), folder.as_ref().into()),
    ]);
    metadata.extend(facts.as_object().cloned().unwrap_or_default());
    NewEvent {
        channel: CHANNEL.to_owned(),
        external_id: id.map(|id| format!("{place}/{}/{id}", sent.name)),
        from: from.to_owned(),
        peer_kind: PeerKind::Group,
        peer_id: Some(folder.chars().take(MAX_FOLDER_CHARS).collect()),
        content: sent.name.clone(),
        metadata,
        ..NewEvent::default()
    }
}

/// Whether a stored event is for the hooks of a workspace.
pub(crate) fn is_for(stored: &StoredEvent, workspace: &Path) -> bool {
    let named = stored.metadata.get(WORKSPACE_FIELD).and_then(Value::as_str);
    stored.channel == CHANNEL && named.is_some_and(|named| Path::new(named) == workspace)
}

/// A stored event as hooks get it; none if its name is not one that a hook can listen to.
pub(crate) fn event_of(stored: &StoredEvent, workspace: &Path) -> Option<Event> {
    let trigger = Trigger::parse(&format!("custom:{}", stored.content))?;
    let files = stored.metadata.get("files").and_then(Value::as_array).into_iter().flatten();
    let files = files.filter_map(Value::as_str).map(|file| file_now(file, workspace)).collect();
    let metadata = match stored.metadata.get("data").cloned() {
        Some(Value::Object(fields)) => fields,
        None | Some(Value::Null) => Map::new(),
        Some(other) => Map::from_iter([("data".to_owned(), other)]),
    };
    Some(Event {
        trigger,
        workspace: workspace.to_owned(),
        files,
        source: Source::Outside,
        hook: None,
        id: Some(stored.id.clone()),
        metadata,
    })
}

fn file_now(file: &str, workspace: &Path) -> FileChange {
    let path = workspace.join(file);
    let change = if files::exists(&path) { Change::Changed } else { Change::Deleted };
    FileChange { path: file.to_owned(), change, content_hash: content_hash(&path) }
}

/// Knows the secrets of all these hooks; `None` if one of their patterns cannot be used.
fn secrets_of(hooks: &[Arc<Hook>]) -> Option<Redactor> {
    let patterns: BTreeSet<&String> = hooks.iter().flat_map(|hook| &hook.secret_patterns).collect();
    let patterns = patterns.into_iter().map(|regex| UserPattern::new("secret", regex)).collect();
    Redactor::new(Options { patterns, ..Options::default() }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(new: NewEvent) -> StoredEvent {
        StoredEvent {
            id: format!("{CHANNEL}:{}", new.external_id.unwrap_or_default()),
            sequence: 1,
            channel: new.channel,
            account_id: "default".to_owned(),
            from: new.from,
            peer_kind: new.peer_kind,
            peer_id: new.peer_id.unwrap_or_default(),
            thread_id: None,
            content: new.content,
            content_type: "text".to_owned(),
            timestamp: 1,
            received_at: 1,
            metadata: new.metadata,
            origin: None,
        }
    }

    #[test]
    fn what_was_stored_is_what_was_sent() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/a"), "x").unwrap();
        for data in [json!({ "stage": "test" }), json!([1]), json!(null)] {
            let sent = CustomEvent {
                name: "deploy/done".to_owned(),
                data,
                files: vec!["a".to_owned(), "../gone".to_owned()],
                id: Some("42".to_owned()),
            };
            let event = sent.clone().event(&root, &root.join("sub")).unwrap();
            let stored = stored(recorded(&sent, &event, "me", &[]));
            assert!(is_for(&stored, &root) && !is_for(&stored, Path::new("/elsewhere")));
            let again = event_of(&stored, &root).unwrap();
            assert_eq!(again, Event { id: Some(stored.id.clone()), ..event });
        }
    }

    #[test]
    fn an_event_from_before_hooks_listened_to_the_ledger_is_for_none() {
        let root = Path::new("/w");
        let sent = CustomEvent { name: "a".to_owned(), ..CustomEvent::default() };
        let mut new = recorded(&sent, &sent.clone().event(root, root).unwrap(), "me", &[]);
        new.metadata.remove(WORKSPACE_FIELD);
        assert!(!is_for(&stored(new), root));
    }
}
