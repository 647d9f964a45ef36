//! Permissions of a dispatch: what a sender gets, what a hook says, and what is left of two.
//!
//! Pure.

use ext_session_orchestrator::contract::{Ask, ToolBounds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How far a sender is trusted; the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PermissionLevel {
    /// Somebody unknown.
    Minimal,
    /// Several people, of whom some may be unknown.
    Group,
    /// A person whom the owner knows.
    Restricted,
    /// The owner.
    Full,
}

impl PermissionLevel {
    /// Every level, by the word that hooks use.
    pub(crate) const WORDS: [(&'static str, Self); 4] =
        [("full", Self::Full), ("restricted", Self::Restricted), ("group", Self::Group), ("minimal", Self::Minimal)];

    /// The word that hooks use for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Restricted => "restricted",
            Self::Group => "group",
            Self::Minimal => "minimal",
        }
    }

    /// The tools of a level where a hook names none.
    const fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Full => &["*"],
            Self::Restricted => &["read_file", "list_files", "search_files", "find_files", "todo", "web_search"],
            Self::Group => &["todo", "web_search"],
            Self::Minimal => &["web_search"],
        }
    }

    /// The extensions that can read their secrets where a hook names none.
    fn credentials(self) -> Vec<String> {
        if self == Self::Full { every_credential() } else { Vec::new() }
    }
}

/// What a turn may do for a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionSet {
    pub(crate) level: PermissionLevel,
    /// A tool is there if one of these matches its name,
    pub(crate) allow: Vec<String>,
    /// and none of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) deny: Vec<String>,
    /// Further lists of which one must match too: what others allow that share the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) also: Vec<Vec<String>>,
    /// The extensions that can read their secrets for it.
    #[serde(default = "every_credential")]
    pub(crate) credentials: Vec<String>,
}

/// What was planned before this was kept.
fn every_credential() -> Vec<String> {
    vec!["*".to_owned()]
}

impl PermissionSet {
    /// What a level gives where nothing else is said.
    pub(crate) fn of_level(level: PermissionLevel) -> Self {
        Self {
            level,
            allow: level.tools().iter().map(|&tool| tool.to_owned()).collect(),
            deny: Vec::new(),
            also: Vec::new(),
            credentials: level.credentials(),
        }
    }

    /// What both allow.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let union = |one: &[String], two: &[String]| -> Vec<String> {
            one.iter().chain(two).cloned().collect::<BTreeSet<_>>().into_iter().collect()
        };
        let mut also: Vec<Vec<String>> = self.also.iter().chain(&other.also).cloned().collect();
        if other.allow != self.allow {
            also.push(other.allow.clone());
        }
        also.sort();
        also.dedup();
        also.retain(|allow| *allow != self.allow);
        Self {
            level: self.level.min(other.level),
            allow: self.allow.clone(),
            deny: union(&self.deny, &other.deny),
            also,
            credentials: narrowed(&self.credentials, &other.credentials),
        }
    }

    /// Which of these tools are left.
    pub(crate) fn bounds(&self) -> ToolBounds {
        let credentials = self.credentials.clone();
        let mut bounds = ToolBounds { allow: self.allow.clone(), deny: self.deny.clone(), credentials };
        for allow in &self.also {
            bounds.allow = narrowed(&bounds.allow, allow);
        }
        bounds
    }

    /// Who answers questions: of a message that has all rights, whoever looks after the agent.
    pub(crate) fn ask(&self) -> Ask {
        if self.level == PermissionLevel::Full { Ask::Person } else { Ask::None }
    }
}

/// Patterns that match what a pattern of each list matches, and nothing else.
fn narrowed(one: &[String], two: &[String]) -> Vec<String> {
    let pairs = one.iter().flat_map(|first| two.iter().map(move |second| (first, second)));
    let both: BTreeSet<String> = pairs.filter_map(|(first, second)| common(first, second)).collect();
    both.into_iter().collect()
}

