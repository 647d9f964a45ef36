//! Keys of cloud platforms and of the places that keep their secrets.
//!
//! Pure.

use crate::charset::{ALNUM, BASE64, BASE64_ANY, BASE64_URL, DOTTED, HEX, PERCENT, UPPER_DIGIT};
use crate::edge;
use crate::rule::SecretRule;
use crate::rule::TokenPart::{AtLeast, Exactly, Text};
use crate::span::{Span, SpanKind};

pub(super) const RULES: &[SecretRule] = &[
    SecretRule::token("aws-access-key-id", &["AKIA", "ASIA", "ABIA", "ACCA"], &[Exactly(UPPER_DIGIT, 16)])
        .at_word_start(),
    SecretRule::token("aws-bedrock-key", &["ABSKQmVkcm9ja0FQSUtleS"], &[AtLeast(BASE64, 30)]),
    SecretRule::token("google-api-key", &["AIza"], &[AtLeast(BASE64_URL, 35)]).at_word_start(),
    SecretRule::token("google-oauth-secret", &["GOCSPX-"], &[AtLeast(BASE64_URL, 20)]),
    SecretRule::token("google-access-token", &["ya29."], &[AtLeast(DOTTED, 20)]).at_word_start(),
    SecretRule::token("google-refresh-token", &["1//0"], &[AtLeast(BASE64_URL, 40)]).at_word_start(),
    SecretRule::token(
        "azure-account-key",
        &["AccountKey=", "SharedAccessKey=", "SharedSecretKey="],
        &[AtLeast(BASE64, 32)],
    )
    .in_any_case()
    .keeping_literal(),
    SecretRule::token("azure-sas-signature", &["sig="], &[AtLeast(PERCENT, 32)]).at_word_start().keeping_literal(),
    SecretRule::search(
        "azure-client-secret",
        &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"],
        azure_client_secret,
    ),
    SecretRule::token("alibaba-access-key-id", &["LTAI"], &[AtLeast(ALNUM, 12)]).at_word_start().with_digit(),
    SecretRule::token("tencent-secret-id", &["AKID"], &[AtLeast(ALNUM, 32)]).at_word_start().with_digit(),
    SecretRule::token("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], &[AtLeast(HEX, 40)]),
    SecretRule::token("heroku-key", &["HRKU-"], &[AtLeast(BASE64_URL, 36)]),
    SecretRule::token("fly-token", &["fm1_", "fm2_", "fm1r_", "fm1a_"], &[AtLeast(BASE64_ANY, 60)]).at_word_start(),
    SecretRule::token("render-key", &["rnd_"], &[AtLeast(ALNUM, 24)]).at_word_start().with_digit(),
    SecretRule::token("netlify-token", &["nfp_"], &[AtLeast(ALNUM, 32)]).at_word_start(),
    SecretRule::token("supabase-key", &["sbp_"], &[AtLeast(HEX, 40)]).at_word_start(),
    SecretRule::token("supabase-secret", &["sb_secret_"], &[AtLeast(BASE64_URL, 20)]).with_digit(),
    SecretRule::token("planetscale-secret", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], &[AtLeast(DOTTED, 32)]),
    SecretRule::token("terraform-token", &[".atlasv1."], &[AtLeast(BASE64_URL, 60)]),
    SecretRule::token("pulumi-token", &["pul-"], &[AtLeast(HEX, 40)]).at_word_start(),
    SecretRule::token(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        &[AtLeast(DOTTED, 40)],
    )
    .at_word_start(),
    SecretRule::token("vault-token", &["hvs.", "hvb.", "hvr."], &[AtLeast(BASE64_URL, 24)]).at_word_start(),
    SecretRule::token("databricks-token", &["dapi"], &[AtLeast(HEX, 32)]).at_word_start(),
    SecretRule::token("tailscale-key", &["tskey-"], &[AtLeast(BASE64_URL, 20)]).with_digit(),
    SecretRule::token("openshift-token", &["sha256~"], &[AtLeast(BASE64_URL, 40)]),
    SecretRule::token("scaleway-key", &["SCW"], &[Exactly(UPPER_DIGIT, 17)]).at_word_start().with_digit(),
    SecretRule::token("yandex-key", &["AQVN"], &[AtLeast(BASE64_URL, 35)]).at_word_start(),
    SecretRule::token("onepassword-token", &["ops_eyJ"], &[AtLeast(BASE64_ANY, 60)]),
    SecretRule::token(
        "dynatrace-token",
        &["dt0c01.", "dt0s01.", "dt0s16."],
        &[Exactly(UPPER_DIGIT, 24), Text("."), AtLeast(ALNUM, 60)],
    ),
];

/// Three bytes, a digit, `Q~`, then the rest; the literal starts at the digit.
fn azure_client_secret(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    const HEAD: usize = 3;
    const LITERAL: usize = 3;
    const REST: usize = 31;
    let Some(start) = at.checked_sub(HEAD) else {
        return at;
    };
    let secret_byte = DOTTED;
    let head = text.get(start..at).unwrap_or_default();
    let rest = secret_byte.run(text.get(at + LITERAL..).unwrap_or_default());
    if secret_byte.run(head) == HEAD && rest >= REST && edge::starts_word(text, start) {
        let secret = start..at + LITERAL + rest;
        spans.push(Span::new(SpanKind::Format("azure-client-secret"), start, secret));
    }
    at
}
