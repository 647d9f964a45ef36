//! Tokens and webhook addresses of chat services.
//!
//! Pure.

use crate::charset::{ALNUM, BASE64_URL, DIGIT, PATH, PERCENT, WORD};
use crate::edge;
use crate::rule::SecretRule;
use crate::rule::TokenPart::{AtLeast, Text};
use crate::span::{Span, SpanKind};

pub(super) const RULES: &[SecretRule] = &[
    SecretRule::token(
        "slack-token",
        &[
            "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-", "xoxe-", "xoxe.xox", "xapp-",
            "xwfp-",
        ],
        &[AtLeast(PERCENT, 10)],
    )
    .with_digit(),
    SecretRule::token(
        "slack-webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"],
        &[AtLeast(PATH, 20)],
    )
    .with_digit()
    .keeping_literal(),
    SecretRule::token(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        &[AtLeast(DIGIT, 15), Text("/"), AtLeast(BASE64_URL, 40)],
    )
    .keeping_literal(),
    SecretRule::token("teams-webhook", &["webhook.office.com/webhookb2/"], &[AtLeast(PATH, 40)]).keeping_literal(),
    SecretRule::search("telegram-bot-token", &[":AA"], telegram_bot_token),
    SecretRule::search("discord-bot-token", DISCORD_OPENINGS, discord_bot_token),
    SecretRule::token("matrix-token", &["syt_"], &[AtLeast(ALNUM, 4), Text("_"), AtLeast(WORD, 20)]).at_word_start(),
];

/// The first three characters of a base64-encoded decimal number: a bot's id opens its token.
const DISCORD_OPENINGS: &[&str] = &[
    "MTA", "MTE", "MTI", "MTM", "MTQ", "MTU", "MTY", "MTc", "MTg", "MTk", "MjA", "MjE", "MjI", "MjM", "MjQ", "MjU",
    "MjY", "Mjc", "Mjg", "Mjk", "MzA", "MzE", "MzI", "MzM", "MzQ", "MzU", "MzY", "Mzc", "Mzg", "Mzk", "NDA", "NDE",
    "NDI", "NDM", "NDQ", "NDU", "NDY", "NDc", "NDg", "NDk", "NTA", "NTE", "NTI", "NTM", "NTQ", "NTU", "NTY", "NTc",
    "NTg", "NTk", "NjA", "NjE", "NjI", "NjM", "NjQ", "NjU", "NjY", "Njc", "Njg", "Njk", "NzA", "NzE", "NzI", "NzM",
    "NzQ", "NzU", "NzY", "Nzc", "Nzg", "Nzk", "ODA", "ODE", "ODI", "ODM", "ODQ", "ODU", "ODY", "ODc", "ODg", "ODk",
    "OTA", "OTE", "OTI", "OTM", "OTQ", "OTU", "OTY", "OTc", "OTg", "OTk",
];

/// `id.time.signature`, each in base64.
fn discord_bot_token(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let part = |from: usize, least: usize, most: usize| {
        let rest = text.get(from..)?;
        let run = BASE64_URL.run(rest.get(..rest.len().min(most + 1))?);
        (least..=most).contains(&run).then_some(from + run)
    };
    let dot = |at: usize| (text.get(at) == Some(&b'.')).then_some(at + 1);
    let end = part(at, 22, 28)
        .and_then(dot)
        .and_then(|from| part(from, 6, 7))
        .and_then(dot)
        .and_then(|from| part(from, 27, 45));
    if let Some(end) = end
        && edge::starts_word(text, at)
    {
        spans.push(Span::new(SpanKind::Format("discord-bot-token"), at, at..end));
    }
    at
}

/// `id:AA...`: the literal is the colon and what follows it; the id stands before.
fn telegram_bot_token(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    const LONGEST_ID: usize = 12;
    const SHORTEST_ID: usize = 7;
    const SECRET: usize = 33;
    let digits = DIGIT.run_back(text.get(..at).unwrap_or_default(), LONGEST_ID);
    let secret = at + 1;
    let length = BASE64_URL.run(text.get(secret..).unwrap_or_default());
    if digits >= SHORTEST_ID && length >= SECRET {
        let start = at - digits;
        spans.push(Span::new(SpanKind::Format("telegram-bot-token"), start, start..secret + length));
    }
    secret + length
}
