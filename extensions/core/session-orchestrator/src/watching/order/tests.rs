//! However reading and telling interleave, what is given out is what happened.

use super::*;
use dispatch_contracts::conversation::RowBody;
use dispatch_contracts::turn::TurnEvent;
use proptest::prelude::*;

fn row(seq: u64) -> Row {
    let body = RowBody::Marker { text: String::new() };
    Row { id: seq.to_string().as_str().into(), turn: "t".into(), step: 0, at_ms: 0, body }
}

fn rows_after(stored: &[u64], seen: u64) -> Vec<(u64, Row)> {
    stored.iter().filter(|seq| **seq > seen).map(|seq| (*seq, row(*seq))).collect()
}

fn told(seq: u64) -> SessionEvent {
    SessionEvent { seq: Some(seq), news: SessionNews::Row { row: row(seq) } }
}

fn live(number: u32) -> SessionEvent {
    let live = TurnEvent::StepStarted { step: number };
    SessionEvent { seq: None, news: SessionNews::Live { turn: "t".into(), live } }
}

#[test]
fn what_was_told_before_a_row_was_stored_comes_before_it() {
    let mut order = EventOrder::new(None, 3);
    order.behind = true;
    // While storage was read, a turn told something, stored a row, and went on.
    order.read(vec![(4, row(4))], || vec![live(1), told(4), live(2)]);
    assert_eq!(order.due, [live(1), told(4), live(2)]);
    // A row that is stored and not told yet follows what was told.
    order.due.clear();
    order.read(vec![(5, row(5))], || vec![live(3)]);
    order.hear(told(5));
    assert_eq!(order.due, [live(3), told(5)]);
}

#[test]
fn what_was_stored_before_watching_began_comes_first() {
    let mut order = EventOrder::new(Some(0), 2);
    order.read(vec![(1, row(1)), (2, row(2))], || panic!("not yet"));
    assert_eq!(order.due, [told(1), told(2)]);
    assert!(order.behind, "there may be another page");
    order.read(Vec::new(), || panic!("nothing to put in order"));
    assert!(!order.behind);
}

#[test]
fn rows_of_another_process_are_fetched() {
    let mut order = EventOrder::new(None, 3);
    order.hear(told(6));
    assert!(order.due.is_empty() && order.behind);
    order.read(vec![(4, row(4)), (5, row(5)), (6, row(6))], || vec![live(1)]);
    assert_eq!(order.due.iter().filter_map(|event| event.seq).collect::<Vec<_>>(), [4, 5, 6]);
}

/// What a turn does, and when the reader has its turn.
#[derive(Clone, Copy, Debug)]
enum Move {
    Tell,
    Store,
    /// The reader takes what waits.
    Hear,
    /// The reader looks at storage; it gets its answer so many moves later.
    Look(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![2 => Just(Move::Tell), 2 => Just(Move::Store), 1 => Just(Move::Hear), 1 => (0_usize..6).prop_map(Move::Look)];
    proptest::collection::vec(one, 0..60)
}

proptest! {
    #[test]
    fn the_account_is_what_happened(before in 0_u64..4, from_start in any::<bool>(), moves in moves()) {
        let mut order = EventOrder::new(from_start.then_some(0), before);
        let mut stored: Vec<u64> = (1..=before).collect();
        let mut happened: Vec<SessionEvent> = if from_start { stored.iter().copied().map(told).collect() } else { Vec::new() };
        let mut waiting: Vec<SessionEvent> = Vec::new();
        // A row is told only after the next move, so that reading may see it first.
        let mut untold: Option<SessionEvent> = None;
        let mut looking: Option<usize> = order.behind.then_some(0);
        let mut number = 0;
        for step in moves.iter().copied().chain([Move::Hear, Move::Look(0), Move::Hear]) {
            let late = untold.take();
            match step {
                Move::Tell => {
                    number += 1;
                    waiting.extend(late);
                    waiting.push(live(number));
                    happened.push(live(number));
                }
                Move::Store => {
                    waiting.extend(late);
                    let seq = stored.len() as u64 + 1;
                    stored.push(seq);
                    happened.push(told(seq));
                    untold = Some(told(seq));
                }
                Move::Hear | Move::Look(_) => untold = late,
            }
            looking = match (looking, step) {
                (Some(0), _) => {
                    order.read(rows_after(&stored, order.seen), || std::mem::take(&mut waiting));
                    order.behind.then_some(0)
                }
                (Some(left), _) => Some(left - 1),
                (None, Move::Look(delay)) => Some(delay),
                (None, Move::Hear) => {
                    waiting.drain(..).for_each(|event| order.hear(event));
                    None
                }
                (None, _) => None,
            };
        }
        while order.behind || looking.is_some() || !waiting.is_empty() {
            looking = None;
            order.read(rows_after(&stored, order.seen), || std::mem::take(&mut waiting));
            waiting.drain(..).for_each(|event| order.hear(event));
        }
        let given: Vec<SessionEvent> = order.due.into_iter().collect();
        let whole = happened.get(..given.len()).unwrap_or_default();
        prop_assert_eq!(&given[..], whole);
        prop_assert!(happened.len() - given.len() <= 1, "at most the row that nobody told is missing");
    }
}
