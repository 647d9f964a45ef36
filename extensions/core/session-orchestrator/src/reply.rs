//! The reply of a turn: which text leaves for the channel, and where it goes.
//!
//! Pure.

use crate::contract::{Delivery, Submission};
use dispatch_contracts::conversation::{Chunk, Message, Role, Row, project};
use dispatch_contracts::turn::TurnEnd;

/// The longest reply that leaves; the rest stays in the session.
const MAX_REPLY_CHARS: usize = 100_000;

/// The channel that a reply goes to; `None` if nobody waits for one.
pub(crate) fn channel(delivery: &Delivery) -> Option<&str> {
    delivery.get("channel")?.as_str().filter(|channel| !channel.is_empty())
}

/// Whether a turn that ended like this has something to say to its sender. One that was stopped has not: somebody else
/// wanted something else.
pub(crate) const fn answers(end: &TurnEnd) -> bool {
    matches!(end, TurnEnd::Finished | TurnEnd::LimitReached { .. })
}

/// The last words of the model in a turn; `None` if it said nothing.
pub(crate) fn reply_text(rows: &[Row]) -> Option<String> {
    let messages = project(rows);
    let last = messages.iter().rev().find(|message| message.role == Role::Assistant && !text(message).is_empty())?;
    Some(text(last).chars().take(MAX_REPLY_CHARS).collect())
}

fn text(message: &Message) -> String {
    let texts = message.chunks.iter().filter_map(|chunk| match chunk {
        Chunk::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("").trim().to_owned()
}

/// What two replies have in common that must arrive in order.
pub(crate) fn order_key(delivery: &Delivery) -> String {
    crate::queue::delivery_target(delivery).to_string()
}

/// The further sections of the system prompt that the inputs of a turn bring, each once.
pub(crate) fn system_sections<'a>(inputs: impl IntoIterator<Item = &'a Submission>) -> Vec<String> {
    let mut sections: Vec<String> = Vec::new();
    for section in inputs.into_iter().flat_map(|input| &input.system) {
        if !sections.contains(section) {
            sections.push(section.clone());
        }
    }
    sections
}

/// The text of an input that enters a running turn: its sections of the system prompt come with it.
pub(crate) fn steering_text(input: &Submission) -> String {
    if input.system.is_empty() {
        return input.text.clone();
    }
    format!("{}\n\n(about this message)\n{}", input.text, input.system.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::conversation::{ChunkState, RowBody};
    use dispatch_contracts::ids::{RowId, TurnId};
    use serde_json::json;

    fn said(step: u32, index: u32, part: u32, text: &str) -> Row {
        Row {
            id: RowId::new(format!("{step}-{index}-{part}")),
            turn: TurnId::new("t"),
            step,
            at_ms: 0,
            body: RowBody::Chunk {
                role: Role::Assistant,
                index,
                part,
                chunk: Chunk::Text { text: text.to_owned() },
                state: ChunkState::Whole,
            },
        }
    }

    #[test]
    fn the_last_words_are_the_reply() {
        assert_eq!(reply_text(&[]), None);
        assert_eq!(reply_text(&[said(1, 0, 0, "  ")]), None);
        assert_eq!(reply_text(&[said(1, 0, 0, "It is "), said(1, 0, 1, "five.\n")]).unwrap(), "It is five.");
    }

    #[test]
    fn a_reply_goes_to_a_channel_or_nowhere() {
        assert_eq!(channel(&json!(null)), None);
        assert_eq!(channel(&json!({"channel": ""})), None);
        assert_eq!(channel(&json!({"channel": "mail"})), Some("mail"));
    }

    #[test]
    fn sections_that_inputs_share_are_said_once() {
        let with = |sections: &[&str]| Submission {
            text: "x".to_owned(),
            system: sections.iter().map(|&section| section.to_owned()).collect(),
            ..Submission::default()
        };
        assert_eq!(system_sections(&[with(&["a", "b"]), with(&["b", "c"])]), ["a", "b", "c"]);
        assert_eq!(steering_text(&with(&[])), "x");
        assert!(steering_text(&with(&["about"])).ends_with("about"));
    }
}
