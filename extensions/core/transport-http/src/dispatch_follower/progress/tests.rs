//! Whatever is lost or comes late, the account is the stored text, each byte once.

use super::*;
use dispatch_contracts::conversation::ChunkState;
use ext_session_orchestrator::contract::{DispatchState, Mode};
use proptest::prelude::*;

const TURN: &str = "t";

fn view(turn: Option<&str>) -> DispatchView {
    DispatchView {
        id: DispatchId::new("d"),
        session: "main".to_owned(),
        seq: 1,
        mode: Mode::Followup,
        state: DispatchState::Running,
        reason: String::new(),
        folder: None,
        turn: turn.map(TurnId::from),
        attempts: 1,
        source: "http".to_owned(),
        text: "hi".to_owned(),
        at_ms: 0,
    }
}

fn begun() -> DispatchProgress {
    let mut progress = DispatchProgress::new(DispatchId::new("d"));
    progress.note(&view(Some(TURN)));
    progress
}

fn news(news: SessionNews) -> SessionEvent {
    SessionEvent { seq: None, news }
}

fn delta(step: u32, text: &str) -> SessionEvent {
    news(SessionNews::Live { turn: TURN.into(), live: TurnEvent::TextDelta { step, text: text.to_owned() } })
}

fn row(id: &str, turn: &str, step: u32, body: RowBody) -> Row {
    Row { id: id.into(), turn: turn.into(), step, at_ms: 0, body }
}

fn text_row(id: &str, step: u32, text: &str) -> Row {
    let chunk = Chunk::Text { text: text.to_owned() };
    row(id, TURN, step, RowBody::Chunk { role: Role::Assistant, index: 0, part: 0, chunk, state: ChunkState::Whole })
}

fn texts(replies: &[ReplyEvent]) -> String {
    let texts = replies.iter().filter_map(|reply| match reply {
        ReplyEvent::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn what_was_heard_is_not_told_again_by_its_row() {
    let mut progress = begun();
    let mut told = progress.hear(delta(0, "Hel"));
    told.extend(progress.hear(delta(0, "lo")));
    told.extend(progress.store(&text_row("r", 0, "Hello")));
    told.extend(progress.store(&text_row("r", 0, "Hello")));
    assert_eq!(texts(&told), "Hello");
}

#[test]
fn news_of_other_turns_is_not_ours() {
    let mut progress = DispatchProgress::new(DispatchId::new("d"));
    assert!(progress.hear(delta(0, "x")).is_empty(), "no turn has taken it yet");
    progress.note(&view(Some("another")));
    assert!(progress.hear(delta(0, "x")).is_empty());
    assert!(progress.store(&text_row("r", 0, "x")).is_empty());
}

#[test]
fn a_call_is_told_once_in_each_of_its_states() {
    let call = ToolCall { id: "c".into(), name: "read_file".to_owned(), arguments: serde_json::Map::new() };
    let chunk = Chunk::ToolCall(call.clone());
    let said = RowBody::Chunk { role: Role::Assistant, index: 0, part: 0, chunk, state: ChunkState::Whole };
    let started = RowBody::CallStarted { index: 0, call: call.clone() };
    let mut progress = begun();
    assert_eq!(progress.store(&row("1", TURN, 0, said)), [ReplyEvent::Called(call.clone())]);
    assert_eq!(progress.store(&row("2", TURN, 0, started.clone())), [ReplyEvent::Started(call.id.clone())]);
    assert_eq!(
        begun().store(&row("2", TURN, 0, started)),
        [ReplyEvent::Called(call.clone()), ReplyEvent::Started(call.id)]
    );
}

/// How one delta fares on its way.
#[derive(Clone, Copy, Debug)]
enum DeltaDelivery {
    Heard,
    Lost,
}

proptest! {
    #[test]
    fn the_account_is_the_stored_text(
        steps in proptest::collection::vec(
            proptest::collection::vec(("[a-z\u{e9} ]{1,6}", any::<bool>(), 1_usize..4), 1..8), 1..4,
        ),
    ) {
        let mut progress = begun();
        let (mut told, mut expected) = (Vec::new(), String::new());
        let mut stored: Vec<Row> = Vec::new();
        let mut delivered = 0;
        for (step, deltas) in steps.iter().enumerate() {
            let step = u32::try_from(step).unwrap();
            let started = SessionNews::Live { turn: TURN.into(), live: TurnEvent::StepStarted { step } };
            told.extend(progress.hear(news(started)));
            let (mut gathered, mut row_number) = (String::new(), 0);
            for (text, is_heard, flush) in deltas {
                expected.push_str(text);
                gathered.push_str(text);
                // A row with the delta in it is stored before the delta is told.
                if gathered.len() >= *flush * 4 {
                    row_number += 1;
                    stored.push(text_row(&format!("{step}.{row_number}"), step, &std::mem::take(&mut gathered)));
                    if *is_heard {
                        told.extend(stored[delivered..].iter().flat_map(|row| progress.store(row)));
                        delivered = stored.len();
                    }
                }
                let delivery = if *is_heard { DeltaDelivery::Heard } else { DeltaDelivery::Lost };
                told.extend(match delivery {
                    DeltaDelivery::Heard => progress.hear(delta(step, text)),
                    DeltaDelivery::Lost => progress.hear(news(SessionNews::Lagged)),
                });
            }
            stored.push(text_row(&format!("{step}.end"), step, &gathered));
        }
        for row in &stored {
            told.extend(progress.store(row));
        }
        let mut by_step: Vec<(u32, &str)> = told.iter().filter_map(|reply| match reply {
            ReplyEvent::Text { step, text } => Some((*step, text.as_str())),
            _ => None,
        }).collect();
        by_step.sort_by_key(|(step, _)| *step);
        let said: String = by_step.into_iter().map(|(_, text)| text).collect();
        prop_assert_eq!(said, expected);
    }
}

#[test]
fn storage_is_asked_once_for_each_turn_that_is_not_known() {
    let mut progress = DispatchProgress::new(DispatchId::new("d"));
    let spoken = |turn: &str| SessionNews::Row { row: row("r", turn, 0, RowBody::Marker { text: "x".to_owned() }) };
    let steered =
        |turn: &str| SessionNews::Row { row: row("r", turn, 0, RowBody::Steer { index: 0, text: "x".to_owned() }) };
    assert!(progress.is_unsure(&spoken("before")));
    assert!(!progress.is_unsure(&spoken("before")), "it is somebody else's");
    assert!(progress.is_unsure(&steered("before")), "it may have taken the dispatch in");
    assert!(progress.is_unsure(&spoken(TURN)));
    progress.note(&view(Some(TURN)));
    assert!(!progress.is_unsure(&spoken(TURN)) && !progress.is_unsure(&steered(TURN)));
    assert!(progress.is_unsure(&spoken("again")), "a process died and another took it up");
    progress.note(&view(Some("again")));
    assert!(progress.store(&row("r1", TURN, 0, RowBody::Marker { text: "x".to_owned() })).is_empty());
}
