//! `doctor` and `storage status` tell whether the tables of a server are those of this version.

use dispatch_support::{PostgresServer, TestContext};
use serde_json::Value;

#[test]
fn the_state_of_the_tables_is_told() {
    let server = PostgresServer::start();
    let context = TestContext::new();
    let setting = format!("storage.url={}", server.url());
    let told = |what: &[&str]| {
        let output = context.dispatch(&[&["--set", &setting], what].concat());
        (output.status, output.stdout)
    };
    assert!(told(&["doctor"]).1.contains("empty (tables are made when needed)"));
    assert_eq!(told(&["session", "list"]).0, 0);
    assert!(told(&["doctor"]).1.contains("up to date"), "{:?}", told(&["doctor"]));
    let status = || serde_json::from_str::<Value>(&told(&["storage", "status", "--json"]).1).unwrap();
    assert_eq!((&status()["tables"], &status()["backend"]), (&"up to date".into(), &"postgres".into()));

    let last = "(SELECT max(version) FROM dispatch_migrations WHERE namespace = 'conversation-store')";
    let change = |what: &str| {
        server.psql(&format!(
            "UPDATE dispatch_migrations SET version = version {what} WHERE namespace = 'conversation-store'
             AND version = {last}"
        ))
    };
    change("+ 1");
    let (code, said) = told(&["doctor"]);
    assert!(code == 1 && said.contains("this version knows only") && said.contains("use the newer version"), "{said}");
    assert!(status()["tables"].as_str().unwrap().contains("conversation-store has migration"), "{}", status());
    change("- 1");
    server
        .psql(&format!("DELETE FROM dispatch_migrations WHERE namespace = 'conversation-store' AND version = {last}"));
    let (_, said) = told(&["doctor"]);
    assert!(said.contains("is due") && !said.contains("up to date"), "{said}");
}
