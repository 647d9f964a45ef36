//! `dispatch intent edit`

use super::declare::{claim, kind, mode, say_what_the_mode_needs};
use super::{declared, known, refused};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::environment;
use dispatch_os::process;
use dispatch_os::time::now_rfc3339;
use ext_intents::contract::{
    ClaimMode, DraftOutcome, IntentEdit, IntentKind, IntentListField, IntentMode, IntentTextField, IntentWorkspace,
};
use serde::Serialize;
use std::io::IsTerminal;

#[derive(Debug, clap::Args)]
pub(crate) struct EditRequest {
    /// The intent; without flags, the whole file is opened
    id: Option<String>,
    /// The new title
    #[arg(long)]
    name: Option<String>,
    /// What it is for: feature, refactor, fix, docs or config
    #[arg(long, value_parser = kind)]
    kind: Option<IntentKind>,
    /// shared or exclusive
    #[arg(long, value_parser = claim)]
    claim: Option<ClaimMode>,
    /// What becomes of changes outside it: observe, warn or enforce
    #[arg(long, value_parser = mode)]
    mode: Option<IntentMode>,
    /// Add a glob; repeatable
    #[arg(long, value_name = "GLOB")]
    add_scope: Vec<String>,
    /// Remove a glob; repeatable
    #[arg(long, value_name = "GLOB")]
    remove_scope: Vec<String>,
    /// Add a constraint; repeatable
    #[arg(long, value_name = "TEXT")]
    add_constraint: Vec<String>,
    /// Remove a constraint; repeatable
    #[arg(long, value_name = "TEXT")]
    remove_constraint: Vec<String>,
    /// Add an acceptance criterion; repeatable
    #[arg(long, value_name = "TEXT")]
    add_criterion: Vec<String>,
    /// Remove an acceptance criterion; repeatable
    #[arg(long, value_name = "TEXT")]
    remove_criterion: Vec<String>,
}

pub(super) fn run(workspace: &IntentWorkspace, request: &EditRequest, printer: &Printer) -> Result<Status, Failure> {
    let mut changes = request.changes();
    match (&request.id, changes.is_empty()) {
        (Some(id), false) => {
            changes.push(IntentEdit::Set(IntentTextField::UpdatedAt, now_rfc3339()));
            workspace.edit_intent(id, &changes).map_err(|error| refused(workspace, error))?;
            printer.out(&format!("changed {id}"));
            say_what_the_mode_needs(workspace, request.mode, printer);
            Ok(Status::Done)
        }
        (None, false) => Err(Failure::usage("missing intent id").hint("`dispatch intent edit ID --name ...`")),
        (id, true) => {
            if let Some(id) = id {
                known(&declared(workspace)?, id)?;
            }
            in_editor(workspace, printer)
        }
    }
}

impl EditRequest {
    fn changes(&self) -> Vec<IntentEdit> {
        use IntentListField::{AcceptanceCriteria, Constraints, OwnedScope};
        let set = |field, value: Option<String>| value.map(|value| IntentEdit::Set(field, value));
        let texts = [
            set(IntentTextField::Name, self.name.clone()),
            set(IntentTextField::Kind, self.kind.as_ref().map(word)),
            set(IntentTextField::Claim, self.claim.as_ref().map(word)),
            set(IntentTextField::Mode, self.mode.as_ref().map(word)),
        ];
        let mut changes: Vec<IntentEdit> = texts.into_iter().flatten().collect();
        for (field, more, less) in [
            (OwnedScope, &self.add_scope, &self.remove_scope),
            (Constraints, &self.add_constraint, &self.remove_constraint),
            (AcceptanceCriteria, &self.add_criterion, &self.remove_criterion),
        ] {
            // First what is added, so that a list with one item is never empty on the way.
            changes.extend(more.iter().map(|item| IntentEdit::Add(field, item.clone())));
            changes.extend(less.iter().map(|item| IntentEdit::Remove(field, item.clone())));
        }
        changes
    }
}

/// Opens a copy in the user's editor and takes it over if it is valid and the file did not change in the meantime.
fn in_editor(workspace: &IntentWorkspace, printer: &Printer) -> Result<Status, Failure> {
    let named = |name: &str| environment::variable(name).ok().flatten().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR"));
    let Some(editor) = editor.filter(|_| std::io::stdin().is_terminal()) else {
        return Err(Failure::usage("nothing to change")
            .hint("give a change, such as --name TEXT or --add-scope GLOB; `dispatch intent edit --help` lists them")
            .hint("in a terminal with EDITOR set, the command opens the file"));
    };
    let draft = workspace.draft_intents().map_err(|error| refused(workspace, error))?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let ended = process::command(program).args(words).arg(draft.path()).status();
    let succeeded =
        ended.map_err(|error| Failure::usage(format!("cannot start `{editor}`: {error}")).hint("set EDITOR"))?;
    if !succeeded.success() {
        return Err(Failure::usage(format!("`{program}` failed")).hint("the file is unchanged"));
    }
    let outcome = draft
        .take_over()
        .map_err(|error| refused(workspace, error).hint(format!("your text is kept in {}", draft.path().display())))?;
    match outcome {
        DraftOutcome::Unchanged => printer.out("nothing changed"),
        DraftOutcome::Replaced => printer.out(&format!("changed {}", workspace.intents_file().display())),
    }
    Ok(Status::Done)
}

fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
