//! The host API of extensions from outside, through the real executable: each call as an author would write it.

use crate::ext_outside::{add, chat, state};
use crate::installed::{npm, python};
use crate::run_workspace::wait_until;
use dispatch_support::{Client, Served, TestContext};
use serde_json::{Value, json};
use std::process::Command;

const OPENAI_PYTHON: &str = "openai==3.49.0";

/// A home in which the extension is granted these capabilities.
fn granting(id: &str, capabilities: &str) -> TestContext {
    let context = TestContext::new();
    context.write_home("config/dispatch.toml", format!("[grants.{id}]\ncapabilities = [{capabilities}]\n"));
    context
}

/// What a command of an extension answers.
fn run(context: &TestContext, arguments: &[&str]) -> Value {
    let all: Vec<&str> = std::iter::once("run").chain(arguments.iter().copied()).collect();
    let output = context.dispatch(&all);
    assert_eq!(output.status, 0, "{arguments:?}: {output:?}");
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| output.stdout.trim_end().into())
}

/// What a command of an extension fails with.
fn refusal(context: &TestContext, arguments: &[&str]) -> String {
    let all: Vec<&str> = std::iter::once("run").chain(arguments.iter().copied()).collect();
    let output = context.dispatch(&all);
    assert_ne!(output.status, 0, "{arguments:?}: {output:?}");
    output.stderr
}

const ECHO: &str = r#"
export function activate(host) {
  host.defineProvider({
    name: "echo",
    models: () => [{ id: "echo-1", contextTokens: 8000 }, "echo-2"],
    async *stream(request, ctx) {
      const { role, chunks, results } = request.messages.at(-1);
      const said = chunks?.[0]?.text ?? "";
      if (said === "look") {
        yield "I look. ";
        yield { type: "tool_call", name: "list_files", arguments: { path: "." } };
        return;
      }
      if (said === "limited") throw Object.assign(new Error("slow down"), { kind: "invalid_request" });
      if (said === "hang") for (;;);
      for (const word of (role === "user" ? `you said ${said}` : `I saw ${JSON.stringify(request.messages.at(-1))}`).split(" ")) {
        await new Promise((done) => setTimeout(done, 5));
        ctx.signal.throwIfAborted();
        yield `${word} `;
      }
      yield { type: "usage", inputTokens: 11, outputTokens: 7 };
      yield { type: "finished", finish: "stop" };
    },
  });
}"#;

const OPENAI_CLIENT: &str = r#"
import json, sys, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2])
models = [model.id for model in client.models.list()]
ask = lambda text, **more: client.chat.completions.create(model="echo/echo-1", messages=[{"role": "user", "content": text}], **more)
whole = ask("good morning")
chunks = list(ask("it streams", stream=True, stream_options={"include_usage": True}))
pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
ends = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
usage = [chunk.usage.prompt_tokens for chunk in chunks if chunk.usage]
print(json.dumps({
    "models": [model for model in models if model.startswith("echo/")],
    "whole": [whole.choices[0].message.content, whole.choices[0].finish_reason, whole.usage.prompt_tokens, whole.usage.completion_tokens],
    "stream": ["".join(pieces), len(pieces) > 2, ends, usage],
    "tools": ask("look").choices[0].message.content,
}))
"#;

fn served(context: &TestContext, settings: &[&str]) -> Served {
    let arguments: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    Served::start(context, &arguments, &[])
}

#[test]
fn a_provider_in_typescript_serves_openais_python_client() {
    let context = TestContext::new();
    add(&context, "speaker", r#","contributes":{"providers":["echo"]}"#, ECHO);
    let served = served(&context, &["model.provider=echo"]);
    let base_url = format!("http://{}/v1", served.client.address);
    let token = served.client.token.clone().expect("a token");
    let output =
        Command::new(python("openai-client", OPENAI_PYTHON)).args(["-c", OPENAI_CLIENT, &base_url, &token]).output();
    let output = output.expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["models"], json!(["echo/echo-1", "echo/echo-2"]));
    assert_eq!(told["whole"], json!(["you said good morning ", "stop", 11, 7]));
    assert_eq!(told["stream"], json!(["you said it streams ", true, ["stop"], [11]]));
    let tools = told["tools"].as_str().unwrap_or_default();
    assert!(tools.contains("I saw"), "its tool call was answered: {tools}");
}

