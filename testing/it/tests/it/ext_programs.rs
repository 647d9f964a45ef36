//! Extensions that are separate programs, here in Python, through the real executable: they answer, they are contained, and
//! they get no more than they were granted.

use crate::ext_outside::{self, chat, state};
use crate::run_workspace::wait_until;
use dispatch_support::{Output, Served, Terminal, TestContext};
use serde_json::{Value, json};
use std::path::PathBuf;

const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];
const PROMPT: &str = "rehearsal > ";
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/examples/python-tool");
const HELPER: &str = include_str!("../../../../sdk/examples/python-tool/dispatch_extension.py");

/// The start of every program here that uses the helper.
const HEAD: &str = "import os, sys, time\nfrom dispatch_extension import Extension\nextension = Extension()\n";
const TAIL: &str = "\nextension.run()\n";

/// A program of the project whose code is `main.py`, not approved yet.
fn write(context: &TestContext, id: &str, fields: &str, code: &str) {
    let manifest = format!(
        r#"{{"id":"{id}","name":"{id}","version":"1.0.0","apiVersion":"^0.2.0","tier":"external",
            "program":["python3","main.py"]{fields}}}"#
    );
    let folder = format!(".dispatch/extensions/{id}");
    context.write_cloned(format!("{folder}/manifest.json"), manifest);
    context.write_cloned(format!("{folder}/dispatch_extension.py"), HELPER);
    context.write_cloned(format!("{folder}/main.py"), code);
}

fn done(context: &TestContext, arguments: &[&str]) -> Output {
    let output = context.dispatch(arguments);
    assert_eq!(output.status, 0, "{arguments:?}: {output:?}");
    output
}

/// The same, approved, and granted what it asks for.
fn add(context: &TestContext, id: &str, fields: &str, code: &str) {
    write(context, id, fields, code);
    done(context, &["trust", id, "--grant"]);
}

/// A home in which an extension may be approved and granted something without a terminal.
fn home() -> TestContext {
    let context = TestContext::new();
    context.allow_policy_changes();
    context
}

fn tool(name: &str, body: &str) -> String {
    format!(
        "{HEAD}@extension.tool('{name}', 'x', read_only=True, timeout_ms=3000)\ndef it(args, call):\n    {body}\n{TAIL}"
    )
}

const SPAWN: &str = r#","contributes":{"tools":["it"]},"capabilities":["spawn"]"#;

