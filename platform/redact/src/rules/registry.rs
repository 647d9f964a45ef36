//! Tokens of package and image registries.
//!
//! Pure.

use crate::charset::{ALNUM, BASE64_URL, HEX, LOWER_DIGIT};
use crate::rule::SecretRule;
use crate::rule::TokenPart::{AtLeast, Exactly};

pub(super) const RULES: &[SecretRule] = &[
    SecretRule::token("npm-token", &["npm_"], &[AtLeast(ALNUM, 36)]).at_word_start(),
    SecretRule::token("pypi-token", &["pypi-Ag"], &[AtLeast(BASE64_URL, 50)]),
    SecretRule::token("crates-io-token", &["cio"], &[Exactly(ALNUM, 32)]).at_word_start().with_digit(),
    SecretRule::token("rubygems-token", &["rubygems_"], &[AtLeast(HEX, 40)]),
    SecretRule::token("nuget-key", &["oy2"], &[Exactly(LOWER_DIGIT, 43)]).at_word_start(),
    SecretRule::token("docker-token", &["dckr_pat_", "dckr_oat_"], &[AtLeast(BASE64_URL, 20)]),
    SecretRule::token("artifactory-key", &["AKCp"], &[AtLeast(ALNUM, 60)]).at_word_start(),
    SecretRule::token("artifactory-reference-token", &["cmVmdGtuOj"], &[AtLeast(ALNUM, 50)]),
    SecretRule::token("clojars-token", &["CLOJARS_"], &[AtLeast(HEX, 50)]),
];
