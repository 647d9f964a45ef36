//! Entries for tests.

use crate::hash::content_hash;
use crate::testing::added_lines;
use crate::trace_entry::{FileHashes, MutationClass, ScopeValidation, TraceEntry};

/// An entry about a file, different for every number.
pub(crate) fn entry(number: u64, path: &str) -> TraceEntry {
    change(number, path, Some(b"before\n"), Some(format!("after {number}\n").as_bytes()))
}

/// An entry with the content before and after.
pub(crate) fn change(number: u64, path: &str, pre: Option<&[u8]>, post: Option<&[u8]>) -> TraceEntry {
    let mutation_class = match (pre, post) {
        (None, _) => MutationClass::FileCreation,
        (_, None) => MutationClass::FileDeletion,
        _ => MutationClass::IntentEvolution,
    };
    TraceEntry {
        id: format!("{number:08x}-0000-4000-8000-{number:012x}"),
        timestamp: format!("2026-03-{:02}T10:{:02}:00.000Z", 1 + number % 28, number % 60),
        intent_id: format!("INT-{:03}", 1 + number % 2),
        session_id: format!("{:08x}", number % 4),
        tool_name: "Edit".to_owned(),
        mutation_class,
        file: Some(FileHashes {
            relative_path: path.to_owned(),
            pre_hash: pre.map(content_hash),
            post_hash: post.map(content_hash),
        }),
        scope_validation: ScopeValidation::Pass,
        success: true,
        error: None,
        host: None,
        model: None,
        conversation: None,
        tool_use_id: None,
        added: added_lines(pre.unwrap_or_default(), post.unwrap_or_default()),
        removed: None,
        concurrent: Vec::new(),
        reverted: false,
        note: None,
        prev: String::new(),
    }
}
