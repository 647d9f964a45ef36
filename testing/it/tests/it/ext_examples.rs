//! The SDK and its examples as other people get them: packed by npm, installed by npm, checked by the TypeScript compiler, used.

use crate::ext_outside::compiled;
use dispatch_support::{Output, Terminal, TestContext};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk");
const EXAMPLES: [&str; 6] = ["calculator", "notify", "ollama", "redact-contacts", "todos", "uptime"];
/// The most lines of TypeScript of one example, tests included.
const MAX_LINES: usize = 150;

fn example(name: &str) -> PathBuf {
    Path::new(SDK).join("examples").join(name)
}

/// Packs a folder of the SDK into the test's project.
fn pack(context: &TestContext, folder: &Path) -> String {
    let packed = context.run_shell(&format!("npm pack --silent {}", folder.display()));
    assert_eq!(packed.status, 0, "{packed:?}");
    packed.stdout.trim().to_owned()
}

/// An example as npm installs it, approved and granted what it asks for.
fn install(context: &TestContext, name: &str) {
    let tarball = pack(context, &example(name));
    let place = context.home().join("config/extensions");
    let line =
        format!("mkdir -p {0} && npm install --silent --no-audit --no-fund --prefix {0} ./{tarball}", place.display());
    let installed = context.run_shell(&line);
    assert_eq!(installed.status, 0, "{installed:?}");
    let approved = context.dispatch(&["trust", name, "--grant"]);
    assert_eq!(approved.status, 0, "{approved:?}");
}

fn add_settings(context: &TestContext, text: &str) {
    let file = context.home().join("config/dispatch.toml");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    context.write_home("config/dispatch.toml", format!("{before}\n{text}\n"));
}

fn chat(context: &TestContext, said: &str) -> Output {
    context.dispatch(&["--set", "model.provider=rehearsal", "chat", said])
}

/// A server that answers every request alike and tells what it was asked.
fn server(answer: &'static str) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head.push_str(&line);
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let said =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}", answer.len());
            // Who goes away early has seen enough.
            let _ = stream.write_all(said.as_bytes());
            let _ = tell.send(format!("{head}{}", String::from_utf8_lossy(&body)));
        }
    });
    (address, told)
}

#[test]
fn the_sdk_is_a_package_with_which_every_example_passes_the_typescript_compiler() {
    let context = TestContext::new();
    let tarball = pack(&context, Path::new(SDK));
    let installed = context.run_shell(&format!("npm install --silent --no-audit --no-fund ./{tarball}"));
    assert_eq!(installed.status, 0, "{installed:?}");
    let package = context.project().join("node_modules/dispatch-sdk");
    for file in ["extension.d.ts", "routing-hook.d.ts", "hook-module.d.ts", "dispatch-test.d.ts", "README.md"] {
        assert!(package.join(file).is_file(), "{file}");
    }
    assert!(!package.join("examples").exists(), "examples are packages of their own");
    let check = |folder: &Path| {
        let output = compiled(folder);
        assert!(output.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&output.stdout));
    };
    for name in EXAMPLES {
        let copy = context.project().join(name);
        let copied = context.run_shell(&format!("cp -r {} {name}", example(name).display()));
        assert_eq!(copied.status, 0, "{copied:?}");
        check(&copy);
    }
    let user = context.project().join("calculator");
    let others = "import type { HookContext, HookResult, RoutedEvent } from 'dispatch-sdk/routing-hook';
import type { HookModule } from 'dispatch-sdk/hook-module';
export const route = (event: RoutedEvent, _ctx: HookContext): HookResult | null => (event.content === '' ? null : null);
export type Mine = HookModule;
";
    std::fs::write(user.join("others.ts"), others).unwrap();
    check(&user);
    std::fs::write(user.join("others.ts"), others.replace("event.content", "event.contnt")).unwrap();
    assert!(!compiled(&user).status.success(), "a misspelt field passes");
}

#[test]
fn examples_are_short_and_pass_their_tests_and_the_suite() {
    std::thread::scope(|scope| {
        for name in EXAMPLES {
            scope.spawn(move || {
                let files = example(name).read_dir().unwrap().flatten().map(|entry| entry.path());
                let code = files.filter(|path| path.extension().is_some_and(|ending| ending == "ts"));
                let lines: usize = code.map(|path| std::fs::read_to_string(path).unwrap().lines().count()).sum();
                assert!((20..MAX_LINES).contains(&lines), "{name} has {lines} lines");
                let tested = TestContext::new().dispatch(&["ext", "test", example(name).to_str().unwrap()]);
                assert_eq!(tested.status, 0, "{tested:?}");
                assert!(tested.stdout.contains("ok    logic.test.ts: "), "{name} has no unit tests");
            });
        }
    });
}

