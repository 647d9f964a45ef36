//! What an extension does wrong is named to whoever is affected, and ends in an extension that is off until it is enabled.

use dispatch_support::{Served, TestContext};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];

fn add(context: &TestContext, id: &str, fields: &str, code: &str) {
    let manifest =
        format!(r#"{{"id":"{id}","name":"{id}","version":"1.0.0","apiVersion":"^0.2.0","tier":"external"{fields}}}"#);
    context.write_cloned(format!(".dispatch/extensions/{id}/manifest.json"), manifest);
    context.write_cloned(format!(".dispatch/extensions/{id}/index.ts"), code);
    let approved = context.dispatch(&["trust", id]);
    assert_eq!(approved.status, 0, "{approved:?}");
}

fn state(served: &Served, id: &str) -> Value {
    let listed = served.client.get("/v1/extensions").json();
    let found = listed["extensions"].as_array().unwrap().iter().find(|it| it["id"] == id).cloned();
    found.unwrap_or_default()
}

const ENDLESS: &str = "export const activate = (host) => {
    host.addFilter('tool.before', (value) => { if (value.call.arguments.path === 'trap.txt') while (true) {} });
};";

#[test]
fn an_endless_filter_refuses_the_call_at_its_deadline_while_the_server_answers_others() {
    let context = TestContext::new();
    context.write("trap.txt", "never read\n");
    context.write("notes.txt", "plain words\n");
    add(&context, "trap", "", ENDLESS);
    let served = Served::start(&context, &REHEARSAL, &[]);
    let start = Instant::now();
    let stuck = served.client.submit("one", &json!({ "text": "read trap.txt", "id": "1" }));
    // Others are answered meanwhile: health at once, and another session's turn that meets no such file.
    let mut answered = 0;
    while start.elapsed() < Duration::from_secs(2) {
        assert_eq!(served.client.get("/healthz").status, 200);
        answered += 1;
    }
    assert!(answered > 3, "{answered}");
    let said = served.client.say("two", "hello");
    assert_eq!(said["state"], "done", "{said}");
    let ended = served.client.ended(&stuck);
    assert_eq!(ended["state"], "done", "{ended}");
    assert!(start.elapsed() >= Duration::from_secs(4), "it had its time");
    let told = served.client.get("/v1/sessions/one/messages").json().to_string();
    assert!(told.contains("because extension `trap` failed"), "{told}");
    assert!(!told.contains("never read"), "{told}");
    let log = std::fs::read_to_string(context.home().join("serve.log")).unwrap();
    assert!(log.contains("s for extension `trap` in kernel/tool.before"), "{log}");
}

#[test]
fn three_faults_switch_it_off_for_good_and_each_client_names_it_with_the_way_back() {
    let context = TestContext::new();
    let code = "export function activate(host) {
        host.defineTool({ name: 'hang', description: 'x', timeoutMs: 100, execute() { for (;;); } });
        host.defineTool({ name: 'fine', description: 'x', execute: () => 'all is well' });
    }";
    add(&context, "sleepy", r#","contributes":{"tools":["hang","fine"]}"#, code);
    let mut served = Served::start(&context, &REHEARSAL, &[]);
    for _ in 0..3 {
        let ended = served.client.say("main", "call hang {}");
        assert_eq!(ended["state"], "done", "the turn ends: {ended}");
    }
    let off = state(&served, "sleepy");
    assert_eq!(off["state"], "disabled", "{off}");
    let log = || std::fs::read_to_string(context.home().join("serve.log")).unwrap();
    assert!(log().contains("`dispatch ext enable sleepy` brings it back"), "{}", log());
    served.kill();
    let served = Served::start(&context, &REHEARSAL, &[]);
    assert_eq!(state(&served, "sleepy")["state"], "disabled", "it stays off after a restart");

    // The first turn of any process names it, with the way back.
    let arguments: Vec<&str> = REHEARSAL.iter().copied().chain(["chat", "call fine {}"]).collect();
    let chat = context.dispatch(&arguments);
    assert!(chat.stdout.contains("which is not offered"), "{chat:?}");
    assert!(chat.stderr.contains("`dispatch ext enable sleepy` brings it back"), "{chat:?}");

    // Enabling it brings it back in the server that is running.
    assert_eq!(context.dispatch(&["ext", "enable", "sleepy"]).status, 0);
    let start = Instant::now();
    while state(&served, "sleepy")["state"] != "active" {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", state(&served, "sleepy"));
        std::thread::sleep(Duration::from_millis(20));
    }
    served.client.say("main", "call fine {}");
    assert!(served.client.get("/v1/sessions/main/messages").json().to_string().contains("all is well"));
}

#[test]
fn purge_leaves_no_table_no_key_and_no_setting() {
    let context = TestContext::new();
    let code =
        "export const activate = (host) => host.defineCommand({ name: 'count', description: 'x', run: async () => {
        const store = host.storage('counts');
        const seen = (await store.get('runs')) ?? 0;
        await store.set('runs', seen + 1);
        await store.sql('INSERT INTO runs DEFAULT VALUES');
        const [[rows]] = await store.sql('SELECT COUNT(*) FROM runs');
        return `${seen} before, ${rows} rows`;
    } });";
    let fields = r#","contributes":{"commands":["count"],"migrations":[{"name":"runs","statements":
        ["CREATE TABLE runs (id INTEGER PRIMARY KEY)"]}]},"capabilities":["db"],
        "settingsSchema":{"type":"object","properties":{"word":{"type":"string"}}}"#;
    add(&context, "counter", fields, code);
    let settings = "# mine\n[policy]\nconfirm = \"none\"\n\n[extensions.counter]\nword = \"x\"\n\n\
                    [grants.counter]\ncapabilities = [\"db\"]\n";
    context.write_home("config/dispatch.toml", settings);
    for expected in ["0 before, 1 rows\n", "1 before, 2 rows\n"] {
        assert_eq!(context.dispatch(&["run", "count"]).stdout, expected);
    }
    let removed = context.dispatch(&["ext", "remove", "counter", "--purge"]);
    assert!(removed.stdout.contains("deleted 1 stored key and 1 table\n"), "{removed:?}");
    let left = std::fs::read_to_string(context.home().join("config/dispatch.toml")).unwrap();
    assert_eq!(left, "# mine\n[policy]\nconfirm = \"none\"\n");
    add(&context, "counter", fields, code);
    context.write_home("config/dispatch.toml", settings);
    assert_eq!(context.dispatch(&["run", "count"]).stdout, "0 before, 1 rows\n", "nothing of it was left");
}
