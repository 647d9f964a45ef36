//! Secrets that no single vendor owns: key blocks, web tokens, URLs, headers and assignments.

use crate::assignment;
use crate::charset::{BASE64_URL, UPPER_DIGIT};
use crate::cookie;
use crate::header;
use crate::jwt;
use crate::marker;
use crate::pem;
use crate::rule::Part::AtLeast;
use crate::rule::Rule;
use crate::url;

pub(super) const RULES: &[Rule] = &[
    Rule::token("marker", &[marker::OPENING], &[]),
    Rule::search("private-key", &[pem::OPENING], pem::search),
    Rule::token("age-secret-key", &["AGE-SECRET-KEY-1"], &[AtLeast(UPPER_DIGIT, 50)]),
    Rule::search("jwt", &[jwt::OPENING], jwt::search),
    Rule::search("url-password", &[url::SEPARATOR], url::search),
    Rule::search("authorization-header", &["authorization"], header::search).in_any_case(),
    Rule::search("bearer-token", &["bearer "], header::search_bearer).in_any_case(),
    Rule::search("session-cookie", &["cookie"], cookie::search).in_any_case(),
    Rule::token("age-plugin-key", &["AGE-PLUGIN-"], &[AtLeast(BASE64_URL, 50)]),
    Rule::search("assigned-secret", assignment::KEYWORDS, assignment::search).in_any_case(),
];
