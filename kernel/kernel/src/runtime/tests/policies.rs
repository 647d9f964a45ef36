//! The six combinations of the dispatch policy, each with the recorded order of starts and ends.

use super::scenario::{TurnScenario, call, finish};
use dispatch_contracts::limits::DispatchPolicy;
use dispatch_contracts::turn::TurnEnd;
use serde_json::json;

/// Calls `a`, `b`, `c` arrive at 10, 20 and 30 ms and take 30 ms each; the model finishes at 100 ms.
fn spans(max_concurrent: u32, eager: bool) -> Vec<(String, u64, u64)> {
    let script = vec![vec![
        (10, call("a", "safe", json!({"ms": 30, "key": "1"}))),
        (10, call("b", "safe", json!({"ms": 30, "key": "2"}))),
        (10, call("c", "safe", json!({"ms": 30, "key": "3"}))),
        (70, finish()),
    ]];
    let policy = DispatchPolicy { max_concurrent, eager };
    let result = TurnScenario { script, policy, ..TurnScenario::default() }.run().unwrap();
    assert_eq!(result.outcome.end, TurnEnd::Finished);
    let span = |span: super::scenario::ToolSpan| (span.call.to_string(), span.start_ms, span.end_ms.unwrap());
    result.spans().into_iter().map(span).collect()
}

fn expected(times: [(u64, u64); 3]) -> Vec<(String, u64, u64)> {
    ["a", "b", "c"].iter().zip(times).map(|(id, (start, end))| ((*id).to_owned(), start, end)).collect()
}

#[test]
fn one_at_a_time_after_the_stream() {
    assert_eq!(spans(1, false), expected([(100, 130), (130, 160), (160, 190)]));
}

#[test]
fn one_at_a_time_from_the_moment_it_arrives() {
    assert_eq!(spans(1, true), expected([(10, 40), (40, 70), (70, 100)]));
}

#[test]
fn two_at_a_time_after_the_stream() {
    assert_eq!(spans(2, false), expected([(100, 130), (100, 130), (130, 160)]));
}

#[test]
fn two_at_a_time_from_the_moment_they_arrive() {
    assert_eq!(spans(2, true), expected([(10, 40), (20, 50), (40, 70)]));
}

#[test]
fn all_at_once_after_the_stream() {
    assert_eq!(spans(0, false), expected([(100, 130), (100, 130), (100, 130)]));
}

#[test]
fn all_at_once_from_the_moment_they_arrive() {
    assert_eq!(spans(0, true), expected([(10, 40), (20, 50), (30, 60)]));
}
