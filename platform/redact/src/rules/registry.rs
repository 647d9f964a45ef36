//! Tokens of package and image registries.

use crate::charset::{ALNUM, BASE64_URL, HEX, LOWER_DIGIT};
use crate::rule::Part::{AtLeast, Exactly};
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule::token("npm-token", &["npm_"], &[AtLeast(ALNUM, 36)]).at_word_start(),
    Rule::token("pypi-token", &["pypi-Ag"], &[AtLeast(BASE64_URL, 50)]),
    Rule::token("crates-io-token", &["cio"], &[Exactly(ALNUM, 32)]).at_word_start().with_digit(),
    Rule::token("rubygems-token", &["rubygems_"], &[AtLeast(HEX, 40)]),
    Rule::token("nuget-key", &["oy2"], &[Exactly(LOWER_DIGIT, 43)]).at_word_start(),
    Rule::token("docker-token", &["dckr_pat_", "dckr_oat_"], &[AtLeast(BASE64_URL, 20)]),
    Rule::token("artifactory-key", &["AKCp"], &[AtLeast(ALNUM, 60)]).at_word_start(),
    Rule::token("artifactory-reference-token", &["cmVmdGtuOj"], &[AtLeast(ALNUM, 50)]),
    Rule::token("clojars-token", &["CLOJARS_"], &[AtLeast(HEX, 50)]),
];
