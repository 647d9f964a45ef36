//! Shortens texts and results that alone are too long, with words about what was left out.
//!
//! Pure.

use dispatch_contracts::conversation::{Chunk, Message, Role};
use dispatch_contracts::provider::ProviderErrorKind;
use dispatch_contracts::turn::TurnEnd;
use ext_session_orchestrator::contract::PastTurn;

/// What is left of a message that failed.
const FAILED_BYTES: usize = 1_024;
/// No text is cut to less.
const LEAST_BYTES: usize = 256;

/// The messages of a past turn as later ones read them. Input that no model could take is not sent again with every
/// later message: its pictures go, and its text is cut.
pub(crate) fn readable(turn: &PastTurn) -> Vec<Message> {
    let refused = matches!(
        &turn.end,
        Some(TurnEnd::ProviderFailed { error })
            if matches!(error.kind, ProviderErrorKind::ContextLength | ProviderErrorKind::InvalidRequest)
    );
    if !refused {
        return turn.messages.clone();
    }
    let mut messages = turn.messages.clone();
    for message in messages.iter_mut().filter(|message| message.role == Role::User) {
        for chunk in &mut message.chunks {
            match chunk {
                Chunk::Text { text } => cut(text, FAILED_BYTES),
                Chunk::Image(_) => *chunk = Chunk::Text { text: "[A picture was left out.]".to_owned() },
                _ => {}
            }
        }
    }
    messages
}

/// Cuts the longest texts and results of messages until they take no more than this together; the last message of the
/// user stays as it is. Says whether anything was cut.
pub(crate) fn fit(messages: &mut [Message], bytes: usize) -> bool {
    let last_input = messages.iter().rposition(|message| message.role == Role::User);
    let kept: usize = last_input.and_then(|at| messages.get(at)).map_or(0, |message| lengths(message).sum());
    let others = |messages: &[Message]| -> Vec<usize> {
        let others = messages.iter().enumerate().filter(|(at, _)| Some(*at) != last_input);
        others.flat_map(|(_, message)| lengths(message)).collect()
    };
    let Some(most) = longest_allowed(&others(messages), bytes.saturating_sub(kept)) else { return false };
    for (_, message) in messages.iter_mut().enumerate().filter(|(at, _)| Some(*at) != last_input) {
        for chunk in &mut message.chunks {
            match chunk {
                Chunk::Text { text } => cut(text, most),
                Chunk::ToolResult(result) => cut(&mut result.text, most),
                _ => {}
            }
        }
    }
    true
}

fn lengths(message: &Message) -> impl Iterator<Item = usize> + '_ {
    message.chunks.iter().filter_map(|chunk| match chunk {
        Chunk::Text { text } => Some(text.len()),
        Chunk::ToolResult(result) => Some(result.text.len()),
        _ => None,
    })
}

/// The length that every text has to be cut to so that all fit; `None` if they do, or if no cut would help.
fn longest_allowed(lengths: &[usize], bytes: usize) -> Option<usize> {
    if lengths.iter().sum::<usize>() <= bytes {
        return None;
    }
    let mut most = lengths.iter().copied().max().unwrap_or_default();
    while most > LEAST_BYTES && lengths.iter().map(|length| (*length).min(most)).sum::<usize>() > bytes {
        most = (most * 3 / 4).max(LEAST_BYTES);
    }
    lengths.iter().any(|length| *length > most).then_some(most)
}

/// Cuts a text to about this length: its beginning and its end stay.
pub(crate) fn cut(text: &mut String, bytes: usize) {
    let bytes = bytes.max(LEAST_BYTES);
    if text.len() <= bytes {
        return;
    }
    let head = boundary(text, bytes * 2 / 3);
    let tail = boundary(text, text.len() - bytes / 6);
    let left_out = tail.saturating_sub(head);
    let (beginning, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    *text = format!("{beginning}\n[... {left_out} bytes were left out, because they do not fit the model ...]\n{end}");
}

/// The last place at or before `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::conversation::{Image, validate};
    use dispatch_contracts::ids::{SessionId, TurnId};
    use dispatch_contracts::provider::ProviderError;
    use proptest::prelude::*;

    fn turn(messages: Vec<Message>, kind: Option<ProviderErrorKind>) -> PastTurn {
        let end = kind.map(|kind| TurnEnd::ProviderFailed { error: ProviderError::new(kind, "no") });
        PastTurn { turn: TurnId::new("t"), session: SessionId::new("s"), messages, end }
    }

    #[test]
    fn input_that_was_refused_is_short_for_later_turns() {
        let mut long = Message::text(Role::User, "x".repeat(100_000));
        long.chunks.push(Chunk::Image(Image { media_type: "image/png".to_owned(), data: "junk".to_owned() }));
        let messages = vec![long, Message::text(Role::Assistant, "[No reply was given to this message.]")];
        for (kind, is_cut) in [
            (Some(ProviderErrorKind::ContextLength), true),
            (Some(ProviderErrorKind::InvalidRequest), true),
            (Some(ProviderErrorKind::Unavailable), false),
            (None, false),
        ] {
            let read = readable(&turn(messages.clone(), kind));
            assert_eq!(read != messages, is_cut, "{kind:?}");
            assert_eq!(validate(&read), Ok(()));
            let first: usize = lengths(&read[0]).sum();
            assert_eq!(first < 2_000, is_cut);
        }
    }

    #[test]
    fn the_input_stays_and_what_surrounds_it_is_cut() {
        let mut messages = vec![
            Message::text(Role::User, "q".repeat(3_000)),
            Message::text(Role::Assistant, "a".repeat(50_000)),
            Message::text(Role::User, "last ".repeat(100)),
        ];
        assert!(fit(&mut messages, 8_000));
        assert_eq!(lengths(&messages[2]).sum::<usize>(), 500);
        assert!(messages.iter().flat_map(lengths).sum::<usize>() <= 9_000);
        assert!(!fit(&mut messages, 9_000), "it fits now");
    }

    proptest! {
        #[test]
        fn a_cut_is_text_and_no_longer(text in "\\PC{0,3000}", bytes in 0_usize..2_000) {
            let mut cut_text = text.clone();
            cut(&mut cut_text, bytes);
            prop_assert!(cut_text == text || cut_text.len() <= bytes.max(LEAST_BYTES) + 100);
        }
    }
}
