//! What the server offers a client, and what the client can do with what it is told.
//!
//! Pure.

use serde_json::{Value, json};

/// Starts a hook by hand.
pub(super) const START: &str = "dispatch.runs.start";
/// Takes a run back.
pub(super) const CANCEL: &str = "dispatch.runs.cancel";
/// Repeats a run.
pub(super) const RETRY: &str = "dispatch.runs.retry";
/// Shows what an approval would approve.
pub(super) const REVIEW: &str = "dispatch.approvals.review";
/// Approves what was shown.
pub(super) const APPROVE: &str = "dispatch.approvals.approve";

/// The document sync kinds `None` and `Full` of the protocol.
const NO_CONTENT: u8 = 0;
const WHOLE_CONTENT: u8 = 1;

/// How the client tells that a document is about to be saved. One way is used, or each save would count twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WillSave {
    /// By a message.
    #[default]
    Told,
    /// By a question that waits for edits.
    Asked,
    Untold,
}

/// What the client can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientCapabilities {
    pub(super) will_save: WillSave,
    pub(super) progress: bool,
    /// Whether it asks again for code lenses when told to.
    pub(super) lens_refresh: bool,
    /// Whether it can be asked to watch files.
    pub(super) watched_files: bool,
    /// Whether it wants our own notifications about how many runs there are.
    pub(super) status: bool,
    /// Whether it tells the person itself what it learns from these; others are sent messages to show.
    pub(super) own_messages: bool,
}

impl ClientCapabilities {
    pub(super) fn read(capabilities: &Value, options: &Value) -> Self {
        let yes = |pointer: &str| capabilities.pointer(pointer) == Some(&Value::Bool(true));
        let will_save = match (
            yes("/textDocument/synchronization/willSave"),
            yes("/textDocument/synchronization/willSaveWaitUntil"),
        ) {
            (_, true) => WillSave::Asked,
            (true, false) => WillSave::Told,
            (false, false) => WillSave::Untold,
        };
        Self {
            will_save,
            progress: yes("/window/workDoneProgress"),
            lens_refresh: yes("/workspace/codeLens/refreshSupport"),
            watched_files: yes("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            status: options.get("dispatchStatus") == Some(&Value::Bool(true)),
            own_messages: options.get("dispatchMessages") == Some(&Value::Bool(true)),
        }
    }
}

/// What the server offers.
pub(super) fn offered(client: ClientCapabilities) -> Value {
    let files = json!({ "filters": [{ "scheme": "file", "pattern": { "glob": "**/*" } }] });
    json!({
        "textDocumentSync": {
            "openClose": true,
            // The content of a document is read from the disk when it is saved; what is about to be saved is not there.
            "change": if client.will_save == WillSave::Asked { WHOLE_CONTENT } else { NO_CONTENT },
            "willSave": client.will_save == WillSave::Told,
            "willSaveWaitUntil": client.will_save == WillSave::Asked,
            "save": { "includeText": false },
        },
        "codeLensProvider": { "resolveProvider": false },
        "executeCommandProvider": { "commands": [START, CANCEL, RETRY, REVIEW, APPROVE] },
        "workspace": {
            "workspaceFolders": { "supported": true, "changeNotifications": true },
            "fileOperations": { "didCreate": files, "didRename": files, "didDelete": files },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_to_come_is_told_in_one_way_only() {
        for (told, asked, expected) in [
            (true, true, WillSave::Asked),
            (true, false, WillSave::Told),
            (false, true, WillSave::Asked),
            (false, false, WillSave::Untold),
        ] {
            let capabilities =
                json!({"textDocument": {"synchronization": {"willSave": told, "willSaveWaitUntil": asked}}});
            let client = ClientCapabilities::read(&capabilities, &Value::Null);
            assert_eq!(client.will_save, expected);
            let offered = offered(client);
            let sync = &offered["textDocumentSync"];
            let ways = [&sync["willSave"], &sync["willSaveWaitUntil"]].map(|way| way == &json!(true));
            assert!(ways != [true, true]);
        }
        assert_eq!(ClientCapabilities::read(&Value::Null, &Value::Null).will_save, WillSave::Untold);
    }
}
