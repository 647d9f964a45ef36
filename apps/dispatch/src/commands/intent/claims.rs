//! `dispatch intent claims`: which sessions keep others out of an intent's files, and how to let them in again.

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use dispatch_os::time::rfc3339;
use ext_intents::contract::{HeldClaim, IntentWorkspace};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct ClaimsRequest {
    /// Free the claim on this intent instead
    #[arg(long, value_name = "ID")]
    free: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(workspace: &IntentWorkspace, request: &ClaimsRequest, printer: &Printer) -> Result<Status, Failure> {
    let freed = match &request.free {
        None => None,
        Some(id) => Some(workspace.free_claim(id)?.ok_or_else(|| {
            Failure::usage(format!("no session has claimed {id}")).hint("`dispatch intent claims` lists the claims")
        })?),
    };
    let claims = workspace.claims();
    match (Format::from(request.json), freed) {
        (Format::Json, freed) => printer.json(&json!({ "claims": claims, "freed": freed }))?,
        (Format::Text, Some(freed)) => {
            printer.out(&format!("{} is no longer claimed by session {}", freed.intent, freed.session));
        }
        (Format::Text, None) if claims.is_empty() => printer.out("no claims"),
        (Format::Text, None) => printer.out(&table(&claims.iter().map(row).collect::<Vec<_>>())),
    }
    Ok(Status::Done)
}

fn row(claim: &HeldClaim) -> Vec<String> {
    let since = format!("since {}", rfc3339(claim.since_ms));
    vec![claim.intent.clone(), format!("session {}", claim.session), claim.host.clone(), since]
}
