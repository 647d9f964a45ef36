//! Which tools a turn may use: what the sender's rights leave of those on offer.
//!
//! Pure.

use crate::contract::{ToolBounds, ToolChoice};
use dispatch_kernel::services::permission::matches;

/// Whether the bounds of a message leave a tool.
pub(crate) fn leaves(bounds: Option<&ToolBounds>, tool: &str) -> bool {
    let Some(bounds) = bounds else { return true };
    names(&bounds.allow, tool) && !names(&bounds.deny, tool)
}

/// Whether the bounds of a message leave the tools of an extension that can read secrets.
pub(crate) fn leaves_credentials(bounds: Option<&ToolBounds>, extension: &str) -> bool {
    bounds.is_none_or(|bounds| names(&bounds.credentials, extension))
}

fn names(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
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
            Some(ToolBounds { allow: texts(allow), deny: texts(deny), credentials: Vec::new() })
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

    #[test]
    fn secrets_are_left_to_the_extensions_that_are_named() {
        let bounds = |credentials: &[&str]| ToolBounds {
            credentials: credentials.iter().map(|&pattern| pattern.to_owned()).collect(),
            ..ToolBounds::default()
        };
        for (credentials, expected) in
            [(&["*"][..], true), (&["weather"], true), (&["wea*"], true), (&["mail"], false), (&[], false)]
        {
            assert_eq!(leaves_credentials(Some(&bounds(credentials)), "weather"), expected, "{credentials:?}");
        }
        assert!(leaves_credentials(None, "weather"));
    }

    #[test]
    fn bounds_that_say_nothing_of_secrets_withhold_none() {
        let old: ToolBounds = serde_json::from_str(r#"{"allow":["*"]}"#).unwrap();
        assert!(leaves_credentials(Some(&old), "weather"));
        assert_eq!(serde_json::to_value(&old).unwrap(), serde_json::json!({"allow": ["*"], "deny": []}));
    }
}
