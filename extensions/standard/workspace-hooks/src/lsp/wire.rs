//! What is read of a client's messages: the few fields that matter, so that odd ones elsewhere do no harm.

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct InitializeWire {
    pub(super) process_id: Option<u32>,
    pub(super) root_uri: Option<String>,
    pub(super) workspace_folders: Option<Vec<FolderWire>>,
    pub(super) capabilities: Value,
    pub(super) initialization_options: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FolderWire {
    pub(super) uri: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocumentWire {
    pub(super) text_document: DocumentIdWire,
}

#[derive(Debug, Deserialize)]
pub(super) struct DocumentIdWire {
    pub(super) uri: String,
}

/// Of `didCreateFiles` and `didDeleteFiles`.
#[derive(Debug, Deserialize)]
pub(super) struct FilesWire {
    pub(super) files: Vec<FolderWire>,
}

/// Of `didRenameFiles`.
#[derive(Debug, Deserialize)]
pub(super) struct RenamesWire {
    pub(super) files: Vec<RenameWire>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RenameWire {
    pub(super) old_uri: String,
    pub(super) new_uri: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct FolderChangeWire {
    pub(super) event: FolderChangesWire,
}

#[derive(Debug, Deserialize)]
pub(super) struct FolderChangesWire {
    #[serde(default)]
    pub(super) added: Vec<FolderWire>,
    #[serde(default)]
    pub(super) removed: Vec<FolderWire>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommandWire {
    pub(super) command: String,
    #[serde(default)]
    pub(super) arguments: Vec<Value>,
}

/// The argument of `dispatch.runs.start`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StartWire {
    pub(super) hook: String,
    /// A file of the workspace.
    pub(super) uri: Option<String>,
    pub(super) workspace: Option<String>,
}
