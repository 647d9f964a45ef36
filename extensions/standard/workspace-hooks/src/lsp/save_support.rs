//! What a client cannot do for hooks that run before a save, said where they are written down.
//!
//! Pure.

use super::capabilities::WillSave;
use super::diagnostics::remark;
use super::hook_lines::HookLine;
use super::wire::DiagnosticWire;
use crate::contract::{HookSet, Trigger};

const CODE: &str = "will-save";
const UNTOLD: &str = "this editor does not say when a file is about to be saved, so its saves do not start the hook; \
                      use `onDidSaveTextDocument`";
const UNASKED: &str = "this editor does not wait for the hook before it saves, so the hook sees the file as it is on \
                       the disk and its changes come after the save";

/// The hooks that the client does not serve as they are meant, and why.
pub(super) fn unserved(set: &HookSet, client: WillSave) -> Vec<(String, &'static str)> {
    let why = match client {
        WillSave::Asked => return Vec::new(),
        WillSave::Told => UNASKED,
        WillSave::Untold => UNTOLD,
    };
    let before_saves = set.hooks.iter().filter(|hook| hook.trigger == Trigger::WillSave);
    before_saves.map(|hook| (hook.id.clone(), why)).collect()
}

/// The same beside the hooks of a file.
pub(super) fn notes(lines: &[HookLine], unserved: &[(String, &'static str)]) -> Vec<DiagnosticWire> {
    let why = |line: &HookLine| unserved.iter().find(|(hook, _)| *hook == line.id).map(|(_, why)| *why);
    lines.iter().filter_map(|line| Some(remark(line, CODE, why(line)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_that_the_client_does_not_serve_is_remarked_where_its_name_stands() {
        let lines = ["fmt", "lint"].map(|id| HookLine { id: id.to_owned(), line: 2, start: 4, end: 9 });
        let found = notes(&lines, &[("fmt".to_owned(), UNTOLD)]);
        assert_eq!(found.len(), 1);
        let told = serde_json::to_value(&found[0]).unwrap();
        assert_eq!((&told["severity"], &told["message"]), (&3.into(), &UNTOLD.into()));
        assert_eq!(told["range"]["start"], serde_json::json!({"line": 2, "character": 4}));
        assert!(unserved(&HookSet::default(), WillSave::Untold).is_empty());
    }
}
