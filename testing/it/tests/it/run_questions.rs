//! Questions to people: who sees them, how soon, who may answer them, and how they end without an answer.

use crate::installed::python;
use crate::run_approvals::{Asking, answer, submit};
use crate::run_wire::told;
use crate::run_workspace::wait_until;
use crate::seeded_random::SeededRandom;
use dispatch_support::{Client, PostgresServer, ScriptedModel, Served, TestContext, slow_lane};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ACP_PYTHON: &str = "agent-client-protocol==0.12.1";
/// How late a question may be on a machine that has other things to do; what it took is printed.
const LATE: Duration = Duration::from_secs(30);
/// How often the way of a question is measured.
const MEASURED: usize = 5;

fn approvals(client: &Client) -> Vec<Value> {
    client.get("/v1/approvals").json().as_array().cloned().unwrap_or_default()
}

/// The id of the only open question, once it is there.
fn open_question(client: &Client) -> String {
    wait_until("a question is open", || !approvals(client).is_empty());
    approvals(client)[0]["id"].as_str().expect("an id").to_owned()
}

/// Answers as a person does who has the token for it.
fn allow(served: &Served, home: &std::path::Path, id: &str) {
    let status = try_allow(served, home, id);
    assert_eq!(status, 200, "the answer to {id}");
}

fn try_allow(served: &Served, home: &std::path::Path, id: &str) -> u16 {
    let token = std::fs::read_to_string(home.join("approval-token")).expect("its token");
    let person = Client::new(served.client.address, Some(token.trim().to_owned()));
    person.post(&format!("/v1/approvals/{id}"), &json!({ "answer": "allow" })).status
}

