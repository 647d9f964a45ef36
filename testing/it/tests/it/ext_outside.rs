//! Extensions from outside the program, through the real executable: what runs them, what does not, and what a bad one does.

use crate::ext_test::KINDS;
use crate::installed::npm;
use dispatch_support::{Output, Terminal, TestContext};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];
const TYPESCRIPT: &str = "typescript@5.9.3";
const PROMPT: &str = "rehearsal > ";

pub(crate) fn chat(context: &TestContext, said: &str) -> Output {
    let arguments: Vec<&str> = REHEARSAL.iter().copied().chain(["chat", said]).collect();
    context.dispatch(&arguments)
}

fn in_terminal(context: &TestContext) -> Terminal {
    let mut command = context.command("dispatch");
    command.args(REHEARSAL).arg("chat");
    Terminal::start(command)
}

/// The text of an extension's manifest with these further fields.
fn manifest(id: &str, fields: &str) -> String {
    format!(r#"{{"id":"{id}","name":"{id}","version":"1.0.0","apiVersion":"^0.2.0","tier":"external"{fields}}}"#)
}

/// An approved extension of the project.
pub(crate) fn add(context: &TestContext, id: &str, fields: &str, code: &str) {
    context.write_cloned(format!(".dispatch/extensions/{id}/manifest.json"), manifest(id, fields));
    context.write_cloned(format!(".dispatch/extensions/{id}/index.ts"), code);
    let approved = context.dispatch(&["trust", id]);
    assert_eq!(approved.status, 0, "{approved:?}");
}

fn line(context: &TestContext, id: &str) -> Vec<Value> {
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    listed.as_array().unwrap().iter().filter(|it| it["id"] == id).cloned().collect()
}

pub(crate) fn state(context: &TestContext, id: &str) -> String {
    line(context, id).iter().map(|it| it["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_new_tool_answers_once_it_is_approved_and_not_before_or_after_a_change() {
    let context = TestContext::new();
    let made = context.dispatch(&["ext", "new", "hello"]);
    assert_eq!(made.status, 0, "{made:?}");
    let untrusted = chat(&context, "call hello {}");
    assert!(untrusted.stdout.contains("the tool `hello`, which is not offered"), "{untrusted:?}");
    assert!(untrusted.stderr.contains("extension `hello` does not run: not approved"), "{untrusted:?}");
    assert_eq!(state(&context, "hello"), "unapproved");

    let approved = context.dispatch(&["trust", ".dispatch/extensions/hello"]);
    assert!(approved.stdout.contains("adds: tool hello\n  asks for: nothing"), "{approved:?}");
    let answered = chat(&context, r#"call hello {"name": "Ada"}"#);
    assert!(answered.stdout.contains("Hello, Ada!"), "{answered:?}");
    assert!(!answered.stderr.contains("warn"), "{answered:?}");
    assert_eq!(line(&context, "hello")[0]["tier"], "external");
    let misspelt = chat(&context, r#"call hello {"nam": "Ada"}"#);
    assert!(misspelt.stdout.contains("arguments do not fit"), "{misspelt:?}");

    context.write_cloned(".dispatch/extensions/hello/logic.ts", "export const greet = () => 'changed';\n");
    let changed = chat(&context, "call hello {}");
    assert!(changed.stdout.contains("which is not offered"), "{changed:?}");
    assert!(changed.stderr.contains("changed since it was approved"), "{changed:?}");
    assert_eq!(context.dispatch(&["trust", "hello"]).status, 0);
    assert!(chat(&context, "call hello {}").stdout.contains("changed"));
    assert_eq!(context.dispatch(&["trust", "hello", "--revoke"]).status, 0);
    assert!(chat(&context, "call hello {}").stdout.contains("which is not offered"));
}

#[test]
fn a_new_command_is_run_switched_off_and_removed() {
    let context = TestContext::new();
    context.write_home("config/dispatch.toml", "[extensions.greet]\ngreeting = \"Moin\"\n");
    for arguments in [&["ext", "new", "greet", "--kind", "command", "--user"][..], &["trust", "greet"]] {
        let output = context.dispatch(arguments);
        assert_eq!(output.status, 0, "{output:?}");
    }
    assert_eq!(context.dispatch(&["run", "greet", "you"]).stdout, "Moin, you!\n");
    assert!(context.dispatch(&["run"]).stdout.contains("Greets somebody by name."));
    let meant = context.dispatch(&["run", "gret"]);
    assert!(meant.stderr.contains("hint: did you mean `greet`?"), "{meant:?}");
    let wrong = context.dispatch(&["--set", "extensions.greet.greting=x", "run", "greet"]);
    assert_eq!(wrong.status, 3, "{wrong:?}");

    assert_eq!(context.dispatch(&["ext", "disable", "greet"]).status, 0);
    assert_eq!((state(&context, "greet").as_str(), context.dispatch(&["run", "greet"]).status), ("disabled", 2));
    assert_eq!(context.dispatch(&["ext", "disable", "greet"]).status, 2);
    assert_eq!(context.dispatch(&["ext", "disable", "storage-sqlite"]).status, 2, "the core is always on");
    assert_eq!(context.dispatch(&["ext", "enable", "greet"]).status, 0);
    assert_eq!(state(&context, "greet"), "active");
    assert_eq!(context.dispatch(&["ext", "remove", "greet"]).status, 0);
    assert_eq!(state(&context, "greet"), "");
    assert_eq!(context.dispatch(&["trust", "--list"]).stdout, "nothing is approved\n");
}

#[test]
fn one_id_in_every_place_is_taken_from_the_strongest_and_then_from_the_next() {
    let context = TestContext::new();
    let places = [
        context.project().join(".dispatch/extensions/tool-todo"),
        context.home().join("config/extensions/tool-todo"),
        context.project().join("node_modules/dispatch-ext-todo"),
        context.home().join("config/extensions/node_modules/@me/dispatch-ext-todo"),
    ];
    for (at, place) in places.iter().enumerate() {
        std::fs::create_dir_all(place).unwrap();
        let fields = r#","contributes":{"commands":["which"]}"#;
        std::fs::write(place.join("manifest.json"), manifest("tool-todo", fields)).unwrap();
        let code = format!(
            "export const activate = (host) => host.defineCommand({{ name: 'which', description: 'x', run: () => '{at}' }});"
        );
        std::fs::write(place.join("index.js"), code).unwrap();
        let approved = context.dispatch(&["trust", place.to_str().unwrap()]);
        assert!(approved.stdout.contains("REPLACES the extension `tool-todo`"), "{approved:?}");
    }
    for (at, place) in places.iter().enumerate() {
        let ran = context.dispatch(&["run", "which"]);
        assert_eq!(ran.stdout, format!("{at}\n"), "{ran:?}");
        let others = ", shadowed".repeat(places.len() - at);
        assert_eq!(state(&context, "tool-todo"), format!("active{others}"));
        std::fs::remove_dir_all(place).unwrap();
    }
    assert_eq!(line(&context, "tool-todo")[0]["source"], "bundled");
    assert_eq!(state(&context, "tool-todo"), "active");
}

#[test]
fn a_tool_that_hangs_ends_by_its_deadline_and_the_third_time_the_extension_is_off_until_it_is_enabled() {
    let context = TestContext::new();
    let code = "export function activate(host) {
        host.defineTool({ name: 'hang', description: 'x', timeoutMs: 200, execute() { for (;;); } });
        host.defineTool({ name: 'fine', description: 'x', execute: () => 'all is well' });
    }";
    add(&context, "sleepy", r#","contributes":{"tools":["hang","fine"]}"#, code);
    let mut terminal = in_terminal(&context);
    terminal.wait_for(PROMPT);
    for _ in 0..2 {
        terminal.press("call hang {}\r");
        let shown = terminal.wait_for(PROMPT);
        assert!(shown.contains("The extension `sleepy` failed: time budget exceeded"), "{shown}");
        terminal.press("call fine {}\r");
        let shown = terminal.wait_for(PROMPT);
        assert!(shown.contains("all is well"), "the worker works again: {shown}");
    }
    terminal.press("call hang {}\r");
    terminal.wait_for(PROMPT);
    terminal.press("call fine {}\r");
    let shown = terminal.wait_for(PROMPT);
    assert!(shown.contains("which is not offered"), "{shown}");
    terminal.press("\u{4}");
    drop(terminal.finish());
    let listed = &line(&context, "sleepy")[0];
    assert_eq!(listed["state"], "disabled", "{listed}");
    assert!(listed["reason"].as_str().unwrap().contains("tool hang"), "{listed}");
    assert!(chat(&context, "call fine {}").stdout.contains("which is not offered"));
    assert_eq!(context.dispatch(&["ext", "enable", "sleepy"]).status, 0);
    assert!(chat(&context, "call fine {}").stdout.contains("all is well"));
}

#[test]
fn what_a_tool_does_wrong_is_named_and_the_turn_goes_on() {
    let context = TestContext::new();
    let code = "export function activate(host) {
        const tool = (name, execute) => host.defineTool({ name, description: 'x', execute });
        tool('throws', () => { throw new TypeError('no such luck'); });
        tool('eats', () => { const all = []; for (;;) all.push(new Array(100000).fill(all.length)); });
        tool('waits', () => new Promise(() => {}));
        tool('counts', () => ({ seven: 7 }));
    }";
    add(&context, "bad", r#","contributes":{"tools":["throws","eats","waits","counts"]}"#, code);
    for (tool, said) in [
        ("throws", "The extension `bad` failed: script failed: TypeError: no such luck at index.ts:3"),
        ("eats", "The extension `bad` failed: memory limit reached"),
        ("waits", "The extension `bad` failed: promise never settles"),
        ("counts", r#"{"seven":7}"#),
    ] {
        let output = chat(&context, &format!("call {tool} {{}}"));
        assert_eq!(output.status, 0, "{output:?}");
        assert!(output.stdout.contains(said), "{tool}: {output:?}");
    }
}

#[test]
fn filters_change_calls_and_results_and_one_that_hangs_refuses_the_call() {
    let context = TestContext::new();
    context.write("notes.txt", "the secret is 42\n");
    let code = "export function activate(host) {
        host.addFilter('tool.before', (value) => {
            if (value.call.arguments.path === 'forever.txt') for (;;);
            if (value.call.arguments.path === 'theirs.txt')
                return { ...value, denied: { code: 'MINE', reason: 'that file is not ours' } };
            if (value.call.arguments.path === 'other.txt') return { ...value, call: { ...value.call, name: 'run_shell' } };
        }, { priority: 10 });
        host.addFilter('tool.after', (value) => {
            const text = value.result.text.replace('42', '[hidden]');
            return { ...value, result: { ...value.result, text } };
        });
    }";
    add(&context, "shaper", "", code);
    let read = chat(&context, "read notes.txt");
    assert!(read.stdout.contains("the secret is [hidden]"), "{read:?}");
    let denied = chat(&context, "read theirs.txt");
    assert!(denied.stdout.contains("(MINE): that file is not ours"), "{denied:?}");
    let redirected = chat(&context, "read other.txt");
    assert!(
        redirected.stdout.contains("a guard may change a call's arguments, but not which call it is"),
        "{redirected:?}"
    );
    let hung = chat(&context, "read forever.txt");
    assert!(hung.stdout.contains("because extension `shaper` failed"), "{hung:?}");
}

#[test]
fn events_reach_an_extension() {
    let context = TestContext::new();
    let code = "export function activate(host) {
        host.on('turn.sealed', (turn) => host.logger.warn(`sealed with ${typeof turn.session}`));
    }";
    add(&context, "witness", "", code);
    let mut terminal = in_terminal(&context);
    terminal.wait_for(PROMPT);
    terminal.press("hello there\r");
    // The line comes before the prompt or after it.
    let told = "warn: witness: sealed with string";
    if !terminal.wait_for(PROMPT).contains(told) {
        terminal.wait_for(told);
    }
    terminal.press("\u{4}");
    drop(terminal.finish());
}

/// A server that answers one request.
fn server() -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/x", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"ping") {
            let mut bytes = [0; 1024];
            let got = stream.read(&mut bytes).unwrap();
            assert!(got > 0, "the request ended early");
            request.extend_from_slice(&bytes[..got]);
        }
        stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\nConnection: close\r\n\r\npong").unwrap();
        String::from_utf8_lossy(&request).into_owned()
    });
    (address, served)
}

