//! Events from outside: signed webhooks by senders that are not ours, bad input, repetitions, kills and canaries.

use crate::installed::{npm, python};
use crate::run_wire::told;
use crate::run_workspace::wait_until;
use dispatch_support::{Answer, Client, PostgresServer, Served, TestContext};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const STANDARD_PYTHON: &str = "standardwebhooks==1.1.0";
const STANDARD_NODE: &str = "standardwebhooks@1.1.1";
const CLOUD_PYTHON: &str = "cloudevents==2.2.0";
const CLOUD_NODE: &str = "cloudevents@10.0.0";
const REHEARSAL: &str = "model.provider=rehearsal";
const NEW_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD_SECRET: &str = "whsec_b2xkb2xkb2xkb2xkb2xkb2xk";
const PLAIN_SECRET: &str = "plain-secret-of-the-shop";

/// A home whose settings name a webhook of each kind.
fn home_with_webhooks() -> TestContext {
    let context = TestContext::new();
    let toml = format!(
        "[route.webhooks.pay]\nsignature = \"standard\"\nsecrets = [\"{NEW_SECRET}\", \"env:OLD_PAY_SECRET\"]\n\
         [route.webhooks.shop]\nsignature = \"hmac\"\nsecrets = [\"{PLAIN_SECRET}\"]\n\
         [route.webhooks.github]\nsignature = \"github\"\nsecrets = [\"{PLAIN_SECRET}\"]\n\
         [route.webhooks.slack]\nsignature = \"slack\"\nsecrets = [\"{PLAIN_SECRET}\"]\n\
         [route.webhooks.kept]\nsignature = \"hmac\"\n\
         [route.webhooks.open]\nsignature = \"none\"\n"
    );
    context.write_home("config/dispatch.toml", toml);
    context
}

fn serve(context: &TestContext, url: Option<&str>) -> Served {
    let setting = url.map(|url| format!("storage.url={url}"));
    let mut arguments = vec!["--set", REHEARSAL];
    arguments.extend(setting.iter().flat_map(|setting| ["--set", setting.as_str()]));
    Served::start(context, &arguments, &[("OLD_PAY_SECRET", OLD_SECRET)])
}

/// A client without the token.
fn stranger(served: &Served) -> Client {
    Client { token: None, ..served.client.clone() }
}

fn hook_url(served: &Served, name: &str) -> String {
    format!("http://{}/v1/hooks/{name}", served.client.address)
}

fn events(context: &TestContext, arguments: &[&str]) -> Vec<Value> {
    let listed = context.dispatch(&[arguments, &["event", "list", "--limit", "1000", "--json"]].concat());
    assert_eq!(listed.status, 0, "{listed:?}");
    listed.json()["events"].as_array().cloned().unwrap_or_default()
}

fn mac(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One request with any bytes as its body.
fn post_bytes(client: &Client, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
        client.address,
        body.len()
    );
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    let mut stream = TcpStream::connect(client.address).unwrap();
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    // Who refuses a body by its announced length need not read it.
    let _ = stream.write_all(body);
    let mut text = String::new();
    let _ = BufReader::new(stream).read_to_string(&mut text);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer to {path}: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap();
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Answer { status, headers, body: body.to_owned() }
}

fn check_standard(context: &TestContext, told: &BTreeMap<String, Value>) {
    assert_eq!(told["first"], json!([202, {"event": "webhook:msg_1", "fresh": true}]));
    assert_eq!(told["again"], json!([200, {"event": "webhook:msg_1", "fresh": false}]));
    assert_eq!(told["rotated"], json!([202, {"event": "webhook:msg_2", "fresh": true}]));
    let refused = [
        "stranger",
        "changed",
        "old",
        "future",
        "without webhook-id",
        "without webhook-timestamp",
        "without webhook-signature",
    ];
    for name in refused {
        assert_eq!(told[name][0], 401, "{name}: {told:?}");
        assert!(told[name][1]["error"]["message"].is_string(), "{name}: {told:?}");
    }
    let stored = events(context, &[]);
    let ids: Vec<&str> = stored.iter().filter_map(|event| event["id"].as_str()).collect();
    assert_eq!(ids, ["webhook:msg_1", "webhook:msg_2"], "what was refused is not stored");
    let first = &stored[0];
    assert_eq!(first["accountId"], "pay");
    assert_eq!(first["contentType"], "json");
    let content: Value = serde_json::from_str(first["content"].as_str().unwrap()).unwrap();
    assert_eq!(content["data"]["name"], "Zoë");
    let shown = context.dispatch(&["event", "show", "webhook:msg_1", "--json"]).json();
    assert_eq!((&shown["hooks"], &shown["dispatches"], &shown["sends"]), (&json!([]), &json!([]), &json!([])));
    assert_eq!(shown["event"]["id"], "webhook:msg_1");
}