#[test]
fn the_python_example_answers_once_it_is_installed_and_reads_only_through_the_gate() {
    let context = home();
    let installed = done(&context, &["ext", "install", EXAMPLE, "--grant"]);
    assert!(installed.stdout.contains("runs: `python3 main.py`, a program with your rights"), "{installed:?}");
    assert!(installed.stdout.contains("asks for: spawn, fs"), "{installed:?}");
    let rows: String = (0..25_000).map(|row| format!("{row},{}\n", if row % 2 == 0 { "even" } else { "" })).collect();
    context.write("data.csv", format!("number,kind\n{rows}"));
    let answered = chat(&context, r#"call csv_profile {"path": "data.csv"}"#);
    for expected in ["25000 rows, 2 columns", "number: numbers from 0 to 24999", "1 distinct (even), 12500 empty"] {
        assert!(answered.stdout.contains(expected), "{answered:?}");
    }
    let outside = chat(&context, r#"call csv_profile {"path": "/etc/passwd"}"#);
    assert!(!outside.stdout.contains("root"), "{outside:?}");
    let info = done(&context, &["ext", "info", "python-tool"]);
    assert!(info.stdout.contains("python3 main.py"), "{info:?}");
    let json = done(&context, &["ext", "info", "python-tool", "--json"]).json();
    assert_eq!(json["program"], json!(["python3", "main.py"]));
}

#[test]
fn a_program_that_is_not_approved_is_absent_and_one_without_the_grant_is_refused_in_words() {
    let context = home();
    let trace = context.project().join("started");
    let code = format!("open({trace:?}, 'w').close()\n{}", tool("it", "return 'here'"));
    write(&context, "quiet", SPAWN, &code);
    let absent = chat(&context, "call it {}");
    assert!(absent.stdout.contains("the tool `it`, which is not offered"), "{absent:?}");
    assert!(absent.stderr.contains("extension `quiet` does not run: not approved"), "{absent:?}");
    let tested = context.dispatch(&["ext", "test", ".dispatch/extensions/quiet"]);
    assert_eq!(tested.status, 2, "{tested:?}");
    assert!(tested.stderr.contains("is a program with your rights") && tested.stderr.contains("not approved"));

    done(&context, &["trust", "quiet"]);
    let refused = chat(&context, "call it {}");
    assert!(refused.stdout.contains("which is not offered"), "{refused:?}");
    assert!(refused.stderr.contains("quiet") && refused.stderr.contains("grant"), "{refused:?}");
    assert!(refused.stderr.contains("spawn"), "{refused:?}");
    assert!(!trace.exists(), "nothing of it ran");

    done(&context, &["trust", "quiet", "--grant"]);
    assert!(chat(&context, "call it {}").stdout.contains("here"));
    assert!(trace.exists());
    write(&context, "quiet", SPAWN, &tool("it", "return 'changed'"));
    assert!(chat(&context, "call it {}").stderr.contains("changed since it was approved"));
}

#[test]
fn a_program_has_to_ask_for_the_right_to_run_and_cannot_be_typescript_too() {
    let context = home();
    write(&context, "greedy", r#","contributes":{"tools":["it"]}"#, "");
    let said = chat(&context, "hello").stderr;
    assert!(said.contains("manifest.json: `program`: ") && said.contains("it needs `spawn`"), "{said}");
    write(&context, "greedy", SPAWN, "");
    context.write_cloned(".dispatch/extensions/greedy/index.ts", "export const activate = () => {};");
    done(&context, &["trust", "greedy"]);
    let said = chat(&context, "hello").stderr;
    assert!(said.contains("both `index.ts` and a `program`"), "{said}");
}

/// What a host call answers or is refused with, as the text of a tool.
const ASKING: &str = "
import json
@extension.tool('it', 'x', read_only=True)
def it(args, call):
    try:
        return json.dumps(call.ask(args['method'], **args['params']))
    except Exception as error:
        return 'refused: ' + str(error)
";

#[test]
fn the_gate_of_the_host_holds_for_programs_and_what_was_granted_works() {
    let context = home();
    let fields = r#","contributes":{"tools":["it"]},"capabilities":["spawn","db"]"#;
    add(&context, "asker", fields, &format!("{HEAD}{ASKING}{TAIL}"));
    context.write("notes.txt", "plain words\n");
    let ask = |method: &str, params: Value| {
        chat(&context, &format!("call it {}", json!({ "method": method, "params": params }))).stdout
    };
    let refused = "does not list the capability";
    assert!(ask("files.read", json!({ "path": "notes.txt" })).contains(refused));
    assert!(ask("fetch", json!({ "url": "http://127.0.0.1:9/" })).contains(refused));
    assert!(ask("secrets.get", json!({ "name": "key" })).contains(refused));
    let missing = ask("storage.get", json!({ "namespace": "n" }));
    assert!(missing.contains("refused: `storage.get` needs the parameter `key`"), "{missing}");
    assert!(ask("storage.eat", json!({})).contains("refused: unknown method `storage.eat`"));
    assert!(ask("storage.set", json!({ "namespace": "n", "key": "k", "value": { "deep": [7] } })).contains("null"));
    let kept = ask("storage.get", json!({ "namespace": "n", "key": "k" }));
    assert!(kept.contains(r#"{"deep": [7]}"#), "it is there in another process: {kept}");
    let allowed = ask("permissions.check", json!({ "permission": "edit" }));
    assert!(allowed.contains("verdict"), "{allowed}");
}

#[test]
fn everything_that_an_extension_adds_can_come_from_a_program() {
    let context = home();
    let code = format!(
        "{HEAD}
@extension.command('count', 'Counts words.')
def count(words, call):
    return f'{{len(words)}} words for {{extension.settings[\"who\"]}}'

@extension.filter('tool.before', priority=10)
def before(value, call):
    if value['call']['arguments'].get('path') == 'secret.txt':
        raise ValueError('not that file')

@extension.on('turn.sealed')
def sealed(payload, call):
    call.ask('storage.set', namespace='seen', key='turn', value=True)

@extension.route('GET', '/v1/python', 'Says which Python answers.')
def answer(request, call):
    return {{'python': sys.version_info.major, 'seen': call.ask('storage.get', namespace='seen', key='turn')}}

@extension.service('adder', ['add'])
def add(asked, call):
    return sum(asked['args'])
{TAIL}"
    );
    let fields = r#","contributes":{"commands":["count"],"routes":["GET /v1/python"],"services":["whole/adder"]},
        "capabilities":["spawn","db"],"settingsSchema":{"type":"object","properties":{"who":{"type":"string"}}}"#;
    add(&context, "whole", fields, &code);
    let fields = r#","dependsOn":["whole"],"contributes":{"commands":["through"]}"#;
    let code = "export const activate = (host) => host.defineCommand({ name: 'through', description: 'x',
        run: () => host.getService('whole/adder').add(2, 3) });";
    ext_outside::add(&context, "through", fields, code);
    context.write("secret.txt", "hidden words\n");
    let served =
        Served::start(&context, &["--set", "model.provider=rehearsal", "--set", "extensions.whole.who=Ada"], &[]);
    let run = |name: &str| served.client.post(&format!("/v1/commands/{name}"), &json!({ "args": ["a", "b"] })).json();
    assert_eq!(run("count")["answer"], "2 words for Ada");
    assert_eq!(run("through")["answer"], 5);
    served.client.say("main", "read secret.txt");
    let told = served.client.get("/v1/sessions/main/messages").json().to_string();
    assert!(told.contains("not that file") && !told.contains("hidden words"), "{told}");
    let python = || served.client.get("/v1/python").json();
    wait_until("the event arrived", || python()["seen"] == true);
    assert_eq!(python()["python"], 3);
    assert!(served.client.get("/openapi.json").json()["paths"]["/v1/python"].is_object());
}

#[test]
fn output_is_streamed_and_a_cancelled_call_hears_of_it() {
    let context = home();
    let body = "
    call.output('it began\\n')
    heard = call.wait(20)
    open('MARK', 'w').write('cancelled' if heard else 'timed out')
    return 'late'"
        .replace("MARK", &context.project().join("mark").display().to_string());
    let code = format!(
        "{HEAD}@extension.tool('it', 'x', read_only=True, timeout_ms=25000)\ndef it(args, call):{body}\n{TAIL}"
    );
    add(&context, "slow", SPAWN, &code);
    let mut command = context.command("dispatch");
    command.args(REHEARSAL).arg("chat");
    let mut terminal = Terminal::start(command);
    terminal.wait_for(PROMPT);
    terminal.press("call it {}\r");
    terminal.wait_for("it began");
    terminal.press("\x03");
    terminal.wait_for(PROMPT);
    let mark = context.project().join("mark");
    wait_until("the call heard of it", || mark.exists() && !std::fs::read_to_string(&mark).unwrap().is_empty());
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "cancelled");
}

/// A program that does something wrong in its tool `it`, and what is said then.
fn contained(body: &str, expected: &[&str]) {
    let context = home();
    let fine = "@extension.tool('fine', 'x', read_only=True)\ndef fine(args, call):\n    return 'all is well'\n";
    let code = tool("it", body).replace(TAIL, &format!("\n{fine}{TAIL}"));
    add(&context, "faulty", r#","contributes":{"tools":["it","fine"]},"capabilities":["spawn"]"#, &code);
    let served = Served::start(&context, &REHEARSAL, &[]);
    let messages = || served.client.get("/v1/sessions/main/messages").json().to_string();
    for round in 1..=3 {
        let ended = served.client.say("main", "call it {}");
        assert_eq!(ended["state"], "done", "the turn ends: {ended}");
        let told = messages();
        for expected in expected.iter().chain(&["The extension `faulty` failed"]) {
            assert!(told.contains(expected), "round {round}, {expected}: {told}");
        }
        if round < 3 {
            served.client.say("main", "call fine {}");
            assert_eq!(
                messages().matches(r#""succeeded","text":"all is well""#).count(),
                round,
                "it works again: {}",
                messages()
            );
        }
    }
    let listed = served.client.get("/v1/extensions").json();
    let off = listed["extensions"].as_array().unwrap().iter().find(|it| it["id"] == "faulty").cloned();
    assert_eq!(off.unwrap()["state"], "disabled");
}

#[test]
fn a_program_that_dies_is_started_again_and_off_after_three_times() {
    contained("sys.stderr.write('out of luck\\n'); sys.stderr.flush(); os._exit(7)", &["exit code 7", "out of luck"]);
}

#[test]
fn a_program_that_hangs_is_ended_at_the_deadline() {
    let pids = tempfile::tempdir().unwrap();
    let pids = pids.path().join("pids");
    let body = format!("open({pids:?}, 'a').write(f'{{os.getpid()}}\\n')\n    time.sleep(600)");
    contained(&body, &["timed out after 3000 ms"]);
    let pids = std::fs::read_to_string(&pids).unwrap();
    assert_eq!(pids.lines().count(), 3, "each call had a process of its own: {pids}");
    for pid in pids.lines() {
        let process = PathBuf::from("/proc").join(pid);
        wait_until("the process is gone", || !process.exists());
    }
}

#[test]
fn a_program_that_prints_between_the_messages_is_told_where_to_print() {
    contained("os.write(1, b'debug: here\\n'); time.sleep(600)", &["debug: here", "print to standard error"]);
}

#[test]
fn a_line_without_end_is_bounded() {
    contained("\n    while True: os.write(1, b'x' * 100_000)", &["a line of more than 8 MB"]);
}

/// What a start that fails says, when the rest of the turn goes on.
fn not_started(manifest_program: &str, code: &str) -> String {
    let context = home();
    write(&context, "broken", SPAWN, code);
    let file = context.project().join(".dispatch/extensions/broken/manifest.json");
    let text = std::fs::read_to_string(&file).unwrap().replace(r#"["python3","main.py"]"#, manifest_program);
    context.write_cloned(".dispatch/extensions/broken/manifest.json", text);
    done(&context, &["trust", "broken", "--grant"]);
    let output = chat(&context, "hello");
    assert_eq!(output.status, 0, "the turn ends: {output:?}");
    assert_eq!(state(&context, "broken"), "failed", "{output:?}");
    assert!(output.stderr.contains("broken"), "{output:?}");
    output.stderr
}

#[test]
fn a_program_that_cannot_start_is_named_with_the_reason() {
    let said = not_started(r#"["no-such-program-anywhere"]"#, "");
    assert!(said.contains("cannot start no-such-program-anywhere: no such program"), "{said}");
    let said = not_started(r#"["./main.py"]"#, "#!/usr/bin/env python3\n");
    assert!(said.contains("not executable") && said.contains("chmod +x"), "{said}");
    let said = not_started(r#"["python3","main.py"]"#, "def\n");
    assert!(said.contains("SyntaxError"), "{said}");
    let said = not_started(
        r#"["python3","main.py"]"#,
        "print('{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":9}}')",
    );
    assert!(said.contains("speaks version 9 of the extension protocol, and this program version 1"), "{said}");
    let said = not_started(r#"["python3","main.py"]"#, &tool("another", "return ''"));
    assert!(said.contains("another"), "a tool that the manifest does not name: {said}");
}

#[test]
fn its_environment_has_no_secrets_and_its_folder_is_a_copy_of_what_was_approved() {
    let context = home();
    add(&context, "curious", SPAWN, &tool("it", "return repr(dict(os.environ)) + ' in ' + os.getcwd()"));
    let arguments = ["--set", "model.provider=rehearsal", "chat", "call it {}"];
    let variables =
        [("OPENAI_API_KEY", "sk-canary-1"), ("AWS_SECRET_ACCESS_KEY", "canary-2"), ("PYTHONPATH", "/canary-3")];
    let output = context.run("dispatch", &arguments, b"", &variables);
    assert!(output.stdout.contains("PATH") && output.stdout.contains("extension-programs"), "{output:?}");
    assert!(!output.stdout.contains("canary"), "{output:?}");
}

#[test]
fn an_edit_is_live_once_it_is_approved_and_the_old_process_is_gone() {
    let context = home();
    let answering = |answer: &str| {
        format!(
            "{HEAD}@extension.command('which', 'x')\ndef which(words, call):\n    return f'{answer} {{os.getpid()}}'\n{TAIL}"
        )
    };
    let fields = r#","contributes":{"commands":["which"]},"capabilities":["spawn"]"#;
    add(&context, "changing", fields, &answering("first"));
    let served = Served::start(&context, &REHEARSAL, &[]);
    let which = || {
        let answer = served.client.post("/v1/commands/which", &json!({ "args": [] })).json();
        answer["answer"].as_str().unwrap_or_default().to_owned()
    };
    let first = which();
    let process = PathBuf::from("/proc").join(first.strip_prefix("first ").unwrap());
    assert!(process.exists());
    write(&context, "changing", fields, &answering("second"));
    assert_eq!(which(), first, "the approved one runs on");
    done(&context, &["trust", "changing"]);
    wait_until("the new one answers", || which().starts_with("second "));
    wait_until("the old process is gone", || !process.exists());
}

#[test]
fn a_program_passes_the_suite_as_far_as_it_applies() {
    let context = home();
    let tested = context.dispatch(&["ext", "test", EXAMPLE]);
    assert!(tested.stderr.contains("hint: look at it, then run `dispatch ext install"), "{tested:?}");
    done(&context, &["ext", "install", EXAMPLE]);
    let report = context.dispatch(&["ext", "test", EXAMPLE, "--json"]);
    assert_eq!(report.status, 0, "{report:?}");
    let report = report.json();
    let outcome = |name: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).map(|check| check["outcome"].clone()).unwrap_or_default()
    };
    for name in ["manifest", "activates", "deactivates", "registers-the-same"] {
        assert_eq!(outcome(name), "passed", "{name}: {report}");
    }
    assert_eq!(outcome("tools-answer"), "skipped", "{report}");
}
