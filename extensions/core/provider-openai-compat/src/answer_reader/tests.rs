//! Whole answers, cut anywhere.

use super::*;
use dispatch_contracts::provider::Finish;
use proptest::prelude::*;
use serde_json::json;

fn take<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let mut reader = AnswerReader::new(ReplyReducer::default(), Vec::new());
    let mut events = Vec::new();
    for piece in pieces {
        let (more, error) = reader.push(piece);
        events.extend(more);
        if error.is_some() {
            return (events, error);
        }
    }
    let (more, error) = reader.finish();
    events.extend(more);
    (events, error)
}

fn text_of(events: &[ModelEvent]) -> String {
    let text = |event: &ModelEvent| match event {
        ModelEvent::TextDelta { text } => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// What a server really sends: comments, reasoning, text beyond ASCII, two calls, usage, an end.
const RECORDED: &str = concat!(
    ": OPENROUTER PROCESSING\n\n",
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"h\u{00e4}\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Gr\u{00fc}\u{00df}e \u{1f980}\"}}]}\r\n\r\n",
    "event: chunk\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" und mehr\\n\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"p\\\":\\\"\u{00fc}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"list\",\"arguments\":\"{}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n",
    "data: [DONE]\n\n",
);

#[test]
fn a_recorded_stream() {
    let (events, error) = take([RECORDED.as_bytes()]);
    assert_eq!(error, None);
    assert_eq!(text_of(&events), "Grüße 🦀 und mehr\n");
    assert_eq!(events.iter().filter(|event| matches!(event, ModelEvent::ToolCall { .. })).count(), 2);
    assert_eq!(events.last(), Some(&ModelEvent::Finished { finish: Finish::ToolCalls }));
}

#[test]
fn split_utf8_one_byte_at_a_time() {
    assert_eq!(take(RECORDED.as_bytes().chunks(1)), take([RECORDED.as_bytes()]));
}

proptest! {
    #[test]
    fn any_cut_of_a_recorded_stream_gives_the_same_events(
        cuts in proptest::collection::vec(0..RECORDED.len(), 0..12),
    ) {
        let mut at = cuts;
        at.sort_unstable();
        let bounds: Vec<usize> = [0].into_iter().chain(at).chain([RECORDED.len()]).collect();
        let pieces = bounds.windows(2).map(|pair| &RECORDED.as_bytes()[pair[0]..pair[1]]);
        prop_assert_eq!(take(pieces), take([RECORDED.as_bytes()]));
    }

    #[test]
    fn any_end_is_an_error_or_the_whole_reply(end in 0..RECORDED.len()) {
        let (events, error) = take([&RECORDED.as_bytes()[..end]]);
        let finished = matches!(events.last(), Some(ModelEvent::Finished { .. }));
        prop_assert_eq!(finished, error.is_none(), "an end is a finish or an error, never neither");
        if let Some(error) = error {
            prop_assert_eq!(error.kind, ProviderErrorKind::BrokenStream);
        }
        let (whole, _) = take([RECORDED.as_bytes()]);
        let start: Vec<&ModelEvent> = events.iter().filter(|event| !matches!(event, ModelEvent::Finished { .. })).collect();
        prop_assert!(start.iter().zip(&whole).all(|(seen, expected)| **seen == *expected));
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        take(bytes.chunks(11));
    }
}

#[test]
fn missing_done_is_no_error_after_a_finish() {
    let without: String = RECORDED.replace("data: [DONE]\n\n", "");
    assert_eq!(take([without.as_bytes()]), take([RECORDED.as_bytes()]));
    let torn = without.trim_end();
    assert_eq!(take([torn.as_bytes()]), take([RECORDED.as_bytes()]), "the last empty line may be missing too");
}

#[test]
fn truncated_json_in_the_middle_breaks_the_stream() {
    let (events, error) =
        take([b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\n\n".as_slice()]);
    assert_eq!(text_of(&events), "a");
    assert_eq!(error.unwrap().kind, ProviderErrorKind::BrokenStream);
}

#[test]
fn plain_json_instead_of_a_stream() {
    let reply = json!({
        "object": "chat.completion",
        "choices": [{
            "index": 0, "finish_reason": "tool_calls",
            "message": {
                "role": "assistant", "content": "so", "reasoning_content": "hm",
                "tool_calls": [{ "id": "c", "type": "function", "function": { "name": "a", "arguments": "{}" } }],
            },
        }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 2 },
    });
    let (events, error) = take(format!("\n {reply}").as_bytes().chunks(5));
    assert_eq!(error, None);
    assert_eq!(text_of(&events), "so");
    assert!(
        events.contains(&ModelEvent::ToolCall { id: "c".into(), name: "a".into(), arguments: "{}".into() }),
        "{events:?}"
    );
    assert_eq!(events.last(), Some(&ModelEvent::Finished { finish: Finish::ToolCalls }));
}

#[test]
fn success_with_an_error_body() {
    for (body, kind) in [
        (
            json!({ "error": { "message": "no such model", "code": 404 } }).to_string(),
            ProviderErrorKind::InvalidRequest,
        ),
        (json!({ "error": "busy" }).to_string(), ProviderErrorKind::Unavailable),
        (json!({ "detail": "Not Found" }).to_string(), ProviderErrorKind::Unavailable),
        ("<!DOCTYPE html><title>Welcome</title>".to_owned(), ProviderErrorKind::InvalidRequest),
        ("{\"choices\":".to_owned(), ProviderErrorKind::BrokenStream),
        (String::new(), ProviderErrorKind::BrokenStream),
        ("nonsense".to_owned(), ProviderErrorKind::BrokenStream),
    ] {
        let (events, error) = take([body.as_bytes()]);
        assert_eq!((events, error.map(|error| error.kind)), (vec![], Some(kind)), "{body}");
    }
}

#[test]
fn ten_megabytes_in_one_delta() {
    let large = "x".repeat(10 * 1024 * 1024);
    let chunk = json!({ "choices": [{ "delta": { "content": large }, "finish_reason": "stop" }] });
    let (events, error) = take(format!("data: {chunk}\n\n").as_bytes().chunks(16 * 1024));
    assert_eq!(error, None);
    assert_eq!(text_of(&events).len(), large.len());
}

#[test]
fn more_than_the_limit_is_an_error_and_not_a_full_memory() {
    let piece = vec![b'x'; 1024 * 1024];
    let pieces = std::iter::once(b"data: ".as_slice()).chain(std::iter::repeat_n(piece.as_slice(), 40));
    assert_eq!(take(pieces).1.unwrap().kind, ProviderErrorKind::BrokenStream);
    let document = std::iter::once(b"{\"".as_slice()).chain(std::iter::repeat_n(piece.as_slice(), 40));
    assert_eq!(take(document).1.unwrap().kind, ProviderErrorKind::BrokenStream);
}
