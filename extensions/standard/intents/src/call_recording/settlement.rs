//! Records what open calls changed: calls whose end no event reported, and processes that a call left in the background.
//! Hosts report no end of a failing command, so the next event of any session looks.

use std::collections::BTreeSet;

use dispatch_hook_module::Context;
use dispatch_redact::Redactor;

use super::{new_entry, share};
use crate::calls_in_flight::{self, CallInFlight};
use crate::content_store;
use crate::free_paths::FreePaths;
use crate::intent::IntentSpec;
use crate::layout::OrchestrationLayout;
use crate::ledger::Ledger;
use crate::scope::{TargetExtent, owns};
use crate::trace_entry::{FileHashes, ScopeValidation, TraceEntry};
use crate::working_tree::{self, ChangedFile};

const NOT_REPORTED: &str = "the host did not report the end of this call";
const STILL_OPEN: &str = "found before the end of the call was reported";
const BACKGROUND: &str =
    "found after the call had ended; a process that it left in the background may have written this";
/// The most open calls that one event looks at.
const MAX_SETTLED: usize = 4;

/// One event that looks at the open calls.
pub(crate) struct OpenCallSettlement<'a> {
    pub(crate) ctx: &'a Context<'a>,
    pub(crate) layout: &'a OrchestrationLayout,
    pub(crate) intents: &'a [IntentSpec],
    pub(crate) free: &'a FreePaths<'a>,
    /// The call of this event, which is recorded by itself.
    pub(crate) key: &'a str,
    /// Whether no call of the event's session can still run.
    pub(crate) session_rests: bool,
    /// Whether the event's session ends.
    pub(crate) session_ends: bool,
}

/// What was found.
#[derive(Default)]
pub(crate) struct SettledCalls {
    /// Changed files out of scope, with the session that changed them.
    pub(crate) escapes: Vec<(String, String)>,
    /// Problems while recording.
    pub(crate) problems: Vec<String>,
}

impl OpenCallSettlement<'_> {
    pub(crate) fn run(&self) -> SettledCalls {
        let mut found = SettledCalls::default();
        let open = calls_in_flight::open_calls(self.layout);
        let others = open.iter().filter(|(key, _)| key != self.key).take(MAX_SETTLED);
        for (key, call) in others {
            let ended = self.has_ended(call);
            // A tool for writing files is recorded when it ends; a command may already have changed files.
            if ended || call.compares_tree {
                self.settle(key, call, ended, &open, &mut found);
            }
        }
        found
    }

    fn has_ended(&self, call: &CallInFlight) -> bool {
        let own = call.session == self.ctx.ids.session_id;
        let over = if call.background { self.session_ends } else { self.session_rests };
        (own && over) || calls_in_flight::is_dead(call, self.ctx.timers.now_ms())
    }

    fn settle(
        &self,
        key: &str,
        call: &CallInFlight,
        ended: bool,
        open: &[(String, CallInFlight)],
        found: &mut SettledCalls,
    ) {
        let ledger = Ledger::open(self.layout).with_lock_wait(self.ctx.timers.remaining() / 3);
        let files = self.changed(key, call, open, &ledger);
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let free = self.free.among(&paths);
        let mut entries = Vec::new();
        for file in files.iter().filter(|file| !free.contains(&file.path)) {
            let entry = self.entry(call, ended, file);
            if entry.scope_validation == ScopeValidation::Fail {
                found.escapes.push((file.path.clone(), call.session.clone()));
            }
            entries.push(entry);
        }
        // The call goes on writing meanwhile: what changed again is left to whoever looks next.
        let mut moved_on = false;
        let is_present = |entry: &mut TraceEntry| {
            let present = entry.file.as_ref().is_none_or(|file| {
                content_store::observe(&self.layout.root.join(&file.relative_path)).hash == file.post_hash
            });
            moved_on |= !present;
            present
        };
        if !entries.is_empty()
            && let Err(error) = ledger.append_settled(entries, is_present)
        {
            found.problems.push(format!("cannot append the entries of an open call to the ledger: {error}"));
            return;
        }
        if ended {
            calls_in_flight::close(self.layout, key);
        } else if !paths.is_empty() && !moved_on {
            let snapshot = working_tree::snapshot(self.layout, share(self.ctx));
            let mut call = CallInFlight { ledger_bytes: ledger.bytes(), ..call.clone() };
            for file in &mut call.files {
                file.hash = content_store::observe(&self.layout.root.join(&file.path)).hash;
            }
            let kept = calls_in_flight::keep_open(self.layout, key, &call, &snapshot);
            found.problems.extend(kept.err().map(|error| format!("cannot record an open call: {error}")));
        }
    }

    fn changed(
        &self,
        key: &str,
        call: &CallInFlight,
        open: &[(String, CallInFlight)],
        ledger: &Ledger,
    ) -> Vec<ChangedFile> {
        let mut files = Vec::new();
        if let Some(snapshot) = calls_in_flight::snapshot_of(self.layout, key).filter(|_| call.compares_tree) {
            files = working_tree::changes(self.layout, &snapshot, share(self.ctx)).files;
        }
        let known: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
        for named in call.files.iter().filter(|file| !known.contains(&file.path) && file.problem.is_none()) {
            let after = content_store::observe(&self.layout.root.join(&named.path));
            if after.hash != named.hash && after.problem.is_none() {
                content_store::store(self.layout, &named.path, &after);
                files.push(ChangedFile::named(&named.path, named.hash.clone(), after));
            }
        }
        let is_explained = |file: &ChangedFile| {
            let last = ledger.last_of_after(&file.path, call.ledger_bytes).and_then(|last| last.file);
            last.is_some_and(|last| last.post_hash == file.after.hash)
                || open.iter().any(|(other_key, other)| other_key != key && other.names(&file.path))
                || (file.is_restored && !file.was_dirty)
        };
        files.retain(|file| !is_explained(file));
        files
    }

    fn entry(&self, call: &CallInFlight, ended: bool, file: &ChangedFile) -> TraceEntry {
        let id = call.intent.as_deref().unwrap_or_default();
        let intent = self.intents.iter().find(|intent| intent.id == id);
        let in_scope = intent.is_some_and(|intent| owns(intent, &file.path, TargetExtent::File));
        let mut before = file.before.clone();
        if before.bytes.is_none() {
            before.bytes = before.hash.as_deref().and_then(|hash| content_store::load(self.layout, hash));
        }
        let mut entry = new_entry::blank(&call.session, id, &call.tool, &call.host, self.ctx.timers.now_ms());
        new_entry::describe(&mut entry, &file.path, &before, &file.after, intent, None);
        entry.tool_use_id.clone_from(&call.tool_use_id);
        // A person may have written the file meanwhile, so what came later covers nothing.
        entry.scope_validation = match (in_scope, call.background) {
            (false, _) => ScopeValidation::Fail,
            (true, true) => ScopeValidation::Exempt,
            (true, false) => ScopeValidation::Pass,
        };
        let note = if call.background { BACKGROUND } else { STILL_OPEN };
        if ended && !call.background {
            entry.success = false;
            entry.error = Some(NOT_REPORTED.to_owned());
        } else {
            entry.note = Some(note.to_owned());
        }
        entry.note = entry.note.map(|note| Redactor::builtin().redact(&note).into_owned());
        entry.file = Some(FileHashes {
            relative_path: file.path.clone(),
            pre_hash: file.before.hash.clone(),
            post_hash: file.after.hash.clone(),
        });
        entry
    }
}
