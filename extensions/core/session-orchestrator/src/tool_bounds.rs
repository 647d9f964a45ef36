//! Which tools a turn may use: what the sender's rights leave of those on offer.
//!
//! Pure.

use crate::contract::{ToolBounds, ToolChoice};
use dispatch_kernel::services::permission::matches;

/// Whether the bounds of a message leave a tool.
pub(crate) fn leaves(bounds: Option<&ToolBounds>, tool: &str) -> bool {
    let Some(ToolBounds { allow, deny }) = bounds else { return true };
    let named = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, tool));
    named(allow) && !named(deny)
}

/// Whether a turn's own choice has a tool.
pub(crate) fn chooses(choice: &ToolChoice, tool: &str) -> bool {
    match choice {
        ToolChoice::All => true,
        ToolChoice::Only(patterns) => patterns.iter().any(|pattern| matches(pattern, tool)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_left_if_it_is_allowed_and_not_denied() {
        let bounds = |allow: &[&str], deny: &[&str]| {
            let texts = |patterns: &[&str]| patterns.iter().map(|&pattern| pattern.to_owned()).collect();
            Some(ToolBounds { allow: texts(allow), deny: texts(deny) })
        };
        for (bounds, tool, expected) in [
            (None, "run_shell", true),
            (bounds(&[], &[]), "read_file", false),
            (bounds(&["*"], &[]), "run_shell", true),
            (bounds(&["*"], &["run_*"]), "run_shell", false),
            (bounds(&["read_*"], &[]), "read_file", true),
            (bounds(&["read_file"], &["read_file"]), "read_file", false),
        ] {
            assert_eq!(leaves(bounds.as_ref(), tool), expected, "{bounds:?} {tool}");
        }
        assert!(chooses(&ToolChoice::Only(vec!["read_*".to_owned()]), "read_file"));
        assert!(!chooses(&ToolChoice::Only(Vec::new()), "read_file"));
    }
}
