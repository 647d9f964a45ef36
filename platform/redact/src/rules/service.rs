//! Keys of payment, mail, shop, monitoring and other hosted services.

use crate::charset::{ALNUM, BASE64_ANY, BASE64_URL, HEX, WORD};
use crate::edge;
use crate::rule::Part::{AtLeast, Exactly, Text};
use crate::rule::Rule;
use crate::span::{Kind, Span};

pub(super) const RULES: &[Rule] = &[
    Rule::token("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_"], &[AtLeast(ALNUM, 16)]),
    Rule::token("webhook-secret", &["whsec_"], &[AtLeast(BASE64_ANY, 24)]),
    Rule::search("twilio-key", TWILIO_OPENINGS, twilio_key),
    Rule::token("sendgrid-key", &["SG."], &[AtLeast(BASE64_URL, 16), Text("."), AtLeast(BASE64_URL, 32)])
        .at_word_start(),
    Rule::token("sendinblue-key", &["xkeysib-", "xsmtpsib-"], &[AtLeast(BASE64_URL, 40)]),
    Rule::token("mailgun-key", &["key-"], &[Exactly(HEX, 32)]).at_word_start().with_digit(),
    Rule::search("mailchimp-key", &["-us"], mailchimp_key),
    Rule::token("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"], &[AtLeast(HEX, 32)]),
    Rule::token("linear-key", &["lin_api_", "lin_oauth_"], &[AtLeast(ALNUM, 32)]),
    Rule::token("notion-token", &["ntn_"], &[AtLeast(ALNUM, 40)]).at_word_start(),
    Rule::token("notion-legacy-token", &["secret_"], &[Exactly(ALNUM, 43)]).with_digit(),
    Rule::token("square-token", &["sq0atp-", "sq0csp-", "sq0idp-"], &[AtLeast(BASE64_URL, 22)]),
    Rule::token(
        "paypal-token",
        &["access_token$production$", "access_token$sandbox$"],
        &[AtLeast(ALNUM, 12), Text("$"), AtLeast(HEX, 32)],
    ),
    Rule::token("postman-key", &["PMAK-"], &[AtLeast(BASE64_URL, 50)]),
    Rule::token("new-relic-key", &["NRAK-", "NRJS-", "NRII-"], &[AtLeast(BASE64_URL, 19)]),
    Rule::token("grafana-token", &["glsa_", "glc_"], &[AtLeast(BASE64_ANY, 32)]).with_digit(),
    Rule::token("sentry-token", &["sntrys_", "sntryu_", "sntrya_"], &[AtLeast(BASE64_ANY, 40)]),
    Rule::token("airtable-token", &["pat"], &[Exactly(ALNUM, 14), Text("."), AtLeast(HEX, 64)]).at_word_start(),
    Rule::token("figma-token", &["figd_", "figu_", "figo_"], &[AtLeast(BASE64_URL, 36)]),
    Rule::token("easypost-key", &["EZAK", "EZTK"], &[AtLeast(ALNUM, 50)]).at_word_start(),
    Rule::token("flutterwave-key", &["FLWSECK-", "FLWSECK_TEST-"], &[AtLeast(BASE64_URL, 12)]).with_digit(),
    Rule::token("duffel-token", &["duffel_test_", "duffel_live_"], &[AtLeast(BASE64_URL, 40)]),
    Rule::token(
        "plaid-token",
        &["access-sandbox-", "access-production-", "access-development-"],
        &[AtLeast(BASE64_URL, 32)],
    )
    .with_digit(),
    Rule::token(
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
    Rule::token("prefect-key", &["pnu_"], &[AtLeast(ALNUM, 36)]).at_word_start(),
    Rule::token("shippo-key", &["shippo_live_", "shippo_test_"], &[AtLeast(HEX, 40)]),
    Rule::token("adafruit-key", &["aio_"], &[Exactly(ALNUM, 28)]).at_word_start().with_digit(),
    Rule::token("typeform-token", &["tfp_"], &[AtLeast(BASE64_URL, 40)]).at_word_start(),
    Rule::token("contentful-token", &["CFPAT-"], &[AtLeast(BASE64_URL, 40)]),
    Rule::token("mapbox-token", &["sk.eyJ"], &[AtLeast(BASE64_URL, 40), Text("."), AtLeast(BASE64_URL, 20)])
        .at_word_start(),
    Rule::token("telnyx-key", &["KEY0"], &[AtLeast(WORD, 40)]).at_word_start(),
    Rule::token("posthog-key", &["phx_"], &[AtLeast(ALNUM, 40)]).at_word_start(),
    Rule::token("readme-key", &["rdme_"], &[AtLeast(ALNUM, 60)]).at_word_start(),
    Rule::token("asaas-key", &["$aact_"], &[AtLeast(BASE64_ANY, 60)]),
    Rule::token("ionic-token", &["ion_"], &[Exactly(ALNUM, 42)]).at_word_start(),
    Rule::token("okta-token", &["SSWS "], &[AtLeast(BASE64_URL, 40)]).at_word_start().keeping_literal(),
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
        spans.push(Span::new(Kind::Format("twilio-key"), at, at..at + PREFIX + run));
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
        spans.push(Span::new(Kind::Format("mailchimp-key"), start, secret));
    }
    at
}
