//! Records what a call changed: one entry per file, with its scope and possible conflicts.

mod new_entry;
mod revert;
mod settlement;

use std::collections::BTreeMap;
use std::time::Duration;

use dispatch_hook_module::{Context, HookEvent, ToolOutcome, tool_outcome};
use dispatch_redact::Redactor;
use dispatch_toolcall::{ToolCall, ToolKind};
use serde_json::Value;

use crate::call_targets::{CallTargets, Reconciliation, is_untraced};
use crate::calls_in_flight::{self, CallInFlight, EndedCall};
use crate::content_store::{self, ObservedFile};
use crate::error::IntentsError;
use crate::free_paths::FreePaths;
use crate::gate::CallTarget;
use crate::hash::content_hash;
use crate::intent::IntentSpec;
use crate::intent_map::{self, MapUpdate, MappedFile};
use crate::layout::OrchestrationLayout;
use crate::ledger::Ledger;
use crate::module::NAME;
use crate::scope::{TargetExtent, owns};
use crate::settings::OnEscape;
use crate::trace_entry::{Concurrency, FileHashes, MutationClass, ScopeValidation, TraceEntry};
use crate::working_tree;

/// The input fields with the whole content of a written file.
const CONTENT_FIELDS: [&str; 4] = ["content", "contents", "file_text", "fileText"];
const MAX_MODEL_BYTES: usize = 250;
/// Where the state of a session has the model that its start named.
pub(crate) const MODEL_KEY: &str = "model";
const DISCARDED: &str = "discards changes that no entry explains, so a person's; their content is stored by its hash";
const NOT_SEEN: &str = "the beginning of the call was not recorded";

pub(crate) use settlement::{OpenCallSettlement, SettledCalls};

/// One call that ended.
pub(crate) struct CallRecording<'a> {
    pub(crate) ctx: &'a Context<'a>,
    pub(crate) layout: &'a OrchestrationLayout,
    pub(crate) intents: &'a [IntentSpec],
    pub(crate) call: &'a ToolCall,
    pub(crate) targets: &'a CallTargets,
    pub(crate) ended: Option<&'a EndedCall>,
    pub(crate) key: &'a str,
    pub(crate) on_escape: OnEscape,
    pub(crate) free: &'a FreePaths<'a>,
}

/// A file that the call changed or names.
struct TouchedFile {
    path: String,
    before: ObservedFile,
    after: ObservedFile,
    note: Option<String>,
    /// Whether it had changes that nobody recorded, and now equals its commit.
    discarded: bool,
}

/// The result of recording a call.
#[derive(Default)]
pub(crate) struct CallRecord {
    /// Out-of-scope files that changed, and whether they were reverted.
    pub(crate) escapes: Vec<(String, bool)>,
    /// Problems while recording.
    pub(crate) problems: Vec<String>,
}

