//! What a page, a model, a tool or a server must not get, tried through the real binary.

mod confinement;
mod own_data;

use crate::run_workspace::{RunWorkspace, wait_until};
use dispatch_support::{Client, Reply, ScriptedModel, Step};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex};

#[test]
fn only_who_has_the_token_and_comes_from_here_is_served() {
    let workspace = RunWorkspace::new(ScriptedModel::answering(|_| Reply::say("hello")), &[]);
    let served = workspace.start();
    let port = served.client.address.port();
    let stranger = Client::new(served.client.address, None);
    let guesser = Client::new(served.client.address, Some("0".repeat(64)));
    let message = json!({"text": "let me in"}).to_string();
    let ask = |client: &Client, headers: &[(&str, &str)]| {
        let answers = [
            ("GET", "/v1/sessions", ""),
            ("POST", "/v1/sessions/s/messages", message.as_str()),
            ("GET", "/openapi.json", ""),
        ];
        answers.map(|(method, path, body)| client.ask(method, path, headers, body).expect("an answer").status)
    };
    assert_eq!(ask(&stranger, &[]), [401; 3]);
    assert_eq!(ask(&guesser, &[]), [401; 3]);
    assert_eq!(ask(&stranger, &[("Authorization", "Basic eDp5")]), [401; 3]);
    for headers in [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Host", "evil.example"),
        ("Host", "localhost.evil.example"),
    ] {
        let statuses = ask(&served.client, &[headers]);
        assert!(statuses.iter().all(|status| matches!(status, 403 | 421 | 400)), "{headers:?}: {statuses:?}");
    }
    let rebound = format!("127.0.0.1.nip.example:{port}");
    let statuses = ask(&served.client, &[("Host", &rebound)]);
    assert!(statuses.iter().all(|status| matches!(status, 403 | 421 | 400)), "{statuses:?}");
    assert_eq!(served.client.get("/v1/sessions").json()["sessions"], json!([]), "nothing of it went in");
    assert_eq!(workspace.model.requests().len(), 0, "and nobody was asked");
}

/// The starting environment of every living process that has a text in its command line.
fn environments(marker: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("a list of processes").flatten().map(|entry| entry.path());
    let marked = processes
        .filter(|path| std::fs::read(path.join("cmdline")).is_ok_and(|line| contains(&line, marker.as_bytes())));
    let found = marked.filter_map(|path| std::fs::read(path.join("environ")).ok());
    found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.is_empty()).collect()
}

#[test]
fn a_tool_does_not_inherit_the_key() {
    let marker = format!("7{}", std::process::id());
    let model = stepping(vec![("run_shell", json!({ "command": format!("sleep {marker} & sleep {marker}") }))]);
    let workspace = RunWorkspace::new(model, &[]);
    let served = workspace.start_with(&[("DISPATCH_API_KEY", "canary-of-the-key")]);
    let _ = served.client.submit("s", &json!({"text": "go", "ask": "all"}));
    wait_until("the commands run", || environments(&marker).len() >= 3);
    let found = environments(&marker);
    assert!(found.iter().all(|text| text.contains("PATH=")), "{found:?}");
    assert!(!found.iter().any(|text| text.contains("DISPATCH_API_KEY") || text.contains("canary")), "{found:?}");
}

/// Everything that a session's event stream said until the server ended.
fn listen(client: &Client, session: &str) -> Arc<Mutex<String>> {
    let heard = Arc::new(Mutex::new(String::new()));
    let stream = client.send("GET", &format!("/v1/sessions/{session}/events?after=0"), &[], "").expect("a stream");
    let writing = Arc::clone(&heard);
    std::thread::spawn(move || read_lines(stream, &writing));
    heard
}

fn read_lines(mut stream: BufReader<TcpStream>, heard: &Mutex<String>) {
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        heard.lock().expect("a lock").push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
}

