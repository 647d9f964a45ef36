//! Calls of extensions while they run: cancelled, beside each other, piece by piece, and those that never end.

use crate::ext_outside::add;
use crate::run_workspace::wait_until;
use dispatch_support::{Reply, ScriptedModel, Served, TestContext};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];

fn granting(id: &str, capabilities: &str) -> TestContext {
    let context = TestContext::new();
    context.write_home("config/dispatch.toml", format!("[grants.{id}]\ncapabilities = [{capabilities}]\n"));
    context
}

fn log(context: &TestContext) -> String {
    std::fs::read_to_string(context.home().join("serve.log")).unwrap_or_default()
}

#[test]
fn a_cancelled_turn_is_told_to_the_tool_that_runs() {
    let context = TestContext::new();
    let code = r#"export function activate(host) {
        host.defineTool({ name: "wait", description: "x", timeoutMs: 120_000, async execute(args, ctx) {
            await new Promise((done) => {
                ctx.signal.addEventListener("abort", ({ type }) => {
                    host.logger.warn(`heard ${type}: ${ctx.signal.aborted} ${ctx.cancelled}`);
                    done();
                });
                host.logger.warn(`begun: ${ctx.signal.aborted} ${ctx.cancelled}`);
                setTimeout(done, 110_000);
            });
            ctx.signal.throwIfAborted();
            return "never told";
        } });
    }"#;
    add(&context, "patient", r#","contributes":{"tools":["wait"]}"#, code);
    let served = Served::start(&context, &REHEARSAL, &[]);
    let dispatch = served.client.submit("main", &json!({ "text": "call wait {}", "id": "1" }));
    wait_until("the tool runs", || log(&context).contains("begun: false false"));
    let cancelled = served.client.post(&format!("/v1/dispatches/{dispatch}/cancel"), &json!({}));
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    wait_until("the signal", || log(&context).contains("heard abort: true true"));
    let ended = served.client.ended(&dispatch);
    assert_ne!(ended["state"], "failed", "{ended}");
    assert!(!served.client.get("/v1/sessions/main/messages").body.contains("never told"));
}

