//! One test per promise of the turn loop that a table cannot hold.

use super::scenario::{ModelAction, TurnScenario, call, finish, subscriber, text};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Chunk, Message, ResultStatus, Role, RowBody};
use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::hook::{ErasedValue, FilterHandler, HandlerError};
use dispatch_contracts::hooks::{Denial, Question, TOOL_BEFORE, ToolBefore};
use dispatch_contracts::limits::{DispatchPolicy, TurnLimits};
use dispatch_contracts::provider::{ModelEvent, Usage};
use dispatch_contracts::turn::{Approver, Limit, Proposal, TurnEnd, TurnEvent};
use serde_json::json;
use std::sync::Arc;

const PARALLEL: DispatchPolicy = DispatchPolicy { max_concurrent: 0, eager: true };

/// A `tool.before` handler from a plain function.
fn guard(judge: impl Fn(ToolBefore) -> Result<ToolBefore, HandlerError> + Send + Sync + 'static) -> FilterHandler {
    Arc::new(move |value: ErasedValue| {
        let judged = value.typed::<ToolBefore>().and_then(|value| judge(ToolBefore::clone(&value)));
        Box::pin(std::future::ready(judged.map(ErasedValue::new)))
    })
}

#[test]
fn a_turn_without_tools_is_a_reply() {
    let script = vec![vec![(1, text("hel")), (1, text("lo")), (0, finish())]];
    let result = TurnScenario { script, ..TurnScenario::default() }.run().unwrap();
    assert_eq!(result.outcome.messages, vec![Message::text(Role::Assistant, "hello")]);
    assert_eq!((result.outcome.end, result.outcome.steps), (TurnEnd::Finished, 1));
}

#[test]
fn identical_calls_in_a_batch_run_once_in_emission_order() {
    let same = || call("", "safe", json!({"ms": 5}));
    let script = vec![vec![(1, same()), (1, same()), (20, same()), (0, finish())]];
    let result = TurnScenario { script, policy: PARALLEL, ..TurnScenario::default() }.run().unwrap();
    assert_eq!(result.spans().len(), 1);
    let results = result.results();
    assert_eq!(results.len(), 3);
    assert!(results[0].2.starts_with("ran ") && results[1].2.contains(&results[0].0), "{results:?}");
}

#[test]
fn a_long_output_is_cut_and_the_whole_is_kept_where_the_model_is_told() {
    let script = vec![vec![(1, call("a", "loud", json!({}))), (0, finish())]];
    let limits = TurnLimits { output_bytes: 100, ..TurnLimits::default() };
    let result = TurnScenario { script, limits, ..TurnScenario::default() }.run().unwrap();
    let shown = &result.results()[0].2;
    assert!(shown.contains("900 bytes left out; the full output is in spill/a"), "{shown}");
    assert_eq!(result.recorded.spilled.lock().unwrap()[0].1.len(), 1000);
}

#[test]
fn output_is_attributed_to_its_call() {
    let script = vec![vec![
        (1, call("a", "safe", json!({"key": "1"}))),
        (0, call("b", "safe", json!({"key": "2"}))),
        (0, finish()),
    ]];
    let result = TurnScenario { script, policy: PARALLEL, ..TurnScenario::default() }.run().unwrap();
    let events = result.recorded.events.lock().unwrap();
    for id in ["a", "b"] {
        let own = |event: &&TurnEvent| matches!(event, TurnEvent::CallOutput { call, text, .. } if call.as_str() == id && text == "working\n");
        assert_eq!(events.iter().filter(own).count(), 1);
    }
}

#[test]
fn cancelling_tells_finished_unknown_and_never_started_apart() {
    let script = vec![vec![
        (1, text("let me")),
        (1, call("quick", "safe", json!({"ms": 5}))),
        (1, call("polite", "patient", json!({}))),
        (1, call("deaf", "stubborn", json!({}))),
        (1, call("alone", "exclusive", json!({}))),
        (1, ModelAction::Hang),
    ]];
    let result =
        TurnScenario { script, policy: PARALLEL, cancel_at_ms: Some(100), ..TurnScenario::default() }.run().unwrap();
    assert_eq!(result.outcome.end, TurnEnd::Cancelled);
    let statuses: Vec<_> = result.results().into_iter().map(|(id, status, _)| (id, status)).collect();
    let expected = [
        ("quick", ResultStatus::Succeeded),
        ("polite", ResultStatus::Succeeded),
        ("deaf", ResultStatus::Unknown),
        ("alone", ResultStatus::NotRun),
    ];
    assert_eq!(statuses, expected.map(|(id, status)| (id.to_owned(), status)));
    assert!(result.results()[2].2.contains("working"), "what it printed so far is kept");
}

