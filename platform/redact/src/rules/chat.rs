//! Tokens and webhook addresses of chat services.

use crate::charset::{ALNUM, BASE64_URL, DIGIT, PATH, PERCENT, WORD};
use crate::edge;
use crate::rule::Part::{AtLeast, Text};
use crate::rule::Rule;
use crate::span::{Kind, Span};

pub(super) const RULES: &[Rule] = &[
    Rule::token(
        "slack-token",
        &[
            "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-", "xoxe-", "xoxe.xox", "xapp-",
            "xwfp-",
        ],
        &[AtLeast(PERCENT, 10)],
    )
    .with_digit(),
    Rule::token(
        "slack-webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"],
        &[AtLeast(PATH, 20)],
    )
    .with_digit()
    .keeping_literal(),
    Rule::token(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        &[AtLeast(DIGIT, 15), Text("/"), AtLeast(BASE64_URL, 40)],
    )
    .keeping_literal(),
    Rule::token("teams-webhook", &["webhook.office.com/webhookb2/"], &[AtLeast(PATH, 40)]).keeping_literal(),
    Rule::search("telegram-bot-token", &[":AA"], telegram_bot_token),
    Rule::search("discord-bot-token", DISCORD_OPENINGS, discord_bot_token),
    Rule::token("matrix-token", &["syt_"], &[AtLeast(ALNUM, 4), Text("_"), AtLeast(WORD, 20)]).at_word_start(),
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
        spans.push(Span::new(Kind::Format("discord-bot-token"), at, at..end));
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
        spans.push(Span::new(Kind::Format("telegram-bot-token"), start, start..secret + length));
    }
    secret + length
}