#[test]
fn two_calls_of_a_tool_that_may_overlap_run_at_the_same_time() {
    let context = granting("meeting", r#""db""#);
    let code = r#"export function activate(host) {
        const store = host.storage("here");
        host.defineTool({ name: "meet", description: "x", concurrencySafe: true, timeoutMs: 120_000,
            async execute({ me, other }) {
                await store.set(me, true);
                while (!(await store.get(other))) await new Promise((done) => setTimeout(done, 10));
                return `${me} met ${other}`;
            } });
    }"#;
    add(&context, "meeting", r#","contributes":{"tools":["meet"]},"capabilities":["db"]"#, code);
    // Each waits for the other: one after the other they would wait for ever.
    let both = [
        ("c1", "meet", json!({ "me": "Ada", "other": "Bob" })),
        ("c2", "meet", json!({ "me": "Bob", "other": "Ada" })),
    ];
    let model = ScriptedModel::playing([Reply::call(&both), Reply::say("done")]);
    let base_url = format!("model.base_url={}", model.base_url());
    let settings = [base_url.as_str(), "model.model=x", "tool_dispatch.max_concurrent=2"];
    let served = Served::start(&context, &settings.map(|setting| ["--set", setting]).concat(), &[]);
    let ended = served.client.say("main", "meet each other");
    let told = served.client.get("/v1/sessions/main/messages").body;
    assert_eq!(ended["state"], "done", "{ended} {told}");
    assert!(told.contains("Ada met Bob") && told.contains("Bob met Ada"), "{told}");
}

/// A server that sends a line whenever it is told to, and tells when it was asked.
fn line_server() -> (String, Receiver<()>, Sender<&'static str>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/lines", listener.local_addr().unwrap());
    let ((asked, was_asked), (line, lines)) = (channel(), channel::<&'static str>());
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut request = BufReader::new(client.try_clone().unwrap()).lines();
        while request.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        client.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n").unwrap();
        asked.send(()).unwrap();
        for line in lines {
            client.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
    });
    (url, was_asked, line)
}

/// Reads a stream of events until a line of it has this text.
fn heard(events: &mut BufReader<TcpStream>, text: &str) {
    let mut seen = String::new();
    while !seen.contains(text) {
        let read = events.by_ref().read_line(&mut seen).unwrap();
        assert!(read > 0, "the stream ended without `{text}`: {seen}");
    }
}

#[test]
fn what_a_server_sends_piece_by_piece_is_shown_piece_by_piece() {
    let context = granting("reader", r#""network""#);
    let (url, was_asked, send) = line_server();
    let code = format!(
        "export function activate(host) {{
            host.defineTool({{ name: 'follow', description: 'x', timeoutMs: 120_000, async execute(args, ctx) {{
                const answer = await host.fetch('{url}', {{ stream: true }});
                let count = 0;
                for await (const line of answer.lines()) {{
                    ctx.output(`shown: ${{line}}\\n`);
                    count += 1;
                }}
                return `${{count}} lines, status ${{answer.status}}`;
            }} }});
        }}"
    );
    add(&context, "reader", r#","contributes":{"tools":["follow"]},"capabilities":["network"]"#, &code);
    let served = Served::start(&context, &REHEARSAL, &[]);
    served.client.say("main", "hello");
    let mut events = served.client.send("GET", "/v1/sessions/main/events", &[], "").unwrap();
    heard(&mut events, "200 OK");
    let dispatch = served.client.submit("main", &json!({ "text": "call follow {}", "id": "2", "ask": "all" }));
    was_asked.recv().unwrap();
    for line in ["one", "two"] {
        // The server says the next line only after the one before was shown.
        send.send(line).unwrap();
        heard(&mut events, &format!("shown: {line}"));
    }
    drop(send);
    assert_eq!(served.client.ended(&dispatch)["state"], "done");
    assert!(served.client.get("/v1/sessions/main/messages").body.contains("2 lines, status 200"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_job_that_never_ends_holds_up_nothing_and_its_process_goes_with_the_extension() {
    let context = granting("looper", r#""spawn""#);
    let code = r#"export function activate(host) {
        host.scheduler.register({ name: "loop", everyMs: 1000, run() { host.logger.warn("looping"); for (;;); } });
        host.defineCommand({ name: "word", description: "x", run: () => "still here" });
    }"#;
    let fields = r#","contributes":{"jobs":["loop"],"commands":["word"]},"capabilities":["spawn"]"#;
    add(&context, "looper", fields, code);
    let served = Served::start(&context, &REHEARSAL, &[]);
    wait_until("the job runs", || log(&context).contains("looping"));
    let answer = served.client.post("/v1/commands/word", &json!({ "args": [] }));
    assert_eq!(answer.json()["answer"], "still here", "another worker answers: {answer:?}");
    assert!(!crate::ext_reload::children(served.id()).is_empty());
    assert_eq!(context.dispatch(&["ext", "remove", "looper"]).status, 0);
    wait_until("no process is left", || crate::ext_reload::children(served.id()).is_empty());
    assert_eq!(served.client.get("/healthz").status, 200);
}

#[test]
fn a_service_that_never_answers_is_named_to_whoever_called_it() {
    let context = TestContext::new();
    let slow = r#"export function activate(host) {
        host.provideService("words", {
            count: (text) => text.split(" ").length,
            hang: () => new Promise((done) => setTimeout(done, 600_000)),
        });
    }"#;
    add(&context, "slow", r#","contributes":{"services":["slow/words"]}"#, slow);
    let user = r#"export function activate(host) {
        const words = host.getService("slow/words");
        host.defineCommand({ name: "ask", description: "x", run: async ([method]) =>
            words[method]("one two").then((answer) => `answered ${answer}`, (error) => `failed: ${error.message}`) });
    }"#;
    add(&context, "user", r#","contributes":{"commands":["ask"]},"dependsOn":["slow"]"#, user);
    let served = Served::start(&context, &REHEARSAL, &[]);
    let ask =
        |method: &str| served.client.post("/v1/commands/ask", &json!({ "args": [method] })).json()["answer"].clone();
    std::thread::scope(|scope| {
        let hung = scope.spawn(|| ask("hang"));
        assert_eq!(ask("count"), "answered 2", "others are served meanwhile");
        let said = hung.join().unwrap().to_string();
        assert!(said.contains("failed: ") && said.contains("The extension `slow` failed"), "{said}");
    });
    assert_eq!(ask("count"), "answered 2", "and afterwards");
}
