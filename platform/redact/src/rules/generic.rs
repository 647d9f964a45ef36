//! Secrets that no single vendor owns: key blocks, web tokens, URLs, headers and assignments.
//!
//! Pure.

use crate::assignment;
use crate::charset::{BASE64_URL, UPPER_DIGIT};
use crate::command_line;
use crate::cookie;
use crate::header;
use crate::jwt;
use crate::marker;
use crate::pem;
use crate::rule::SecretRule;
use crate::rule::TokenPart::AtLeast;
use crate::url;

pub(super) const RULES: &[SecretRule] = &[
    SecretRule::token("marker", &[marker::OPENING], &[]),
    SecretRule::search("private-key", &[pem::OPENING], pem::search),
    SecretRule::token("age-secret-key", &["AGE-SECRET-KEY-1"], &[AtLeast(UPPER_DIGIT, 50)]),
    SecretRule::search("jwt", &[jwt::OPENING], jwt::search).within_word(),
    SecretRule::search("url-password", &[url::SEPARATOR], url::search).within_word(),
    SecretRule::search("authorization-header", &["authorization"], header::search).in_any_case(),
    SecretRule::search("bearer-token", &["bearer "], header::search_bearer).in_any_case(),
    SecretRule::search("session-cookie", &["cookie"], cookie::search).in_any_case(),
    SecretRule::search("command-password", command_line::PROGRAMS, command_line::search)
        .open_while(command_line::is_open),
    SecretRule::token("age-plugin-key", &["AGE-PLUGIN-"], &[AtLeast(BASE64_URL, 50)]),
    SecretRule::search("assigned-secret", assignment::KEYWORDS, assignment::search)
        .in_any_case()
        .open_while(assignment::is_open),
];
