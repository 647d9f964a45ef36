//! What the server offers a client, and what the client can do with what it is told.

use lsp_types::{
    CodeLensOptions, ExecuteCommandOptions, FileOperationFilter, FileOperationPattern,
    FileOperationRegistrationOptions, OneOf, SaveOptions, ServerCapabilities, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    WorkspaceFileOperationsServerCapabilities, WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};
use serde_json::Value;

/// Starts a hook by hand.
pub(super) const START: &str = "dispatch.runs.start";
/// Takes a run back.
pub(super) const CANCEL: &str = "dispatch.runs.cancel";
/// Repeats a run.
pub(super) const RETRY: &str = "dispatch.runs.retry";

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
pub(super) struct Client {
    pub(super) will_save: WillSave,
    pub(super) progress: bool,
    /// Whether it asks again for code lenses when told to.
    pub(super) lens_refresh: bool,
    /// Whether it can be asked to watch files.
    pub(super) watched_files: bool,
    /// Whether it wants our own notifications about how many runs there are.
    pub(super) status: bool,
}

impl Client {
    pub(super) fn read(capabilities: &Value, options: &Value) -> Self {
        let yes = |pointer: &str| capabilities.pointer(pointer) == Some(&Value::Bool(true));
        let will_save = match (
            yes("/textDocument/synchronization/willSave"),
            yes("/textDocument/synchronization/willSaveWaitUntil"),
        ) {
            (true, _) => WillSave::Told,
            (false, true) => WillSave::Asked,
            (false, false) => WillSave::Untold,
        };
        Self {
            will_save,
            progress: yes("/window/workDoneProgress"),
            lens_refresh: yes("/workspace/codeLens/refreshSupport"),
            watched_files: yes("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            status: options.get("dispatchStatus") == Some(&Value::Bool(true)),
        }
    }
}

/// What the server offers.
pub(super) fn offered(client: Client) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        // The content of a document is read from the disk when it is saved.
        change: Some(TextDocumentSyncKind::NONE),
        will_save: Some(client.will_save == WillSave::Told),
        will_save_wait_until: Some(client.will_save == WillSave::Asked),
        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
    };
    let files = || {
        let pattern = FileOperationPattern { glob: "**/*".to_owned(), ..FileOperationPattern::default() };
        let filter = FileOperationFilter { scheme: Some("file".to_owned()), pattern };
        Some(FileOperationRegistrationOptions { filters: vec![filter] })
    };
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: [START, CANCEL, RETRY].map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: Some(WorkspaceFileOperationsServerCapabilities {
                did_create: files(),
                did_rename: files(),
                did_delete: files(),
                ..WorkspaceFileOperationsServerCapabilities::default()
            }),
        }),
        ..ServerCapabilities::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_save_to_come_is_told_in_one_way_only() {
        for (told, asked, expected) in [
            (true, true, WillSave::Told),
            (true, false, WillSave::Told),
            (false, true, WillSave::Asked),
            (false, false, WillSave::Untold),
        ] {
            let capabilities =
                json!({"textDocument": {"synchronization": {"willSave": told, "willSaveWaitUntil": asked}}});
            let client = Client::read(&capabilities, &Value::Null);
            assert_eq!(client.will_save, expected);
            let offered = serde_json::to_value(offered(client)).unwrap();
            let sync = &offered["textDocumentSync"];
            let ways = [&sync["willSave"], &sync["willSaveWaitUntil"]].map(|way| way == &json!(true));
            assert!(ways != [true, true]);
        }
        assert_eq!(Client::read(&Value::Null, &Value::Null).will_save, WillSave::Untold);
    }
}
