//! Writes down what a call really changed: one entry per file, with the scope it had and what it may have met.

mod put_back;

use std::collections::BTreeMap;
use std::time::Duration;

use dispatch_hook_module::{Context, ToolOutcome, tool_outcome};
use dispatch_os::ids::uuid_v4;
use dispatch_os::time::rfc3339;
use dispatch_redact::Redactor;
use dispatch_toolcall::{ToolCall, ToolKind};
use serde_json::Value;

use crate::calls::{self, Ended, InFlight};
use crate::contents::{self, Look};
use crate::entry::{Concurrency, FileHashes, MutationClass, ScopeValidation, TraceEntry};
use crate::error::IntentsError;
use crate::gate::Target;
use crate::hash::content_hash;
use crate::intent::IntentSpec;
use crate::layout::Layout;
use crate::ledger::Ledger;
use crate::line_changes::line_changes;
use crate::map::{self, Row, Touch};
use crate::mutation::{Change, classify};
use crate::reach::{Reach, Reconcile, is_untraced};
use crate::scope::{Extent, owns};
use crate::settings::OnEscape;
use crate::tree;

/// Where hosts put the whole content of a file that is written.
const CONTENT_FIELDS: [&str; 4] = ["content", "contents", "file_text", "fileText"];
const NOT_SEEN: &str = "the call's beginning was not seen";

/// One call that ended.
pub(crate) struct Recording<'a> {
    pub(crate) ctx: &'a Context<'a>,
    pub(crate) layout: &'a Layout,
    pub(crate) intents: &'a [IntentSpec],
    pub(crate) call: &'a ToolCall,
    pub(crate) reach: &'a Reach,
    pub(crate) ended: Option<&'a Ended>,
    pub(crate) key: &'a str,
    pub(crate) on_escape: OnEscape,
}

/// A file that the call changed, or that it says it wrote.
struct Touched {
    path: String,
    before: Look,
    after: Look,
    note: Option<String>,
}

/// What was written down.
#[derive(Default)]
pub(crate) struct Recorded {
    /// Files that changed although the intent does not own them, with whether they were put back.
    pub(crate) escapes: Vec<(String, bool)>,
    /// What went wrong.
    pub(crate) problems: Vec<String>,
}

