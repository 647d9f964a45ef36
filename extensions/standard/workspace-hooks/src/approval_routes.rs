//! Approving the hooks of a workspace over HTTP: what there is to approve, and the approval of a person.

use crate::approval::editor_approval::{AGENT_APPROVES, EditorApprovalError, approve, review};
use crate::file_names::SHOWN;
use crate::root::workspace_of;
use crate::run_routes::with_status;
use dispatch_contracts::contribution::Route;
use dispatch_contracts::hook::HandlerError;
use dispatch_os::files;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const BAD_REQUEST: u16 = 400;
const FORBIDDEN: u16 = 403;
const CONFLICT: u16 = 409;
const PATH: &str = "/v1/workspace-hooks/approvals";

/// The routes, for the workspace that a folder is in and the approvals in the user's folder for data.
pub(crate) fn approval_routes(folder: &Path, data: &Path) -> [Route; 2] {
    let (folder, data) = (folder.to_path_buf(), data.to_path_buf());
    let shown = HookApprovalRoutes { folder: folder.clone(), data: data.clone() };
    let approved = HookApprovalRoutes { folder, data };
    [
        Route {
            method: "GET".into(),
            path: PATH.into(),
            summary: "The hooks that wait for approval, as they are and as they were approved.".into(),
            respond: Arc::new(move |_| Box::pin(std::future::ready(shown.show()))),
        },
        Route {
            method: "POST".into(),
            path: PATH.into(),
            summary: "Approves what was shown under `token`; needs the approval token.".into(),
            respond: Arc::new(move |asked| Box::pin(std::future::ready(approved.approve(&asked)))),
        },
    ]
}

struct HookApprovalRoutes {
    folder: PathBuf,
    data: PathBuf,
}

impl HookApprovalRoutes {
    fn hooks_file(&self) -> PathBuf {
        workspace_of(&self.folder).join(SHOWN)
    }

    fn show(&self) -> Result<Value, HandlerError> {
        let file = self.hooks_file();
        if !files::exists(&file) {
            return Ok(json!({ "hooks": [], "token": "" }));
        }
        review(&self.data, &file).map(|shown| json!(shown)).or_else(refusal)
    }

    fn approve(&self, asked: &Value) -> Result<Value, HandlerError> {
        if asked.get("isApprover") != Some(&Value::Bool(true)) {
            return Ok(with_status(FORBIDDEN, AGENT_APPROVES));
        }
        let Some(token) = asked.pointer("/body/token").and_then(Value::as_str) else {
            return Ok(with_status(BAD_REQUEST, "`token` is missing: send the one that came with the hooks"));
        };
        approve(&self.data, &self.hooks_file(), token).map(|()| json!({ "approved": true })).or_else(refusal)
    }
}

fn refusal(error: EditorApprovalError) -> Result<Value, HandlerError> {
    match error {
        EditorApprovalError::Changed => Ok(with_status(CONFLICT, &error.to_string())),
        EditorApprovalError::Trust(error) => Err(HandlerError(error.to_string())),
    }
}
