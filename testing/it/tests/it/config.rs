//! Settings from five layers, each with its origin, and every problem at once.

use dispatch_support::TestContext;
use insta::assert_snapshot;
use serde_json::json;

#[test]
fn a_stronger_layer_wins_and_each_value_names_its_origin() {
    let context = TestContext::new();
    context.write_home(
        "config/dispatch.toml",
        "[model]\nmodel = \"global\"\n[tool_dispatch]\nmax_concurrent = 2\neager = false\n",
    );
    context.write(".dispatch/dispatch.toml", "[model]\nmodel = \"project\"\n[tool_dispatch]\nmax_concurrent = 3\n");
    let variables = [("DISPATCH_TOOL_DISPATCH__MAX_CONCURRENT", "4")];
    let shown =
        context.run("dispatch", &["config", "show", "--json", "--set", "log.level=warn"], b"", &variables).json();
    assert_eq!(shown["model.model"]["value"], "project");
    assert_eq!(shown["model.model"]["origin"]["layer"], "project");
    assert_eq!(
        shown["tool_dispatch.eager"],
        json!({"value": false, "origin": {"layer": "global", "file": "[TEST]/home/config/dispatch.toml"}})
    );
    assert_eq!(shown["tool_dispatch.max_concurrent"]["value"], 4);
    assert_eq!(shown["tool_dispatch.max_concurrent"]["origin"]["variable"], "DISPATCH_TOOL_DISPATCH__MAX_CONCURRENT");
    assert_eq!(shown["log.level"]["origin"]["layer"], "flag");
    assert_eq!(shown["limits.steps"]["origin"]["layer"], "builtin");
}

#[test]
fn one_setting_can_be_asked_for() {
    let context = TestContext::new();
    assert_snapshot!(context.dispatch(&["config", "show", "tool_dispatch"]).snapshot(), @r"
    status: 0
    --- stdout
    tool_dispatch.eager           true  # built in
    tool_dispatch.max_concurrent  1     # built in
    --- stderr
    ");
    let unknown = context.dispatch(&["config", "show", "nothing"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.starts_with("error: unknown setting `nothing`\nhint: "), "{unknown:?}");
}

#[test]
fn every_problem_is_reported_at_once_with_its_place() {
    let context = TestContext::new();
    context.write_home("config/dispatch.toml", "[tool_dispatch]\nmax-concurent = 2\neager = \"yes\"\n");
    let output = context.dispatch(&["config", "show", "--set", "limits.steps=many"]);
    assert_snapshot!(output.snapshot(), @r#"
    status: 3
    --- stdout
    --- stderr
    error: tool_dispatch.eager: expected true or false, found "yes" (in [TEST]/home/config/dispatch.toml)
    error: tool_dispatch.max-concurent: is not a known key (in [TEST]/home/config/dispatch.toml)
    error: limits.steps: expected a whole number, found "many" (from --set limits.steps)
    hint: did you mean `max_concurrent`?
    "#);
}

#[test]
fn broken_toml_names_line_and_column() {
    let context = TestContext::new();
    context.write(".dispatch/dispatch.toml", "[model]\nmodel = = 1\n");
    let output = context.dispatch(&["config", "show"]);
    assert_eq!(output.status, 3);
    assert!(output.stderr.contains("line 2, column 9"), "{output:?}");
    assert!(output.stderr.contains("[TEST]/project/.dispatch/dispatch.toml"), "{output:?}");
}

#[test]
fn files_that_are_no_text_are_an_error_and_not_a_crash() {
    let context = TestContext::new();
    context.write_home("config/dispatch.toml", b"\xff\xfe\x00");
    let output = context.dispatch(&["config", "show"]);
    assert_eq!(output.status, 3, "{output:?}");
    context.write_home("config/dispatch.toml", vec![b'#'; 2 * 1024 * 1024]);
    let output = context.dispatch(&["config", "show"]);
    assert_eq!(output.status, 3, "{output:?}");
}

#[test]
fn a_project_that_does_not_exist_is_a_usage_error() {
    let output = TestContext::new().dispatch(&["--project", "nowhere", "config", "show"]);
    assert_eq!(output.status, 2);
    assert!(output.stderr.contains("hint: --project takes an existing folder"), "{output:?}");
}

#[test]
fn settings_of_extensions_are_checked_by_their_own_schemas() {
    let context = TestContext::new();
    let wrong = "extensions.provider-openai-compat.attempts=0";
    let doctor = context.dispatch(&["--set", wrong, "doctor"]);
    assert_eq!(doctor.status, 1, "{doctor:?}");
    assert!(doctor.stdout.contains("extensions.provider-openai-compat.attempts"), "{doctor:?}");
    let refused = context.dispatch(&["--set", wrong, "session", "list"]);
    assert_eq!(refused.status, 3, "{refused:?}");
    let unknown = context.dispatch(&["--set", "extensions.provider-openai-compat.attempt=3", "session", "list"]);
    assert_eq!(unknown.status, 3, "{unknown:?}");
    let schema = context.dispatch(&["config", "schema"]).json();
    let attempts =
        &schema["properties"]["extensions"]["properties"]["provider-openai-compat"]["properties"]["attempts"];
    assert_eq!(attempts["minimum"], 1, "{schema}");
}
