//! Extensions that change while `dispatch serve` and `dispatch chat` run.

use dispatch_support::{Served, Terminal, TestContext};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];
/// How long a loaded machine may take; the promise of two seconds is measured in the benchmarks.
const PATIENCE: Duration = Duration::from_secs(60);

fn manifest(id: &str, fields: &str) -> String {
    format!(r#"{{"id":"{id}","name":"{id}","version":"1.0.0","apiVersion":"^0.2.0","tier":"external"{fields}}}"#)
}

pub(crate) fn write(context: &TestContext, id: &str, fields: &str, code: &str) {
    context.write_cloned(format!(".dispatch/extensions/{id}/manifest.json"), manifest(id, fields));
    context.write_cloned(format!(".dispatch/extensions/{id}/index.ts"), code);
}

pub(crate) fn done(context: &TestContext, arguments: &[&str]) {
    let output = context.dispatch(arguments);
    assert_eq!(output.status, 0, "{output:?}");
}

/// Waits until something holds.
fn eventually<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) if start.elapsed() > PATIENCE => panic!("{what}: {seen}"),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn commands(served: &Served) -> Vec<String> {
    let listed = served.client.get("/v1/commands").json();
    listed["commands"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

fn run(served: &Served, name: &str) -> Value {
    served.client.post(&format!("/v1/commands/{name}"), &json!({ "args": [] })).json()
}

/// Waits until a command answers so.
pub(crate) fn answers(served: &Served, name: &str, expected: &str) {
    eventually(expected, || {
        let answer = run(served, name);
        if answer["answer"] == expected { Ok(()) } else { Err(answer.to_string()) }
    });
}

fn log(context: &TestContext) -> String {
    std::fs::read_to_string(context.home().join("serve.log")).unwrap_or_default()
}

/// Waits until the server's log says something.
fn logged(context: &TestContext, text: &str) {
    eventually(text, || if log(context).contains(text) { Ok(()) } else { Err(log(context)) });
}

pub(crate) const COMMAND: &str = r#","contributes":{"commands":["word"]}"#;

pub(crate) fn says(word: &str) -> String {
    format!(
        "export const activate = (host) => host.defineCommand({{ name: 'word', description: 'x', run: () => '{word}' }});"
    )
}

#[test]
fn a_new_extension_an_edit_a_broken_edit_and_a_removal_are_seen_while_serving() {
    let context = TestContext::new();
    let served = Served::start(&context, &REHEARSAL, &[]);
    assert_eq!(commands(&served), Vec::<String>::new());
    write(&context, "talk", COMMAND, &says("one"));
    logged(&context, "extension `talk` does not run: not approved");
    done(&context, &["trust", "talk"]);
    answers(&served, "word", "one");

    // An edit needs an approval of its own, and until then what was approved runs.
    context.write_cloned(".dispatch/extensions/talk/index.ts", says("two"));
    logged(&context, "extension `talk` runs on as it was: changed since it was approved");
    assert_eq!(run(&served, "word")["answer"], "one");
    done(&context, &["trust", "talk"]);
    answers(&served, "word", "two");

    // While somebody works on it, each edit runs.
    done(&context, &["ext", "dev", "talk"]);
    context.write_cloned(".dispatch/extensions/talk/index.ts", says("three"));
    answers(&served, "word", "three");
    context.write_cloned(".dispatch/extensions/talk/index.ts", "export function activate() { nothing.like.this(); }");
    logged(&context, "extension `talk` did not start again, so the version before runs on");
    logged(&context, "nothing is not defined");
    assert_eq!(run(&served, "word")["answer"], "three");
    let renamed = says("four").replace("name: 'word'", "name: 'other'");
    write(&context, "talk", r#","contributes":{"commands":["other"]}"#, &renamed);
    answers(&served, "other", "four");
    assert_eq!(commands(&served), ["other"], "the old registrations are gone");

    done(&context, &["ext", "remove", "talk"]);
    eventually("no commands", || {
        let left = commands(&served);
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

#[test]
fn a_running_turn_keeps_the_version_it_began_with() {
    let context = TestContext::new();
    let version = |word: &str| {
        format!(
            "export function activate(host) {{
                host.defineTool({{ name: 'wait', description: 'x', timeoutMs: 60000, async execute(args, ctx) {{
                    ctx.output('begun');
const store = host.storage('s');
                    for (let turns = 0; (await store.get('go')) !== '{word}'; turns++) await store.set('turns', turns);
                    return 'word {word}';
                }} }});
                host.defineCommand({{ name: 'word', description: 'x', run: () => '{word}' }});
                host.defineCommand({{ name: 'go', description: 'x', run: ([to]) => host.storage('s').set('go', to) }});
                host.addFilter('tool.after', (value) =>
                    ({{ ...value, result: {{ ...value.result, text: value.result.text + ' seen by {word}' }} }}));
            }}"
        )
    };
    let fields = r#","contributes":{"tools":["wait"],"commands":["word","go"]},"capabilities":["db"]"#;
    context.write_home("config/dispatch.toml", "[grants.slow]\ncapabilities = [\"db\"]\n");
    context.allow_policy_changes();
    write(&context, "slow", fields, &version("old"));
    done(&context, &["trust", "slow"]);
    done(&context, &["ext", "dev", "slow"]);
    let served = Served::start(&context, &REHEARSAL, &[]);
    let dispatch = served.client.submit("main", &json!({ "text": "call wait {}", "id": "1" }));
    eventually("the tool runs", || {
        let rows = served.client.get("/v1/sessions/main/messages").json().to_string();
        if rows.contains(r#""name":"wait""#) { Ok(()) } else { Err(rows) }
    });
    context.write_cloned(".dispatch/extensions/slow/index.ts", version("new"));
    // A command of the old version would wait for its tool.
    logged(&context, "extension `slow` 1.0.0 was loaded again");
    answers(&served, "word", "new");
    let go = |to: &str| served.client.post("/v1/commands/go", &json!({ "args": [to] }));
    assert_eq!(go("old").status, 200);
    let ended = served.client.ended(&dispatch);
    let told = served.client.get("/v1/sessions/main/messages").json().to_string();
    assert!(told.contains("word old seen by old"), "{told} {ended}");
    assert_eq!(go("new").status, 200);
    let after = served.client.say("main", "call wait {}");
    let told = served.client.get("/v1/sessions/main/messages").json().to_string();
    assert!(told.contains("word new seen by new"), "{told} {after}");
}

/// The processes that a process started and that still run.
#[cfg(target_os = "linux")]
pub(crate) fn children(of: u32) -> Vec<u32> {
    let listed = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = listed.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let is_child = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        fields.get(1) == Some(&of.to_string().as_str()) && fields.first() != Some(&"Z")
    };
    ids.filter(is_child).collect()
}

#[cfg(target_os = "linux")]
fn threads(of: u32) -> usize {
    std::fs::read_dir(format!("/proc/{of}/task")).unwrap().count()
}

#[cfg(target_os = "linux")]
#[test]
fn many_reloads_leave_no_process_no_thread_and_no_registration_behind() {
    let context = TestContext::new();
    write(&context, "talk", COMMAND, &says("0"));
    done(&context, &["trust", "talk"]);
    done(&context, &["ext", "dev", "talk"]);
    let served = Served::start(&context, &REHEARSAL, &[]);
    answers(&served, "word", "0");
    let before = (children(served.id()).len(), threads(served.id()));
    for number in 1..=20 {
        context.write_cloned(".dispatch/extensions/talk/index.ts", says(&number.to_string()));
        answers(&served, "word", &number.to_string());
    }
    eventually("as many processes and threads as before", || {
        let now = (children(served.id()).len(), threads(served.id()));
        if now.0 <= before.0 && now.1 <= before.1 { Ok(()) } else { Err(format!("{now:?} instead of {before:?}")) }
    });
    assert_eq!(commands(&served), ["word"]);
}

#[test]
fn settings_grants_and_a_wish_load_an_extension_again() {
    let context = TestContext::new();
    let code = "let calls = 0;
        export const activate = (host) => host.defineCommand({ name: 'word', description: 'x',
            run: () => `${host.settings.greeting ?? 'none'} ${calls++}` });";
    let schema = r#","settingsSchema":{"type":"object","properties":{"greeting":{"type":"string"}}}"#;
    write(&context, "talk", &format!("{COMMAND}{schema}"), code);
    done(&context, &["trust", "talk"]);
    let served = Served::start(&context, &REHEARSAL, &[]);
    answers(&served, "word", "none 0");
    assert_eq!(run(&served, "word")["answer"], "none 1");
    context
        .write_home("config/dispatch.toml", "[policy]\nconfirm = \"none\"\n[extensions.talk]\ngreeting = \"Moin\"\n");
    eventually("the new setting", || {
        let answer = run(&served, "word")["answer"].to_string();
        if answer.contains("Moin") { Ok(()) } else { Err(answer) }
    });
    for _ in 0..3 {
        let _ = run(&served, "word");
    }
    done(&context, &["ext", "reload", "talk"]);
    answers(&served, "word", "Moin 0");
    context.write_home("config/dispatch.toml", "[policy]\nconfirm = \"none\"\n[extensions.talk]\ngreeting = 7\n");
    logged(&context, "nothing is loaded again: ");
    context.write_home("config/dispatch.toml", "[policy]\nconfirm = \"none\"\n");
    eventually("the old answer", || {
        let answer = run(&served, "word")["answer"].to_string();
        if answer.contains("none") { Ok(()) } else { Err(answer) }
    });

    // Off and on by hand, from another process.
    done(&context, &["ext", "disable", "talk"]);
    logged(&context, "extension `talk` stopped: switched off with `dispatch ext disable`");
    done(&context, &["ext", "enable", "talk"]);
    answers(&served, "word", "none 0");
}

#[test]
fn commands_are_reachable_at_the_prompt_and_over_http() {
    let context = TestContext::new();
    let code = "export const activate = (host) => {
        host.defineCommand({ name: 'shout', description: 'Says it loudly.', run: (args) => args.join('+').toUpperCase() });
        host.defineCommand({ name: 'breaks', description: 'x', run: () => { throw new Error('no luck'); } });
    };";
    write(&context, "loud", r#","contributes":{"commands":["shout","breaks"]}"#, code);
    done(&context, &["trust", "loud"]);
    let mut command = context.command("dispatch");
    command.args(REHEARSAL).arg("chat");
    let mut terminal = Terminal::start(command);
    terminal.wait_for("rehearsal > ");
    terminal.press("/help\r");
    let help = terminal.wait_for("rehearsal > ");
    assert!(help.contains("/shout [ARGS]") && help.contains("Says it loudly. (loud)"), "{help}");
    terminal.press("/shout one 'two three'\r");
    assert!(terminal.wait_for("rehearsal > ").contains("ONE+TWO THREE"));
    terminal.press("/shot\r");
    assert!(terminal.wait_for("rehearsal > ").contains("did you mean `/shout`?"));
    terminal.press("/breaks\r");
    let broken = terminal.wait_for("rehearsal > ");
    assert!(broken.contains("extension `loud`: script failed: no luck"), "{broken}");
    terminal.press("/sho\t");
    terminal.wait_for("/shout");
    terminal.press(" x\r");
    terminal.wait_for("X");
    terminal.wait_for("rehearsal > ");
    terminal.press("\u{4}");
    drop(terminal.finish());

    let served = Served::start(&context, &REHEARSAL, &[]);
    let listed = served.client.get("/v1/commands").json();
    assert_eq!(listed["commands"][1], json!({"name": "shout", "summary": "Says it loudly.", "extension": "loud"}));
    let answer = served.client.post("/v1/commands/shout", &json!({ "args": ["a", "b"] })).json();
    assert_eq!(answer, json!({ "answer": "A+B" }));
    let unknown = served.client.post("/v1/commands/shot", &json!({}));
    assert_eq!(unknown.status, 404, "{}", unknown.json());
    assert!(unknown.json().to_string().contains("did you mean `shout`?"));
    let broken = served.client.post("/v1/commands/breaks", &json!({}));
    assert!(broken.status == 502 && broken.json().to_string().contains("extension `loud`"), "{}", broken.json());
    let document = served.client.get("/openapi.json").json();
    assert!(document["paths"]["/v1/commands/{name}"]["post"].is_object());
}
