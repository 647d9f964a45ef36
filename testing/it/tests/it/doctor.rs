//! The doctor finds what is there and what is wrong.

use dispatch_support::TestContext;

#[test]
fn a_fresh_machine_is_healthy() {
    let context = TestContext::new();
    let output = context.dispatch(&["doctor"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert!(output.stdout.ends_with("everything needed is in order\n"), "{output:?}");
    let report = context.dispatch(&["doctor", "--json"]).json();
    assert_eq!(report["healthy"], true);
    assert!(report["findings"].as_array().unwrap().iter().all(|finding| finding["check"].is_string()));
}

#[test]
fn a_home_that_is_a_file_is_wrong_and_has_a_fix() {
    let context = TestContext::new();
    context.write("home-file", "");
    let home = context.project().join("home-file");
    let output = context.run("dispatch", &["doctor", "--json"], b"", &[("DISPATCH_HOME", home.to_str().unwrap())]);
    assert_eq!(output.status, 1, "{output:?}");
    let report = output.json();
    let data = report["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "data folder").unwrap();
    assert_eq!((&data["health"], &data["fix"]), (&"wrong".into(), &"move the file away, or set DISPATCH_HOME".into()));
}

#[test]
fn wrong_settings_do_not_stop_the_doctor() {
    let context = TestContext::new();
    context.write_home("config/dispatch.toml", "[log]\nlevel = \"loud\"\n");
    let output = context.dispatch(&["doctor"]);
    assert_eq!(output.status, 1);
    assert!(output.stdout.contains("WRONG") && output.stdout.contains("log.level"), "{output:?}");
    assert!(output.stdout.ends_with("1 thing is wrong\n"), "{output:?}");
}

#[test]
fn settings_that_wait_for_approval_are_a_note_with_the_command() {
    let context = TestContext::new();
    context.write(".dispatch/dispatch.toml", "[permissions]\nrules = [{ permission = \"*\", verdict = \"allow\" }]\n");
    let report = context.dispatch(&["doctor", "--json"]).json();
    let note = report["findings"].as_array().unwrap().iter().find(|finding| finding["health"] == "note");
    assert_eq!(note.unwrap()["fix"], "dispatch trust");
    assert_eq!(report["healthy"], true);
}

#[test]
fn a_graph_database_has_a_line_only_where_one_is_configured() {
    let context = TestContext::new();
    let line = || {
        let report = context.dispatch(&["doctor", "--json"]).json();
        report["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "neo4j").cloned()
    };
    context.write(".ai/hooks/config.json", "{}");
    assert_eq!(line(), None);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    context.write(".ai/hooks/config.json", format!(r#"{{"neo4j": {{"url": "bolt://127.0.0.1:{closed}"}}}}"#));
    let found = line().unwrap();
    assert_eq!(found["health"], "wrong");
    let told = found["detail"].as_str().unwrap();
    assert!(told.contains("connection refused") && told.contains("no session has checked it yet"), "{told}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    context.write(".ai/hooks/config.json", format!(r#"{{"neo4j": {{"url": "bolt+s://127.0.0.1:{port}"}}}}"#));
    let found = line().unwrap();
    assert_eq!(found["health"], "note");
    assert!(found["detail"].as_str().unwrap().contains("TLS is not supported"), "{found}");
}

#[test]
fn storage_and_model_are_told_and_nothing_is_made() {
    let context = TestContext::new();
    let finding = |arguments: &[&str], check: &str| {
        let report = context.dispatch(arguments).json();
        report["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == check).cloned().unwrap()
    };
    let storage = finding(&["doctor", "--json"], "storage");
    assert_eq!(
        (&storage["health"], &storage["detail"]),
        (&"ok".into(), &"[TEST]/home/dispatch.db (created when needed)".into())
    );
    assert!(!context.home().join("dispatch.db").exists());
    let model = finding(&["doctor", "--json", "--set", "model.provider=rehearsal"], "model");
    assert_eq!((&model["health"], &model["detail"]), (&"note".into(), &"rehearsal: model.provider names it".into()));
    assert!(model["fix"].as_str().unwrap().contains("model.base_url"), "{model}");
    let model = finding(&["doctor", "--json", "--set", "model.base_url=http://127.0.0.1:9/v1"], "model");
    assert_eq!(model["health"], "note", "a server without a model: {model}");
    context.write_home("dispatch.db", "this is no database, but it is long enough to be taken for one");
    let damaged = finding(&["doctor", "--json"], "storage");
    assert_eq!(damaged["health"], "wrong", "{damaged}");
}