#[test]
fn the_tool_calculates() {
    let context = TestContext::new();
    install(&context, "calculator");
    let answered = chat(&context, r#"call calculate {"expression": "(1.5 + 2) * 3^2"}"#);
    assert!(answered.stdout.contains("31.5"), "{answered:?}");
    let wrong = chat(&context, r#"call calculate {"expression": "1 / 0"}"#);
    assert!(wrong.stdout.contains("division by zero"), "{wrong:?}");
}

#[test]
fn the_filter_takes_contacts_out_of_what_the_model_reads() {
    let context = TestContext::new();
    install(&context, "redact-contacts");
    context.write("people.txt", "Ada: ada@example.org, Bob: bob@example.org, DE89 3704 0044 0532 0130 00\n");
    add_settings(&context, "[extensions.redact-contacts]\nkeep = [\"bob@example.org\"]");
    let read = chat(&context, "read people.txt");
    assert!(read.stdout.contains("Ada: [mail address], Bob: bob@example.org, [bank account]"), "{read:?}");
}

#[test]
fn the_command_lists_open_points() {
    let context = TestContext::new();
    install(&context, "todos");
    context.write("src/a.rs", "fn a() {} // TODO: say why\n");
    context.write("node_modules/x/b.js", "// TODO: not ours\n");
    context.write("c.py", "# FIXME slow\n");
    assert_eq!(context.dispatch(&["run", "todos"]).stdout, "c.py:1: FIXME slow\nsrc/a.rs:1: TODO: say why\n");
    assert_eq!(context.dispatch(&["run", "todos", "src"]).stdout, "src/a.rs:1: TODO: say why\n");
}

#[test]
fn the_notifier_tells_of_a_turn_that_ended() {
    let context = TestContext::new();
    install(&context, "notify");
    let (address, told) = server("");
    add_settings(&context, &format!("[extensions.notify]\nurl = \"{address}/mine\"\nafterSeconds = 0"));
    let mut command = context.command("dispatch");
    command.args(["--set", "model.provider=rehearsal", "chat"]);
    let mut terminal = Terminal::start(command);
    terminal.wait_for("rehearsal > ");
    terminal.press("hello there\r");
    let asked = told.recv_timeout(std::time::Duration::from_secs(60)).expect("a message");
    assert!(asked.starts_with("POST /mine ") && asked.contains("title: Dispatch: a turn is done"), "{asked}");
    assert!(asked.contains(": finished after "), "{asked}");
    terminal.wait_for("rehearsal > ");
    terminal.press("\u{4}");
    drop(terminal.finish());
}

#[test]
fn the_job_keeps_what_it_saw() {
    let context = TestContext::new();
    install(&context, "uptime");
    let (address, _told) = server("fine");
    add_settings(&context, &format!("[extensions.uptime]\nurl = \"{address}/\""));
    let before = context.dispatch(&["run", "uptime"]);
    assert!(before.stdout.contains("not asked yet"), "{before:?}");
    for checks in 1..=2 {
        let now = context.dispatch(&["run", "uptime", "now"]);
        assert!(now.stdout.contains(&format!("answers; 100.0 % of {checks} checks")), "{now:?}");
    }
    let listed = context.dispatch(&["ext", "info", "uptime"]);
    assert!(listed.stdout.contains("jobs") && listed.stdout.contains("active"), "{listed:?}");
}

#[test]
fn the_provider_answers_with_the_models_of_a_server() {
    let context = TestContext::new();
    install(&context, "ollama");
    let lines = "{\"message\":{\"content\":\"It is \"},\"done\":false}\n{\"message\":{\"content\":\"noon.\"},\"done\":false}\n{\"message\":{\"content\":\"\"},\"done\":true,\"prompt_eval_count\":7,\"eval_count\":3}\n";
    let (address, told) = server(lines);
    add_settings(&context, &format!("[extensions.ollama]\nurl = \"{address}\""));
    let arguments = ["--set", "model.provider=ollama-native", "--set", "model.model=tiny", "chat", "what time is it?"];
    let answered = context.dispatch(&arguments);
    assert!(answered.stdout.contains("It is noon."), "{answered:?}");
    let asked: Vec<String> = told.try_iter().collect();
    let asked = asked.iter().find(|asked| asked.starts_with("POST /api/chat ")).expect("a model call");
    assert!(asked.contains("what time is it?"), "{asked}");
    assert!(asked.contains("\"model\":\"tiny\""), "{asked}");
}
