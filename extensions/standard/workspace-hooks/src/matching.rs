//! Which hooks an event starts, and which of its files each of them gets. Nothing here looks at the disk.
//!
//! Pure.

#[cfg(test)]
mod tests;

use crate::contract::{Change, Event, FileChange, Hook, HookSet, Source, Trigger};
use dispatch_glob::Glob;
use dispatch_os::paths::normalise_path;
use std::path::Path;
use std::sync::Arc;

/// Where an event of git says which repository it is about: the top folder, absolute and without links. An event
/// without it is about the workspace itself.
pub(crate) const REPOSITORY_KEY: &str = "repoRoot";

/// Folders whose files are of git or of our own making, so that no hook is ever about them.
const NEVER: [&str; 2] = [".git", ".akira/logs"];

/// A hook that an event starts, with the files that it gets.
pub(crate) type StartedHook = (Arc<Hook>, Vec<FileChange>);

/// The hooks of a set with their globs, ready for many events.
#[derive(Debug)]
pub(crate) struct Matcher {
    entries: Vec<HookGlobs>,
}

#[derive(Debug)]
struct HookGlobs {
    hook: Arc<Hook>,
    wanted: Vec<Glob>,
    unwanted: Vec<Glob>,
}

impl Matcher {
    /// Reads the globs of every hook.
    pub(crate) fn new(set: &HookSet) -> Self {
        Self { entries: set.hooks.iter().map(HookGlobs::new).collect() }
    }

    /// The hooks that an event starts, in the order of the set.
    pub(crate) fn matching(&self, event: &Event) -> Vec<StartedHook> {
        let inside: Vec<&FileChange> = event.files.iter().filter(|file| is_inside(file)).collect();
        self.entries.iter().filter_map(|entry| entry.started(event, &inside)).collect()
    }
}

impl HookGlobs {
    fn new(hook: &Arc<Hook>) -> Self {
        // A glob that cannot be read fits nothing; the configuration lets none through.
        let globs = |negated: bool| {
            let texts = hook.pattern.iter().filter(move |text| text.starts_with('!') == negated);
            texts.filter_map(|text| Glob::new(text.trim_start_matches('!')).ok()).collect()
        };
        Self { hook: Arc::clone(hook), wanted: globs(false), unwanted: globs(true) }
    }

    fn started(&self, event: &Event, inside: &[&FileChange]) -> Option<StartedHook> {
        let hook = &self.hook;
        if !hook.enabled || !self.is_meant(event) || !is_git_safe(hook, event) {
            return None;
        }
        // Whoever names a file by hand wants it, whatever the hook usually looks at.
        let by_hand = event.source == Source::Person;
        let fitting = inside.iter().filter(|file| by_hand || self.fits(file));
        let files: Vec<FileChange> = fitting.map(|file| (*file).clone()).collect();
        let needs_files = !event.files.is_empty() || (hook.trigger.is_of_files() && !by_hand);
        (!files.is_empty() || !needs_files).then(|| (Arc::clone(hook), files))
    }

    /// Whether the event is about this hook at all.
    fn is_meant(&self, event: &Event) -> bool {
        match &event.hook {
            Some(id) if *id != self.hook.id => false,
            Some(_) if event.source == Source::Person => true,
            Some(_) => self.hook.trigger == event.trigger,
            // A person and the clock always mean one hook.
            None => self.hook.trigger == event.trigger && !matches!(event.trigger, Trigger::Manual | Trigger::Schedule),
        }
    }

    fn fits(&self, file: &FileChange) -> bool {
        let fits = |path: &str| {
            (self.wanted.is_empty() || self.wanted.iter().any(|glob| glob.is_match(path)))
                && !self.unwanted.iter().any(|glob| glob.is_match(path))
        };
        match &file.change {
            Change::Renamed { from } => fits(&file.path) || fits(from),
            Change::Created | Change::Changed | Change::Deleted => fits(&file.path),
        }
    }
}

/// Git starts a hook only if that says so, and only in the repository that it names.
fn is_git_safe(hook: &Hook, event: &Event) -> bool {
    let of_git = event.source == Source::Git || event.trigger.is_of_git();
    if !of_git {
        return true;
    }
    let stated = event.metadata.get(REPOSITORY_KEY).map(|value| value.as_str());
    let repository = match stated {
        None => event.workspace.clone(),
        Some(Some(path)) => normalise_path(Path::new(path)),
        Some(None) => return false,
    };
    let allowed = hook.repo_root.as_ref().map(|root| normalise_path(&event.workspace.join(root)));
    hook.allow_git && allowed.is_some_and(|allowed| allowed == repository)
}

/// Whether a file is in the workspace by its name alone, and no file of git or of our own making.
fn is_inside(file: &FileChange) -> bool {
    let old_name = match &file.change {
        Change::Renamed { from } => is_plain(from),
        Change::Created | Change::Changed | Change::Deleted => true,
    };
    old_name && is_plain(&file.path) && !is_never(&file.path)
}

/// Parts with `/` between them, none of which goes up, stays, or starts at a root. Both kinds of slash count, because
/// the name may be used on another system than it was made on.
fn is_plain(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.starts_with(|first: char| first.is_ascii_alphabetic());
    let part_is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let native = if cfg!(windows) { !path.contains('\\') } else { path.split(['/', '\\']).all(|part| part != "..") };
    !drive && !path.contains('\0') && native && path.split('/').all(part_is_plain)
}

fn is_never(path: &str) -> bool {
    let below = |folder: &str| {
        let start = path.get(..folder.len()).is_some_and(|start| start.eq_ignore_ascii_case(folder));
        start && matches!(path.as_bytes().get(folder.len()), None | Some(b'/'))
    };
    NEVER.into_iter().any(below)
}
