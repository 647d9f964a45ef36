//! The crash shapes that were seen in other agents, each with what the model must read afterwards.

use super::check_sound;
use crate::reconcile::{INTERRUPTED, NEVER_STARTED, NO_REPLY, NO_TEXT, OUTCOME_UNKNOWN, Repair, history, reconcile};
use dispatch_contracts::conversation::{
    Chunk, ChunkState, Message, ResultStatus, Role, Row, RowBody, ToolCall, ToolResult,
};
use dispatch_contracts::ids::{RowId, TurnId};

struct TestLog(Vec<Row>);

impl TestLog {
    fn row(mut self, turn: &str, step: u32, body: RowBody) -> Self {
        let id = RowId::new(format!("r{}", self.0.len()));
        self.0.push(Row { id, turn: TurnId::new(turn), step, at_ms: 1, body });
        self
    }

    fn user(self, turn: &str, text: &str) -> Self {
        self.say(turn, 0, Role::User, 0, Chunk::Text { text: text.into() }, ChunkState::Whole)
    }

    fn say(self, turn: &str, step: u32, role: Role, index: u32, chunk: Chunk, state: ChunkState) -> Self {
        self.row(turn, step, RowBody::Chunk { role, index, part: 0, chunk, state })
    }

    fn text(self, turn: &str, step: u32, text: &str) -> Self {
        self.say(turn, step, Role::Assistant, 0, Chunk::Text { text: text.into() }, ChunkState::Whole)
    }

    fn call(self, turn: &str, step: u32, index: u32, id: &str) -> Self {
        self.say(turn, step, Role::Assistant, index, Chunk::ToolCall(call(id)), ChunkState::Whole)
    }

    fn started(self, turn: &str, step: u32, index: u32, id: &str) -> Self {
        self.row(turn, step, RowBody::CallStarted { index, call: call(id) })
    }

    fn ended(self, turn: &str, step: u32, id: &str, text: &str) -> Self {
        let result = ToolResult { call: id.into(), status: ResultStatus::Succeeded, text: text.into(), images: vec![] };
        self.row(turn, step, RowBody::CallEnded { result })
    }
}

fn log() -> TestLog {
    TestLog(Vec::new())
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "run".into(), arguments: serde_json::Map::new() }
}

fn outcomes(messages: &[Message]) -> Vec<(String, ResultStatus, String)> {
    let results = messages.iter().flat_map(Message::results);
    results.map(|result| (result.call.to_string(), result.status, result.text.clone())).collect()
}

#[test]
fn a_finished_call_keeps_its_result_whichever_was_listed_first() {
    for (fast, slow) in [("a", "b"), ("b", "a")] {
        let rows = log()
            .user("t", "go")
            .call("t", 0, 0, "a")
            .started("t", 0, 0, "a")
            .call("t", 0, 1, "b")
            .started("t", 0, 1, "b")
            .ended("t", 0, fast, "done")
            .0;
        check_sound(&rows);
        let found = outcomes(&history(&rows));
        assert!(found.contains(&(fast.into(), ResultStatus::Succeeded, "done".into())));
        assert!(found.contains(&(slow.into(), ResultStatus::Unknown, OUTCOME_UNKNOWN.into())));
    }
}

#[test]
fn a_call_that_was_never_started_is_told_apart_from_one_that_may_have_run() {
    let rows = log().user("t", "go").call("t", 0, 0, "a").call("t", 0, 1, "b").started("t", 0, 1, "b").0;
    let found = outcomes(&history(&rows));
    assert_eq!(found[0], ("a".into(), ResultStatus::NotRun, NEVER_STARTED.into()));
    assert_eq!(found[1], ("b".into(), ResultStatus::Unknown, OUTCOME_UNKNOWN.into()));
}

#[test]
fn half_streamed_text_is_kept_and_marked() {
    let broken = Chunk::Text { text: "I was about to".into() };
    let rows = log().user("t", "go").say("t", 0, Role::Assistant, 0, broken, ChunkState::Broken).user("u", "well?").0;
    check_sound(&rows);
    let messages = history(&rows);
    let said = [Chunk::Text { text: "I was about to".into() }, Chunk::Text { text: INTERRUPTED.into() }];
    assert_eq!(messages[1].chunks, said);
}

#[test]
fn a_prompt_that_got_no_reply_is_kept() {
    let rows = log().user("t", "first").user("u", "second").0;
    check_sound(&rows);
    let expected = [
        Message::text(Role::User, "first"),
        Message::text(Role::Assistant, NO_REPLY),
        Message::text(Role::User, "second"),
    ];
    assert_eq!(history(&rows), expected);
}

#[test]
fn a_prompt_that_waits_for_its_reply_is_left_alone() {
    let rows = log().user("t", "first").0;
    assert_eq!(reconcile(&rows).repairs, vec![]);
    assert_eq!(history(&rows), vec![Message::text(Role::User, "first")]);
}

#[test]
fn a_result_line_that_was_written_twice_counts_once() {
    let rows = log().user("t", "go").call("t", 0, 0, "a").ended("t", 0, "a", "one").ended("t", 0, "a", "one").0;
    let repaired = check_sound(&rows);
    assert_eq!(outcomes(&history(&rows)).len(), 1);
    assert!(repaired.repairs.iter().any(|repair| matches!(repair, Repair::Duplicate(_))));
}

#[test]
fn results_with_no_reply_behind_them_are_marked_as_interrupted() {
    let rows = log().user("t", "go").call("t", 0, 0, "a").ended("t", 0, "a", "one").user("u", "again").0;
    check_sound(&rows);
    assert_eq!(history(&rows)[3], Message::text(Role::Assistant, INTERRUPTED));
}

#[test]
fn reasoning_that_led_to_no_words_is_marked() {
    let thought = Chunk::Reasoning { text: "hm".into(), signature: Some("seal".into()) };
    let rows = log().user("t", "go").say("t", 0, Role::Assistant, 0, thought.clone(), ChunkState::Whole).0;
    check_sound(&rows);
    assert_eq!(history(&rows)[1].chunks, [thought, Chunk::Text { text: NO_TEXT.into() }]);
}

#[test]
fn a_call_id_that_comes_twice_is_made_unique_with_its_own_result() {
    let rows = log()
        .user("t", "go")
        .call("t", 0, 0, "a")
        .started("t", 0, 0, "a")
        .ended("t", 0, "a", "one")
        .call("t", 1, 0, "a")
        .started("t", 1, 0, "a")
        .ended("t", 1, "a", "two")
        .text("t", 2, "done")
        .0;
    check_sound(&rows);
    let found = outcomes(&history(&rows));
    assert_eq!(found[0].2, "one");
    assert_eq!((found[1].0.as_str(), found[1].2.as_str()), ("a~2", "two"));
}

#[test]
fn a_lost_call_is_rebuilt_from_its_start() {
    let rows = log().user("t", "go").started("t", 0, 0, "a").ended("t", 0, "a", "one").text("t", 1, "done").0;
    let repaired = check_sound(&rows);
    assert!(repaired.repairs.contains(&Repair::RebuiltCall("a".into())));
    assert_eq!(outcomes(&history(&rows)), vec![("a".into(), ResultStatus::Succeeded, "one".into())]);
}

#[test]
fn an_empty_log_is_an_empty_history() {
    assert_eq!(history(&[]), vec![]);
}
