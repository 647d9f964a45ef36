//! Puts back what was there before, and where others wrote since, takes out our entries alone.

use super::apply::remove_empty;
use super::layout::{self, ModuleSet, WORK_IGNORE};
use super::place::Place;
use super::report::{Action, Line};
use super::restore::{Restore, UndoStep};
use super::survey::{Server, Shared, registrations};
use crate::failure::Failure;
use dispatch_hook_dialects::register::{Layout, Removal, Scope};
use dispatch_hook_module::{HOOKS_FOLDER, WORK_FOLDER};
use dispatch_os::Access;

/// How much is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The named hosts.
    Hosts,
    /// All of it.
    Everything,
}

/// Undoes the registration of `hosts`, and with everything the layout too.
pub(super) fn undo(place: &Place, hosts: &[&'static str], extent: Extent) -> Result<Vec<Line>, Failure> {
    let mut restore = place.restore()?;
    let mut lines = Vec::new();
    let layout = match (extent, place.scope) {
        (Extent::Everything, Scope::Project) if restore.is_empty() => unknown_layout(place).into_iter().collect(),
        (Extent::Everything, Scope::Project) => undo_layout(place, &restore)?,
        _ => Vec::new(),
    };
    for file in registrations(hosts, place.scope, Layout::WithLegacy, Server::Registered) {
        if let Some(sharer) = other_user(place, &restore, &file, hosts) {
            lines.push(Line::new(Action::Kept, &file.path, format!("it serves {sharer} too")));
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
fn other_user(place: &Place, restore: &Restore, file: &Shared, hosts: &[&str]) -> Option<&'static str> {
    let stays = |host: &&'static str| restore.hosts.contains(*host) && !hosts.contains(host);
    super::hosts::all().into_iter().filter(stays).find(|host| {
        let files = registrations(&[host], place.scope, Layout::WithLegacy, Server::Registered);
        files.iter().any(|other| other.path == file.path)
    })
}

fn undo_registration(place: &Place, restore: &Restore, file: &Shared) -> Result<Option<Line>, Failure> {
    let text = place.read(&file.path).map_err(Failure::configuration)?;
    let line = |action, detail: &str| Some(Line::new(action, &file.path, format!("{}{detail}", file.titles())));
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
        UndoStep::OursOnly => match without_ours(file, text.as_deref().unwrap_or_default())? {
            Rest::Untouched => None,
            Rest::Delete => {
                place.remove(&file.path)?;
                line(Action::Removed, "")
            }
            Rest::Keep(rest) => {
                place.write(&file.path, &rest, Access::Usual)?;
                line(Action::Cleaned, ": changed since by others; only our entries were taken out")
            }
        },
    })
}

enum Rest {
    Untouched,
    Delete,
    Keep(String),
}

fn without_ours(file: &Shared, text: &str) -> Result<Rest, Failure> {
    let mut rest = text.to_owned();
    for (_, target) in &file.targets {
        let removal = target.remove(&rest).map_err(|error| {
            Failure::configuration(format!("{}: {error}", file.path)).hint("repair the file, then run this again")
        })?;
        match removal {
            Removal::Delete => return Ok(Rest::Delete),
            Removal::Keep(kept) => rest = kept,
        }
    }
    Ok(if rest == text { Rest::Untouched } else { Rest::Keep(rest) })
}

fn undo_layout(place: &Place, restore: &Restore) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for file in layout::files(ModuleSet::Default).into_iter().chain([layout::intents_file()]) {
        let text = place.read(&file.path).map_err(Failure::configuration)?;
        let line = match restore.step(&file.path, text.as_deref()) {
            UndoStep::Nothing => continue,
            UndoStep::Delete if file.path == WORK_IGNORE && has_more(place, WORK_FOLDER) => {
                Line::new(Action::Kept, &file.path, "logs of sessions are still there")
            }
            UndoStep::Delete => {
                place.remove(&file.path)?;
                Line::new(Action::Removed, &file.path, "")
            }
            UndoStep::Write(before) => {
                place.write(&file.path, &before, Access::Usual)?;
                Line::new(Action::Restored, &file.path, "")
            }
            UndoStep::OursOnly => Line::new(Action::Kept, &file.path, "yours, or changed since"),
        };
        lines.push(line);
    }
    Ok(lines)
}

/// What is said about a layout that nobody knows the past of.
fn unknown_layout(place: &Place) -> Option<Line> {
    let why = "no restore file says what was there before; delete the folder if you do not need it";
    place.root.join(HOOKS_FOLDER).is_dir().then(|| Line::new(Action::Kept, HOOKS_FOLDER, why))
}

/// Whether a folder holds anything beside its ignore file.
fn has_more(place: &Place, folder: &str) -> bool {
    std::fs::read_dir(place.root.join(folder)).is_ok_and(|entries| entries.count() > 1)
}

fn finish(place: &Place, mut restore: Restore, extent: Extent) -> Result<(), Failure> {
    let folders = std::mem::take(&mut restore.folders);
    match extent {
        Extent::Everything => {
            place.keep_restore(&Restore::default())?;
            remove_empty(place, folders.iter().map(String::as_str));
            Ok(())
        }
        Extent::Hosts => {
            remove_empty(place, folders.iter().map(String::as_str));
            restore.folders = folders.into_iter().filter(|folder| place.root.join(folder).exists()).collect();
            place.keep_restore(&restore)
        }
    }
}
