//! The built-in patterns, one file per family.
//!
//! Pure.

mod chat;
mod cloud;
mod generic;
mod git_hosting;
mod model_provider;
mod registry;
mod service;

use crate::rule::SecretRule;

const FAMILIES: [&[SecretRule]; 7] = [
    generic::RULES,
    cloud::RULES,
    git_hosting::RULES,
    model_provider::RULES,
    chat::RULES,
    registry::RULES,
    service::RULES,
];

const RULE_COUNT: usize = rule_count();

/// Every built-in pattern.
pub(crate) const RULES: &[SecretRule; RULE_COUNT] = &joined();

/// How many literals the patterns have together.
pub(crate) const LITERAL_COUNT: usize = literal_count();

/// The rule that finds no secret but the marker of an earlier redaction.
pub(crate) const MARKER_RULE: usize = 0;

const fn rule_count() -> usize {
    let mut count = 0;
    let mut family = 0;
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    assert!(count <= u8::MAX as usize, "the index of a rule is one byte");
    count
}

const fn joined() -> [SecretRule; RULE_COUNT] {
    let mut rules = [FAMILIES[0][0]; RULE_COUNT];
    let mut count = 0;
    let mut family = 0;
    while family < FAMILIES.len() {
        let mut i = 0;
        while i < FAMILIES[family].len() {
            rules[count] = FAMILIES[family][i];
            count += 1;
            i += 1;
        }
        family += 1;
    }
    rules
}

const fn literal_count() -> usize {
    let mut count = 0;
    let mut i = 0;
    while i < RULES.len() {
        count += RULES[i].literals.len();
        i += 1;
    }
    count
}
