//! Collects effects, each once, and counts the work.
//!
//! Pure.

use std::collections::BTreeSet;

use super::effects::{EffectPath, PathMove, ShellEffects, SimpleCommand, UnknownPart, UnknownReason};
use super::field::ShellField;
use super::limits::{MAX_COMMANDS, MAX_EFFECTS, MAX_WORK};
use super::state::ShellState;
use super::unbounded::{UnboundedCall, UnboundedKind};
use crate::access::Access;

/// How far below a path an effect reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffectReach {
    Itself,
    Tree,
}

/// Texts of code that could not be followed, how much of each, and links: what is kept of them.
const MAX_OPAQUE_TEXTS: usize = 64;
const MAX_OPAQUE_CHARS: usize = 4096;
const MAX_LINKS: usize = 64;

/// The effects found so far.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) effects: ShellEffects,
    work: u32,
    /// What the lists of paths hold, to look it up in.
    listed: BTreeSet<(Access, EffectPath)>,
    /// Names that this command made for other paths: links and hard links.
    links: Vec<(String, String)>,
}

impl Recorder {
    /// Counts one step; `false` when the analysis has to stop.
    pub(super) fn spend(&mut self) -> bool {
        self.work = self.work.saturating_add(1);
        if self.work == MAX_WORK {
            self.unknown(UnknownReason::TooMuchWork, "");
        }
        self.work < MAX_WORK
    }

    pub(super) fn unknown(&mut self, reason: UnknownReason, detail: &str) {
        let entry = UnknownPart { reason, detail: detail.chars().take(80).collect() };
        if self.effects.unknown.len() < MAX_EFFECTS && !self.effects.unknown.contains(&entry) {
            self.effects.unknown.push(entry);
        }
    }

    pub(super) fn network(&mut self) {
        self.effects.network = true;
    }

    /// Code runs that the analysis does not see.
    pub(super) fn code(&mut self, reason: UnknownReason, detail: &str) {
        self.effects.runs_code = true;
        self.unknown(reason, detail);
    }

    pub(super) fn command(&mut self, command: SimpleCommand) {
        if self.effects.commands.len() >= MAX_COMMANDS {
            self.unknown(UnknownReason::TooMuchWork, "");
        } else {
            self.effects.commands.push(command);
        }
    }

    pub(super) fn unbounded(&mut self, what: UnboundedKind, target: &str) {
        let entry = UnboundedCall { what, target: target.to_owned() };
        if self.effects.unbounded.contains(&entry) {
            return;
        }
        if self.effects.unbounded.len() < MAX_EFFECTS {
            self.effects.unbounded.push(entry);
        } else {
            self.unknown(UnknownReason::TooMuchWork, "");
        }
    }

    /// Records that a word names a path that is touched.
    pub(super) fn touch(&mut self, state: &ShellState, field: &ShellField, access: Access, reach: EffectReach) {
        let Some(paths) = self.resolve(state, field, access) else {
            return;
        };
        for path in paths {
            if !is_device(&path.path) || access == Access::Delete {
                self.push(EffectPath { recursive: reach == EffectReach::Tree, ..path }, access);
            } else {
                self.device(&path.path, access);
            }
        }
    }

    /// Keeps the text of code that runs and that could not be followed.
    pub(super) fn opaque_text(&mut self, text: &str) {
        if self.effects.opaque_code.len() < MAX_OPAQUE_TEXTS {
            self.effects.opaque_code.push(text.chars().take(MAX_OPAQUE_CHARS).collect());
        }
    }

    /// Keeps a text that may run.
    pub(super) fn possible_code(&mut self, text: &str) {
        let texts = &mut self.effects.possible_code;
        if texts.len() < MAX_OPAQUE_TEXTS && !texts.iter().any(|kept| text.starts_with(kept.as_str())) {
            texts.push(text.chars().take(MAX_OPAQUE_CHARS).collect());
        }
    }

    /// Keeps that a name now leads elsewhere.
    pub(super) fn link(&mut self, name: String, target: String) {
        if self.links.len() < MAX_LINKS && name != target {
            self.links.push((name, target));
        }
    }

    /// Where a path leads by the links that this command made.
    pub(super) fn followed(&self, path: &str) -> Option<String> {
        self.links.iter().find_map(|(name, target)| match path.strip_prefix(name.as_str()) {
            Some("") => Some(target.clone()),
            Some(rest) if rest.starts_with('/') => Some(crate::path::normalize(&format!("{target}{rest}"))),
            _ => None,
        })
    }

    pub(super) fn moved(&mut self, state: &ShellState, from: &ShellField, to: &ShellField) {
        let (Some(sources), Some(targets)) =
            (self.resolve(state, from, Access::Delete), self.resolve(state, to, Access::Write))
        else {
            return;
        };
        for from in &sources {
            for to in &targets {
                let entry = PathMove { from: from.clone(), to: to.clone() };
                if self.effects.moves.len() < MAX_EFFECTS && !self.effects.moves.contains(&entry) {
                    self.effects.moves.push(entry);
                }
            }
        }
    }

    /// The paths a word stands for; records why if that cannot be told.
    fn resolve(&mut self, state: &ShellState, field: &ShellField, access: Access) -> Option<Vec<EffectPath>> {
        if field.exact && field.text.is_empty() {
            return None;
        }
        let climbs = field.glob && may_match_parent(&field.text);
        let resolved = if field.exact && !climbs { state.directories.resolve(&field.text) } else { None };
        let Some(paths) = resolved else {
            let reason = match field.exact && !climbs {
                true => UnknownReason::UnknownDirectory,
                false => UnknownReason::UnresolvedPath,
            };
            match access {
                Access::Read => self.effects.unresolved_reads = true,
                _ => self.unknown(reason, &field.raw),
            }
            return None;
        };
        let glob = field.glob;
        let led: Vec<String> = paths.iter().filter_map(|path| self.followed(path)).collect();
        Some(paths.into_iter().chain(led).map(|path| EffectPath { path, glob, recursive: false }).collect())
    }

    fn push(&mut self, path: EffectPath, access: Access) {
        let list = match access {
            Access::Read => &mut self.effects.reads,
            Access::Write => &mut self.effects.writes,
            Access::Create => &mut self.effects.creates,
            Access::Delete => &mut self.effects.deletes,
        };
        if list.len() >= MAX_EFFECTS {
            self.unknown(UnknownReason::TooMuchWork, "");
        } else if self.listed.insert((access, path.clone())) {
            list.push(path);
        }
    }

    fn device(&mut self, path: &str, access: Access) {
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            self.network();
        } else if access != Access::Read && !is_harmless_device(path) {
            self.unknown(UnknownReason::SystemState, path);
            self.unbounded(UnboundedKind::DeviceWrite, path);
        }
    }
}

fn is_device(path: &str) -> bool {
    path.starts_with("/dev/") && !path.starts_with("/dev/shm/") && !path.starts_with("/dev/mqueue/")
}

fn is_harmless_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/zero" | "/dev/full" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || path.starts_with("/dev/fd/")
}

/// `.*` and `.?` match the parent folder in older shells.
fn may_match_parent(pattern: &str) -> bool {
    pattern.split('/').any(|part| {
        part.strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(['*', '?', '[']) && rest.chars().all(|c| "*?.[]!^-".contains(c)))
    })
}
