//! The registry of checks: what runs in `layers` and `tidy`, and what `docs/checks.md` lists.

use crate::source::SourceTree;
use crate::violation::Violation;
use crate::workspace::Workspace;
use crate::{layers, tidy};

/// A rule that runs: a pure function from a model to the places that break the rule.
pub(crate) struct Check<Model> {
    /// Short name, as shown in `error[name]`.
    pub(crate) name: &'static str,
    /// The rule, in one sentence.
    pub(crate) rule: &'static str,
    /// Why the rule exists, in one sentence.
    pub(crate) why: &'static str,
    /// Finds the violations.
    pub(crate) run: fn(&Model) -> Vec<Violation>,
}

/// The checks of `cargo xtask layers`.
pub(crate) const LAYERS: &[Check<Workspace>] = &[
    layers::edges::CHECK,
    layers::names::CHECK,
    layers::manifests::CHECK,
    layers::surface::CHECK,
    layers::closure::CHECK,
];

/// The checks of `cargo xtask tidy`.
pub(crate) const TIDY: &[Check<SourceTree>] = &[
    tidy::header::CHECK,
    tidy::length::CHECK,
    tidy::kernel_roots::CHECK,
    tidy::purity::CHECK,
    tidy::clippy_settings::CHECK,
    tidy::names::CHECK,
    tidy::type_names::CHECK,
    tidy::retired_words::CHECK,
    tidy::pure_files::CHECK,
    tidy::os_touches::CHECK,
    tidy::test_doubles::CHECK,
    tidy::harness::CHECK,
    tidy::versions::CHECK,
    tidy::walks::CHECK,
    tidy::enforced_rows::CHECK,
    tidy::promises::CHECK,
    tidy::contracts_surface::CHECK,
    tidy::markers::CHECK,
    tidy::allow_reason::CHECK,
    tidy::mentions::CHECK,
    tidy::hooks::CHECK,
    tidy::text::CHECK,
];

/// Runs every check of a list and sorts what they found.
pub(crate) fn run<Model>(checks: &[Check<Model>], model: &Model) -> Vec<Violation> {
    let mut found: Vec<_> = checks.iter().flat_map(|check| (check.run)(model)).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_check_has_its_own_name_a_rule_and_a_reason() {
        let rows: Vec<_> = LAYERS
            .iter()
            .map(|check| (check.name, check.rule, check.why))
            .chain(TIDY.iter().map(|check| (check.name, check.rule, check.why)))
            .collect();
        let names: BTreeSet<_> = rows.iter().map(|row| row.0).collect();
        assert_eq!(names.len(), rows.len());
        for (name, rule, why) in rows {
            assert!(rule.ends_with('.') && why.ends_with('.'), "{name}: {rule} {why}");
        }
    }

    #[test]
    fn an_empty_tree_breaks_no_tidy_rule() {
        assert_eq!(run(TIDY, &SourceTree::default()), []);
    }
}
