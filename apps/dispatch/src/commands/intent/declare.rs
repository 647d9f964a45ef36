//! `dispatch intent new`

use super::{refused, shown};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::time::now_rfc3339;
use ext_intents::file::{Loaded, add, is_valid_id, load, update};
use ext_intents::intent::{Claim, IntentKind, IntentSpec, IntentStatus};
use ext_intents::layout::Layout;
use serde_json::json;

const PREFIX: &str = "INT-";

#[derive(Debug, clap::Args)]
pub(crate) struct NewRequest {
    /// A title for people
    name: String,
    /// A glob of files that it may change; can be given several times
    #[arg(long, value_name = "GLOB", required = true, num_args = 1.., allow_hyphen_values = false)]
    scope: Vec<String>,
    /// Its id; default: the next free one, such as INT-004
    #[arg(long)]
    id: Option<String>,
    /// What it is for: feature, refactor, fix, docs or config
    #[arg(long, value_parser = kind)]
    kind: Option<IntentKind>,
    /// Something that must hold; can be given several times
    #[arg(long = "constraint", value_name = "TEXT")]
    constraints: Vec<String>,
    /// When it is done; can be given several times
    #[arg(long = "criterion", value_name = "TEXT")]
    criteria: Vec<String>,
    /// `exclusive` keeps other sessions out of its files meanwhile
    #[arg(long, value_parser = claim)]
    claim: Option<Claim>,
    /// Also set it to IN_PROGRESS
    #[arg(long)]
    start: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn kind(name: &str) -> Result<IntentKind, String> {
    serde_json::from_value(name.into()).map_err(|_| "a kind is feature, refactor, fix, docs or config".to_owned())
}

pub(super) fn claim(name: &str) -> Result<Claim, String> {
    serde_json::from_value(name.into()).map_err(|_| "a claim is shared or exclusive".to_owned())
}

pub(super) fn new(layout: &Layout, request: &NewRequest, printer: &Printer) -> Result<Status, Failure> {
    if let Some(id) = request.id.as_ref().filter(|id| !is_valid_id(id)) {
        return Err(Failure::usage(format!("`{id}` cannot be an id"))
            .hint("letters, digits, `-`, `_` and `.`, such as INT-001"));
    }
    let id = request.id.clone().unwrap_or_else(|| next_id(&load(layout)));
    let now = now_rfc3339();
    let intent = IntentSpec {
        id: id.clone(),
        name: request.name.clone(),
        status: if request.start { IntentStatus::InProgress } else { IntentStatus::Planned },
        owned_scope: request.scope.clone(),
        constraints: request.constraints.clone(),
        acceptance_criteria: request.criteria.clone(),
        created_at: now.clone(),
        updated_at: now,
        kind: request.kind,
        claim: request.claim,
    };
    let intents = update(layout, |text| add(text, &intent)).map_err(|error| refused(layout, error))?;
    if request.json {
        printer.json(&json!({"created": intents.intent(&id)}))?;
    } else {
        let status = intent.status.as_str();
        printer.out(&format!("{id} is {status} in {}", shown(&layout.intents_file())));
    }
    Ok(Status::Done)
}

/// One more than the highest number in use.
fn next_id(intents: &Loaded) -> String {
    let number = |intent: &IntentSpec| intent.id.strip_prefix(PREFIX)?.parse::<u64>().ok();
    let highest = intents.intents.iter().filter_map(number).max().unwrap_or_default();
    format!("{PREFIX}{:03}", highest.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ext_intents::file::parse;

    #[test]
    fn the_next_id_is_above_all_others() {
        let with = |ids: &[&str]| {
            let one = |id: &&str| format!("  - {{id: {id}, name: x, status: PLANNED, owned_scope: [a]}}\n");
            parse(&format!("active_intents:\n{}", ids.iter().map(one).collect::<String>()))
        };
        assert_eq!(next_id(&with(&[])), "INT-001");
        assert_eq!(next_id(&with(&["INT-003", "INT-1", "X-9", "INT-x"])), "INT-004");
        assert_eq!(next_id(&with(&["INT-1200"])), "INT-1201");
    }
}