impl Recording<'_> {
    pub(crate) fn write(&self) -> Recorded {
        let ledger = Ledger::open(self.layout).with_lock_wait(self.ctx.timers.remaining() / 3);
        let flying = calls::in_flight(self.layout, self.ctx.timers.now_ms());
        let mut recorded = Recorded::default();
        let (touched, incomplete) = self.touched(&ledger, &flying);
        let mut entries: Vec<TraceEntry> = Vec::new();
        for mut file in touched {
            let entry = self.entry(&ledger, &flying, &mut file);
            recorded.problems.extend(file.after.problem.map(|why| format!("{} has no hash: {why}", file.path)));
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
            };
            match ledger.append_settled(entries, settle) {
                Ok(_) => recorded.problems.extend(failure("the intent map", map::update(self.layout, touches))),
                Err(error) => recorded.problems.push(format!("the ledger misses entries of this call: {error}")),
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

    fn touched(&self, ledger: &Ledger, flying: &[(String, InFlight)]) -> (Vec<Touched>, Option<String>) {
        let mut found = BTreeMap::new();
        for path in self.reach.paths() {
            // Where calls met, the same content before and after does not mean that nothing was written.
            let always = self.is_write_tool() || self.meets(flying, path);
            found.extend(self.named(ledger, path, always));
        }
        for file in self.ended.iter().flat_map(|ended| &ended.call.files) {
            if !found.contains_key(&file.path) {
                found.extend(self.named(ledger, &file.path, false));
            }
        }
        for target in self.reach.targets.iter().filter(|_| self.outcome() == ToolOutcome::Ok) {
            if let Target::Outside { path } = target {
                found.extend(self.outside(path));
            }
        }
        let mut incomplete = None;
        for file in self.tree_changes(&mut incomplete) {
            let explained = found.contains_key(&file.path) || self.is_explained(ledger, flying, &file);
            if !explained {
                let note = file.before.problem.clone();
                let touched = Touched { path: file.path.clone(), before: file.before, after: file.after, note };
                found.insert(file.path, touched);
            }
        }
        (found.into_values().collect(), incomplete)
    }

    fn tree_changes(&self, incomplete: &mut Option<String>) -> Vec<tree::Changed> {
        let compares = self.ended.map_or(self.reach.reconcile == Reconcile::Tree, |ended| ended.call.compares_tree);
        let certain = matches!(self.call.kind, ToolKind::Mcp | ToolKind::Other);
        match self.ended {
            _ if !compares => Vec::new(),
            Some(Ended { snapshot: Some(snapshot), .. }) => {
                let changes = tree::changes(self.layout, snapshot, self.ctx.timers.remaining() * 3 / 5);
                *incomplete = changes.incomplete;
                changes.files
            }
            Some(_) => {
                *incomplete = Some("the tree before the call was not kept".to_owned());
                Vec::new()
            }
            // Whether a foreign tool changes files at all is not known, so its missed beginning says nothing.
            None if certain => Vec::new(),
            None => {
                *incomplete = Some(NOT_SEEN.to_owned());
                Vec::new()
            }
        }
    }

    /// Whether a change of the tree is another call's: told by it since this one began, or about to be.
    fn is_explained(&self, ledger: &Ledger, flying: &[(String, InFlight)], file: &tree::Changed) -> bool {
        if flying.iter().any(|(key, other)| key != self.key && other.names(&file.path)) {
            return true;
        }
        let since = self.ended.map_or(u64::MAX, |ended| ended.call.ledger_bytes);
        let last = ledger.last_of_after(&file.path, since).and_then(|last| last.file);
        last.is_some_and(|last| last.post_hash == file.after.hash)
    }

    /// A file that the call names, if it changed or must be told anyway.
    fn named(&self, ledger: &Ledger, path: &str, always: bool) -> Option<(String, Touched)> {
        if is_untraced(path) {
            return None;
        }
        let after = contents::look(&self.layout.root.join(path));
        let known = self.ended.and_then(|ended| ended.call.files.iter().find(|file| file.path == path));
        let (before, note) = match known {
            Some(file) => {
                let problem = file.problem.clone();
                (Look { hash: file.hash.clone(), bytes: None, problem: problem.clone() }, problem)
            }
            None => self.remembered(ledger, path),
        };
        if !always && before.hash == after.hash && before.problem.is_none() {
            return None;
        }
        contents::keep(self.layout, &after);
        Some((path.to_owned(), Touched { path: path.to_owned(), before, after, note }))
    }

    /// What a file was before a call whose beginning did not name it.
    fn remembered(&self, ledger: &Ledger, path: &str) -> (Look, Option<String>) {
        let hash = ledger.last_of(path).and_then(|last| last.file).and_then(|file| file.post_hash);
        let note = match (&hash, self.ended.is_some()) {
            (Some(_), _) => format!("{NOT_SEEN}; the hash before is the ledger's last"),
            (None, false) => format!("{NOT_SEEN}, so the hash before is not known"),
            (None, true) => "the call did not name this file when it began".to_owned(),
        };
        (Look { hash, bytes: None, problem: None }, Some(note))
    }

    fn outside(&self, path: &str) -> Option<(String, Touched)> {
        let after = contents::look(std::path::Path::new(path));
        let note = Some("outside the workspace; the content before is not known".to_owned());
        after.hash.is_some().then(|| {
            let before = Look { hash: None, bytes: None, problem: note.clone() };
            (path.to_owned(), Touched { path: path.to_owned(), before, after, note })
        })
    }

    fn entry(&self, ledger: &Ledger, flying: &[(String, InFlight)], file: &mut Touched) -> TraceEntry {
        let in_scope = self.intent().is_some_and(|intent| owns(intent, &file.path, Extent::File));
        let scope = if in_scope { ScopeValidation::Pass } else { ScopeValidation::Fail };
        let concurrent = self.concurrency(ledger, flying, file);
        if file.before.bytes.is_none() {
            file.before.bytes = file.before.hash.as_deref().and_then(|hash| contents::kept(self.layout, hash));
        }
        let mut entry = self.blank(scope);
        self.add_lines(&mut entry, file);
        // What may be somebody else's work is told and left alone.
        let revert = scope == ScopeValidation::Fail && self.on_escape == OnEscape::Revert;
        if revert && !concurrent.contains(&Concurrency::Overlap) && file.before.hash != file.after.hash {
            entry.reverted = put_back::put_back(&self.layout.root, &file.path, &file.before);
            let held = file.after.hash.clone().unwrap_or_else(|| "nothing".to_owned());
            file.note = Some(match entry.reverted {
                true => format!("held {held} before it was put back"),
                false => "it could not be put back".to_owned(),
            });
            file.after = contents::look(&self.layout.root.join(&file.path));
        }
        entry.concurrent = concurrent;
        entry.note = file.note.take().or(entry.note).map(|note| Redactor::builtin().redact(&note).into_owned());
        entry.file = Some(FileHashes {
            relative_path: file.path.clone(),
            pre_hash: file.before.hash.clone(),
            post_hash: file.after.hash.clone(),
        });
        entry
    }

    /// The class and the added lines, as far as the contents are known.
    fn add_lines(&self, entry: &mut TraceEntry, file: &Touched) {
        let existed = file.before.hash.is_some() || file.before.problem.is_some();
        let exists = file.after.hash.is_some() || file.after.problem.is_some();
        let before = if existed { file.before.bytes.as_deref() } else { Some(b"".as_slice()) };
        let after = if exists { file.after.bytes.as_deref() } else { Some(b"".as_slice()) };
        let lines = before.zip(after).and_then(|(before, after)| line_changes(before, after));
        if lines.is_none() && file.before.hash != file.after.hash {
            entry.note = Some("the added lines are not known: too large, not text, or not kept".to_owned());
        }
        let kind = self.intent().and_then(|intent| intent.kind);
        let change = Change { path: &file.path, existed, exists, lines: lines.as_ref(), stated: self.stated(), kind };
        entry.mutation_class = classify(&change);
        entry.added = lines.map(|lines| lines.hashes()).unwrap_or_default();
    }

    fn concurrency(&self, ledger: &Ledger, flying: &[(String, InFlight)], file: &Touched) -> Vec<Concurrency> {
        let mut found = Vec::new();
        if self.meets(flying, &file.path) {
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

    /// Whether a call of another session named the file while this one ran.
    fn meets(&self, flying: &[(String, InFlight)], path: &str) -> bool {
        let session = &self.ctx.ids.session_id;
        self.ended.is_some_and(|ended| ended.met.iter().any(|met| met == path))
            || flying.iter().any(|(_, other)| other.session != *session && other.names(path))
    }

    /// The whole content that the call wrote, where its input has it.
    fn written_content(&self) -> Option<&str> {
        let one_file = self.is_write_tool() && self.reach.targets.len() == 1;
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

    /// Looks again while nobody else can append, so that the last entry of a file tells what is in it.
    fn settle(&self, entry: &mut TraceEntry) {
        let Some(file) = &mut entry.file else {
            return;
        };
        let now = contents::look(&self.layout.root.join(&file.relative_path));
        if now.problem.is_some() || now.hash == file.post_hash {
            return;
        }
        contents::keep(self.layout, &now);
        file.post_hash = now.hash;
        entry.added.clear();
        entry.note = Some("the file changed again before this was recorded".to_owned());
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
        TraceEntry {
            id: uuid_v4().to_string(),
            timestamp: rfc3339(self.ctx.timers.now_ms()),
            intent_id: self.intent_id().to_owned(),
            session_id: self.ctx.ids.session_id.clone(),
            tool_name: self.call.name.clone(),
            mutation_class: MutationClass::IntentEvolution,
            file: None,
            scope_validation: scope,
            success: error.is_none(),
            error,
            host: Some(event.host.to_owned()),
            tool_use_id: event.tool_use_id.clone(),
            added: Vec::new(),
            concurrent: Vec::new(),
            reverted: false,
            note: None,
            prev: String::new(),
        }
    }
}

/// Hosts may add the line feed that ends a file.
fn same_text(text: &str, after: &Look) -> bool {
    let ended = format!("{text}\n");
    [text, ended.as_str(), text.trim_end_matches('\n')]
        .iter()
        .any(|text| after.hash.as_deref() == Some(content_hash(text.as_bytes()).as_str()))
}

fn touch(entry: &TraceEntry) -> Option<Touch> {
    let file = entry.file.as_ref()?;
    let counts = entry.success && entry.scope_validation == ScopeValidation::Pass && !entry.reverted;
    let row = file.post_hash.clone().map(|hash| Row { hash, timestamp: entry.timestamp.clone() });
    counts.then(|| Touch { intent: entry.intent_id.clone(), path: file.relative_path.clone(), row })
}

fn failure(what: &str, result: Result<(), IntentsError>) -> Option<String> {
    result.err().map(|error| format!("{what} could not be kept current: {error}"))
}

/// The time that a part of an event may take.
pub(crate) fn share(ctx: &Context<'_>) -> Duration {
    ctx.timers.remaining() * 3 / 5
}