#[test]
fn the_python_package_of_standard_webhooks_is_believed_and_forgers_are_not() {
    let context = home_with_webhooks();
    let served = serve(&context, None);
    let python = python("standardwebhooks-client", STANDARD_PYTHON);
    let script = include_str!("route_inbound/standard_sender.py");
    let url = hook_url(&served, "pay");
    check_standard(&context, &told(Command::new(python).args(["-c", script, &url, NEW_SECRET, OLD_SECRET])));
}

#[test]
fn the_node_package_of_standard_webhooks_is_believed_and_forgers_are_not() {
    let context = home_with_webhooks();
    let served = serve(&context, None);
    let installed = npm("standardwebhooks-client", STANDARD_NODE);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/route_inbound/standard_sender.mjs");
    let url = hook_url(&served, "pay");
    let told = told(Command::new("node").arg(script).arg(installed).args([&url, NEW_SECRET, OLD_SECRET]));
    check_standard(&context, &told);
}

fn check_cloud(context: &TestContext, told: &BTreeMap<String, Value>) {
    let id = |number: &str| format!("webhook:/shop#{number}");
    assert_eq!(told["structured"], json!([202, {"event": id("1"), "fresh": true}]));
    assert_eq!(told["binary"], json!([202, {"event": id("2"), "fresh": true}]));
    let listed = |fresh: [bool; 3]| -> Value {
        ["1", "3", "4"].iter().zip(fresh).map(|(number, fresh)| json!({"event": id(number), "fresh": fresh})).collect()
    };
    let batch = |status: u16, fresh: bool, each: [bool; 3]| json!([status, {"event": id("1"), "fresh": fresh, "events": listed(each)}]);
    assert_eq!(told["batch"], batch(202, true, [false, true, true]));
    assert_eq!(told["batch again"], batch(200, false, [false; 3]));
    let stored = events(context, &[]);
    assert_eq!(stored.len(), 4, "{stored:?}");
    assert!(stored.iter().all(|event| event["from"] == "/shop" && event["metadata"]["cloudEvent"]["type"] == "sold"));
    assert!(stored.iter().all(|event| event["threadId"].as_str().is_some_and(|thread| thread.starts_with("Birne 1 "))));
}

#[test]
fn cloud_events_of_the_python_package_are_read_in_all_three_modes() {
    let context = home_with_webhooks();
    let served = serve(&context, None);
    let python = python("cloudevents-client", CLOUD_PYTHON);
    let script = include_str!("route_inbound/cloud_sender.py");
    let url = hook_url(&served, "shop");
    check_cloud(&context, &told(Command::new(python).args(["-c", script, &url, PLAIN_SECRET])));
}

#[test]
fn cloud_events_of_the_node_package_are_read_in_all_three_modes() {
    let context = home_with_webhooks();
    let served = serve(&context, None);
    let installed = npm("cloudevents-client", CLOUD_NODE);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/route_inbound/cloud_sender.mjs");
    let url = hook_url(&served, "shop");
    check_cloud(&context, &told(Command::new("node").arg(script).arg(installed).args([&url, PLAIN_SECRET])));
}