#[test]
fn a_reply_that_breaks_off_is_kept_and_marked() {
    let script = vec![vec![(1, text("I was ")), (1, text("about to")), (1, ModelAction::Fail)]];
    let result = TurnScenario { script, ..TurnScenario::default() }.run().unwrap();
    assert!(matches!(result.outcome.end, TurnEnd::ProviderFailed { .. }));
    assert_eq!(result.outcome.messages[0].chunks[0], Chunk::Text { text: "I was about to".into() });
    assert!(format!("{:?}", result.outcome.messages).contains("interrupted"));
}

#[test]
fn text_that_came_is_stored_while_the_model_is_silent() {
    let script = vec![vec![(1, text("I think it ")), (1, text("is")), (60_000, text(" so")), (1, finish())]];
    let result = TurnScenario { script, ..TurnScenario::default() }.run().unwrap();
    let stored: Vec<(u64, String)> = result
        .rows()
        .into_iter()
        .filter_map(|row| match row.body {
            RowBody::Chunk { chunk: Chunk::Text { text }, .. } => Some((row.at_ms, text)),
            _ => None,
        })
        .collect();
    let start = stored[0].0;
    let times: Vec<(u64, &str)> = stored.iter().map(|(at, text)| (at - start, text.as_str())).collect();
    let flush = TurnLimits::default().flush_ms;
    assert_eq!(times[..2], [(0, "I think it "), (flush, "is")]);
    assert_eq!(result.outcome.messages[0].chunks, [Chunk::Text { text: "I think it is so".into() }]);
    let cut = &result.log()[..3];
    assert!(format!("{:?}", crate::reconcile::history(cut)).contains("interrupted"), "{cut:?}");
}

#[test]
fn a_model_that_crashes_ends_the_turn_with_its_name() {
    let script = vec![vec![(1, ModelAction::Crash)]];
    let result = TurnScenario { script, ..TurnScenario::default() }.run().unwrap();
    let TurnEnd::ProviderFailed { error } = result.outcome.end else { panic!("{:?}", result.outcome.end) };
    assert!(error.message.contains("the provider crashed") && error.message.contains("the model tripped"), "{error}");
}

#[test]
fn text_that_arrives_during_a_batch_stands_behind_the_last_call_by_index() {
    let script = vec![vec![
        (1, call("slow", "safe", json!({"ms": 80, "key": "1"}))),
        (1, call("fast", "safe", json!({"ms": 5, "key": "2"}))),
        (0, finish()),
    ]];
    let mail = vec![(20, "also look at b".to_owned())];
    let result = TurnScenario { script, policy: PARALLEL, mail, ..TurnScenario::default() }.run().unwrap();
    let tool = &result.outcome.messages[1];
    let ids: Vec<_> = tool.results().map(|result| result.call.as_str()).collect();
    assert_eq!(ids, ["slow", "fast"]);
    assert_eq!(tool.chunks.last(), Some(&Chunk::Text { text: "also look at b".into() }));
}

#[test]
fn text_that_arrives_at_the_end_of_a_reply_goes_on_as_the_users() {
    let script = vec![vec![(10, text("one")), (0, finish())], vec![(1, text("two")), (0, finish())]];
    let result = TurnScenario { script, mail: vec![(5, "more".into())], ..TurnScenario::default() }.run().unwrap();
    let said: Vec<_> = result.outcome.messages.iter().map(|message| message.role).collect();
    assert_eq!(said, [Role::Assistant, Role::User, Role::Assistant]);
}