/// A server whose data lies where the system keeps it, so that what its tools start finds the same.
fn serve_at_home(context: &TestContext, model: &ScriptedModel) -> Served {
    let mut command = context.command("dispatch");
    command.env_remove("DISPATCH_HOME").env("HOME", context.home());
    command.env("DISPATCH_BASE_URL", model.base_url()).env("DISPATCH_MODEL", "scripted");
    command.args(["serve", "--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let log = std::fs::File::create(context.home().join("serve.log")).expect("a log");
    let child = command.stderr(log).spawn().expect("the executable starts");
    Served::over(child, &context.home().join(".local/share/dispatch")).expect("it listens")
}

#[test]
fn no_tool_of_an_agent_answers_its_question_in_any_way() {
    let context = TestContext::new();
    let model = ScriptedModel::answering(answer);
    let served = serve_at_home(&context, &model);
    let made = context.project().join("made.txt");
    let dispatch = submit(&served, "main", "touch made.txt");
    let id = open_question(&served.client);
    let program = context.command("dispatch").get_program().to_string_lossy().into_owned();
    context.write("answer.py", include_str!("run_questions/agent_answers.py"));
    // A session of its own, no variable but the two that find the data, and no parent that is left.
    let detached = |call: &str| {
        format!(
            "env -i HOME=\"$HOME\" PATH=\"$PATH\" setsid --fork sh -c '{call} > said.txt 2>&1; touch over.txt'; \
             timeout 90 sh -c 'until [ -e over.txt ]; do sleep 0.1; done'; cat said.txt; rm over.txt"
        )
    };
    for (number, (way, is_detached)) in
        [("stdio", false), ("stdio", true), ("acp", false), ("acp", true), ("chat", false), ("chat", true)]
            .into_iter()
            .enumerate()
    {
        let call = format!("python3 answer.py {way} {program} {id} made.txt");
        context.write("answer.sh", if is_detached { detached(&call) } else { call });
        let text = json!({ "text": "run [[sh answer.sh]]", "ask": "all" });
        let session = format!("other-{number}");
        assert_eq!(served.client.ended(&served.client.submit(&session, &text))["state"], "done");
        let said = served.client.get(&format!("/v1/sessions/{session}/messages")).body;
        assert!(!made.exists(), "{way}, detached {is_detached}: {said}");
        assert!(said.contains("cannot answer a question"), "{way}, detached {is_detached}: {said}");
        assert_eq!(open_question(&served.client), id, "{way}: it is still open");
    }
    allow(&served, &context.home().join(".local/share/dispatch"), &id);
    assert_eq!(served.client.ended(&dispatch)["state"], "done");
    assert!(made.exists());
}

/// A request that every route of a kind takes.
fn body_for(path: &str) -> Value {
    match path {
        "/v1/approvals/{id}" => json!({ "answer": "allow" }),
        "/v1/sessions/{label}/messages" => json!({ "text": "hello" }),
        "/v1/sessions/{label}/fork" => json!({ "label": "copy" }),
        "/v1/sessions/{label}" => json!({ "title": "a title" }),
        "/v1/chat/completions" => json!({ "model": "dispatch", "messages": [{ "role": "user", "content": "hello" }] }),
        "/v1/workspace-hooks/events" => json!({ "name": "deployed" }),
        "/v1/events" => json!({ "channel": "api", "from": "me", "content": "hello" }),
        "/v1/channels/web/{peer}/messages" => json!({ "content": "hello" }),
        _ => json!({}),
    }
}

#[test]
fn every_route_tells_that_the_database_is_away_and_when_to_come_back() {
    let mut server = PostgresServer::start();
    let context = TestContext::new();
    let url = format!("storage.url={}", server.url());
    let mut served = Served::start(&context, &["--set", "model.provider=rehearsal", "--set", &url], &[]);
    assert_eq!(served.client.say("main", "hello")["state"], "done");
    let token = std::fs::read_to_string(context.home().join("approval-token")).expect("its token");
    served.client.token = Some(token.trim().to_owned());
    let described = served.client.get("/openapi.json").json();
    server.crash();
    // No workspace hook is there, so an event stores nothing.
    let hooks = ["/v1/workspace-hooks", "/v1/workspace-hooks/events"];
    // No webhook is configured either.
    let free_of_storage = [
        "/v1/commands",
        "/v1/commands/{name}",
        "/v1/extensions",
        "/v1/models",
        "/v1/workspace-hooks/approvals",
        "/v1/ws",
        "/v1/hooks/{name}",
    ];
    let mut requests = Vec::new();
    for (path, methods) in described["paths"].as_object().expect("paths") {
        requests
            .extend(methods.as_object().expect("methods").keys().map(|method| (path.clone(), method.to_uppercase())));
    }
    let ask = |path: &str, method: &str| {
        let at = path.replace("{label}", "main").replace("{id}", "d1").replace("{peer}", "me");
        let at = if path == "/v1/search" { format!("{at}?q=hello") } else { at };
        let body = if method == "GET" { String::new() } else { body_for(path).to_string() };
        let kind: &[(&str, &str)] = if body.is_empty() { &[] } else { &[("Content-Type", "application/json")] };
        served.client.ask(method, &at, kind, &body).expect("an answer")
    };
    // Each waits for the database a while, so all are asked at once.
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = &ask;
        let asked: Vec<_> =
            requests.iter().map(|(path, method)| (path, method, scope.spawn(move || ask(path, method)))).collect();
        asked.into_iter().map(|(path, method, answer)| (path, method, answer.join().expect("an answer"))).collect()
    });
    let mut refused = Vec::new();
    for (path, method, answer) in answers {
        assert_ne!(answer.status, 500, "{method} {path}: {answer:?}");
        let can_wait = answer.headers.iter().any(|(name, _)| name == "retry-after");
        assert!(answer.status != 503 || can_wait, "{method} {path}: {answer:?}");
        if path.starts_with("/v1/") && !free_of_storage.iter().chain(&hooks).any(|free| free == path) {
            assert_eq!(answer.status, 503, "{method} {path}: {answer:?}");
            refused.push(path);
        }
    }
    assert!(refused.len() > 12, "{refused:?}");
    server.resume();
    wait_until("the server takes messages again", || served.client.get("/v1/approvals").status == 200);
}

