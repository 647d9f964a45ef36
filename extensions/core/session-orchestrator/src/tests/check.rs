//! The invariants of the queue, checked on what a history left behind.

use super::simulation::{LeftHistory, Simulation};
use crate::contract::{DispatchState, DispatchView, Mode};
use dispatch_contracts::conversation::{Row, RowBody};
use dispatch_contracts::ids::TurnId;
use std::collections::{BTreeMap, BTreeSet};

/// Checks everything.
pub(super) async fn check(simulation: &Simulation) {
    let views = views(simulation).await;
    let labels: BTreeSet<&str> = views.iter().map(|view| view.session.as_str()).collect();
    assert!(!labels.is_empty(), "a history without input proves nothing");
    every_input_has_one_named_end(&views);
    for label in labels {
        let rows = rows(simulation, label).await;
        let of_session: Vec<&DispatchView> = views.iter().filter(|view| view.session == label).collect();
        turns_follow_one_another(&rows, label);
        inputs_are_consumed_in_order(&of_session, &rows);
        every_consumed_text_is_stored_once(&of_session, &rows);
    }
    no_session_sleeps_on_work(simulation).await;
}

/// Everything that a history left behind.
pub(super) async fn history(simulation: &Simulation) -> LeftHistory {
    let views = views(simulation).await;
    let labels: BTreeSet<&str> = views.iter().map(|view| view.session.as_str()).collect();
    let mut streams = Vec::new();
    for label in labels {
        streams.push(rows(simulation, label).await);
    }
    (views, streams)
}

async fn views(simulation: &Simulation) -> Vec<DispatchView> {
    let receipts = simulation.receipts.lock().unwrap().clone();
    let ids: BTreeSet<_> = receipts.into_iter().map(|receipt| receipt.dispatch).collect();
    let mut views = Vec::new();
    for id in ids {
        views.push(simulation.store.dispatch(&id).await.expect("an accepted input is stored"));
    }
    views.sort_by(|a, b| (&a.session, a.seq).cmp(&(&b.session, b.seq)));
    views
}

async fn rows(simulation: &Simulation, label: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut seen = 0;
    loop {
        let page = simulation.store.rows_after(label, seen).await.unwrap();
        let Some((last, _)) = page.last() else { return rows };
        assert_eq!(page.first().map(|(seq, _)| *seq), Some(seen + 1), "places have no gap");
        seen = *last;
        rows.extend(page.into_iter().map(|(_, row)| row));
    }
}

/// Every accepted input ends in exactly one named state, and says why where it is not plain.
fn every_input_has_one_named_end(views: &[DispatchView]) {
    for view in views {
        assert!(view.state.is_over(), "{view:?}");
        assert!(view.state == DispatchState::Done || !view.reason.is_empty(), "{view:?} has no reason");
        let ran = view.state == DispatchState::Done;
        assert_eq!(view.turn.is_some() && ran, ran, "what is done was done by a turn: {view:?}");
    }
}

/// No two turns of a session write at the same time: their rows never interleave.
fn turns_follow_one_another(rows: &[Row], label: &str) {
    let mut over: BTreeSet<&TurnId> = BTreeSet::new();
    let mut current: Option<&TurnId> = None;
    for row in rows {
        if current != Some(&row.turn) {
            over.extend(current);
            assert!(!over.contains(&row.turn), "turn {} of {label} wrote after another had begun", row.turn);
            current = Some(&row.turn);
        }
    }
    let ids: BTreeSet<_> = rows.iter().map(|row| row.id.clone()).collect();
    assert_eq!(ids.len(), rows.len(), "no row is stored twice");
}

/// Inputs are taken in the order they came, except those that steer; those that share a turn have one key.
fn inputs_are_consumed_in_order(views: &[&DispatchView], rows: &[Row]) {
    let place: BTreeMap<&TurnId, usize> = rows.iter().enumerate().rev().map(|(at, row)| (&row.turn, at)).collect();
    let taken = views.iter().filter(|view| view.mode != Mode::Steer && view.state == DispatchState::Done);
    let places: Vec<usize> = taken.filter_map(|view| place.get(view.turn.as_ref()?).copied()).collect();
    assert!(places.is_sorted(), "{views:?}");
}

/// What a turn consumed is in its rows, once.
fn every_consumed_text_is_stored_once(views: &[&DispatchView], rows: &[Row]) {
    for view in views.iter().filter(|view| view.state == DispatchState::Done) {
        let turn = view.turn.as_ref().expect("checked before");
        let said = |row: &&Row| row.turn == *turn && text(row).is_some_and(|text| text == view.text);
        assert_eq!(rows.iter().filter(said).count(), 1, "{view:?}");
    }
}

fn text(row: &Row) -> Option<&str> {
    match &row.body {
        RowBody::Chunk { chunk: dispatch_contracts::conversation::Chunk::Text { text }, .. } => Some(text),
        RowBody::Steer { text, .. } => Some(text),
        _ => None,
    }
}

/// Nothing waits without a time at which it is looked at, and after rest nothing waits at all.
async fn no_session_sleeps_on_work(simulation: &Simulation) {
    assert_eq!(simulation.store.next_due(0).await.unwrap(), None);
    assert!(simulation.store.queue(None).await.unwrap().is_empty());
}