#[test]
fn bad_input_is_refused_with_the_reason_and_nothing_is_stored() {
    let context = home_with_webhooks();
    let served = serve(&context, None);
    let client = stranger(&served);
    let json = ("Content-Type", "application/json");
    let check = |name: &str, headers: &[(&str, &str)], body: &[u8], status: u16, reason: &str| {
        let answer = post_bytes(&client, &format!("/v1/hooks/{name}"), headers, body);
        assert_eq!(answer.status, status, "{name} {headers:?}: {answer:?}");
        assert!(answer.body.contains(reason), "{name} {headers:?}: {answer:?}");
    };
    let large = vec![b' '; 1024 * 1024 + 1];
    check("open", &[json], &large, 413, "too_large");
    check("open", &[json], b"", 400, "not valid JSON");
    check("open", &[json], b"{\"a\": ", 400, "line 1 column 6");
    check("open", &[json], b"{\"a\": \"\xff\"}", 400, "UTF-8 at byte 7");
    let cloud = ("Content-Type", "application/cloudevents+json");
    check("open", &[cloud], b"{\"id\": \"1\"}", 400, "no `specversion`");
    check("open", &[cloud], b"[]", 400, "JSON object");
    check("open", &[("ce-specversion", "1.0"), ("ce-id", "1")], b"", 400, "no `source`");
    check("open", &[("Content-Type", "application/cloudevents-batch+json")], b"{}", 400, "array");
    let long = "x".repeat(801);
    check("open", &[json, ("Idempotency-Key", &long)], b"{}", 400, "longer than 800 bytes");
    let body = br#"{"sender": {"login": "ann"}}"#;
    let wrong = format!("sha256={}", mac("another secret", body));
    check("github", &[json, ("X-Hub-Signature-256", &wrong)], body, 401, "does not fit");
    check("github", &[json], body, 401, "x-hub-signature-256");
    check("slack", &[json, ("X-Slack-Request-Timestamp", "1"), ("X-Slack-Signature", "v0=00")], body, 401, "300 s");
    check("kept", &[json, ("X-Signature-256", &mac("", body))], body, 401, "no secret");
    check("nobody", &[json], b"{}", 404, "no webhook `nobody`");
    assert_eq!(client.post("/v1/events", &json!({"channel": "cli", "from": "a", "content": "b"})).status, 401);
    let token = served.client.token.clone().unwrap();
    let bearer = format!("Bearer {token}");
    let with_token = |body: &[u8]| post_bytes(&client, "/v1/events", &[json, ("Authorization", &bearer)], body);
    for (body, reason) in [
        (&b"{"[..], "invalid body"),
        (b"{\"channel\": \"cli\"}", "missing field `from`"),
        (b"{\"channel\": \"C L I\", \"from\": \"a\", \"content\": \"\"}", "invalid channel"),
        (b"{\"channel\": \"cli\", \"from\": \"\", \"content\": \"\"}", "invalid from"),
    ] {
        let answer = with_token(body);
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.contains(reason), "{answer:?}");
    }
    assert_eq!(served.client.get("/v1/events/cli:none").status, 404);
    assert_eq!(events(&context, &[]), Vec::<Value>::new());
}

