//! Maps tool names to names that servers accept, and back.
//!
//! Pure.

use dispatch_contracts::tool::ToolSpec;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The longest name that servers accept.
const MAX_NAME_LETTERS: usize = 64;

/// Names that had to be changed, by the name the server knows.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ToolNames {
    ours_by_theirs: BTreeMap<String, String>,
    theirs_by_ours: BTreeMap<String, String>,
}

impl ToolNames {
    /// The names for these tools; most need no change.
    pub(crate) fn new(tools: &[ToolSpec]) -> Self {
        let mut names = Self::default();
        for tool in tools.iter().filter(|tool| !is_fit(&tool.name)) {
            let plain = fit(&tool.name);
            let is_free =
                |name: &str| !names.ours_by_theirs.contains_key(name) && tools.iter().all(|other| other.name != name);
            let numbered = (2_usize..).map(|number| {
                let end = format!("_{number}");
                let kept: String = plain.chars().take(MAX_NAME_LETTERS - end.len()).collect();
                kept + &end
            });
            let Some(theirs) = std::iter::once(plain.clone()).chain(numbered).find(|name| is_free(name)) else {
                continue;
            };
            names.ours_by_theirs.insert(theirs.clone(), tool.name.clone());
            names.theirs_by_ours.insert(tool.name.clone(), theirs);
        }
        names
    }

    /// The name to tell the server. A name from the history may belong to a tool that is gone.
    pub(crate) fn theirs<'a>(&'a self, ours: &'a str) -> Cow<'a, str> {
        match self.theirs_by_ours.get(ours) {
            Some(theirs) => Cow::Borrowed(theirs),
            None if is_fit(ours) => Cow::Borrowed(ours),
            None => Cow::Owned(fit(ours)),
        }
    }

    /// The tool that the server means.
    pub(crate) fn ours<'a>(&'a self, theirs: &'a str) -> &'a str {
        self.ours_by_theirs.get(theirs).map_or(theirs, String::as_str)
    }
}

fn is_allowed(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

fn is_fit(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME_LETTERS && name.chars().all(is_allowed)
}

fn fit(name: &str) -> String {
    let letters = name.chars().map(|letter| if is_allowed(letter) { letter } else { '_' });
    let fit: String = letters.take(MAX_NAME_LETTERS).collect();
    if fit.is_empty() { "unnamed".to_owned() } else { fit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tools(names: &[&str]) -> Vec<ToolSpec> {
        let tool = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: json!({}),
            concurrency_safe: true,
        };
        names.iter().map(tool).collect()
    }

    #[test]
    fn names_are_changed_only_where_needed_and_found_again() {
        let long = "x".repeat(80);
        let all = tools(&["read_file", "mcp.git/log", "mcp_git_log", "mcp:git:log", "", &long, &format!("{long}y")]);
        let names = ToolNames::new(&all);
        let mut seen = std::collections::BTreeSet::new();
        for tool in &all {
            let theirs = names.theirs(&tool.name).into_owned();
            assert!(is_fit(&theirs), "{theirs}");
            assert_eq!(names.ours(&theirs), tool.name);
            assert!(seen.insert(theirs.clone()), "{theirs} stands for two tools");
        }
        assert_eq!(names.theirs("read_file"), "read_file");
        assert_eq!(names.theirs("mcp.git/log"), "mcp_git_log_2");
        assert_eq!(names.ours("never_heard_of"), "never_heard_of");
        assert_eq!(names.theirs("gone.tool"), "gone_tool");
    }
}
