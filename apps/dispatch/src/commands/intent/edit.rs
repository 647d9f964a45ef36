//! `dispatch intent edit`

use super::declare::{claim, kind};
use super::{declared, known, refused};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::environment;
use dispatch_os::time::now_rfc3339;
use ext_intents::file::{Change, ListField, TextField, change, create, read_text, replace_checked, update};
use ext_intents::intent::{Claim, IntentKind};
use ext_intents::layout::Layout;
use serde::Serialize;
use std::io::IsTerminal;
use std::process::Command;

#[derive(Debug, clap::Args)]
pub(crate) struct EditRequest {
    /// The intent; with no flags the whole file is opened
    id: Option<String>,
    /// Another title
    #[arg(long)]
    name: Option<String>,
    /// What it is for: feature, refactor, fix, docs or config
    #[arg(long, value_parser = kind)]
    kind: Option<IntentKind>,
    /// shared or exclusive
    #[arg(long, value_parser = claim)]
    claim: Option<Claim>,
    /// One more glob
    #[arg(long, value_name = "GLOB")]
    add_scope: Vec<String>,
    /// One glob less
    #[arg(long, value_name = "GLOB")]
    remove_scope: Vec<String>,
    /// One more constraint
    #[arg(long, value_name = "TEXT")]
    add_constraint: Vec<String>,
    /// One constraint less
    #[arg(long, value_name = "TEXT")]
    remove_constraint: Vec<String>,
    /// One more acceptance criterion
    #[arg(long, value_name = "TEXT")]
    add_criterion: Vec<String>,
    /// One acceptance criterion less
    #[arg(long, value_name = "TEXT")]
    remove_criterion: Vec<String>,
}

pub(super) fn run(layout: &Layout, request: &EditRequest, printer: &Printer) -> Result<Status, Failure> {
    let mut changes = request.changes();
    match (&request.id, changes.is_empty()) {
        (Some(id), false) => {
            changes.push(Change::Set(TextField::UpdatedAt, now_rfc3339()));
            let edited = update(layout, |text| change(text, id, &changes));
            edited.map_err(|error| refused(layout, error))?;
            printer.out(&format!("{id} is changed"));
            Ok(Status::Done)
        }
        (None, false) => Err(Failure::usage("no intent is named").hint("`dispatch intent edit ID --name ...`")),
        (id, true) => {
            if let Some(id) = id {
                known(&declared(layout)?, id)?;
            }
            in_editor(layout, printer)
        }
    }
}

impl EditRequest {
    fn changes(&self) -> Vec<Change> {
        use ListField::{AcceptanceCriteria, Constraints, OwnedScope};
        let set = |field, value: Option<String>| value.map(|value| Change::Set(field, value));
        let texts = [
            set(TextField::Name, self.name.clone()),
            set(TextField::Kind, self.kind.as_ref().map(word)),
            set(TextField::Claim, self.claim.as_ref().map(word)),
        ];
        let mut changes: Vec<Change> = texts.into_iter().flatten().collect();
        for (field, more, less) in [
            (OwnedScope, &self.add_scope, &self.remove_scope),
            (Constraints, &self.add_constraint, &self.remove_constraint),
            (AcceptanceCriteria, &self.add_criterion, &self.remove_criterion),
        ] {
            // First what is added, so that a list with one item is never empty on the way.
            changes.extend(more.iter().map(|item| Change::Add(field, item.clone())));
            changes.extend(less.iter().map(|item| Change::Remove(field, item.clone())));
        }
        changes
    }
}

/// Lets the user's editor change a copy, and takes it over if it is right and nobody else changed the file.
fn in_editor(layout: &Layout, printer: &Printer) -> Result<Status, Failure> {
    let named = |name: &str| environment::variable(name).ok().flatten().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR"));
    let Some(editor) = editor.filter(|_| std::io::stdin().is_terminal()) else {
        return Err(Failure::usage("there is nothing to change")
            .hint("name a change, such as --name TEXT or --add-scope GLOB; `dispatch intent edit --help` lists them")
            .hint("on a terminal with EDITOR set, the file is opened"));
    };
    create(layout).map_err(|error| refused(layout, error))?;
    let before = read_text(layout).map_err(|error| refused(layout, error))?;
    let folder = editing_folder(layout)?;
    let copy = folder.join("active_intents.yaml");
    dispatch_os::files::replace(&copy, before.as_deref().unwrap_or_default().as_bytes())?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let ended = Command::new(program).args(words).arg(&copy).status();
    let succeeded =
        ended.map_err(|error| Failure::usage(format!("cannot start `{editor}`: {error}")).hint("set EDITOR"))?;
    if !succeeded.success() {
        return Err(Failure::usage(format!("`{program}` failed")).hint("nothing was changed"));
    }
    let after = dispatch_os::files::read_text_at_most(&copy, ext_intents::file::LIMIT_BYTES)?;
    if before.as_deref() == Some(after.as_str()) {
        printer.out("nothing was changed");
        return Ok(Status::Done);
    }
    replace_checked(layout, before.as_deref(), &after)
        .map_err(|error| refused(layout, error).hint(format!("what you wrote is kept in {}", copy.display())))?;
    let _ = std::fs::remove_file(&copy);
    printer.out(&format!("{} is changed", layout.intents_file().display()));
    Ok(Status::Done)
}

/// Where the copy is edited: beside the other things of this machine, so that what was written survives a refusal.
fn editing_folder(layout: &Layout) -> Result<std::path::PathBuf, Failure> {
    let folder = layout.local_folder().join("editing");
    crate::commands::init::registration_root::make_folder(&folder)?;
    Ok(folder)
}

fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
