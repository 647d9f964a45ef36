//! Keys of payment, mail, shop, monitoring and other hosted services.
//!
//! Pure.

use crate::charset::{ALNUM, BASE64_ANY, BASE64_URL, HEX, WORD};
use crate::edge;
use crate::rule::SecretRule;
use crate::rule::TokenPart::{AtLeast, Exactly, Text};
use crate::span::{Span, SpanKind};

pub(super) const RULES: &[SecretRule] = &[
    SecretRule::token(
        "stripe-key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_"],
        &[AtLeast(ALNUM, 16)],
    ),
    SecretRule::token("webhook-secret", &["whsec_"], &[AtLeast(BASE64_ANY, 24)]),
    SecretRule::search("twilio-key", TWILIO_OPENINGS, twilio_key).within_word(),
    SecretRule::token("sendgrid-key", &["SG."], &[AtLeast(BASE64_URL, 16), Text("."), AtLeast(BASE64_URL, 32)])
        .at_word_start(),
    SecretRule::token("sendinblue-key", &["xkeysib-", "xsmtpsib-"], &[AtLeast(BASE64_URL, 40)]),
    SecretRule::token("mailgun-key", &["key-"], &[Exactly(HEX, 32)]).at_word_start().with_digit(),
    SecretRule::search("mailchimp-key", &["-us"], mailchimp_key).within_word(),
    SecretRule::token("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"], &[AtLeast(HEX, 32)]),
    SecretRule::token("linear-key", &["lin_api_", "lin_oauth_"], &[AtLeast(ALNUM, 32)]),
    SecretRule::token("notion-token", &["ntn_"], &[AtLeast(ALNUM, 40)]).at_word_start(),
    SecretRule::token("notion-legacy-token", &["secret_"], &[Exactly(ALNUM, 43)]).with_digit(),
    SecretRule::token("square-token", &["sq0atp-", "sq0csp-", "sq0idp-"], &[AtLeast(BASE64_URL, 22)]),
    SecretRule::token(
        "paypal-token",
        &["access_token$production$", "access_token$sandbox$"],
        &[AtLeast(ALNUM, 12), Text("$"), AtLeast(HEX, 32)],
    ),
    SecretRule::token("postman-key", &["PMAK-"], &[AtLeast(BASE64_URL, 50)]),
    SecretRule::token("new-relic-key", &["NRAK-", "NRJS-", "NRII-"], &[AtLeast(BASE64_URL, 19)]),
    SecretRule::token("grafana-token", &["glsa_", "glc_"], &[AtLeast(BASE64_ANY, 32)]).with_digit(),
    SecretRule::token("sentry-token", &["sntrys_", "sntryu_", "sntrya_"], &[AtLeast(BASE64_ANY, 40)]),
    SecretRule::token("airtable-token", &["pat"], &[Exactly(ALNUM, 14), Text("."), AtLeast(HEX, 64)]).at_word_start(),
    SecretRule::token("figma-token", &["figd_", "figu_", "figo_"], &[AtLeast(BASE64_URL, 36)]),
    SecretRule::token("easypost-key", &["EZAK", "EZTK"], &[AtLeast(ALNUM, 50)]).at_word_start(),
    SecretRule::token("flutterwave-key", &["FLWSECK-", "FLWSECK_TEST-"], &[AtLeast(BASE64_URL, 12)]).with_digit(),
    SecretRule::token("duffel-token", &["duffel_test_", "duffel_live_"], &[AtLeast(BASE64_URL, 40)]),
    SecretRule::token(
        "plaid-token",
        &["access-sandbox-", "access-production-", "access-development-"],
        &[AtLeast(BASE64_URL, 32)],
    )
    .with_digit(),
    SecretRule::token(
        "launchdarkly-key",
        &["sdk-", "mob-", "api-"],
        &[
            Exactly(HEX, 8),
            Text("-"),
            Exactly(HEX, 4),
            Text("-"),
            Exactly(HEX, 4),
            Text("-"),
            Exactly(HEX, 4),
            Text("-"),
            Exactly(HEX, 12),
        ],
    )
    .at_word_start(),
    SecretRule::token("prefect-key", &["pnu_"], &[AtLeast(ALNUM, 36)]).at_word_start(),
    SecretRule::token("shippo-key", &["shippo_live_", "shippo_test_"], &[AtLeast(HEX, 40)]),
    SecretRule::token("adafruit-key", &["aio_"], &[Exactly(ALNUM, 28)]).at_word_start().with_digit(),
    SecretRule::token("typeform-token", &["tfp_"], &[AtLeast(BASE64_URL, 40)]).at_word_start(),
    SecretRule::token("contentful-token", &["CFPAT-"], &[AtLeast(BASE64_URL, 40)]),
    SecretRule::token("mapbox-token", &["sk.eyJ"], &[AtLeast(BASE64_URL, 40), Text("."), AtLeast(BASE64_URL, 20)])
        .at_word_start(),
    SecretRule::token("telnyx-key", &["KEY0"], &[AtLeast(WORD, 40)]).at_word_start(),
    SecretRule::token("posthog-key", &["phx_"], &[AtLeast(ALNUM, 40)]).at_word_start(),
    SecretRule::token("readme-key", &["rdme_"], &[AtLeast(ALNUM, 60)]).at_word_start(),
    SecretRule::token("asaas-key", &["$aact_"], &[AtLeast(BASE64_ANY, 60)]),
    SecretRule::token("ionic-token", &["ion_"], &[Exactly(ALNUM, 42)]).at_word_start(),
    SecretRule::token("okta-token", &["SSWS "], &[AtLeast(BASE64_URL, 40)]).at_word_start().keeping_literal(),
];

const TWILIO_OPENINGS: &[&str] =
    &["SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe", "SKf"];

/// `SK`, then 32 hex digits, the first of which is in the literal.
fn twilio_key(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    const PREFIX: usize = 2;
    const HEX_DIGITS: usize = 32;
    let rest = text.get(at + PREFIX..).unwrap_or_default();
    let run = HEX.run(rest.get(..rest.len().min(HEX_DIGITS + 1)).unwrap_or_default());
    let ends = rest.get(run).is_none_or(|&byte| !edge::is_word(byte));
    if run == HEX_DIGITS && ends && edge::starts_word(text, at) {
        spans.push(Span::new(SpanKind::Format("twilio-key"), at, at..at + PREFIX + run));
    }
    at
}

/// 32 hex digits, then `-us` and the number of the data centre.
fn mailchimp_key(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    const HEX_DIGITS: usize = 32;
    const LITERAL: usize = 3;
    let head = HEX.run_back(text.get(..at).unwrap_or_default(), HEX_DIGITS);
    let start = at - head;
    let centre = text.get(at + LITERAL..).unwrap_or_default();
    let digits = centre.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
    if head == HEX_DIGITS && digits > 0 && edge::starts_word(text, start) {
        let secret = start..at + LITERAL + digits;
        spans.push(Span::new(SpanKind::Format("mailchimp-key"), start, secret));
    }
    at
}
