//! Crash shapes by name, then properties over every prefix and every single-row corruption.

mod generate;
mod shapes;

use super::{Reconciled, history, reconcile};
use dispatch_contracts::conversation::{Chunk, Row, RowBody, project, validate};
use generate::{Corruption, corrupt, logs};
use proptest::prelude::*;

/// Valid, idempotent, and the same for the same rows.
fn check_sound(rows: &[Row]) -> Reconciled {
    let repaired = reconcile(rows);
    let messages = project(&repaired.rows);
    assert_eq!(validate(&messages), Ok(()), "rows: {rows:#?}\nmessages: {messages:#?}");
    let again = reconcile(&repaired.rows);
    assert_eq!(again.rows, repaired.rows, "repairing twice changed something");
    assert!(again.repairs.is_empty(), "a repaired log still needs {:?}", again.repairs);
    let mut ids: Vec<_> = repaired.rows.iter().map(|row| &row.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), repaired.rows.len(), "row ids are unique");
    repaired
}

/// The texts that rows hold and that must not be lost: chunks, results that belong to a call, steers.
fn texts(rows: &[Row]) -> Vec<String> {
    let called = |row: &Row| {
        let id = row.body.call_id();
        rows.iter().any(|other| !matches!(other.body, RowBody::CallEnded { .. }) && other.body.call_id() == id)
    };
    let text = |row: &Row| match &row.body {
        RowBody::Chunk { chunk: Chunk::Text { text } | Chunk::Reasoning { text, .. }, .. } => Some(text.clone()),
        RowBody::Steer { text, .. } => Some(text.clone()),
        RowBody::CallEnded { result } if called(row) => Some(result.text.clone()),
        _ => None,
    };
    rows.iter().filter_map(text).filter(|text| !text.trim().is_empty()).collect()
}

fn check_keeps(rows: &[Row], wanted: &[String]) {
    let said = format!("{:?}", history(rows));
    for text in wanted {
        let quoted = format!("{text:?}");
        assert!(said.contains(quoted.trim_matches('"')), "lost {text:?} of {rows:#?}\nin {said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_prefix_of_a_log_is_repaired_and_loses_nothing(rows in logs()) {
        for end in 0..=rows.len() {
            let prefix = &rows[..end];
            check_sound(prefix);
            check_keeps(prefix, &texts(prefix));
        }
    }

    #[test]
    fn every_single_corruption_is_repaired_and_costs_only_the_corrupted_row(rows in logs(), pick in any::<u32>()) {
        for at in 0..rows.len() {
            for kind in Corruption::ALL {
                let damaged = corrupt(&rows, at, kind, pick);
                check_sound(&damaged);
                let others: Vec<Row> = rows.iter().enumerate().filter(|(row, _)| *row != at).map(|(_, row)| row.clone()).collect();
                check_keeps(&damaged, &texts(&others));
            }
        }
    }

    #[test]
    fn any_order_of_rows_is_repaired(rows in logs().prop_shuffle()) {
        check_sound(&rows);
    }

    #[test]
    fn a_clean_log_needs_no_repair(rows in generate::clean_logs()) {
        let repaired = check_sound(&rows);
        prop_assert_eq!(&repaired.repairs, &vec![]);
        prop_assert_eq!(project(&repaired.rows), project(&rows));
    }
}