impl CallRecording<'_> {
    pub(crate) fn write(&self) -> CallRecord {
        let ledger = Ledger::open(self.layout).with_lock_wait(self.ctx.timers.remaining() / 3);
        let flying = calls_in_flight::in_flight(self.layout, self.ctx.timers.now_ms());
        let mut recorded = CallRecord::default();
        let (touched, incomplete) = self.touched(&ledger, &flying);
        let mut entries: Vec<TraceEntry> = Vec::new();
        for mut file in touched {
            let entry = self.entry(&ledger, &flying, &mut file);
            recorded.problems.extend(file.after.problem.map(|why| format!("cannot hash {}: {why}", file.path)));
            if entry.scope_validation == ScopeValidation::Fail {
                recorded.escapes.push((file.path, entry.reverted));
            }
            entries.push(entry);
        }
        entries.extend(incomplete.map(|why| self.undetermined(&why)));
        let mut touches = Vec::new();
        if !entries.is_empty() {
            let settle = |entry: &mut TraceEntry| {
                self.settle(entry);
                touches.extend(touch(entry));
                true
            };
            match ledger.append_settled(entries, settle) {
                Ok(_) => recorded.problems.extend(failure("intent map", intent_map::update(self.layout, touches))),
                Err(error) => {
                    recorded.problems.push(format!("cannot append the entries of this call to the ledger: {error}"))
                }
            }
        }
        recorded
    }

    fn intent_id(&self) -> &str {
        let seen = self.ended.map(|ended| ended.call.intent.as_deref());
        seen.unwrap_or_else(|| self.ctx.state.active_intent()).unwrap_or_default()
    }

    fn intent(&self) -> Option<&IntentSpec> {
        self.intents.iter().find(|intent| intent.id == self.intent_id())
    }

    /// A tool for writing files is recorded even when it changed nothing; a command only by what it changed.
    fn is_write_tool(&self) -> bool {
        self.call.kind == ToolKind::Write && self.call.effects.is_none()
    }

    fn touched(&self, ledger: &Ledger, flying: &[(String, CallInFlight)]) -> (Vec<TouchedFile>, Option<String>) {
        let mut found = BTreeMap::new();
        for path in self.targets.paths() {
            // When calls overlap, an equal content before and after does not prove that nothing was written.
            let always = self.is_write_tool() || self.overlaps(flying, path);
            found.extend(self.named(ledger, path, always));
        }
        for file in self.ended.iter().flat_map(|ended| &ended.call.files) {
            if !found.contains_key(&file.path) {
                found.extend(self.named(ledger, &file.path, false));
            }
        }
        for target in self.targets.targets.iter().filter(|_| self.outcome() == ToolOutcome::Ok) {
            if let CallTarget::Outside { path } = target {
                found.extend(self.outside(path));
            }
        }
        let mut incomplete = None;
        for file in self.tree_changes(&mut incomplete) {
            let explained = found.contains_key(&file.path) || self.is_explained(ledger, flying, &file);
            let discarded = file.is_restored && file.was_dirty && {
                let last = ledger.last_of(&file.path).and_then(|last| last.file);
                last.is_none_or(|last| last.post_hash != file.before.hash)
            };
            let by_others = self.is_git() && file.is_restored && !discarded;
            if !explained && !by_others {
                let note = file.before.problem.clone().or_else(|| discarded.then(|| DISCARDED.to_owned()));
                let (path, before, after) = (file.path.clone(), file.before, file.after);
                found.insert(file.path, TouchedFile { path, before, after, note, discarded });
            }
        }
        let inside: Vec<&str> = found.keys().map(String::as_str).collect();
        let free = self.free.among(&inside);
        found.retain(|path, _| !free.contains(path));
        (found.into_values().collect(), incomplete)
    }

    /// Whether the call is a command of git. Files that it leaves as they are committed were written by others before.
    fn is_git(&self) -> bool {
        let effects = self.call.effects.as_ref();
        effects.is_some_and(|effects| effects.commands.iter().any(|command| command.program == "git"))
    }

    fn tree_changes(&self, incomplete: &mut Option<String>) -> Vec<working_tree::ChangedFile> {
        let compares =
            self.ended.map_or(self.targets.reconcile == Reconciliation::Tree, |ended| ended.call.compares_tree);
        let certain = matches!(self.call.kind, ToolKind::Mcp | ToolKind::Other);
        match self.ended {
            _ if !compares => Vec::new(),
            Some(EndedCall { snapshot: Some(snapshot), .. }) => {
                let changes = working_tree::changes(self.layout, snapshot, self.ctx.timers.remaining() * 3 / 5);
                *incomplete = changes.incomplete;
                changes.files
            }
            Some(_) => {
                *incomplete = Some("the tree before the call was not recorded".to_owned());
                Vec::new()
            }
            // A foreign tool may not change files at all, so its missing beginning is not reported.
            None if certain => Vec::new(),
            None => {
                *incomplete = Some(NOT_SEEN.to_owned());
                Vec::new()
            }
        }
    }

    /// Whether a change of the tree belongs to another call: recorded since this one began, or still in flight.
    fn is_explained(
        &self,
        ledger: &Ledger,
        flying: &[(String, CallInFlight)],
        file: &working_tree::ChangedFile,
    ) -> bool {
        if flying.iter().any(|(key, other)| key != self.key && other.names(&file.path)) {
            return true;
        }
        let since = self.ended.map_or(u64::MAX, |ended| ended.call.ledger_bytes);
        let last = ledger.last_of_after(&file.path, since).and_then(|last| last.file);
        last.is_some_and(|last| last.post_hash == file.after.hash)
    }

    /// A file that the call names, if it changed or `always` is set.
    fn named(&self, ledger: &Ledger, path: &str, always: bool) -> Option<(String, TouchedFile)> {
        if is_untraced(path) {
            return None;
        }
        let after = content_store::observe(&self.layout.root.join(path));
        let known = self.ended.and_then(|ended| ended.call.files.iter().find(|file| file.path == path));
        let (before, note) = match known {
            Some(file) => {
                let problem = file.problem.clone();
                (ObservedFile { hash: file.hash.clone(), bytes: None, problem: problem.clone() }, problem)
            }
            None => self.remembered(ledger, path),
        };
        if !always && before.hash == after.hash && before.problem.is_none() {
            return None;
        }
        content_store::store(self.layout, path, &after);
        Some((path.to_owned(), TouchedFile { path: path.to_owned(), before, after, note, discarded: false }))
    }

    /// The content of a file before a call that did not name it at its beginning.
    fn remembered(&self, ledger: &Ledger, path: &str) -> (ObservedFile, Option<String>) {
        let hash = ledger.last_of(path).and_then(|last| last.file).and_then(|file| file.post_hash);
        let seen = if self.ended.is_some() { "the call did not name this file when it began" } else { NOT_SEEN };
        if let Some(hash) = hash {
            let before = ObservedFile { hash: Some(hash), bytes: None, problem: None };
            return (before, Some(format!("{seen}; the hash before is from the last entry")));
        }
        match working_tree::committed_content(self.layout, path, share(self.ctx)) {
            Some(bytes) => {
                let before = ObservedFile::of_bytes(bytes);
                content_store::store(self.layout, path, &before);
                (before, Some(format!("{seen}; the hash before is from the last commit")))
            }
            None => (ObservedFile::default(), Some(format!("{seen}, so the hash before is unknown"))),
        }
    }

    fn outside(&self, path: &str) -> Option<(String, TouchedFile)> {
        let after = content_store::observe(std::path::Path::new(path));
        let note = Some("outside the workspace; the content before is unknown".to_owned());
        after.hash.is_some().then(|| {
            let before = ObservedFile { hash: None, bytes: None, problem: note.clone() };
            (path.to_owned(), TouchedFile { path: path.to_owned(), before, after, note, discarded: false })
        })
    }

    fn entry(&self, ledger: &Ledger, flying: &[(String, CallInFlight)], file: &mut TouchedFile) -> TraceEntry {
        let in_scope = self.intent().is_some_and(|intent| owns(intent, &file.path, TargetExtent::File));
        let scope = if in_scope { ScopeValidation::Pass } else { ScopeValidation::Fail };
        let concurrent = self.concurrency(ledger, flying, file);
        if file.before.bytes.is_none() {
            file.before.bytes = file.before.hash.as_deref().and_then(|hash| content_store::load(self.layout, hash));
        }
        let mut entry = self.blank(scope);
        self.add_lines(&mut entry, file);
        // A change that may belong to another session is recorded and not reverted.
        let revert = scope == ScopeValidation::Fail && self.on_escape == OnEscape::Revert;
        if revert && !concurrent.contains(&Concurrency::Overlap) && file.before.hash != file.after.hash {
            entry.reverted = revert::revert_file(&self.layout.root, &file.path, &file.before);
            let content = file.after.hash.clone().unwrap_or_else(|| "no file".to_owned());
            file.note = Some(match entry.reverted {
                true => format!("had {content} before it was reverted"),
                false => "cannot revert".to_owned(),
            });
            file.after = content_store::observe(&self.layout.root.join(&file.path));
        }
        entry.concurrent = concurrent;
        if file.discarded {
            entry.concurrent.push(Concurrency::DiscardedEdit);
        }
        entry.note = file.note.take().or(entry.note).map(|note| Redactor::builtin().redact(&note).into_owned());
        entry.file = Some(FileHashes {
            relative_path: file.path.clone(),
            pre_hash: file.before.hash.clone(),
            post_hash: file.after.hash.clone(),
        });
        entry
    }

    /// Adds the class and the added lines, as far as the contents are known.
    fn add_lines(&self, entry: &mut TraceEntry, file: &TouchedFile) {
        new_entry::describe(entry, &file.path, &file.before, &file.after, self.intent(), self.stated());
    }

    fn concurrency(&self, ledger: &Ledger, flying: &[(String, CallInFlight)], file: &TouchedFile) -> Vec<Concurrency> {
        let mut found = Vec::new();
        if self.overlaps(flying, &file.path) {
            found.push(Concurrency::Overlap);
        }
        let last = ledger.last_of(&file.path).and_then(|last| last.file);
        if last.is_some_and(|last| last.post_hash != file.before.hash) {
            found.push(Concurrency::Drift);
        }
        let written = self.written_content().filter(|_| self.outcome() == ToolOutcome::Ok);
        if written.is_some_and(|text| !same_text(text, &file.after)) {
            found.push(Concurrency::Content);
        }
        found
    }

    /// Whether an overlapping call of another session names the file.
    fn overlaps(&self, flying: &[(String, CallInFlight)], path: &str) -> bool {
        let session = &self.ctx.ids.session_id;
        self.ended.is_some_and(|ended| ended.met.iter().any(|met| met == path))
            || flying.iter().any(|(_, other)| other.session != *session && other.names(path))
    }

    /// The whole content that the call wrote, if its input contains it.
    fn written_content(&self) -> Option<&str> {
        let one_file = self.is_write_tool() && self.targets.targets.len() == 1;
        let fields = self.ctx.event.tool_input.as_object().filter(|_| one_file)?;
        let part = ["old_string", "oldString", "insert_line", "old_str", "mode", "command"];
        if part.iter().any(|name| fields.get(*name).is_some_and(|value| *value != "create")) {
            return None;
        }
        CONTENT_FIELDS.iter().find_map(|name| fields.get(*name)?.as_str())
    }

    fn stated(&self) -> Option<MutationClass> {
        let stated = self.ctx.event.tool_input.get("mutation_class").cloned();
        stated.and_then(|value: Value| serde_json::from_value(value).ok())
    }

    fn outcome(&self) -> ToolOutcome {
        tool_outcome(&self.ctx.event.tool_response, self.ctx.event.error.as_deref())
    }

    /// Reads the file again under the lock of the ledger, so that the last entry of a file has its content.
    fn settle(&self, entry: &mut TraceEntry) {
        let Some(file) = &mut entry.file else {
            return;
        };
        let now = content_store::observe(&self.layout.root.join(&file.relative_path));
        if now.problem.is_some() || now.hash == file.post_hash {
            return;
        }
        content_store::store(self.layout, &file.relative_path, &now);
        file.post_hash = now.hash;
        entry.added.clear();
        entry.removed = None;
        entry.note = Some("the file changed again before this entry was written".to_owned());
        if !entry.concurrent.contains(&Concurrency::Overlap) {
            entry.concurrent.push(Concurrency::Overlap);
        }
    }

    fn undetermined(&self, why: &str) -> TraceEntry {
        let mut entry = self.blank(ScopeValidation::Exempt);
        entry.note = Some(format!("not determined: {}", Redactor::builtin().redact(why)));
        entry
    }

    fn blank(&self, scope: ScopeValidation) -> TraceEntry {
        let event = self.ctx.event;
        let error = match self.outcome() {
            ToolOutcome::Ok => None,
            ToolOutcome::Failed(error) => Some(error),
        };
        let mut entry = new_entry::blank(
            &self.ctx.ids.session_id,
            self.intent_id(),
            &self.call.name,
            event.host,
            self.ctx.timers.now_ms(),
        );
        entry.scope_validation = scope;
        entry.success = error.is_none();
        entry.error = error;
        entry.tool_use_id = event.tool_use_id.clone();
        entry.conversation = event.session_id.clone();
        let remembered = || self.ctx.state.text(NAME, MODEL_KEY).map(str::to_owned);
        entry.model = model_of(event).or_else(remembered);
        entry
    }
}

