//! `apply_patch`: changes several files at once, all of them or none.

mod apply;
mod begin_form;
mod change;
mod parse;
mod plan;
#[cfg(test)]
mod tests;
mod unified_form;

use std::collections::BTreeSet;

use dispatch_contracts::tool::{Effect, Resources, ToolContext, ToolError, ToolOutput, read_arguments};
use dispatch_toolcall::patch_paths;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::APPLY_PATCH;
use crate::file_workspace::{FileWorkspace, MAX_FILE_BYTES};
use crate::tool::FileToolDefinition;
use change::{ChangeKind, FileChange};
use plan::PatchPlan;

pub(crate) const DEFINITION: FileToolDefinition = FileToolDefinition {
    name: APPLY_PATCH,
    description: "Changes, adds, removes and renames files of the workspace, all of them or none. Takes a unified diff, or \
                  this form:\n*** Begin Patch\n*** Update File: path\n@@ optional line that stands before the place\n \
                  context line\n-removed line\n+added line\n*** Add File: path\n+line\n*** Delete File: path\n*** End \
                  Patch\n`*** Move to: path` behind `*** Update File:` renames. Context and removed lines must be in the \
                  file; a place that is not certain is refused, so give about three lines of context. Paths are relative \
                  to the working folder.",
    parameters,
    touches,
    run,
    effect: Effect::Changes,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {"patch": {"type": "string", "description": "The text of the patch."}},
        "required": ["patch"],
        "additionalProperties": false
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApplyPatchArguments {
    patch: String,
}

fn touches(workspace: &FileWorkspace, arguments: &Map<String, Value>) -> Resources {
    match arguments.get("patch").and_then(Value::as_str).map(patch_paths) {
        Some(Ok(files)) => Resources::Keys(files.iter().map(|(path, _)| workspace.key(path)).collect()),
        _ => Resources::Undeclared,
    }
}

fn run(
    workspace: &FileWorkspace,
    arguments: Map<String, Value>,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let ApplyPatchArguments { patch } = read_arguments(arguments)?;
    let unusable = |reason: String| ToolError(format!("The patch was not applied, no file was changed: {reason}."));
    if patch.len() as u64 > MAX_FILE_BYTES {
        return Err(unusable(format!("it has {} bytes, and the limit is {MAX_FILE_BYTES}", patch.len())));
    }
    let changes = parse::parse(&patch).map_err(unusable)?;
    check_named(&patch, &changes).map_err(unusable)?;
    let _lock = workspace.write_lock();
    let mut plan = PatchPlan::new(workspace, workspace.workspace(context)?, context);
    for change in &changes {
        plan.add(change).map_err(|reason| unusable(reason.trim_end_matches('.').to_owned()))?;
    }
    let report = plan.carry_out()?;
    Ok(ToolOutput::text(report))
}

/// Guards judge a patch by the files that are found in it; a file that they would not have seen is not touched.
fn check_named(patch: &str, changes: &[FileChange]) -> Result<(), String> {
    let named = patch_paths(patch).map_err(|error| error.to_string())?;
    let named: BTreeSet<&str> = named.iter().map(|(path, _)| path.as_str()).collect();
    for change in changes {
        let target = match &change.change {
            ChangeKind::Update { move_to, .. } => move_to.as_deref(),
            _ => None,
        };
        for path in [Some(change.path.as_str()), target].into_iter().flatten() {
            if !named.contains(path) {
                return Err(format!("it is not clear that the patch is about {path}"));
            }
        }
    }
    Ok(())
}
