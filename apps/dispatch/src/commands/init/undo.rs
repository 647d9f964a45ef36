//! Puts back what was there before, and where others wrote since, takes out our entries alone.

use super::apply::remove_empty;
use super::changes::{McpServerPart, RegistrationFile, registrations};
use super::layout::{self, ModuleSet, WORK_IGNORE};
use super::registration_root::RegistrationRoot;
use super::report::{Action, ReportLine};
use super::restore::{RestoreRecord, UndoStep};
use crate::failure::Failure;
use dispatch_hook_dialects::register::{Layout, Removal, Scope};
use dispatch_hook_module::{HOOKS_FOLDER, WORK_FOLDER};
use dispatch_os::{Access, files};

/// How much is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UndoExtent {
    /// The named hosts.
    Hosts,
    /// All of it.
    Everything,
}

/// Undoes the registration of `hosts`, and with everything the layout too.
pub(super) fn undo(
    place: &RegistrationRoot,
    hosts: &[&'static str],
    extent: UndoExtent,
) -> Result<Vec<ReportLine>, Failure> {
    let mut restore = place.restore()?;
    let mut lines = Vec::new();
    let layout = match (extent, place.scope) {
        (UndoExtent::Everything, Scope::Project) if restore.is_empty() => unknown_layout(place).into_iter().collect(),
        (UndoExtent::Everything, _) => undo_layout(place, &restore)?,
        _ => Vec::new(),
    };
    for file in registrations(hosts, place.scope, Layout::WithLegacy, McpServerPart::Registered) {
        if let Some(sharer) = other_user(place, &restore, &file, hosts) {
            lines.push(ReportLine::new(Action::Kept, &file.path, format!("it serves {sharer} too")));
            continue;
        }
        lines.extend(undo_registration(place, &restore, &file)?);
        restore.files.remove(&file.path);
    }
    for host in hosts {
        restore.hosts.remove(*host);
    }
    finish(place, restore, extent)?;
    lines.extend(layout);
    Ok(lines)
}

/// Another registered host that the file serves and that is not undone.
fn other_user(
    place: &RegistrationRoot,
    restore: &RestoreRecord,
    file: &RegistrationFile,
    hosts: &[&str],
) -> Option<&'static str> {
    let stays = |host: &&'static str| restore.hosts.contains(*host) && !hosts.contains(host);
    super::hosts::all().into_iter().filter(stays).find(|host| {
        let files = registrations(&[host], place.scope, Layout::WithLegacy, McpServerPart::Registered);
        files.iter().any(|other| other.path == file.path)
    })
}

fn undo_registration(
    place: &RegistrationRoot,
    restore: &RestoreRecord,
    file: &RegistrationFile,
) -> Result<Option<ReportLine>, Failure> {
    let line = |action, detail: &str| Some(ReportLine::new(action, &file.path, format!("{}{detail}", file.titles())));
    let text = match place.read(&file.path) {
        Ok(text) => text,
        // What we did not write is not in the way.
        Err(why) if !restore.files.contains_key(&file.path) => return Ok(line(Action::Skipped, &format!(": {why}"))),
        Err(why) => return Err(Failure::configuration(why)),
    };
    Ok(match restore.step(&file.path, text.as_deref()) {
        UndoStep::Nothing => None,
        UndoStep::Delete => {
            place.remove(&file.path)?;
            line(Action::Removed, "")
        }
        UndoStep::Write(before) => {
            place.write(&file.path, &before, Access::Usual)?;
            line(Action::Restored, "")
        }
        UndoStep::OursOnly => match without_ours(file, text.as_deref().unwrap_or_default()) {
            LayoutRemainder::Untouched => None,
            LayoutRemainder::Unreadable(why) => {
                line(Action::Skipped, &format!(": {why}; take our entries out by hand, if there are any"))
            }
            LayoutRemainder::Delete => {
                place.remove(&file.path)?;
                line(Action::Removed, "")
            }
            LayoutRemainder::Keep(rest) => {
                place.write(&file.path, &rest, Access::Usual)?;
                line(Action::Cleaned, ": changed since by others; only our entries were taken out")
            }
        },
    })
}

enum LayoutRemainder {
    Untouched,
    Unreadable(String),
    Delete,
    Keep(String),
}

fn without_ours(file: &RegistrationFile, text: &str) -> LayoutRemainder {
    // A file that nothing of ours was ever written to is none of our business, whatever state it is in.
    if !text.contains("dispatch") {
        return LayoutRemainder::Untouched;
    }
    let mut rest = text.to_owned();
    for (_, target) in &file.targets {
        match target.remove(&rest) {
            Err(error) => return LayoutRemainder::Unreadable(error.to_string()),
            Ok(Removal::Delete) => return LayoutRemainder::Delete,
            Ok(Removal::Keep(kept)) => rest = kept,
        }
    }
    if rest == text { LayoutRemainder::Untouched } else { LayoutRemainder::Keep(rest) }
}

fn undo_layout(place: &RegistrationRoot, restore: &RestoreRecord) -> Result<Vec<ReportLine>, Failure> {
    let mut lines = Vec::new();
    let files = match (&place.user_hooks, place.scope) {
        (Some(folder), Scope::User) => layout::user_files(ModuleSet::Default, folder),
        (None, Scope::User) => Vec::new(),
        (_, Scope::Project) => layout::files(ModuleSet::Default).into_iter().chain(layout::intents_files()).collect(),
    };
    for file in files {
        let text = place.read(&file.path).map_err(Failure::configuration)?;
        let line = match restore.step(&file.path, text.as_deref()) {
            UndoStep::Nothing => continue,
            UndoStep::Delete if file.path == WORK_IGNORE && has_more(place, WORK_FOLDER) => {
                ReportLine::new(Action::Kept, &file.path, "logs of sessions are still there")
            }
            UndoStep::Delete => {
                place.remove(&file.path)?;
                ReportLine::new(Action::Removed, &file.path, "")
            }
            UndoStep::Write(before) => {
                place.write(&file.path, &before, Access::Usual)?;
                ReportLine::new(Action::Restored, &file.path, "")
            }
            UndoStep::OursOnly => ReportLine::new(Action::Kept, &file.path, "yours, or changed since"),
        };
        lines.push(line);
    }
    Ok(lines)
}

/// The line about a layout that has no restore file.
fn unknown_layout(place: &RegistrationRoot) -> Option<ReportLine> {
    let why = "no restore file says what was there before; delete the folder if you do not need it";
    files::is_dir(place.root.join(HOOKS_FOLDER)).then(|| ReportLine::new(Action::Kept, HOOKS_FOLDER, why))
}

/// Whether a folder holds anything beside its ignore file.
fn has_more(place: &RegistrationRoot, folder: &str) -> bool {
    files::read_dir(place.root.join(folder)).is_ok_and(|entries| entries.count() > 1)
}

fn finish(place: &RegistrationRoot, mut restore: RestoreRecord, extent: UndoExtent) -> Result<(), Failure> {
    let folders = std::mem::take(&mut restore.folders);
    match extent {
        UndoExtent::Everything => {
            place.keep_restore(&RestoreRecord::default())?;
            remove_empty(place, folders.iter().map(String::as_str));
            Ok(())
        }
        UndoExtent::Hosts => {
            remove_empty(place, folders.iter().map(String::as_str));
            restore.folders = folders.into_iter().filter(|folder| files::exists(place.root.join(folder))).collect();
            place.keep_restore(&restore)
        }
    }
}