/// The model that a host names in its payload.
pub(crate) fn model_of(event: &HookEvent) -> Option<String> {
    let raw = &event.raw;
    let named = ["model", "model_id", "modelId"].iter().find_map(|name| raw.get(*name)?.as_str());
    event
        .model
        .as_deref()
        .or(named)
        .or_else(|| raw.get("model")?.get("id")?.as_str())
        .filter(|name| name.len() <= MAX_MODEL_BYTES)
        .map(str::to_owned)
}

/// Hosts may add or remove the last line feed.
fn same_text(text: &str, after: &ObservedFile) -> bool {
    let ended = format!("{text}\n");
    [text, ended.as_str(), text.trim_end_matches('\n')]
        .iter()
        .any(|text| after.hash.as_deref() == Some(content_hash(text.as_bytes()).as_str()))
}

fn touch(entry: &TraceEntry) -> Option<MapUpdate> {
    let file = entry.file.as_ref()?;
    let counts = entry.success && entry.scope_validation == ScopeValidation::Pass && !entry.reverted;
    let row = file.post_hash.clone().map(|hash| MappedFile { hash, timestamp: entry.timestamp.clone() });
    counts.then(|| MapUpdate { intent: entry.intent_id.clone(), path: file.relative_path.clone(), row })
}

fn failure(what: &str, result: Result<(), IntentsError>) -> Option<String> {
    result.err().map(|error| format!("cannot update the {what}: {error}"))
}

/// The share of the event's time for one part.
pub(crate) fn share(ctx: &Context<'_>) -> Duration {
    ctx.timers.remaining() * 3 / 5
}