#[test]
fn results_are_stored_as_they_end_and_read_in_model_order() {
    let script = vec![vec![
        (1, call("slow", "safe", json!({"ms": 80, "key": "1"}))),
        (1, call("fast", "safe", json!({"ms": 5, "key": "2"}))),
        (0, finish()),
    ]];
    let result = TurnScenario { script, policy: PARALLEL, ..TurnScenario::default() }.run().unwrap();
    let stored: Vec<_> = result
        .rows()
        .iter()
        .filter_map(|row| match &row.body {
            RowBody::CallEnded { result } => Some(result.call.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(stored, ["fast", "slow"]);
    assert_eq!(result.results().iter().map(|(id, _, _)| id.as_str()).collect::<Vec<_>>(), ["slow", "fast"]);
}

#[test]
fn a_guard_that_refuses_is_heard_and_the_tool_does_not_run() {
    let script = vec![vec![(1, call("a", "safe", json!({}))), (0, finish())]];
    let prepare = Box::new(|bus: &crate::bus::Bus| {
        let refuse = guard(|value| {
            let denied = Some(Denial { code: "R-7".into(), reason: "not on a Sunday".into() });
            Ok(ToolBefore { denied, ..value })
        });
        bus.filter(&subscriber("rules"), TOOL_BEFORE.id(), 0, refuse);
    });
    let result = TurnScenario { script, prepare, ..TurnScenario::default() }.run().unwrap();
    let (_, status, said) = &result.results()[0];
    assert_eq!((*status, said.as_str()), (ResultStatus::Denied, "This call was refused (R-7): not on a Sunday"));
    assert!(result.spans().is_empty());
}

/// A person with one answer, or with none ever.
struct Person(Option<&'static str>);

impl Approver for Person {
    fn refuse(&self, proposal: Proposal) -> BoxFuture<'_, Option<Denial>> {
        let asked: Vec<String> = proposal.questions.into_iter().map(|question| question.reason).collect();
        match self.0 {
            Some(word) => {
                let reason = format!("{word}: {}", asked.join(", "));
                Box::pin(std::future::ready((word == "no").then(|| Denial { code: "PERSON".into(), reason })))
            }
            None => Box::pin(std::future::pending()),
        }
    }
}

fn asking() -> Box<dyn Fn(&crate::bus::Bus)> {
    Box::new(|bus| {
        let ask = guard(|mut value| {
            value.questions.push(Question { code: "Q".into(), reason: "really".into() });
            Ok(value)
        });
        bus.filter(&subscriber("rules"), TOOL_BEFORE.id(), 0, ask);
    })
}

#[test]
fn a_guards_question_is_answered_by_a_person_before_the_tool_runs() {
    for (word, status, ran) in [("yes", ResultStatus::Succeeded, 1), ("no", ResultStatus::Denied, 0)] {
        let script = vec![vec![(1, call("a", "safe", json!({}))), (0, finish())]];
        let approver = Arc::new(Person(Some(word)));
        let result = TurnScenario { script, prepare: asking(), approver, ..TurnScenario::default() }.run().unwrap();
        assert_eq!((result.results()[0].1, result.spans().len()), (status, ran), "{word}");
    }
    let script = vec![vec![(1, call("a", "safe", json!({}))), (0, finish())]];
    let nobody = TurnScenario { script, prepare: asking(), ..TurnScenario::default() }.run().unwrap();
    assert_eq!(nobody.results()[0].2, "This call was refused (Q): really Nobody can be asked here.");
}

#[test]
fn a_call_that_waits_for_a_person_has_not_run_when_the_turn_is_stopped() {
    let script = vec![vec![(1, call("a", "safe", json!({}))), (0, finish())]];
    let approver = Arc::new(Person(None));
    let result =
        TurnScenario { script, prepare: asking(), approver, cancel_at_ms: Some(30), ..TurnScenario::default() };
    let result = result.run().unwrap();
    assert_eq!(result.results()[0].1, ResultStatus::NotRun);
    assert!(result.spans().is_empty());
}

#[test]
fn a_guard_that_hangs_refuses_and_is_named_with_its_wait() {
    let script = vec![vec![(1, call("a", "safe", json!({}))), (0, finish())]];
    let prepare = Box::new(|bus: &crate::bus::Bus| {
        bus.filter(&subscriber("sleepy"), TOOL_BEFORE.id(), 0, Arc::new(|_| Box::pin(std::future::pending())));
    });
    let result = TurnScenario { script, prepare, ..TurnScenario::default() }.run().unwrap();
    let (_, status, said) = &result.results()[0];
    assert_eq!(*status, ResultStatus::Denied);
    assert!(said.contains("sleepy") && said.contains("kernel/tool.before"), "{said}");
    assert!(result.spans().is_empty());
    let wait = &result.outcome.waits[0];
    assert_eq!((wait.extension.as_str(), wait.ms), ("sleepy", 5_000));
}

#[test]
fn a_guard_that_changes_what_a_call_touches_makes_it_wait_for_that() {
    let script = vec![vec![
        (1, call("first", "keyed", json!({"ms": 50, "key": "x"}))),
        (1, call("moved", "keyed", json!({"ms": 5, "key": "y"}))),
        (0, finish()),
    ]];
    let prepare = Box::new(|bus: &crate::bus::Bus| {
        let redirect = guard(|mut value| {
            value.call.arguments.insert("key".into(), json!("x"));
            Ok(value)
        });
        bus.filter(&subscriber("rules"), TOOL_BEFORE.id(), 0, redirect);
    });
    let result = TurnScenario { script, prepare, policy: PARALLEL, ..TurnScenario::default() }.run().unwrap();
    let spans = result.spans();
    assert_eq!(spans[1].start_ms, spans[0].end_ms.unwrap(), "{spans:?}");
}

#[test]
fn what_a_filter_keeps_holds_for_handlers_without_its_type() {
    let script = vec![vec![(1, call("a", "safe", json!({}))), (0, finish())]];
    let prepare = Box::new(|bus: &crate::bus::Bus| {
        let other_tool = guard(|mut value| {
            value.call.name = "exclusive".into();
            Ok(value)
        });
        bus.filter(&subscriber("foreign"), TOOL_BEFORE.id(), 0, other_tool);
    });
    let result = TurnScenario { script, prepare, ..TurnScenario::default() }.run().unwrap();
    let (_, status, said) = &result.results()[0];
    assert_eq!(*status, ResultStatus::Denied);
    assert!(said.contains("extension `foreign` failed: a guard may change a call's arguments"), "{said}");
    assert!(result.spans().is_empty());
}

#[test]
fn what_cannot_run_is_explained_to_the_model() {
    let garbled = ModelEvent::ToolCall { id: "g".into(), name: "safe".into(), arguments: "{\"ms\": 1".into() };
    let script = vec![vec![
        (1, call("m", "missing", json!({}))),
        (0, ModelAction::Event(garbled)),
        (0, call("w", "safe", json!({"ms": "soon"}))),
        (0, finish()),
    ]];
    let result = TurnScenario { script, ..TurnScenario::default() }.run().unwrap();
    let results = result.results();
    assert!(results.iter().all(|(_, status, _)| *status == ResultStatus::NotRun), "{results:?}");
    assert!(results[0].2.contains("unknown tool `missing`; the tools are: safe, exclusive"), "{}", results[0].2);
    assert!(results[1].2.contains("not a JSON object"), "{}", results[1].2);
    assert!(results[2].2.contains("ms"), "{}", results[2].2);
}

#[test]
fn a_tool_that_crashes_is_a_failed_result_and_its_owners_fault() {
    let script = vec![vec![(1, call("a", "crashing", json!({}))), (0, finish())]];
    let result = TurnScenario { script, ..TurnScenario::default() }.run().unwrap();
    assert_eq!(result.results()[0].1, ResultStatus::Failed);
    let faults = result.recorded.faults.lock().unwrap();
    assert_eq!((faults[0].extension.as_str(), faults[0].kind), ("tools", FaultKind::Panic));
}

#[test]
fn a_call_that_does_not_end_in_time_is_stopped_and_its_outcome_unknown() {
    let script = vec![vec![(1, call("a", "stubborn", json!({}))), (0, finish())]];
    let limits = TurnLimits { call_ms: 100, cancel_grace_ms: 10, ..TurnLimits::default() };
    let result = TurnScenario { script, limits, ..TurnScenario::default() }.run().unwrap();
    assert_eq!(result.results()[0].1, ResultStatus::Unknown);
    assert_eq!(result.outcome.end, TurnEnd::Finished, "the model goes on with what it knows");
}

#[test]
fn each_limit_ends_the_turn_by_name() {
    let calls = || vec![(1, call("", "safe", json!({}))), (0, finish())];
    let cases = [
        (vec![calls(), calls(), calls()], TurnLimits { steps: 2, ..TurnLimits::default() }, Limit::Steps),
        (vec![vec![(1, ModelAction::Hang)]], TurnLimits { turn_ms: 500, ..TurnLimits::default() }, Limit::Time),
        (
            vec![vec![(1, text("0123456789"))]],
            TurnLimits { reply_bytes: 5, ..TurnLimits::default() },
            Limit::ReplyBytes,
        ),
    ];
    for (script, limits, limit) in cases {
        let result = TurnScenario { script, limits, ..TurnScenario::default() }.run().unwrap();
        assert_eq!(result.outcome.end, TurnEnd::LimitReached { limit });
    }
}

#[test]
fn a_row_that_cannot_be_stored_fails_the_turn_and_nothing_runs_after_it() {
    let script = vec![vec![(1, call("a", "safe", json!({}))), (0, finish())]];
    // The call's chunk is stored; its start is not, so the tool must not run.
    let result = TurnScenario { script, rows_until_full: 1, ..TurnScenario::default() }.run().unwrap();
    assert_eq!(result.outcome.end, TurnEnd::StoreFailed { message: "the disk is full".into() });
    assert!(result.spans().is_empty());
}

#[test]
fn usage_adds_up_over_the_steps() {
    let usage = |input_tokens| ModelAction::Event(ModelEvent::Usage(Usage { input_tokens, ..Usage::default() }));
    let script = vec![
        vec![(1, call("a", "safe", json!({}))), (0, usage(3)), (0, usage(5)), (0, finish())],
        vec![(1, text("ok")), (0, usage(7)), (0, finish())],
    ];
    let result = TurnScenario { script, ..TurnScenario::default() }.run().unwrap();
    assert_eq!(result.outcome.usage.input_tokens, 12);
}

#[test]
fn a_turn_may_move_between_threads() {
    fn moves<F: Send>(_: impl Fn(super::super::TurnInput<'static>) -> F) {}
    moves(super::super::run_turn);
}
