//! Writes what the survey found, all of it or nothing.

use super::changes::FileChange;
use super::registration_root::{RegistrationRoot, make_folder};
use super::restore::RestoreRecord;
use crate::failure::Failure;
use dispatch_os::{Access, files};

const EXECUTABLE_MODE: u32 = 0o755;

/// Writes every change. If one fails, those before it are taken back.
pub(super) fn apply(place: &RegistrationRoot, changes: &[FileChange], hosts: &[&str]) -> Result<(), Failure> {
    let earlier = place.restore()?;
    let mut restore = earlier.clone();
    restore.hosts.extend(hosts.iter().map(|host| (*host).to_owned()));
    for change in changes {
        for folder in place.missing_folders(&change.path) {
            restore.remember_folder(&folder);
        }
        restore.remember(&change.path, change.before.as_deref(), &change.after, change.ours);
    }
    if restore == earlier {
        return Ok(());
    }
    // First of all, so that a run that is killed midway can be undone.
    let mut done: Vec<&FileChange> = Vec::new();
    let written = place.keep_restore(&restore).and_then(|()| {
        for change in changes {
            done.push(change);
            write(place, change)?;
        }
        Ok(())
    });
    written.map_err(|failure| {
        take_back(place, &done, &earlier, &restore);
        failure.hint("nothing was changed")
    })
}

fn write(place: &RegistrationRoot, change: &FileChange) -> Result<(), Failure> {
    let real = place.real(&change.path).map_err(Failure::configuration)?;
    if let Some(folder) = real.parent() {
        make_folder(folder)?;
    }
    let access = if change.executable { Access::Mode(EXECUTABLE_MODE) } else { Access::Usual };
    place.write(&change.path, &change.after, access)
}

/// Best effort: the failure that led here is what the user hears about.
fn take_back(place: &RegistrationRoot, done: &[&FileChange], earlier: &RestoreRecord, now: &RestoreRecord) {
    for change in done.iter().rev() {
        let _ = match &change.before {
            Some(text) => place.write(&change.path, text, Access::Usual),
            None => place.remove(&change.path),
        };
    }
    let _ = place.keep_restore(earlier);
    let made = now.folders.iter().filter(|folder| !earlier.folders.contains(folder));
    remove_empty(place, made.map(String::as_str));
}

/// Removes folders that nothing is in any more, innermost first.
pub(super) fn remove_empty<'a>(place: &RegistrationRoot, folders: impl Iterator<Item = &'a str>) {
    let mut folders: Vec<&str> = folders.collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.matches('/').count()));
    for folder in folders {
        if let Ok(real) = place.real(folder) {
            // A folder that others use by now is not empty, and stays.
            let _ = files::remove_dir(real);
        }
    }
}
