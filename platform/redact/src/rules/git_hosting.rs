//! Tokens of the places where repositories live and are built.
//!
//! Pure.

use crate::charset::{ALNUM, BASE64_ANY, DOTTED, HEX, WORD};
use crate::rule::SecretRule;
use crate::rule::TokenPart::AtLeast;

pub(super) const RULES: &[SecretRule] = &[
    SecretRule::token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], &[AtLeast(WORD, 36)]),
    SecretRule::token("github-fine-grained-token", &["github_pat_"], &[AtLeast(WORD, 40)]),
    SecretRule::token(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-",
            "glsoat-", "glffct-", "glwt-",
        ],
        &[AtLeast(DOTTED, 20)],
    ),
    SecretRule::token("gitlab-runner-token", &["GR1348941"], &[AtLeast(DOTTED, 20)]),
    SecretRule::token("bitbucket-app-password", &["ATBB"], &[AtLeast(ALNUM, 28)]).at_word_start().with_digit(),
    SecretRule::token("atlassian-token", &["ATATT3xFfG", "ATCTT3xFfG", "ATSTT3xFfG"], &[AtLeast(BASE64_ANY, 60)]),
    SecretRule::token("sourcegraph-token", &["sgp_"], &[AtLeast(WORD, 40)]).at_word_start(),
    SecretRule::token("buildkite-token", &["bkua_", "bkaj_"], &[AtLeast(HEX, 40)]),
    SecretRule::token("circleci-token", &["CCIPAT_", "CCIPRJ_"], &[AtLeast(WORD, 40)]),
];
