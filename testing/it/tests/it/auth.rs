//! Keys as the user meets them: kept for one server, shown to nobody, tried for real.

use dispatch_support::{Reply, Script, ScriptedModel, TestContext};
use serde_json::json;

const KEY: &str = "canary-0123456789-wxyz";

fn add(context: &TestContext, arguments: &[&str]) -> dispatch_support::Output {
    let arguments: Vec<&str> = ["auth", "add"].iter().chain(arguments).copied().collect();
    context.run("dispatch", &arguments, format!("{KEY}\n").as_bytes(), &[])
}

#[test]
fn a_key_is_added_listed_and_removed_without_being_shown() {
    let context = TestContext::new();
    let added = add(&context, &["https://api.openai.com/v1", "--name", "mine"]);
    assert_eq!(added.status, 0, "{added:?}");
    assert_eq!(added.stdout, "stored the key `mine` (file); it is sent to https://api.openai.com only\n");
    let listed = context.dispatch(&["auth", "list"]);
    assert!(listed.stdout.starts_with("mine  https://api.openai.com  file  ...wxyz  20"), "{listed:?}");
    let json = context.dispatch(&["auth", "list", "--json"]).json();
    assert_eq!(json["keys"][0]["audience"], "https://api.openai.com");
    assert_eq!(json["keys"][0]["endsWith"], "wxyz");
    let removed = context.dispatch(&["auth", "remove", "mine"]);
    assert_eq!(removed.status, 0, "{removed:?}");
    assert_eq!(context.dispatch(&["auth", "list"]).stdout, "no keys\n");
    let again = context.dispatch(&["auth", "remove", "mine"]);
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("hint: "), "{again:?}");
    for output in [added, listed, removed, again] {
        assert!(!format!("{output:?}").contains("canary"), "{output:?}");
    }
    let doctor = context.dispatch(&["doctor"]);
    assert!(doctor.stdout.contains("auth-apikey is active"), "{doctor:?}");
}

#[test]
fn no_server_no_key_and_no_text_are_usage_errors() {
    let context = TestContext::new();
    for (arguments, input) in [
        (&["auth", "add"][..], KEY.as_bytes()),
        (&["auth", "add", "https://a.example"], b""),
        (&["auth", "add", "https://a.example"], b"two words"),
        (&["auth", "add", "https://a.example"], b"\xff\xfe"),
        (&["auth", "add", "ftp://a.example"], KEY.as_bytes()),
        (&["auth", "test"], b""),
    ] {
        let output = context.run("dispatch", arguments, input, &[]);
        assert_eq!(output.status, 2, "{arguments:?} {output:?}");
        assert!(!output.stderr.contains("canary"), "{output:?}");
    }
    assert!(!context.home().join("keys.json").exists());
}

#[test]
fn the_key_goes_to_its_server_and_only_there() {
    let context = TestContext::new();
    let own = ScriptedModel::start(Script::default());
    let other = ScriptedModel::start(Script::default());
    assert_eq!(add(&context, &[&own.base_url(), "--store", "file"]).status, 0);
    let works = context.dispatch(&["auth", "test", &own.base_url()]);
    assert_eq!(works.status, 0, "{works:?}");
    assert!(works.stdout.contains("offers 1 models: scripted"), "{works:?}");
    assert_eq!(own.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));

    let base_url = own.base_url();
    let variables = [("DISPATCH_API_KEY", "canary-variable-key"), ("DISPATCH_BASE_URL", base_url.as_str())];
    let elsewhere = context.run("dispatch", &["auth", "test", &other.base_url()], b"", &variables);
    assert_eq!(elsewhere.status, 0, "{elsewhere:?}");
    assert_eq!(other.requests()[0].header("authorization"), None, "not the file's and not the variable's");
    assert_eq!(context.run("dispatch", &["auth", "test"], b"", &variables).status, 0);
    let sent = own.requests().last().unwrap().header("authorization").map(str::to_owned);
    assert_eq!(sent.as_deref(), Some("Bearer canary-variable-key"), "the variable comes first");
}

#[test]
fn a_refused_key_is_a_no_that_does_not_tell_it() {
    let context = TestContext::new();
    let body = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}") } });
    let server = ScriptedModel::start(Script { models: Reply::json(401, &body), ..Script::default() });
    assert_eq!(add(&context, &[&server.base_url()]).status, 0);
    for arguments in [&["auth", "test", &server.base_url()][..], &["auth", "test", &server.base_url(), "--json"]] {
        let output = context.dispatch(arguments);
        assert_eq!(output.status, 1, "{output:?}");
        assert!(output.stdout.contains("refused the key") && !output.stdout.contains("canary"), "{output:?}");
    }
}

#[test]
fn a_damaged_file_is_an_error_with_a_hint_and_is_left_alone() {
    let context = TestContext::new();
    assert_eq!(add(&context, &["https://a.example"]).status, 0);
    let path = context.home().join("keys.json");
    let whole = std::fs::read_to_string(&path).unwrap();
    let torn = &whole[..whole.len() / 2];
    std::fs::write(&path, torn).unwrap();
    for output in [add(&context, &["https://b.example"]), context.dispatch(&["auth", "list"])] {
        assert_eq!(output.status, 3, "{output:?}");
        assert!(output.stderr.contains("is damaged") && output.stderr.contains("hint: "), "{output:?}");
        assert!(!output.stderr.contains("canary"), "{output:?}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), torn);
}
