//! Tokens of the places where repositories live and are built.

use crate::charset::{ALNUM, BASE64_ANY, DOTTED, HEX, WORD};
use crate::rule::Part::AtLeast;
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule::token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], &[AtLeast(WORD, 36)]),
    Rule::token("github-fine-grained-token", &["github_pat_"], &[AtLeast(WORD, 40)]),
    Rule::token(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-",
            "glsoat-", "glffct-", "glwt-",
        ],
        &[AtLeast(DOTTED, 20)],
    ),
    Rule::token("gitlab-runner-token", &["GR1348941"], &[AtLeast(DOTTED, 20)]),
    Rule::token("bitbucket-app-password", &["ATBB"], &[AtLeast(ALNUM, 28)]).at_word_start().with_digit(),
    Rule::token("atlassian-token", &["ATATT3xFfG", "ATCTT3xFfG", "ATSTT3xFfG"], &[AtLeast(BASE64_ANY, 60)]),
    Rule::token("sourcegraph-token", &["sgp_"], &[AtLeast(WORD, 40)]).at_word_start(),
    Rule::token("buildkite-token", &["bkua_", "bkaj_"], &[AtLeast(HEX, 40)]),
    Rule::token("circleci-token", &["CCIPAT_", "CCIPRJ_"], &[AtLeast(WORD, 40)]),
];
