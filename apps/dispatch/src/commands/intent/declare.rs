//! `dispatch intent new`

use super::{refused, shown};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::time::now_rfc3339;
use ext_intents::contract::{
    ClaimMode, IntentKind, IntentMode, IntentSpec, IntentStatus, IntentWorkspace, is_valid_id,
};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct NewRequest {
    /// A title for people
    name: Option<String>,
    /// A glob of files that it may change, or `!GLOB` for files that it may not; repeatable
    #[arg(long, value_name = "GLOB", required = true, num_args = 1.., allow_hyphen_values = false)]
    scope: Vec<String>,
    /// Its id [default: the next free one, such as INT-004]
    #[arg(long)]
    id: Option<String>,
    /// What it is for: feature, refactor, fix, docs or config
    #[arg(long, value_parser = kind)]
    kind: Option<IntentKind>,
    /// A constraint; repeatable
    #[arg(long = "constraint", value_name = "TEXT")]
    constraints: Vec<String>,
    /// An acceptance criterion; repeatable
    #[arg(long = "criterion", value_name = "TEXT")]
    criteria: Vec<String>,
    /// `exclusive` keeps other sessions out of its files while a session works on it
    #[arg(long, value_parser = claim)]
    claim: Option<ClaimMode>,
    /// What becomes of changes outside it: observe, warn or enforce [default: that of the workspace]
    #[arg(long, value_parser = mode)]
    mode: Option<IntentMode>,
    /// Also set it to IN_PROGRESS
    #[arg(long)]
    start: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn kind(name: &str) -> Result<IntentKind, String> {
    serde_json::from_value(name.into()).map_err(|_| "expected feature, refactor, fix, docs or config".to_owned())
}

pub(super) fn claim(name: &str) -> Result<ClaimMode, String> {
    serde_json::from_value(name.into()).map_err(|_| "expected shared or exclusive".to_owned())
}

pub(super) fn mode(name: &str) -> Result<IntentMode, String> {
    serde_json::from_value(name.into()).map_err(|_| "expected observe, warn or enforce".to_owned())
}

/// A looser mode needs an approval like every other rule that a project loosens.
pub(super) fn say_what_the_mode_needs(workspace: &IntentWorkspace, mode: Option<IntentMode>, printer: &Printer) {
    if mode.is_some_and(|mode| mode < IntentMode::Enforce) {
        printer.out(&format!("its mode counts after `dispatch trust {}`", shown(&workspace.intents_file())));
    }
}

/// The title and the globs. `--scope` takes several globs, so a title after them arrives as the last of these.
fn title_and_scope(request: &NewRequest) -> Result<(String, Vec<String>), Failure> {
    let mut scope = request.scope.clone();
    let is_title = |text: &String| !text.contains(['*', '/', '?', '[', '{']) && !text.starts_with('!');
    let last = scope.len() > 1 && scope.last().is_some_and(is_title);
    let name = request.name.clone().or_else(|| scope.pop_if(|_| last));
    let name =
        name.ok_or_else(|| Failure::usage("the title is missing").hint("dispatch intent new NAME --scope GLOB"))?;
    Ok((name, scope))
}

pub(super) fn new(workspace: &IntentWorkspace, request: &NewRequest, printer: &Printer) -> Result<Status, Failure> {
    if let Some(id) = request.id.as_ref().filter(|id| !is_valid_id(id)) {
        return Err(
            Failure::usage(format!("invalid id `{id}`")).hint("use letters, digits, `-`, `_` and `.`, such as INT-001")
        );
    }
    let (name, owned_scope) = title_and_scope(request)?;
    let id = request.id.clone().unwrap_or_else(|| workspace.load_intents().next_free_id());
    let now = now_rfc3339();
    let intent = IntentSpec {
        id: id.clone(),
        name,
        status: if request.start { IntentStatus::InProgress } else { IntentStatus::Planned },
        owned_scope,
        constraints: request.constraints.clone(),
        acceptance_criteria: request.criteria.clone(),
        created_at: now.clone(),
        updated_at: now,
        kind: request.kind,
        claim: request.claim,
        mode: request.mode,
    };
    let intents = workspace.add_intent(&intent).map_err(|error| refused(workspace, error))?;
    if request.json {
        printer.json(&json!({"created": intents.intent(&id)}))?;
    } else {
        let status = intent.status.as_str();
        printer.out(&format!("{id} is {status} in {}", shown(&workspace.intents_file())));
        say_what_the_mode_needs(workspace, request.mode, printer);
    }
    Ok(Status::Done)
}
