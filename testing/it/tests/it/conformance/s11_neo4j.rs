//! Section 11: what is known of the graph database, and that a tool call never waits to find out.
//!
//! That no connection is opened before a tool call is `invariant_08_neo4j_is_never_checked_before_a_tool_call`.

use super::workspace::PipelineWorkspace;
use serde_json::{Value, json};

/// What a module is told of the graph database before a tool call, given what the state says.
fn told(state: &Value) -> Value {
    let workspace = PipelineWorkspace::with(&["session", "mirror"]);
    workspace.script("mirror", "", "return { emitEvents: [{type: 'SEEN', data: ctx.cap.neo4j}] };");
    if !state.is_null() {
        workspace.context.write(".ai/tmp/ba7816bf/state.json", state.to_string());
    }
    workspace.bash("ls");
    workspace.of_type("SEEN").pop().unwrap()["data"].clone()
}

#[test]
fn s11_a_tool_call_gets_what_was_found_before() {
    let found = json!({"enabled": true, "reachable": true, "schemaVersion": "5", "lastCheckTs": 12});
    assert_eq!(told(&json!({"cap": {"neo4j": found}})), found, "however old it is");
}

#[test]
fn s11_a_tool_call_gets_unavailable_when_nothing_was_found() {
    for state in [Value::Null, json!({}), json!({"cap": 7}), json!({"cap": {"neo4j": {"enabled": "yes"}}})] {
        let told = told(&state);
        assert_eq!((&told["enabled"], &told["reachable"]), (&json!(false), &json!(false)), "{state}");
    }
}