#[test]
fn repetitions_are_the_same_event_and_the_senders_of_other_forms_are_understood() {
    let context = home_with_webhooks();
    let kept = context.run("dispatch", &["auth", "add", "channel:webhook:kept"], b"kept-secret-1234\n", &[]);
    assert_eq!(kept.status, 0, "{kept:?}");
    assert!(!kept.stdout.contains("1234") && !kept.stderr.contains("1234"), "{kept:?}");
    let served = serve(&context, None);
    let client = stranger(&served);
    let json = ("Content-Type", "application/json");
    let send = |name: &str, headers: &[(&str, &str)], body: &[u8]| {
        let answer = post_bytes(&client, &format!("/v1/hooks/{name}"), headers, body);
        (answer.status, answer.json())
    };
    let pull = br#"{"action": "opened", "pull_request": {"number": 7}, "sender": {"login": "ann"}, "repository": {"full_name": "o/r"}}"#;
    let signed = format!("sha256={}", mac(PLAIN_SECRET, pull));
    let headers = [
        json,
        ("X-Hub-Signature-256", signed.as_str()),
        ("X-GitHub-Delivery", "d-1"),
        ("X-GitHub-Event", "pull_request"),
    ];
    assert_eq!(send("github", &headers, pull), (202, json!({"event": "webhook:d-1", "fresh": true})));
    assert_eq!(send("github", &headers, pull), (200, json!({"event": "webhook:d-1", "fresh": false})));
    let event = served.client.get("/v1/events/webhook:d-1").json()["event"].clone();
    assert_eq!(
        json!([
            event["from"],
            event["peerKind"],
            event["peerId"],
            event["threadId"],
            event["metadata"]["github"]["event"]
        ]),
        json!(["ann", "group", "o/r", "pull_request/7", "pull_request"])
    );
    // Another webhook with the same id is another account, and its event another one.
    let (status, other) = send("open", &[json, ("Idempotency-Key", "d-1")], b"{\"x\": 1}");
    assert_eq!((status, &other["event"]), (202, &json!("webhook:d-1#open")));
    // Without a name of the sender's own, the same bytes are the same event for a while.
    let (_, first) = send("open", &[json], b"{\"content\": \"door\", \"from\": \"bell\"}");
    let (status, second) = send("open", &[json], b"{\"content\": \"door\", \"from\": \"bell\"}");
    assert_eq!((status, &first["event"], &second["fresh"]), (200, &second["event"], &json!(false)));
    assert_eq!(send("open", &[json], b"{\"content\": \"door!\", \"from\": \"bell\"}").0, 202);
    let body = b"{\"content\": \"from the vault\"}";
    assert_eq!(send("kept", &[json, ("X-Signature", &mac("kept-secret-1234", body))], body).0, 202);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().to_string();
    let challenge = b"{\"type\": \"url_verification\", \"challenge\": \"3eZb\"}";
    let signed = format!("v0={}", mac(PLAIN_SECRET, &[b"v0:", now.as_bytes(), b":", challenge].concat()));
    let headers = [json, ("X-Slack-Request-Timestamp", now.as_str()), ("X-Slack-Signature", signed.as_str())];
    assert_eq!(send("slack", &headers, challenge), (200, json!({"challenge": "3eZb"})));
    assert_eq!(events(&context, &[]).len(), 5);
}

#[test]
fn commands_store_list_show_mark_and_search_events_and_link_persons() {
    let context = TestContext::new();
    let run = |arguments: &[&str]| {
        let output = context.dispatch(arguments);
        assert_eq!(output.status, 0, "{arguments:?}: {output:?}");
        output
    };
    let post = ["event", "post", "lunch at noon?", "--channel", "imessage", "--from", "+1555", "--id", "m-1", "--json"];
    assert_eq!(run(&post).json(), json!({"event": "imessage:m-1", "fresh": true}));
    assert_eq!(run(&post).json(), json!({"event": "imessage:m-1", "fresh": false}));
    let group = ["--peer", "!room:server", "--peer-kind", "group", "--thread", "t1", "--json"];
    let second =
        run(&[&["event", "post", "tell Renée", "--channel", "matrix", "--from", "@a:server"], &group[..]].concat());
    let second = second.json()["event"].as_str().unwrap().to_owned();
    let shown = run(&["event", "show", &second, "--json"]).json();
    assert_eq!(
        json!([shown["event"]["peerKind"], shown["event"]["peerId"], shown["event"]["threadId"]]),
        json!(["group", "!room:server", "t1"])
    );
    let found = run(&["event", "list", "--search", "renee", "--json"]).json();
    assert_eq!(found["events"].as_array().map(Vec::len), Some(1), "{found}");
    run(&["event", "mark", "imessage:m-1", "--status", "handled", "--tag", "family"]);
    for filter in [["--status", "unread"], ["--channel", "matrix"], ["--from", "@a:server"]] {
        let listed = run(&[&["event", "list", "--json"], &filter[..]].concat()).json();
        assert_eq!(listed["events"][0]["id"], second.as_str(), "{filter:?}: {listed}");
        assert_eq!(listed["events"].as_array().map(Vec::len), Some(1), "{filter:?}: {listed}");
    }
    let tagged = run(&["event", "list", "--tag", "family", "--since", "1h", "--json"]).json();
    assert_eq!(tagged["events"][0]["id"], "imessage:m-1");
    let text = run(&["event", "show", "imessage:m-1"]).stdout;
    assert!(text.contains("lunch at noon?") && text.contains("handled") && text.contains("stored"), "{text}");

    run(&["person", "link", "Mom", "imessage:+1555"]);
    run(&["person", "link", "Mom", "matrix:@mom:server"]);
    run(&["person", "link", "Dad", "matrix:@mom:server"]);
    let people = run(&["person", "list", "--json"]).json();
    let expected = json!([
        {"name": "Dad", "identities": [{"channel": "matrix", "id": "@mom:server"}]},
        {"name": "Mom", "identities": [{"channel": "imessage", "id": "+1555"}]},
    ]);
    assert_eq!(people["persons"], expected, "an identity is one person's");
    assert_eq!(context.dispatch(&["person", "link", "Mom", "nothing"]).status, 2);
    assert_eq!(context.dispatch(&["event", "show", "cli:none"]).status, 2);
    let channels = run(&["channel", "list", "--json"]).json();
    let names: Vec<&str> = channels.as_array().unwrap().iter().filter_map(|one| one["channel"].as_str()).collect();
    assert_eq!(names, ["cli", "web"]);
}