#[test]
fn an_editor_sees_the_questions_and_the_text_of_a_turn_that_another_process_runs() {
    let asking = Asking::new();
    let served = asking.workspace.start();
    let first = submit(&served, "main", "echo first >> ran.txt");
    asking.question();
    let context = &asking.workspace.context;
    let mut command = Command::new(python("acp-client", ACP_PYTHON));
    command.args(["-c", include_str!("run_questions/acp_attached.py")]);
    command.arg(context.command("dispatch").get_program()).arg(context.project()).arg(context.home());
    let told = told(command.arg(asking.workspace.model.base_url()));
    assert_eq!(served.client.ended(&first)["state"], "done");
    let asked = told["asked"].as_array().cloned().unwrap_or_default();
    assert_eq!(asked.len(), 2, "{told:?}");
    assert!(asked[0].to_string().contains("first") && asked[1].to_string().contains("second"), "{told:?}");
    assert_eq!(told["prompt"][0], "end_turn", "{told:?}");
    assert!(told["prompt"][1].to_string().contains("It said: "), "{told:?}");
    assert_eq!(asking.lines("ran.txt"), 2);
    println!("an editor that opens the session has the question after {} ms", told["first_ms"]);
}

#[test]
fn a_client_of_openai_hears_a_turn_of_another_process_while_it_runs() {
    let asking = Asking::new();
    let first = asking.workspace.start();
    let blocker = submit(&first, "main", "echo first >> ran.txt");
    let id = open_question(&first.client);
    let second = asking.workspace.start();
    let headers = [("Content-Type", "application/json"), ("x-dispatch-session", "main"), ("x-dispatch-ask", "person")];
    let body = json!({
        "model": "dispatch", "stream": true,
        "messages": [{ "role": "user", "content": "say it, then run [[echo second >> ran.txt]]" }]
    });
    let mut stream = second.client.send("POST", "/v1/chat/completions", &headers, &body.to_string()).expect("a stream");
    let home = asking.workspace.context.home();
    allow(&first, &home, &id);
    assert_eq!(first.client.ended(&blocker)["state"], "done");
    let id = open_question(&first.client);
    read_until(&mut stream, "Let me see.");
    assert_eq!(open_question(&second.client), id, "the text came while the turn waits for a person");
    allow(&second, &home, &id);
    read_until(&mut stream, "[DONE]");
    assert_eq!(asking.lines("ran.txt"), 2);
}

/// Reads lines until one holds the text, or the pieces of the answer put together do.
fn read_until(stream: &mut impl BufRead, text: &str) -> String {
    let (mut all, deadline) = (String::new(), Instant::now() + Duration::from_secs(60));
    let mut said = String::new();
    loop {
        let mut line = String::new();
        let count = stream.read_line(&mut line).unwrap_or_default();
        all.push_str(&line);
        let piece = line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
        said.extend(piece.and_then(|piece| piece["choices"][0]["delta"]["content"].as_str().map(str::to_owned)));
        if line.contains(text) || said.contains(text) {
            return all;
        }
        assert!(count > 0 && Instant::now() < deadline, "{text:?} did not come:\n{all}");
    }
}

#[test]
fn a_question_that_nobody_answers_ends_as_a_no_and_the_turn_goes_on() {
    let timeout = "extensions.session-orchestrator.approval_timeout_s=1";
    let asking = Asking::with(&[timeout]);
    let served = asking.workspace.start();
    let dispatch = submit(&served, "main", "touch made.txt");
    assert_eq!(served.client.ended(&dispatch)["state"], "done");
    let history = served.client.get("/v1/sessions/main/messages").body;
    assert!(history.contains("Nobody answered within 1 s"), "{history}");
    assert!(!history.contains("The user said no"), "nobody said anything: {history}");
    assert!(history.contains("It said: "), "the turn went on: {history}");
    let audit = asking.dispatch(&["approvals", "list", "--all", "--json"]).json();
    assert_eq!((&audit[0]["state"], &audit[0]["answeredFrom"]), (&"expired".into(), &Value::Null), "{audit}");
    let late = asking.dispatch(&["approvals", "answer", audit[0]["id"].as_str().expect("an id"), "deny"]);
    assert_eq!(late.status, 2, "{late:?}");
    assert!(late.stderr.contains("is not open"), "{late:?}");
    assert!(!asking.workspace.context.project().join("made.txt").exists());
}

