//! Entries for tests.

use crate::entry::{AddedLines, FileHashes, MutationClass, ScopeValidation, TraceEntry};
use crate::hash::{content_hash, line_hash};
use crate::query::diff;

/// An entry on a file, different for every number.
pub(crate) fn entry(number: u64, path: &str) -> TraceEntry {
    change(number, path, Some(b"before\n"), Some(format!("after {number}\n").as_bytes()))
}

/// An entry that says what was before and after.
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
        tool_use_id: None,
        added: added(pre.unwrap_or_default(), post.unwrap_or_default()),
        concurrent: Vec::new(),
        reverted: false,
        note: None,
        prev: String::new(),
    }
}

fn added(pre: &[u8], post: &[u8]) -> Vec<AddedLines> {
    let lines: Vec<&[u8]> = diff::lines(post).collect();
    let mut runs = Vec::new();
    let mut from = 0;
    let end = diff::Kept { old: 0, new: lines.len(), count: 0 };
    for kept in diff::kept(pre, post).into_iter().chain([end]) {
        if kept.new > from {
            let hashes = lines[from..kept.new].iter().map(|line| line_hash(line)).collect();
            runs.push(AddedLines { start: u32::try_from(from).unwrap() + 1, hashes });
        }
        from = kept.new + kept.count;
    }
    runs
}