#[test]
fn an_event_for_workspace_hooks_is_stored_first_by_command_and_over_http() {
    let context = TestContext::new();
    let send = ["event", "send", "deployed", "--data", "{\"version\": \"1.4.2\"}", "--id", "deploy-1", "--json"];
    let sent = context.dispatch(&send);
    assert_eq!(sent.status, 1, "no hook listens: {sent:?}");
    let id = sent.json()["event"].as_str().unwrap().to_owned();
    assert_eq!(context.dispatch(&send).json()["event"], id.as_str());
    let served = serve(&context, None);
    let posted = served.client.post("/v1/workspace-hooks/events", &json!({"name": "deployed", "id": "deploy-2"}));
    assert_eq!(posted.status, 200, "{posted:?}");
    let stored = events(&context, &[]);
    assert_eq!(stored.len(), 2, "{stored:?}");
    assert_eq!(stored[0]["id"], id.as_str());
    assert_eq!(json!([stored[0]["content"], stored[0]["metadata"]["data"]["version"]]), json!(["deployed", "1.4.2"]));
    assert_eq!(stored[1]["metadata"]["trigger"], "custom:deployed");
}

/// How many of these events are stored; none may be there twice.
fn stored_ids(context: &TestContext, arguments: &[&str]) -> BTreeSet<String> {
    let ids: Vec<String> =
        events(context, arguments).iter().filter_map(|event| event["id"].as_str().map(str::to_owned)).collect();
    let unique: BTreeSet<String> = ids.iter().cloned().collect();
    assert_eq!(ids.len(), unique.len(), "an event is stored twice");
    unique
}

/// Many senders at once; the server is killed when so many events were acknowledged. Gives those that were.
fn send_and_kill(served: &mut Served, round: usize, events: usize, kill_after: usize) -> BTreeSet<String> {
    let client = served.client.clone();
    let (next, acknowledged) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= events {
                        return;
                    }
                    let event =
                        json!({"channel": "cli", "from": "me", "id": format!("{round}-{number}"), "content": "x"});
                    // A server that died acknowledges nothing.
                    let Ok(answer) = client.try_post("/v1/events", &event) else { return };
                    assert!(matches!(answer.status, 200 | 202), "{answer:?}");
                    acknowledged.lock().unwrap().insert(answer.json()["event"].as_str().unwrap().to_owned());
                }
            });
        }
        wait_until("enough events are acknowledged", || acknowledged.lock().unwrap().len() >= kill_after);
        served.kill();
    });
    acknowledged.into_inner().unwrap()
}

fn nothing_is_lost_or_doubled(context: &TestContext, url: Option<&str>) {
    const EVENTS: usize = 120;
    let setting = url.map(|url| format!("storage.url={url}"));
    let arguments: Vec<&str> = setting.iter().flat_map(|setting| ["--set", setting.as_str()]).collect();
    let mut expected = BTreeSet::new();
    for round in 0..4 {
        let mut served = serve(context, url);
        let acknowledged = send_and_kill(&mut served, round, EVENTS, 10 + 20 * round);
        let stored = stored_ids(context, &arguments);
        let lost: Vec<&String> = acknowledged.difference(&stored).collect();
        assert!(lost.is_empty(), "acknowledged and gone: {lost:?}");
        // Whoever got no answer sends again; what was stored without an answer is found.
        let served = serve(context, url);
        for number in 0..EVENTS {
            let id = format!("cli:{round}-{number}");
            let event = json!({"channel": "cli", "from": "me", "id": format!("{round}-{number}"), "content": "x"});
            let answer = served.client.post("/v1/events", &event);
            let fresh = !stored.contains(&id);
            assert_eq!(
                (answer.status, answer.json()),
                (if fresh { 202 } else { 200 }, json!({"event": id, "fresh": fresh}))
            );
            expected.insert(id);
        }
        assert_eq!(stored_ids(context, &arguments), expected);
    }
}