/// A pattern for what both match. Two that overlap in part have none: nothing is allowed then.
fn common(one: &str, two: &str) -> Option<String> {
    if covers(one, two) {
        Some(two.to_owned())
    } else if covers(two, one) {
        Some(one.to_owned())
    } else {
        None
    }
}

/// Whether one pattern matches everything that another matches; `false` where that is not plain.
fn covers(pattern: &str, other: &str) -> bool {
    if pattern == "*" || pattern == other {
        return true;
    }
    match pattern.strip_suffix('*') {
        Some(prefix) if !prefix.contains(['*', '?']) => {
            let fixed = other.split(['*', '?']).next().unwrap_or_default();
            fixed.starts_with(prefix)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(level: PermissionLevel, allow: &[&str], deny: &[&str]) -> PermissionSet {
        let texts = |patterns: &[&str]| patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        PermissionSet { allow: texts(allow), deny: texts(deny), ..PermissionSet::of_level(level) }
    }

    #[test]
    fn only_the_owner_may_do_everything() {
        assert_eq!(PermissionSet::of_level(PermissionLevel::Full).bounds().allow, ["*"]);
        for (_, level) in PermissionLevel::WORDS.into_iter().filter(|(_, level)| *level != PermissionLevel::Full) {
            let set = PermissionSet::of_level(level);
            assert!(!set.bounds().allow.contains(&"*".to_owned()), "{level:?}");
            assert_eq!(set.ask(), Ask::None, "{level:?}");
            assert_eq!(set.bounds().credentials, Vec::<String>::new(), "{level:?}");
        }
    }

    #[test]
    fn what_two_allow_is_what_is_left() {
        use PermissionLevel::{Full, Restricted};
        let both = set(Full, &["*"], &["run_*"]).intersection(&set(Restricted, &["read_*", "run_shell"], &["todo"]));
        assert_eq!((both.level, both.ask()), (Restricted, Ask::None));
        assert_eq!(both.bounds().allow, ["read_*", "run_shell"]);
        assert_eq!(both.bounds().deny, ["run_*", "todo"]);
        let apart = set(Full, &["read_*"], &[]).intersection(&set(Full, &["write_*"], &[]));
        assert_eq!(apart.bounds().allow, Vec::<String>::new());
        let same = set(Full, &["read_*"], &[]);
        assert_eq!(same.intersection(&same), same);
        let with = |credentials: &[&str]| PermissionSet {
            credentials: credentials.iter().map(|&pattern| pattern.to_owned()).collect(),
            ..PermissionSet::of_level(Full)
        };
        let both = with(&["*"]).intersection(&with(&["weather", "mail"]));
        assert_eq!(both.bounds().credentials, ["mail", "weather"]);
        assert_eq!(both.intersection(&with(&[])).bounds().credentials, Vec::<String>::new());
    }

    fn matches(pattern: &str, text: &str) -> bool {
        match pattern.split_once('*') {
            None => pattern == text,
            Some((start, end)) => {
                text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
            }
        }
    }

    proptest! {
        #[test]
        fn an_intersection_never_allows_what_one_of_both_refuses(
            one in proptest::collection::vec("[ab]{0,2}\\*?[ab]{0,1}", 0..4),
            two in proptest::collection::vec("[ab]{0,2}\\*?[ab]{0,1}", 0..4),
            tool in "[ab]{0,4}",
        ) {
            let set = |names: &[String]| PermissionSet {
                allow: names.to_vec(),
                credentials: names.to_vec(),
                ..PermissionSet::of_level(PermissionLevel::Full)
            };
            let both = set(&one).intersection(&set(&two)).bounds();
            let allows = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, &tool));
            for left in [&both.allow, &both.credentials] {
                prop_assert!(!allows(left) || (allows(&one) && allows(&two)), "{:?}", both);
            }
        }
    }
}
