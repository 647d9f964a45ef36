//! A new entry, and what the contents before and after say about it.

use dispatch_os::ids::uuid_v4;
use dispatch_os::time::rfc3339;

use crate::content_store::ObservedFile;
use crate::intent::IntentSpec;
use crate::line_changes::LineChanges;
use crate::line_comparison::line_changes;
use crate::mutation_class::{FileChange, classify};
use crate::trace_entry::{MutationClass, ScopeValidation, TraceEntry};

/// An entry about no file yet.
pub(super) fn blank(session: &str, intent: &str, tool: &str, host: &str, now_ms: i64) -> TraceEntry {
    TraceEntry {
        id: uuid_v4().to_string(),
        timestamp: rfc3339(now_ms),
        intent_id: intent.to_owned(),
        session_id: session.to_owned(),
        tool_name: tool.to_owned(),
        mutation_class: MutationClass::IntentEvolution,
        file: None,
        scope_validation: ScopeValidation::Exempt,
        success: true,
        error: None,
        host: Some(host.to_owned()),
        model: None,
        conversation: None,
        tool_use_id: None,
        added: Vec::new(),
        removed: None,
        concurrent: Vec::new(),
        reverted: false,
        note: None,
        prev: String::new(),
    }
}

/// Adds the class and the added lines, as far as the contents are known.
pub(super) fn describe(
    entry: &mut TraceEntry,
    path: &str,
    before: &ObservedFile,
    after: &ObservedFile,
    intent: Option<&IntentSpec>,
    stated: Option<MutationClass>,
) {
    let existed = before.hash.is_some() || before.problem.is_some();
    let exists = after.hash.is_some() || after.problem.is_some();
    let old = if existed { before.bytes.as_deref() } else { Some(b"".as_slice()) };
    let new = if exists { after.bytes.as_deref() } else { Some(b"".as_slice()) };
    let lines = old.zip(new).and_then(|(old, new)| line_changes(old, new));
    if lines.is_none() && before.hash != after.hash {
        entry.note = Some("added lines unknown: too large, binary, or not stored".to_owned());
    }
    let kind = intent.and_then(|intent| intent.kind);
    let change = FileChange { path, existed, exists, lines: lines.as_ref(), stated, kind };
    entry.mutation_class = classify(&change);
    entry.removed = lines.as_ref().filter(|_| exists).and_then(LineChanges::removed_hashes);
    entry.added = lines.map(|lines| lines.hashes()).unwrap_or_default();
}