/// The live output in an event stream, put together again.
fn live_output(events: &str) -> String {
    let values = events.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    values.filter_map(|value| value["live"]["text"].as_str().map(str::to_owned)).collect()
}

/// The files below a folder that hold these bytes.
fn files_with(folder: &Path, canary: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
        if kind.is_dir() {
            found.extend(files_with(&path, canary));
        } else if kind.is_file() && contains(&std::fs::read(&path).expect("a file"), canary.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn is_said(model: &ScriptedModel, canary: &str) -> bool {
    model.requests().iter().any(|request| request.body.contains(canary))
}

/// A secret that is none, of a shape that is known.
fn canary(salt: &str) -> String {
    format!("ghp_{salt}{}", "x7Kq2Zp9Lm4Rt6Vb8Nc3".repeat(2).get(..36 - salt.len()).expect("letters"))
}

/// A model that makes these calls, one per step, then ends.
fn stepping(calls: Vec<(&'static str, Value)>) -> ScriptedModel {
    ScriptedModel::answering(move |request| {
        let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
        let done = messages.iter().filter(|message| message["role"] == "tool").count();
        match calls.get(done) {
            Some((tool, arguments)) => Reply::call(&[(&format!("call{done}"), tool, arguments.clone())]),
            None => Reply::say("That is all."),
        }
    })
}

#[test]
fn a_secret_that_a_tool_prints_stays_where_it_was() {
    let (whole, halved, buried, failing) = (canary("aa"), canary("bb"), canary("cc"), canary("dd"));
    let (first, rest) = halved.split_at(18);
    let shell = |command: String| ("run_shell", json!({ "command": command }));
    let model = stepping(vec![
        shell("cat secret.env".to_owned()),
        ("read_file", json!({"path": "secret.env"})),
        ("search_files", json!({"pattern": "TOKEN"})),
        shell(format!("printf 'half {first}'; sleep 0.3; printf '{rest} done'")),
        shell("cat large.txt".to_owned()),
        shell("cat failing.txt >&2; exit 3".to_owned()),
    ]);
    let workspace = RunWorkspace::new(model, &[]);
    workspace.context.write("secret.env", format!("TOKEN={whole}\n"));
    let filler = "a line of nothing in particular\n".repeat(3_000);
    workspace.context.write("large.txt", format!("{filler}here: {buried}\n{filler}"));
    workspace.context.write("failing.txt", format!("cannot log in with {failing}\n"));
    let mut served = workspace.start();
    let events = listen(&served.client, "s");
    assert_eq!(served.client.say("s", "print it all")["reason"], "");
    let history = served.client.get("/v1/sessions/s/messages").body;
    assert!(history.contains("exit code 3") || history.contains("code 3"), "the calls ran: {history:.3000}");
    served.kill();
    let events = events.lock().expect("a lock").clone();
    let live = live_output(&events);
    assert!(live.contains("half ") && live.contains(" done"), "{live:.2000}");
    // The halves are in the arguments of the call, which the model wrote; together they may be nowhere.
    for secret in [&whole, &halved, &buried, &failing] {
        assert!(!is_said(&workspace.model, secret), "{secret} in a request");
        assert!(!events.contains(secret.as_str()) && !live.contains(secret.as_str()), "{secret} in the event stream");
        assert!(!history.contains(secret.as_str()), "{secret} in the history");
        assert_eq!(files_with(&workspace.context.home(), secret), Vec::<String>::new(), "{secret}");
    }
}

#[test]
fn the_key_of_the_model_stays_between_us_and_its_server() {
    let key = format!("canary-{}", "q8Wd3Hs6Jf1Gk5".repeat(2));
    let own = key.clone();
    let model = ScriptedModel::answering(move |request| {
        let said = format!("Incorrect API key provided: {own}. Authorization: Bearer {own}");
        let last = request.json()["messages"].as_array().and_then(|it| it.last().cloned()).unwrap_or_default();
        match last["content"].as_str() {
            Some("refused") => Reply::json(401, &json!({"error": {"message": said}})),
            Some("broken") => Reply::json(500, &json!({ "detail": said })),
            Some("page") => Reply::html(403, &format!("<pre>{said}</pre>")),
            Some("stream") => Reply::steps([Step::say("so "), Step::event(&json!({"error": {"message": said}}))]),
            Some("environment") => Reply::call(&[(
                "env",
                "run_shell",
                json!({"command": "env; cat /proc/self/environ /proc/$PPID/environ"}),
            )]),
            _ => Reply::say("I see."),
        }
    });
    let workspace = RunWorkspace::new(model, &["log.level=debug"]);
    let mut served = workspace.start_with(&[("DISPATCH_API_KEY", &key)]);
    let events = listen(&served.client, "s");
    let mut seen = String::new();
    for text in ["refused", "broken", "page", "stream", "environment"] {
        let view = served.client.say("s", text);
        assert_eq!(view["state"], "done", "{view}");
        assert_eq!(view["reason"] == "", text == "environment", "{text}: {view}");
        seen.push_str(&view.to_string());
    }
    seen.push_str(&served.client.get("/v1/sessions/s/messages").body);
    served.kill();
    seen.push_str(&events.lock().expect("a lock"));
    let sent = workspace.model.requests();
    assert!(sent.iter().all(|request| request.header("authorization") == Some(&format!("Bearer {key}"))), "it is used");
    assert!(!is_said(&workspace.model, &key), "but never said to the model");
    assert!(!seen.contains(&key), "{seen:.4000}");
    assert_eq!(files_with(&workspace.context.home(), &key), Vec::<String>::new());
    assert!(seen.contains("PATH="), "the command did print its environment");
}

#[test]
fn a_secret_that_the_model_says_or_thinks_is_shown_and_stored_by_nobody() {
    let (said, thought, typed) = (canary("ee"), canary("ff"), "Tr0ub4dor-and-3".to_owned());
    let (own_said, own_thought, own_typed) = (said.clone(), thought.clone(), typed.clone());
    let model = ScriptedModel::answering(move |_| {
        let delta = |delta: Value| Step::event(&json!({"choices": [{"index": 0, "delta": delta}]}));
        let mut steps = vec![Step::SleepMs(1)];
        // Every piece is an event of its own, with a pause in which rows are stored.
        for piece in pieces(&format!("I think of {own_thought} first. ")) {
            steps.extend([delta(json!({ "reasoning_content": piece })), Step::SleepMs(15)]);
        }
        for piece in pieces(&format!("The key is {own_said} and `curl -u me:{own_typed} https://x` works.\nBye.")) {
            steps.extend([delta(json!({ "content": piece })), Step::SleepMs(15)]);
        }
        let end = Step::event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
        Reply::steps(steps.into_iter().chain([end, Step::done()]))
    });
    let workspace = RunWorkspace::new(model, &[]);
    let mut served = workspace.start();
    let events = listen(&served.client, "s");
    assert_eq!(served.client.say("s", "tell me")["reason"], "");
    assert_eq!(served.client.say("s", "again")["reason"], "");
    let history = served.client.get("/v1/sessions/s/messages").body;
    served.kill();
    let events = events.lock().expect("a lock").clone();
    let live = live_output(&events);
    assert!(live.contains("The key is [REDACTED] and") && live.contains("I think of [REDACTED] first."), "{live}");
    assert!(history.contains("works.\\nBye."), "what is no secret stays: {history}");
    for secret in [&said, &thought, &typed] {
        assert!(!is_said(&workspace.model, secret), "{secret} in a request");
        assert!(!events.contains(secret.as_str()) && !live.contains(secret.as_str()), "{secret} in the event stream");
        assert!(!history.contains(secret.as_str()), "{secret} in the history");
        assert_eq!(files_with(&workspace.context.home(), secret), Vec::<String>::new(), "{secret}");
    }
}

/// A text in pieces of a few letters.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|piece| piece.iter().collect()).collect()
}