#[test]
fn files_network_and_storage_need_the_manifest_and_the_users_grant() {
    let context = TestContext::new();
    context.write("notes.txt", "old\n");
    let (address, served) = server();
    let code = format!(
        "export function activate(host) {{
            const command = (name, run) => host.defineCommand({{ name, description: 'x', run }});
            command('count', async () => {{
                const store = host.storage('counts');
                const seen = (await store.get('runs')) ?? 0;
                await store.set('runs', seen + 1);
                return [seen, await store.list()];
            }});
            command('edit', async ([path]) => {{
                const before = await host.files.read(path);
                await host.files.write(path, before + 'new\\n');
                return (await host.files.list()).filter((entry) => entry.kind === 'file').map((entry) => entry.name);
            }});
            command('ask', async () => {{
                const answer = await host.fetch('{address}', {{ method: 'POST', headers: {{ 'x-mine': '1' }}, body: 'ping' }});
                return [answer.status, answer.ok, await answer.text()];
            }});
        }}"
    );
    let commands = r#","contributes":{"commands":["count","edit","ask"]}"#;
    add(&context, "reach", commands, &code);
    let undeclared = |name: &str| context.dispatch(&["run", name, "notes.txt"]).stderr;
    for (name, capability) in [("count", "db"), ("edit", "fs"), ("ask", "network")] {
        let said = undeclared(name);
        assert!(said.contains(&format!("its manifest does not list the capability `{capability}`")), "{said}");
    }
    add(&context, "reach", &format!(r#"{commands},"capabilities":["db","fs","network"]"#), &code);
    for (name, capability) in [("count", "db"), ("edit", "fs"), ("ask", "network")] {
        let said = undeclared(name);
        assert!(said.contains(&format!("do not grant it the capability `{capability}`")), "{said}");
        assert!(said.contains("[grants.reach]"), "{said}");
    }
    let grant = "grants.reach.capabilities=[\"db\",\"fs\",\"network\"]";
    let run = |arguments: &[&str]| {
        let all: Vec<&str> = ["--set", grant, "run"].iter().chain(arguments).copied().collect();
        context.dispatch(&all)
    };
    assert_eq!(run(&["count"]).json(), serde_json::json!([0, ["runs"]]));
    assert_eq!(run(&["count"]).json(), serde_json::json!([1, ["runs"]]), "it is kept between processes");
    assert_eq!(run(&["edit", "notes.txt"]).json(), serde_json::json!(["notes.txt"]));
    assert_eq!(std::fs::read_to_string(context.project().join("notes.txt")).unwrap(), "old\nnew\n");
    for out in ["../x", "/etc/hostname", ".dispatch/extensions/reach/index.ts"] {
        let refused = run(&["edit", out]);
        assert_ne!(refused.status, 0, "{out}: {refused:?}");
    }
    assert_eq!(run(&["ask"]).json(), serde_json::json!([201, true, "pong"]));
    assert!(served.join().unwrap().contains("x-mine: 1"));
}

#[test]
fn a_project_that_is_not_approved_grants_nothing() {
    let context = TestContext::new();
    let code = "export const activate = (host) =>
        host.defineCommand({ name: 'look', description: 'x', run: () => host.files.read('notes.txt') });";
    add(&context, "look", r#","contributes":{"commands":["look"]},"capabilities":["fs"]"#, code);
    context.write_cloned("notes.txt", "text");
    context.write_cloned(".dispatch/dispatch.toml", "[grants.look]\ncapabilities = [\"fs\"]\n");
    let refused = context.dispatch(&["run", "look"]);
    assert!(refused.stderr.contains("do not grant it the capability `fs`"), "{refused:?}");
    assert_eq!(context.dispatch(&["trust", ".dispatch/dispatch.toml"]).status, 0);
    assert_eq!(context.dispatch(&["run", "look"]).stdout, "text\n");
}

#[test]
fn what_cannot_run_is_said_with_its_place_and_harms_nobody_else() {
    let context = TestContext::new();
    let write = |id: &str, file: &str, text: &str| {
        context.write_cloned(format!(".dispatch/extensions/{id}/{file}"), text);
    };
    write("a-nothing", "notes.md", "");
    write("b-typo", "manifest.json", "{\n  \"id\": \"b-typo\",\n}");
    write("c-old", "manifest.json", &manifest("c-old", "").replace("^0.2.0", "^9"));
    write("c-old", "index.ts", "export const activate = () => {};");
    write("d-alone", "manifest.json", &manifest("d-alone", r#","dependsOn":["nobody"]"#));
    write("d-alone", "index.ts", "export const activate = () => {};");
    write("e-syntax", "manifest.json", &manifest("e-syntax", ""));
    write("e-syntax", "index.ts", "export function activate(host) {\n  let = ;\n}\n");
    write("f-throws", "manifest.json", &manifest("f-throws", ""));
    write("f-throws", "index.ts", "export function activate() {\n  throw new Error('not today');\n}\n");
    write("g-undeclared", "manifest.json", &manifest("g-undeclared", ""));
    write(
        "g-undeclared",
        "index.ts",
        "export const activate = (host) => host.defineTool({ name: 'x', description: 'x', execute() {} });",
    );
    write("h-outside", "manifest.json", &manifest("h-outside", ""));
    write("h-outside", "index.ts", "import '../../../secret.ts';\nexport const activate = () => {};");
    write("i-loops", "manifest.json", &manifest("i-loops", ""));
    write("i-loops", "index.ts", "import 'left-pad';\nexport const activate = () => {};");
    write("storage-sqlite", "manifest.json", &manifest("storage-sqlite", ""));
    write("storage-sqlite", "index.ts", "export const activate = () => {};");
    for id in ["c-old", "d-alone", "e-syntax", "f-throws", "g-undeclared", "h-outside", "i-loops"] {
        let approved = context.dispatch(&["trust", id]);
        assert_eq!(approved.status, 0, "{approved:?}");
    }
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    for (id, said) in [
        ("a-nothing", "a-nothing/manifest.json: there is no such file"),
        ("b-typo", "b-typo/manifest.json: the file is not JSON: trailing comma at line 3"),
        ("c-old", "^9"),
        ("d-alone", "`nobody`"),
        ("e-syntax", "index.ts:2:"),
        ("f-throws", "not today at index.ts:2"),
        ("g-undeclared", "may not add tool `x`: its manifest does not list it under `contributes`"),
        ("h-outside", "it is outside the extension's folder"),
        ("i-loops", "the package `left-pad` is not among the extension's files"),
        ("storage-sqlite", "`id` is `storage-sqlite`, which is part of the core"),
    ] {
        let is_it = |line: &&Value| line["id"] == id && line["source"] != "bundled";
        let line = listed.as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{id}: {listed}"));
        assert_eq!(line["state"], "failed", "{line}");
        assert!(line["reason"].as_str().unwrap().contains(said), "{line}");
    }
    let answered = chat(&context, "hello there");
    assert!(answered.stdout.contains("You said: \"hello there\""), "{answered:?}");
}

#[test]
fn every_command_of_the_page_works_as_written() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/extensions.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(lines.len() > 8, "{lines:?}");
    let context = TestContext::new();
    context.allow_policy_changes();
    let settings = std::fs::read_to_string(context.home().join("config/dispatch.toml")).unwrap();
    context.write_home("config/dispatch.toml", format!("{settings}\n[model]\nprovider = \"rehearsal\"\n"));
    for line in lines {
        let output = context.run_shell(line);
        assert_eq!(output.status, 0, "{line}: {output:?}");
        for (command, said) in [("dispatch chat", "Hello, world!"), ("dispatch run", "Hello, Ada!")] {
            assert!(!line.starts_with(command) || output.stdout.contains(said), "{line}: {output:?}");
        }
    }
}

/// What the TypeScript compiler says about a folder.
pub(crate) fn compiled(folder: &Path) -> std::process::Output {
    let compiler = npm("typescript", TYPESCRIPT).join("node_modules/.bin/tsc");
    Command::new(compiler).arg("-p").arg(folder).output().unwrap()
}

#[test]
fn new_extensions_and_what_the_types_promise_pass_the_typescript_compiler() {
    let context = TestContext::new();
    for kind in KINDS {
        assert_eq!(context.dispatch(&["ext", "new", kind, "--kind", kind]).status, 0);
        let folder = context.project().join(".dispatch/extensions").join(kind);
        let output = compiled(&folder);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let used = "import type { Host } from './extension.d.ts';
export async function activate(host: Host): Promise<void> {
  host.defineTool({ name: 'a', description: 'b', timeoutMs: 5, async execute(args, ctx) { ctx.output(ctx.callId); return args; } });
  host.on('turn.sealed', (turn) => host.logger.info(turn.session, { at: 1 }));
  host.addFilter('tool.before', (value) => ({ ...value, denied: { code: 'A', reason: 'b' } }), { priority: 3 });
  const kept: unknown = await host.storage('x').get('y');
  await host.files.write('a.txt', String(kept));
  const answer = await host.fetch('http://localhost/');
  host.logger.warn(answer.body);
}
";
    let wrong = [
        ("host.on('turn.sealed'", "host.on('turn.seled'"),
        ("timeoutMs: 5", "timeoutMs: '5'"),
        ("'tool.before'", "'tool.brfore'"),
        (".get('y')", ".get(7)"),
        ("answer.body", "answer.bdy"),
    ];
    let folder = context.project().join(".dispatch/extensions/tool");
    let index = folder.join("index.ts");
    std::fs::write(&index, used).unwrap();
    let output = compiled(&folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    for (right, wrong) in wrong {
        std::fs::write(&index, used.replace(right, wrong)).unwrap();
        let output = compiled(&folder);
        assert!(!output.status.success(), "`{wrong}` passes");
    }
}