#[test]
fn a_provider_that_fails_or_hangs_ends_the_turn_with_a_name_and_answers_the_next() {
    let context = TestContext::new();
    let code = ECHO.replace("for (;;);", "{ const all = []; for (;;) all.push(new Array(100000).fill(1)); }");
    add(&context, "speaker", r#","contributes":{"providers":["echo"]}"#, &code);
    let say = |said: &str| context.dispatch(&["--set", "model.provider=echo", "chat", said]);
    let limited = say("limited");
    assert!(limited.stderr.contains("slow down") || limited.stdout.contains("slow down"), "{limited:?}");
    let hung = say("hang");
    let text = format!("{}{}", hung.stdout, hung.stderr);
    assert!(text.contains("The extension `speaker` failed: memory limit reached"), "{text}");
    assert!(say("again").stdout.contains("you said again"));
}

const ROUTES: &str = r#"
export function activate(host) {
  host.defineRoute({
    method: "POST",
    path: "/v1/notes/{id}",
    description: "Keeps a note.",
    handle: ({ path, query, body }) => (body ? { id: path.id, query, kept: body.text } : { $status: 422, error: "no body" }),
  });
  host.defineRoute({
    method: "POST",
    path: "/v1/bytes",
    description: "Turns bytes round.",
    raw: true,
    access: "own",
    maxBodyBytes: 100,
    handle: ({ headers, body, text }) => {
      if (text() === "boom") throw new Error("no such luck");
      if (text() === "loop") for (;;);
      return { status: 218, headers: { "x-got": headers["x-mine"] ?? "" }, body: body.reverse() };
    },
  });
}"#;

#[test]
fn routes_in_typescript_answer_json_and_bytes_and_are_in_the_api_document() {
    let context = TestContext::new();
    let contributes = r#","contributes":{"routes":["POST /v1/notes/{id}","POST /v1/bytes"]}"#;
    add(&context, "notes", contributes, ROUTES);
    let served = served(&context, &[]);
    let client = &served.client;
    let kept = client.post("/v1/notes/7?a=b", &json!({ "text": "hi" }));
    assert_eq!((kept.status, kept.json()), (200, json!({ "id": "7", "query": { "a": "b" }, "kept": "hi" })));
    assert_eq!(client.ask("POST", "/v1/notes/7", &[], "").expect("an answer").status, 422);
    let document = client.get("/openapi.json").json();
    let note = &document["paths"]["/v1/notes/{id}"]["post"];
    assert_eq!((&note["summary"], &note["tags"]), (&json!("Keeps a note."), &json!(["notes"])));
    assert_eq!(document["paths"]["/v1/bytes"]["post"]["security"], json!([]), "it finds out itself who calls");

    let anybody = Client::new(client.address, None);
    let turned = anybody.ask("POST", "/v1/bytes", &[("X-Mine", "yes")], "abc").expect("an answer");
    assert_eq!((turned.status, turned.body.as_str()), (218, "cba"));
    assert!(anybody.ask("POST", "/v1/notes/7", &[], "{}").expect("an answer").status == 401);
    assert_eq!(anybody.ask("POST", "/v1/bytes", &[], &"x".repeat(101)).expect("an answer").status, 413);
    let broken = anybody.ask("POST", "/v1/bytes", &[], "boom").expect("an answer");
    assert_eq!(broken.status, 500, "{broken:?}");
    let hung = std::thread::spawn(move || anybody.ask("POST", "/v1/bytes", &[], "loop"));
    let meanwhile = client.post("/v1/notes/8", &json!({ "text": "still here" }));
    assert_eq!(meanwhile.json()["kept"], "still here", "another worker answers while one hangs");
    drop(served);
    drop(hung);
}

#[test]
fn a_route_that_is_taken_is_refused_with_who_has_it() {
    let context = TestContext::new();
    let code = |path: &str| {
        format!(
            "export const activate = (host) => host.defineRoute({{ path: '{path}', description: 'x', handle: () => 1 }});"
        )
    };
    let contributes = |path: &str| format!(r#","contributes":{{"routes":["GET {path}"]}}"#);
    add(&context, "a-first", &contributes("/v1/mine/{name}"), &code("/v1/mine/{name}"));
    add(&context, "b-second", &contributes("/v1/mine/{other}"), &code("/v1/mine/{other}"));
    add(&context, "c-server", &contributes("/v1/sessions/{id}"), &code("/v1/sessions/{id}"));
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    for (id, said) in [
        ("b-second", "route `GET /v1/mine/{other}` is already provided by extension `a-first`"),
        ("c-server", "route `GET /v1/sessions/{id}` is already provided by extension `transport-http`"),
    ] {
        let line = listed.as_array().unwrap().iter().find(|line| line["id"] == id).unwrap();
        assert_eq!(line["state"], "failed", "{line}");
        assert!(line["reason"].as_str().unwrap().contains(said), "{line}");
    }
    assert_eq!(state(&context, "a-first"), "active");
}

#[test]
fn tables_of_its_own_are_made_before_it_starts_and_those_of_others_are_refused() {
    let context = granting("ledger", r#""db""#);
    let code = r#"export async function activate(host) {
        const store = host.storage("notes");
        const before = await store.sql("SELECT COUNT(*) FROM notes");
        const command = (name, run) => host.defineCommand({ name, description: "x", run });
        command("note", async ([body]) => store.sql("INSERT INTO notes (body, weight) VALUES (?1, ?2) RETURNING id", body, 1.5));
        command("notes", async () => [before.length, await store.sql("SELECT id, body, weight FROM notes ORDER BY id")]);
        command("theirs", async () => store.sql("SELECT * FROM agent_turns"));
        command("make", async () => store.sql("CREATE TABLE more (id INTEGER)"));
        command("both", async () => {
            const [a, b] = await Promise.all([store.set("a", 1), store.set("b", { deep: [2] })]);
            return [a ?? null, await store.list(), await store.get("b")];
        });
    }"#;
    let fields = |steps: &str| {
        format!(
            r#","contributes":{{"commands":["note","notes","theirs","make","both"],"migrations":[{steps}]}},"capabilities":["db"]"#
        )
    };
    let first = r#"{"name":"notes","statements":["CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL)"]}"#;
    let second = r#"{"name":"weights","statements":["ALTER TABLE notes ADD COLUMN weight REAL"]}"#;
    add(&context, "ledger", &fields(first), code);
    add(&context, "ledger", &fields(&format!("{first},{second}")), code);
    assert_eq!(run(&context, &["note", "it's here"]), json!([[1]]));
    assert_eq!(run(&context, &["notes"]), json!([1, [[1, "it's here", 1.5]]]));
    let theirs = refusal(&context, &["theirs"]);
    assert!(theirs.contains("table `agent_turns` belongs to `conversation-store`"), "{theirs}");
    assert!(theirs.contains("index.ts:7"), "the place in the code: {theirs}");
    refusal(&context, &["make"]);
    assert_eq!(run(&context, &["both"]), json!([null, ["a", "b"], { "deep": [2] }]));

    let stolen = r#"{"name":"grab","statements":["DROP TABLE agent_turns"]}"#;
    add(&context, "ledger", &fields(&format!("{first},{second},{stolen}")), code);
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    let line = listed.as_array().unwrap().iter().find(|line| line["id"] == "ledger").unwrap();
    assert!(line["reason"].as_str().unwrap().contains("agent_turns"), "{line}");
}

#[test]
fn a_job_runs_again_and_again_while_the_server_runs() {
    let context = granting("sweeper", r#""db", "spawn""#);
    let code = r#"export function activate(host) {
        const store = host.storage("sweeps");
        host.scheduler.register({ name: "sweep", everyMs: 1000, async run() {
            await store.set("count", ((await store.get("count")) ?? 0) + 1);
        } });
        host.defineRoute({ path: "/v1/sweeps", description: "How often it swept.", handle: async () => ({ count: await store.get("count") }) });
    }"#;
    let fields = r#","contributes":{"jobs":["sweep"],"routes":["GET /v1/sweeps"]},"capabilities":["db","spawn"]"#;
    add(&context, "sweeper", fields, code);
    let served = served(&context, &[]);
    wait_until("two runs of the job", || {
        served.client.get("/v1/sweeps").json()["count"].as_u64().is_some_and(|count| count >= 2)
    });
}

#[test]
fn a_service_of_one_extension_is_called_by_another_and_only_as_declared() {
    let context = TestContext::new();
    let words = r#"export function activate(host) {
        host.provideService("counter", {
            count: async (text) => text.split(" ").length,
            fail: () => { throw new RangeError("too many words"); },
        });
        host.on("words/counted", ({ words }) => host.logger.warn(`counted ${words}`));
        host.defineCommand({ name: "tell", description: "x", run: async ([id]) => {
            await host.events.emit(id, { words: 3 });
            await new Promise((done) => setTimeout(done, 300));
            return "told";
        } });
    }"#;
    let fields = r#","contributes":{"services":["words/counter"],"hooks":["words/counted"],"commands":["tell"]}"#;
    add(&context, "words", fields, words);
    let user = r#"export function activate(host) {
        const words = host.getService("words/counter");
        const failure = (asked) => asked.then(() => "answered", (error) => error.message);
        host.defineCommand({ name: "use", description: "x", run: async () => [
            await words.count("one two three"),
            await failure(words.fail()),
            await failure(words.spell("x")),
            await failure(host.getService("broker/sessions").list()),
            await failure(host.getService("words/other").list()),
        ] });
        host.on("words/counted", () => host.logger.warn("heard it"));
    }"#;
    add(&context, "user", r#","contributes":{"commands":["use"]},"dependsOn":["words"]"#, user);
    let answers = run(&context, &["use"]);
    assert_eq!(answers[0], 3);
    for (at, said) in [
        (1, "too many words"),
        (2, "has no method `spell`; it has `count`, `fail`"),
        (3, "its manifest does not list `broker` under `dependsOn`"),
        (4, "no active extension provides the service `words/other`"),
    ] {
        assert!(answers[at].as_str().unwrap().contains(said), "{answers}");
    }
    let told = context.dispatch(&["run", "tell", "counted"]);
    assert!(told.stderr.contains("words: counted 3") && told.stderr.contains("user: heard it"), "{told:?}");
    let undeclared = refusal(&context, &["tell", "other"]);
    assert!(undeclared.contains("may not add hook `words/other`"), "{undeclared}");
    let foreign = refusal(&context, &["tell", "kernel/turn.sealed"]);
    assert!(foreign.contains("only its owner `kernel` may"), "{foreign}");
}

#[test]
fn secrets_need_the_capability_and_stay_out_of_the_log() {
    let code = r#"export function activate(host) {
        host.defineCommand({ name: "keep", description: "x", run: async () => {
            const before = await host.secrets.get("key");
            await host.secrets.set("key", "canary-1234");
            host.logger.warn("the key is canary-1234", { key: "canary-1234" });
            const kept = await host.secrets.get("key");
            await host.secrets.delete("key");
            return [before, kept === "canary-1234", await host.secrets.get("key")];
        } });
        host.defineCommand({ name: "leak", description: "x", run: async () => {
            await host.secrets.set("key", "canary-1234");
            throw new Error("it was canary-1234");
        } });
    }"#;
    let commands = r#","contributes":{"commands":["keep","leak"]}"#;
    let context = TestContext::new();
    add(&context, "vault", commands, code);
    assert!(refusal(&context, &["keep"]).contains("its manifest does not list the capability `secrets`"));
    add(&context, "vault", &format!(r#"{commands},"capabilities":["secrets"]"#), code);
    let ungranted = refusal(&context, &["keep"]);
    assert!(
        ungranted.contains("do not grant it the capability `secrets`; to grant it, write `[grants.vault]`"),
        "{ungranted}"
    );
    let granted = granting("vault", r#""secrets""#);
    add(&granted, "vault", &format!(r#"{commands},"capabilities":["secrets"]"#), code);
    let kept = granted.dispatch(&["run", "keep"]);
    assert_eq!(kept.json(), json!([null, true, null]));
    assert!(kept.stderr.contains("the key is [secret]") && !kept.stderr.contains("canary"), "{kept:?}");
    let leaked = refusal(&granted, &["leak"]);
    assert!(leaked.contains("it was [secret]") && !leaked.contains("canary"), "{leaked}");
}

#[test]
fn permission_rules_answer_an_extension() {
    let context = TestContext::new();
    context.write_home(
        "config/dispatch.toml",
        "[[permissions.rules]]\npermission = \"run_shell\"\ntarget = \"rm *\"\nverdict = \"deny\"\nreason = \"not here\"\n",
    );
    let code = r#"export const activate = (host) => host.defineCommand({ name: "may", description: "x",
        run: async ([target]) => (await host.permissions.check({ permission: "run_shell", target })) });"#;
    add(&context, "asker", r#","contributes":{"commands":["may"]}"#, code);
    let denied = run(&context, &["may", "rm -rf x"]);
    assert_eq!((&denied["verdict"], &denied["reason"]), (&json!("deny"), &json!("not here")));
    assert_eq!(run(&context, &["may", "ls"])["verdict"], "ask");
}

#[test]
fn timers_are_awaited_end_with_their_call_and_do_not_outlive_its_deadline() {
    let context = TestContext::new();
    let code = r#"export function activate(host) {
        const pause = (ms) => new Promise((done) => setTimeout(done, ms));
        const command = (name, run) => host.defineCommand({ name, description: "x", run });
        command("ticks", async () => {
            const seen = [];
            const ticking = setInterval(() => seen.push("tick"), 10);
            const never = setTimeout(() => seen.push("never"), 20);
            clearTimeout(never);
            setTimeout(() => seen.push("late"), 60_000);
            while (seen.length < 3) await pause(10);
            clearInterval(ticking);
            return seen.slice(0, 3);
        });
        command("passes", async () => { const before = Date.now(); await pause(120); return Date.now() - before >= 119; });
        host.defineTool({ name: "sleeps", description: "x", timeoutMs: 300, async execute() { await pause(60_000); } });
    }"#;
    add(&context, "clock", r#","contributes":{"commands":["ticks","passes"],"tools":["sleeps"]}"#, code);
    assert_eq!(run(&context, &["ticks"]), json!(["tick", "tick", "tick"]));
    assert_eq!(run(&context, &["passes"]), json!(true));
    let slept = chat(&context, "call sleeps {}");
    assert!(slept.stdout.contains("The extension `clock` failed"), "{slept:?}");
}

#[test]
fn an_auth_source_gives_the_key_for_one_server() {
    let model = dispatch_support::ScriptedModel::answering(|_| dispatch_support::Reply::say("welcome"));
    let context = TestContext::new();
    let code = r#"export const activate = (host) => host.defineAuth({
        name: "mine",
        credential: ({ provider, audience }) =>
            provider === "openai-compat" && audience.includes("127.0.0.1") ? "canary-key" : null,
    });"#;
    add(&context, "keys", r#","contributes":{"auth":["mine"]}"#, code);
    let base_url = format!("model.base_url={}", model.base_url());
    let said = context.dispatch(&["--set", &base_url, "--set", "model.model=x", "chat", "hello"]);
    assert!(said.stdout.contains("welcome"), "{said:?}");
    let requests = model.requests();
    assert!(!requests.is_empty());
    assert!(
        requests.iter().all(|request| request.header("authorization") == Some("Bearer canary-key")),
        "{requests:?}"
    );
    assert!(!said.stderr.contains("canary-key"));
}

#[test]
fn packages_that_are_ecmascript_are_imported_and_belong_to_what_is_approved() {
    let context = TestContext::new();
    let folder = context.project().join(".dispatch/extensions/matcher");
    let code = r#"import escape from "escape-string-regexp";
import { shout } from "local-words/loud";
export const activate = (host) =>
    host.defineCommand({ name: "escape", description: "x", run: ([text]) => shout(escape(text)) });"#;
    let package = npm("escape-string-regexp", "escape-string-regexp@5.0.0").join("node_modules/escape-string-regexp");
    let inside = folder.join("node_modules/escape-string-regexp");
    std::fs::create_dir_all(&inside).unwrap();
    for file in ["package.json", "index.js"] {
        std::fs::copy(package.join(file), inside.join(file)).unwrap();
    }
    let file = |path: &str, text: &str| context.write_cloned(format!(".dispatch/extensions/matcher/{path}"), text);
    file("package.json", r#"{"dependencies":{"escape-string-regexp":"5.0.0","local-words":"1.0.0","old":"1.0.0"}}"#);
    file("node_modules/local-words/package.json", r#"{"type":"module","exports":{"./*":"./src/*.js"}}"#);
    file("node_modules/local-words/src/loud.js", "export const shout = (text) => text.toUpperCase();");
    file("node_modules/old/package.json", "{}");
    file("node_modules/old/index.js", "module.exports = 1;");
    add(&context, "matcher", r#","contributes":{"commands":["escape"]}"#, code);
    assert_eq!(run(&context, &["escape", "a.b"]), "A\\.B");

    file("node_modules/local-words/src/loud.js", "export const shout = (text) => text;");
    assert_eq!(state(&context, "matcher"), "unapproved", "a package is part of what was approved");
    for (imported, said) in [
        ("node:fs", "`node:fs` is a module of Node, which does not exist here"),
        ("fs/promises", "is a module of Node"),
        ("old", "`node_modules/old/index.js` is a CommonJS module"),
        ("local-words/quiet", "there is no file `node_modules/local-words/src/quiet.js`"),
    ] {
        add(&context, "matcher", "", &format!("import '{imported}';\nexport const activate = () => {{}};"));
        let listed = context.dispatch(&["ext", "list", "--json"]).json();
        let line = listed.as_array().unwrap().iter().find(|line| line["id"] == "matcher").unwrap();
        assert!(line["reason"].as_str().unwrap().contains(said), "{imported}: {line}");
    }
}
