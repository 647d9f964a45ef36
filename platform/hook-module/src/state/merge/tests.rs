//! SessionState never goes back, whatever order snapshots are merged in.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn merged(state: Value, patch: Value) -> Value {
    merge(&SessionState::from_value(state), &patch).0.to_value()
}

#[test]
fn each_field_of_the_state_follows_its_rule() {
    let table = [
        // The session id is set once.
        (json!({}), json!({"core": {"sessionId": "a"}}), json!({"core": {"sessionId": "a"}})),
        (json!({"core": {"sessionId": "a"}}), json!({"core": {"sessionId": "b"}}), json!({"core": {"sessionId": "a"}})),
        // The turn is the highest seen.
        (json!({"core": {"lastTurnId": 5}}), json!({"core": {"lastTurnId": 3}}), json!({"core": {"lastTurnId": 5}})),
        (json!({"core": {"lastTurnId": 5}}), json!({"core": {"lastTurnId": 6}}), json!({"core": {"lastTurnId": 6}})),
        // The phase only moves on.
        (
            json!({"core": {"phase": "EXECUTING"}}),
            json!({"core": {"phase": "PLANNING"}}),
            json!({"core": {"phase": "EXECUTING"}}),
        ),
        (
            json!({"core": {"phase": "PLANNING"}}),
            json!({"core": {"phase": "COMPLETE"}}),
            json!({"core": {"phase": "COMPLETE"}}),
        ),
        // Others are overwritten, removed, merged.
        (
            json!({"plan": {"hash": "1", "mtime": 2}}),
            json!({"plan": {"hash": "0"}}),
            json!({"plan": {"hash": "0", "mtime": 2}}),
        ),
        (json!({"intents": {"active": "X"}}), json!({"intents": {"active": null}}), json!({"intents": {}})),
        (
            json!({"cap": {"neo4j": {"lastCheckTs": 9}}}),
            json!({"cap": {"neo4j": {"lastCheckTs": 8, "reachable": true}}}),
            json!({"cap": {"neo4j": {"lastCheckTs": 9, "reachable": true}}}),
        ),
        // A subagent keeps its id.
        (
            json!({"core": {"agents": {"x": "a01"}}}),
            json!({"core": {"agents": {"x": "a02", "y": "a02"}}}),
            json!({"core": {"agents": {"x": "a01", "y": "a02"}}}),
        ),
    ];
    for (state, patch, expected) in table {
        assert_eq!(merged(state.clone(), patch.clone()), expected, "{state} + {patch}");
    }
}

#[test]
fn blocked_is_entered_and_left_by_time() {
    let executing = json!({"core": {"phase": "EXECUTING", "phaseTs": 5}});
    let blocked = merged(executing, json!({"core": {"phase": "BLOCKED", "phaseTs": 10}}));
    assert_eq!(blocked["core"]["phase"], "BLOCKED");
    let late = merged(blocked.clone(), json!({"core": {"phase": "EXECUTING", "phaseTs": 9}}));
    assert_eq!(late["core"]["phase"], "BLOCKED", "a move decided before the block does not lift it");
    let lifted = merged(blocked, json!({"core": {"phase": "EXECUTING", "phaseTs": 11}}));
    assert_eq!(lifted["core"]["phase"], "EXECUTING");
}

#[test]
fn new_work_starts_again_and_old_work_does_not_come_back() {
    let done = json!({"core": {"workId": "w001", "lastTurnId": 4, "phase": "COMPLETE"}});
    let new = merged(done, json!({"core": {"workId": "w002", "lastTurnId": 5, "phase": "PLANNING"}}));
    assert_eq!(new["core"]["workId"], "w002");
    assert_eq!(new["core"]["phase"], "PLANNING");
    let late = merged(new.clone(), json!({"core": {"workId": "w001", "lastTurnId": 4, "phase": "COMPLETE"}}));
    assert_eq!(late["core"], new["core"]);
}

#[test]
fn lists_and_wrong_types_are_left_out_and_told() {
    let patch = json!({"rlm": {"calls": [1], "last": "x"}, "core": {"lastTurnId": "7", "phase": "DONE"}});
    let (state, problems) = merge(&SessionState::default(), &patch);
    assert_eq!(state.to_value(), json!({"rlm": {"last": "x"}, "core": {}}));
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert_eq!(merge(&SessionState::default(), &json!([1])).1, [PatchProblem::NotAnObject]);
}

#[test]
fn a_patch_nested_without_end_is_cut() {
    let deep = (0..200).fold(json!(1), |inner, _| json!({"x": inner}));
    let (_, problems) = merge(&SessionState::default(), &deep);
    assert!(matches!(problems.as_slice(), [PatchProblem::TooDeep(_)]));
}

fn core_patch() -> impl Strategy<Value = Value> {
    let phase = prop::sample::select(vec!["UNINITIALIZED", "PLANNING", "EXECUTING", "COMPLETE"]);
    (0_u64..50, phase, 0_u64..9).prop_map(|(turn, phase, offset)| {
        json!({"core": {"lastTurnId": turn, "phase": phase, "lastEventOffset": offset, "workId": "w001"}})
    })
}

proptest! {
    #[test]
    fn merging_is_idempotent(state in core_patch(), patch in core_patch()) {
        let once = merged(state, patch.clone());
        prop_assert_eq!(merged(once.clone(), patch), once);
    }

    #[test]
    fn the_order_of_writers_does_not_matter(patches in prop::collection::vec(core_patch(), 0..6)) {
        let forwards = patches.iter().cloned().fold(json!({}), merged);
        let backwards = patches.iter().rev().cloned().fold(json!({}), merged);
        prop_assert_eq!(SessionState::from_value(forwards), SessionState::from_value(backwards));
    }

    #[test]
    fn turn_and_phase_never_go_back(patches in prop::collection::vec(core_patch(), 1..8)) {
        let mut state = SessionState::default();
        for patch in patches {
            let (next, _) = merge(&state, &patch);
            prop_assert!(next.last_turn_id() >= state.last_turn_id());
            prop_assert!(next.phase().ordinal() >= state.phase().ordinal());
            state = next;
        }
    }

    #[test]
    fn any_patch_leaves_a_state_that_can_be_read_back(patch in json_value()) {
        let (state, _) = merge(&SessionState::default(), &patch);
        prop_assert_eq!(SessionState::parse(&state.to_bytes()), Some(state));
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let keys =
            prop_oneof![Just("core".to_owned()), Just("phase".to_owned()), Just("workId".to_owned()), "[a-z]{1,4}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(keys, inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