#[test]
fn a_killed_server_loses_nothing_that_it_acknowledged_and_stores_nothing_twice() {
    nothing_is_lost_or_doubled(&TestContext::new(), None);
}

#[test]
fn so_it_is_on_a_database_server() {
    let server = PostgresServer::start();
    nothing_is_lost_or_doubled(&TestContext::new(), Some(&server.url()));
}

/// Follows the ledger in a process of its own until so many events came.
fn follow(context: &TestContext, setting: &str, count: usize) -> std::thread::JoinHandle<Vec<Value>> {
    let mut command = context.command("dispatch");
    // What was stored before it began is listed too, up to the limit.
    command.args(["--set", setting, "event", "list", "--follow", "--limit", "1000", "--json"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        let lines = output.lines().map_while(Result::ok).take(count);
        let events = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        events
    })
}

#[test]
fn two_servers_on_one_database_store_each_event_once_and_readers_miss_none() {
    const EVENTS: usize = 200;
    let server = PostgresServer::start();
    let contexts = [home_with_webhooks(), home_with_webhooks()];
    let served: Vec<Served> = contexts.iter().map(|context| serve(context, Some(&server.url()))).collect();
    let setting = format!("storage.url={}", server.url());
    let reading = follow(&contexts[0], &setting, EVENTS);
    let fresh = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for sender in 0..8 {
            let (client, fresh) = (stranger(&served[sender % 2]), &fresh);
            scope.spawn(move || {
                // Each event is sent by all, beginning elsewhere.
                for number in (0..EVENTS).map(|number| (number + sender * 31) % EVENTS) {
                    let body = json!({"content": "x", "from": "s", "id": number});
                    let answer = client.post("/v1/hooks/open", &body);
                    assert!(matches!(answer.status, 200 | 202), "{answer:?}");
                    fresh.fetch_add(usize::from(answer.status == 202), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(fresh.into_inner(), EVENTS, "each was new once");
    let read = reading.join().unwrap();
    let ids: BTreeSet<&str> = read.iter().filter_map(|event| event["id"].as_str()).collect();
    assert_eq!(ids.len(), EVENTS, "the reader saw each once");
    let numbers: Vec<u64> = read.iter().filter_map(|event| event["sequence"].as_u64()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert_eq!(server.psql("SELECT count(*) FROM events").trim(), EVENTS.to_string());
}

#[test]
fn a_database_that_is_away_is_told_and_the_event_can_be_sent_again() {
    let mut server = PostgresServer::start();
    let context = home_with_webhooks();
    let served = serve(&context, Some(&server.url()));
    let client = stranger(&served);
    let event = json!({"id": "once", "content": "are you there?", "from": "me"});
    server.crash();
    for answer in [
        client.post("/v1/hooks/open", &event),
        served.client.post("/v1/events", &json!({"channel": "cli", "from": "me", "content": "x", "id": "1"})),
    ] {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.headers.iter().any(|(name, _)| name == "retry-after"), "{answer:?}");
    }
    server.resume();
    wait_until("the event is taken", || client.post("/v1/hooks/open", &event).status != 503);
    assert_eq!(client.post("/v1/hooks/open", &event).json(), json!({"event": "webhook:once", "fresh": false}));
    assert_eq!(server.psql("SELECT count(*) FROM events WHERE channel = 'webhook'").trim(), "1");
}

#[test]
fn canaries_reach_no_table_no_log_and_no_answer() {
    let canary = "ghp_C4naryC4naryC4naryC4naryC4naryC4nary";
    let server = PostgresServer::start();
    for url in [None, Some(server.url())] {
        let context = home_with_webhooks();
        let mut served = serve(&context, url.as_deref());
        let client = stranger(&served);
        let named = json!({"content": format!("use {canary} now"), "from": canary, "id": canary, "peerId": canary,
            "threadId": canary, "metadata": {canary: [canary], "password": "hunter2hunter2"}});
        let whole = json!({"deep": {"token": canary, "secret": PLAIN_SECRET, "old": OLD_SECRET}});
        for body in [&named, &whole] {
            let headers = [("Content-Type", "application/json"), ("Authorization", canary), ("X-Api-Key", canary)];
            let answer = post_bytes(&client, "/v1/hooks/open", &headers, body.to_string().as_bytes());
            assert_eq!(answer.status, 202, "{answer:?}");
            assert!(!answer.body.contains("C4nary"), "{answer:?}");
        }
        let cloud = json!({"specversion": "1.0", "id": canary, "source": format!("/x?key={canary}"), "type": "t",
            "extra": canary, "data": {"k": canary}});
        let headers = [("Content-Type", "application/cloudevents+json")];
        assert_eq!(post_bytes(&client, "/v1/hooks/open", &headers, cloud.to_string().as_bytes()).status, 202);
        served.kill();
        let mut everything = std::fs::read_to_string(context.home().join("serve.log")).unwrap();
        everything.push_str(&context.dispatch(&["config", "show"]).stdout);
        match &url {
            None => {
                for entry in std::fs::read_dir(context.home()).unwrap().flatten().filter(|entry| entry.path().is_file())
                {
                    if entry.file_name() != "token" && entry.file_name() != "approval-token" {
                        everything.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()));
                    }
                }
            }
            Some(_) => {
                for table in ["events", "threads", "event_participants"] {
                    everything.push_str(&server.psql(&format!("SELECT string_agg(t::text, ' ') FROM {table} t")));
                }
            }
        }
        for secret in ["C4nary", "hunter2", PLAIN_SECRET, NEW_SECRET, OLD_SECRET] {
            assert!(!everything.contains(secret), "`{secret}` is shown");
        }
        assert!(everything.contains("webhook"), "something was looked at");
    }
}

#[test]
fn a_program_posts_to_the_web_channel_and_reads_replies_that_another_process_wrote() {
    let context = TestContext::new();
    let served = serve(&context, None);
    let posted = served.client.post("/v1/channels/web/ann/messages", &json!({"content": "hello", "id": "w1"}));
    assert_eq!((posted.status, posted.json()), (202, json!({"event": "web:w1", "fresh": true})));
    let again = served.client.post("/v1/channels/web/ann/messages", &json!({"content": "hello", "id": "w1"}));
    assert_eq!((again.status, &again.json()["fresh"]), (200, &json!(false)));
    assert_eq!(stranger(&served).get("/v1/channels/web/ann/events").status, 401);
    assert_eq!(served.client.get("/v1/channels/web/ann/events?after=x").status, 400);
    let reply = |peer: &str, number: u32| {
        let insert = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=60); \
            c.execute('INSERT INTO kept_replies (channel, peer, message, content, content_type, made_at) VALUES (?, ?, ?, ?, ?, 1)', \
            ('web', sys.argv[2], sys.argv[3], 'reply ' + sys.argv[3], 'text')); c.commit()";
        let database = context.home().join("dispatch.db");
        let done =
            Command::new("python3").args(["-c", insert]).arg(database).args([peer, &number.to_string()]).status();
        assert!(done.unwrap().success());
    };
    reply("ann", 1);
    reply("bob", 2);
    let mut stream = served.client.send("GET", "/v1/channels/web/ann/events?after=0", &[], "").unwrap();
    let mut next = || {
        let mut line = String::new();
        while !line.starts_with("data:") {
            line.clear();
            assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream ended");
        }
        serde_json::from_str::<Value>(line.trim_start_matches("data:").trim()).unwrap()
    };
    let first = next();
    assert_eq!(json!([first["content"], first["peerId"]]), json!(["reply 1", "ann"]));
    reply("ann", 3);
    let second = next();
    assert_eq!(second["content"], "reply 3", "and nothing of others");
    let after = first["sequence"].as_u64().unwrap();
    assert!(second["sequence"].as_u64().unwrap() > after);
}