/// A process on a database, in the folder of the first.
fn node(
    context: &TestContext,
    project: &TestContext,
    model: &ScriptedModel,
    url: &str,
    more: &[(&str, &str)],
) -> Served {
    let mut command = context.command("dispatch");
    command.current_dir(project.project()).envs(more.iter().copied());
    command.env("DISPATCH_BASE_URL", model.base_url()).env("DISPATCH_MODEL", "scripted");
    command.args(["serve", "--listen", "127.0.0.1:0", "--set", &format!("storage.url={url}")]);
    let log = std::fs::File::create(context.home().join("serve.log")).expect("a log");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().expect("it starts");
    Served::over(child, &context.home()).expect("it listens")
}

#[test]
fn the_deadline_of_a_question_is_kept_by_the_clock_of_the_database() {
    let server = PostgresServer::start();
    let (asks, sees) = (TestContext::new(), TestContext::new());
    let model = ScriptedModel::answering(answer);
    let library = crate::run_attack::wrong_clock();
    let behind = [("LD_PRELOAD", library.as_str()), ("FAKETIME", "-48h"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
    let behind = node(&asks, &asks, &model, &server.url(), &behind);
    let dispatch = submit(&behind, "main", "touch made.txt");
    let right = node(&sees, &asks, &model, &server.url(), &[]);
    let id = open_question(&right.client);
    allow(&right, &sees.home(), &id);
    assert_eq!(right.client.ended(&dispatch)["state"], "done");
    assert!(asks.project().join("made.txt").exists());
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A stream of the session's news: server-sent events.
fn events(client: &Client) -> BufReader<TcpStream> {
    client.send("GET", "/v1/sessions/main/events", &[], "").expect("a stream")
}

/// The same over a WebSocket, whose frames of text are read as bytes.
fn socket(client: &Client) -> BufReader<TcpStream> {
    let headers =
        [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")];
    let mut stream = TcpStream::connect(client.address).expect("a connection");
    let mut head = format!("GET /v1/ws HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\n", client.address);
    head.push_str(&format!("Authorization: Bearer {}\r\n", client.token.as_deref().unwrap_or_default()));
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    stream.write_all(format!("{head}\r\n").as_bytes()).expect("a request");
    let text = br#"{"type":"subscribe","session":"main"}"#;
    let mut frame = vec![0x81, 0x80 | u8::try_from(text.len()).expect("a short text"), 0, 0, 0, 0];
    frame.extend_from_slice(text);
    stream.write_all(&frame).expect("a message");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    BufReader::new(stream)
}

/// Reads bytes until the text was there.
fn hear(stream: &mut impl Read, text: &str) -> Instant {
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&all).contains(text) {
        let count = stream.read(&mut piece).unwrap_or_default();
        assert!(count > 0, "{text:?} did not come: {}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&piece[..count]);
    }
    Instant::now()
}

/// Asks several times in one process and says how much later than there another process has each question.
fn question_delay(asker: &Served, home: &std::path::Path, other: &Served) -> Duration {
    let mut delays = Vec::new();
    for number in 0..MEASURED {
        let (mut near, mut far, mut socket) = (events(&asker.client), events(&other.client), socket(&other.client));
        hear(&mut socket, r#""type":"ok""#);
        let (at_asker, at_other, at_socket) = std::thread::scope(|scope| {
            let heard = [
                scope.spawn(|| hear(&mut near, "asked")),
                scope.spawn(|| hear(&mut far, "asked")),
                scope.spawn(|| hear(&mut socket, r#""asked""#)),
            ];
            let dispatch = submit(asker, "main", &format!("echo {number} >> ran.txt"));
            let [near, far, socket] = heard.map(|thread| thread.join().expect("it was heard"));
            allow(asker, home, &open_question(&asker.client));
            assert_eq!(asker.client.ended(&dispatch)["state"], "done");
            (near, far, socket)
        });
        for at in [at_other, at_socket] {
            let delay = at.saturating_duration_since(at_asker);
            assert!(delay < LATE, "it came after {delay:?}");
            delays.push(delay);
        }
    }
    median(delays)
}

#[test]
fn whoever_follows_the_session_in_another_process_has_the_question_soon() {
    let asking = Asking::new();
    let (asker, other) = (asking.workspace.start(), asking.workspace.start());
    let median = question_delay(&asker, &asking.workspace.context.home(), &other);
    println!("a question reaches another process on SQLite after {median:?} at the median");
    assert_eq!(asking.lines("ran.txt"), MEASURED);
}

#[test]
fn whoever_follows_the_session_on_another_node_has_the_question_soon() {
    let server = PostgresServer::start();
    let (asks, sees) = (TestContext::new(), TestContext::new());
    let model = ScriptedModel::answering(answer);
    let asker = node(&asks, &asks, &model, &server.url(), &[]);
    let other = node(&sees, &asks, &model, &server.url(), &[]);
    let median = question_delay(&asker, &asks.home(), &other);
    println!("a question reaches another node on PostgreSQL after {median:?} at the median");
}

#[test]
fn a_question_appears_at_the_idle_prompt_beside_what_is_typed_and_yes_answers_it() {
    let asking = Asking::new();
    let served = asking.workspace.start();
    let mut terminal = asking.chat("main");
    terminal.wait_for("main · scripted > ");
    terminal.press("half a sentence");
    terminal.wait_for("half a sentence");
    let began = Instant::now();
    let dispatch = submit(&served, "main", "echo ran >> ran.txt");
    let shown = terminal.wait_for("`y` allows it");
    println!("an idle chat shows the question {:?} after the message was sent", began.elapsed());
    assert!(shown.contains("echo ran >> ran.txt"), "{shown}");
    terminal.wait_for("half a sentence");
    // What was typed is still there: it is taken back letter by letter, and the answer is typed instead.
    terminal.press("\u{15}y\r");
    assert_eq!(served.client.ended(&dispatch)["state"], "done");
    assert_eq!(asking.lines("ran.txt"), 1);
    terminal.wait_for("main · scripted > ");

    // A no has its reason, and a question that was settled elsewhere is not answered by the next `y`.
    let dispatch = submit(&served, "main", "rm ran.txt");
    terminal.wait_for("`y` allows it");
    terminal.press("n it is still needed\r");
    assert_eq!(served.client.ended(&dispatch)["state"], "done");
    let history = served.client.get("/v1/sessions/main/messages").body;
    assert!(history.contains("The user said no: it is still needed"), "{history}");
    terminal.wait_for("main · scripted > ");
    let dispatch = submit(&served, "main", "echo again >> ran.txt");
    terminal.wait_for("`y` allows it");
    allow(&served, &asking.workspace.context.home(), &open_question(&served.client));
    terminal.wait_for("settled elsewhere");
    assert_eq!(served.client.ended(&dispatch)["state"], "done");
    terminal.press("y\r");
    terminal.wait_for("hello");
    terminal.wait_for("main · scripted > ");
    assert_eq!(asking.lines("ran.txt"), 2);
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().0, 0);
}

#[test]
fn a_steer_with_other_rights_says_that_it_waits_for_a_turn_of_its_own() {
    let asking = Asking::new();
    let served = asking.workspace.start();
    let first = submit(&served, "main", "echo ran >> ran.txt");
    let id = open_question(&served.client);
    let steer = json!({ "text": "hello", "mode": "steer", "ask": "none" });
    let receipt = served.client.post("/v1/sessions/main/messages", &steer);
    assert_eq!(receipt.status, 202, "{receipt:?}");
    let told = receipt.json();
    assert_eq!(told["mode"], "followup", "{told}");
    assert!(told["note"].as_str().is_some_and(|note| note.contains("ask")), "{told}");
    allow(&served, &asking.workspace.context.home(), &id);
    assert_eq!(served.client.ended(&first)["state"], "done");
    assert_eq!(served.client.ended(told["dispatch"].as_str().expect("an id"))["state"], "done");
}

#[test]
fn commands_that_only_read_are_not_asked_about() {
    let asking = Asking::new();
    let served = asking.workspace.start();
    for command in ["ls", "git status", "cat answer.txt | head -3"] {
        let dispatch = submit(&served, "main", command);
        assert_eq!(served.client.ended(&dispatch)["state"], "done", "{command}");
    }
    let audit = asking.dispatch(&["approvals", "list", "--all", "--json"]).json();
    assert_eq!(audit, json!([]));
    for command in ["git -c core.fsmonitor=./hook status", "ls > listed.txt", "GIT_PAGER=./hook git log"] {
        let dispatch = submit(&served, "main", command);
        let id = open_question(&served.client);
        assert_eq!(asking.dispatch(&["approvals", "answer", &id, "deny"]).status, 0);
        assert_eq!(served.client.ended(&dispatch)["state"], "done", "{command}");
    }
    assert!(!asking.workspace.context.project().join("listed.txt").exists());
}

#[test]
fn a_kill_while_a_question_is_open_asks_again_or_ends_it_and_runs_the_call_at_most_once() {
    let seed = std::env::var("DISPATCH_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_118);
    let mut random = SeededRandom(seed);
    let asking = Asking::new();
    let home = asking.workspace.context.home();
    let rounds = if slow_lane() { 50 } else { 4 };
    let mut served = asking.workspace.start();
    for round in 0..rounds {
        let session = format!("s{round}");
        let dispatch = submit(&served, &session, &format!("echo {round} >> ran.txt"));
        // The kill comes before the question, while it is open, or after a yes.
        let answers_first = random.below(3) == 0;
        if answers_first {
            allow(&served, &home, &open_question(&served.client));
        }
        std::thread::sleep(Duration::from_millis(random.below(120)));
        served.kill();
        served = asking.workspace.start();
        let deadline = Instant::now() + Duration::from_secs(60);
        let view = loop {
            let view = served.client.get(&format!("/v1/dispatches/{dispatch}")).json();
            if !matches!(view["state"].as_str(), Some("pending" | "running")) {
                break view;
            }
            // Whatever is asked again is allowed again; an old question is not open any more.
            if let Some(question) = approvals(&served.client).first() {
                assert_eq!(question["dispatch"], dispatch.as_str(), "seed {seed}: {question}");
                try_allow(&served, &home, question["id"].as_str().expect("an id"));
            }
            assert!(Instant::now() < deadline, "seed {seed}, round {round}: {view}");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(view["state"], "done", "seed {seed}, round {round}: {view}");
        let ran = std::fs::read_to_string(asking.workspace.context.project().join("ran.txt")).unwrap_or_default();
        let times = ran.lines().filter(|line| *line == round.to_string()).count();
        assert!(times <= 1, "seed {seed}, round {round}: it ran {times} times");
    }
    let audit = asking.dispatch(&["approvals", "list", "--all", "--json"]).json();
    let states = audit.as_array().cloned().unwrap_or_default();
    let is_named = |entry: &Value| matches!(entry["state"].as_str(), Some("allowed" | "withdrawn"));
    assert!(!states.is_empty() && states.iter().all(is_named), "seed {seed}: {audit}");
}
