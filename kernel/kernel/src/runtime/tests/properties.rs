//! For any script of model events, tool durations, failures, cancellations and interrupts.

use super::scenario::{ModelAction, ModelScript, ScenarioResult, TOOLS, ToolSpan, TurnScenario, call, finish, text};
use crate::reconcile::{history, reconcile};
use dispatch_contracts::conversation::{Chunk, Message, Role, Row, RowBody, validate};
use dispatch_contracts::limits::{DispatchPolicy, TurnLimits};
use dispatch_contracts::provider::ModelEvent;
use dispatch_contracts::turn::TurnEnd;
use proptest::prelude::*;
use serde_json::json;

fn model_action() -> impl Strategy<Value = ModelAction> {
    prop_oneof![
        3 => "[a-z \n]{0,12}".prop_map(|said| text(&said)),
        1 => "[a-z]{0,6}".prop_map(|thought| ModelAction::Event(ModelEvent::ReasoningDelta { text: thought })),
        1 => Just(ModelAction::Event(ModelEvent::ReasoningSealed { signature: "seal".into() })),
        6 => (0..4_u8, 0..TOOLS.len() + 1, 0..3_u8, 0..40_u64).prop_map(|(id, tool, key, ms)| {
            let name = TOOLS.get(tool).map_or("missing", |(name, _)| name);
            let id = if id == 0 { String::new() } else { format!("call-{id}") };
            call(&id, name, json!({"ms": ms, "key": format!("k{key}")}))
        }),
        1 => Just(ModelAction::Event(ModelEvent::ToolCall { id: "bad".into(), name: "safe".into(), arguments: "{\"ms\":".into() })),
        1 => prop_oneof![Just(ModelAction::Fail), Just(ModelAction::BreakOff), Just(ModelAction::Crash), Just(ModelAction::Hang)],
    ]
}

fn script() -> impl Strategy<Value = ModelScript> {
    let step = proptest::collection::vec((0..30_u64, model_action()), 0..8).prop_map(|mut acts| {
        acts.push((5, finish()));
        acts
    });
    proptest::collection::vec(step, 0..4)
}

fn scenario() -> impl Strategy<Value = TurnScenario> {
    let policy = (0..4_u32, any::<bool>()).prop_map(|(max_concurrent, eager)| DispatchPolicy { max_concurrent, eager });
    let mail = proptest::collection::vec((0..200_u64, "[a-z ]{0,6}"), 0..3);
    let cancel = proptest::option::weighted(0.3, 0..300_u64);
    let full = prop_oneof![4 => Just(usize::MAX), 1 => 0..30_usize];
    (any::<u64>(), script(), policy, mail, cancel, full, 1..4_u32).prop_map(
        |(seed, script, policy, mail, cancel_at_ms, rows_until_full, steps)| TurnScenario {
            seed,
            script,
            policy,
            mail,
            cancel_at_ms,
            rows_until_full,
            limits: TurnLimits {
                steps: steps + 1,
                calls_per_step: 5,
                call_ms: 500,
                turn_ms: 2_000,
                cancel_grace_ms: 20,
                output_bytes: 64,
                flush_bytes: 8,
                ..TurnLimits::default()
            },
            ..TurnScenario::default()
        },
    )
}

fn check_every_call_has_one_result(rows: &[Row]) {
    let calls: Vec<_> = rows
        .iter()
        .filter_map(|row| match &row.body {
            RowBody::Chunk { chunk: Chunk::ToolCall(call), .. } => Some(call.id.clone()),
            _ => None,
        })
        .collect();
    for id in &calls {
        let ended = |row: &&Row| matches!(&row.body, RowBody::CallEnded { result } if result.call == *id);
        assert_eq!(rows.iter().filter(ended).count(), 1, "results of {id} in {rows:#?}");
    }
}

fn overlap(one: &ToolSpan, other: &ToolSpan) -> bool {
    let end = |span: &ToolSpan| span.end_ms.unwrap_or(u64::MAX);
    one.start_ms < end(other) && other.start_ms < end(one)
}

/// No two calls overlap that must not, and never more than the policy allows.
fn check_overlaps(result: &ScenarioResult, policy: DispatchPolicy) {
    let spans = result.spans();
    for (at, span) in spans.iter().enumerate() {
        assert!(span.recorded, "{span:?} ran before its start was stored");
        let together: Vec<&ToolSpan> = spans
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, span)| span)
            .filter(|other| overlap(span, other))
            .collect();
        if span.tool == "exclusive" {
            assert!(together.is_empty(), "{span:?} overlaps {together:?}");
        }
        if span.tool == "keyed" {
            assert!(!together.iter().any(|other| other.tool == "keyed" && other.keys == span.keys), "{spans:?}");
        }
        let at_once = 1 + spans.iter().filter(|other| other.start_ms < span.start_ms && overlap(span, other)).count();
        assert!(policy.max_concurrent == 0 || at_once <= policy.max_concurrent as usize, "{spans:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_has_exactly_one_result_and_the_outcome_is_a_valid_history(scenario in scenario()) {
        let policy = scenario.policy;
        let result = scenario.run().expect("a turn always ends");
        let whole: Vec<Message> =
            [Message::text(Role::User, "go")].into_iter().chain(result.outcome.messages.clone()).collect();
        prop_assert_eq!(validate(&whole), Ok(()), "{:#?}", whole);
        for request in &result.requests {
            prop_assert_eq!(validate(&request.messages), Ok(()), "{:#?}", request.messages);
        }
        check_overlaps(&result, policy);
        if !matches!(result.outcome.end, TurnEnd::StoreFailed { .. }) {
            check_every_call_has_one_result(&result.rows());
        }
        prop_assert_eq!(history(&result.log()), whole, "what was stored reads as what was returned");
    }

    #[test]
    fn a_crash_at_any_row_leaves_a_log_that_loads(scenario in scenario()) {
        let result = scenario.run().expect("a turn always ends");
        let log = result.log();
        for end in 0..=log.len() {
            let loaded = reconcile(&log[..end]);
            prop_assert_eq!(validate(&dispatch_contracts::conversation::project(&loaded.rows)), Ok(()));
        }
    }
}
