//! The types of the Language Server Protocol that are used here. Of a client's messages the few fields that matter are
//! read, so that odd ones elsewhere do no harm.
//!
//! Pure.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// How important a line of the client's log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageTypeWire {
    Error = 1,
    Warning = 2,
    Info = 3,
}

impl Serialize for MessageTypeWire {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

/// A place in a text: rows and UTF-16 columns from 0.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct PositionWire {
    pub(super) line: u32,
    pub(super) character: u32,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct RangeWire {
    pub(super) start: PositionWire,
    pub(super) end: PositionWire,
}

impl RangeWire {
    /// A part of one line.
    pub(super) const fn on_line(line: u32, start: u32, end: u32) -> Self {
        Self { start: PositionWire { line, character: start }, end: PositionWire { line, character: end } }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct DiagnosticWire {
    pub(super) range: RangeWire,
    pub(super) severity: u8,
    pub(super) code: String,
    pub(super) source: &'static str,
    pub(super) message: String,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct CodeLensWire {
    pub(super) range: RangeWire,
    pub(super) command: LensCommandWire,
}

/// What a click on a code lens does.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LensCommandWire {
    pub(super) title: String,
    pub(super) command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<Vec<Value>>,
}

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

/// The argument of `dispatch.approvals.review` and `dispatch.approvals.approve`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ApproveWire {
    pub(super) workspace: Option<String>,
    /// Of the review that was shown.
    pub(super) token: Option<String>,
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
