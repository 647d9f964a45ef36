//! `dispatch permissions`: the answers that people asked to be remembered, per project.

use super::approvals::refused;
use super::queue::moment;
use super::session::session_folder;
use crate::app::Status;
use crate::failure::Failure;
use crate::policy_change;
use crate::printer::{Format, Printer, table};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use ext_session_orchestrator::contract::{APPROVALS, Approvals, PermissionGrant};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List what was allowed for good in this project
    List {
        /// List the permissions of every project
        #[arg(long)]
        all_folders: bool,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Remove one; calls of that form are asked about again
    Remove {
        /// Its id, as `permissions list` prints it
        id: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &PermissionsCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    if let PermissionsCommand::Remove { id, .. } = command {
        policy_change::confirm(loaded, &format!("remove the permission {id}"), printer)?;
    }
    let folder = session_folder(loaded);
    let running = Running::look_at_conversations(loaded, extensions)?;
    let outcome =
        running.service(&APPROVALS).and_then(|approvals| running.block_on(obey(&*approvals, command, folder, printer)));
    running.shutdown();
    outcome
}

async fn obey(
    approvals: &dyn Approvals,
    command: &PermissionsCommand,
    folder: PathBuf,
    printer: &Printer,
) -> Result<Status, Failure> {
    match command {
        PermissionsCommand::List { all_folders, json } => {
            let found = approvals.grants((!all_folders).then_some(folder.as_path())).await.map_err(refused)?;
            match Format::from(*json) {
                Format::Json => printer.json(&json!({ "permissions": found }))?,
                Format::Text if found.is_empty() => printer.out("nothing was allowed for good here"),
                Format::Text => printer.out(&table(&found.iter().map(listed).collect::<Vec<_>>())),
            }
        }
        PermissionsCommand::Remove { id, json } => {
            let removed = approvals.revoke(id).await.map_err(refused)?;
            match Format::from(*json) {
                Format::Json => printer.json(&json!({ "removed": removed }))?,
                Format::Text => {
                    printer.out(&format!("{} `{}` is asked about again", removed.permission, removed.target))
                }
            }
        }
    }
    Ok(Status::Done)
}

fn listed(grant: &PermissionGrant) -> Vec<String> {
    vec![
        grant.id.clone(),
        grant.permission.clone(),
        grant.target.clone(),
        grant.folder.display().to_string(),
        format!("{} by {} from {}", moment(grant.at_ms), grant.granted.who, grant.granted.from),
    ]
}
