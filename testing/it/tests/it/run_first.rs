//! The first run of our own agent, through the real executable in a real terminal: it reads a file, asks before it
//! edits one, the edit belongs to an intent, and the ledger knows of it. The walk-through of docs/run.md.

use crate::intents_host::{commit_all, entries};
use dispatch_support::{Output, Terminal, TestContext};

const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];

/// A repository with an intent that owns `src/`.
fn project() -> TestContext {
    let context = TestContext::new();
    context.write("src/notes.txt", "hello world\n");
    context.write("other.txt", "hello world\n");
    commit_all(&context);
    assert_eq!(context.dispatch(&["init", "--host", "claude-code", "--intents"]).status, 0);
    assert_eq!(context.dispatch(&["intent", "new", "Greetings", "--scope", "src/**"]).status, 0);
    context
}

fn notes(context: &TestContext) -> String {
    std::fs::read_to_string(context.project().join("src/notes.txt")).unwrap()
}

fn dispatch(context: &TestContext, arguments: &[&str]) -> Output {
    let all: Vec<&str> = REHEARSAL.iter().chain(arguments).copied().collect();
    context.dispatch(&all)
}

fn chat(context: &TestContext, arguments: &[&str]) -> Terminal {
    let mut command = context.command("dispatch");
    command.args(REHEARSAL).arg("chat").args(arguments);
    Terminal::start(command)
}

#[test]
fn the_agent_reads_asks_edits_and_the_ledger_knows() {
    let context = project();
    let mut terminal = chat(&context, &["--session", "main"]);
    terminal.wait_for("the rehearsal answers by rule");
    terminal.wait_for("main · rehearsal > ");
    terminal.press("read src/notes.txt\r");
    let shown = terminal.wait_for("hello world");
    assert!(shown.contains("● \u{1b}[36mread_file\u{1b}[0m src/notes.txt"), "{shown}");
    terminal.wait_for("main · rehearsal > ");

    // No intent is selected, so the edit is refused before anybody is asked.
    terminal.press("replace world with moon in src/notes.txt\r");
    let shown = terminal.wait_for("main · rehearsal > ");
    assert!(shown.contains("No active intent") && !shown.contains("allow it?"), "{shown}");

    let selected = context.dispatch(&["intent", "select", "INT-001"]);
    assert_eq!(selected.status, 0, "{selected:?}");
    terminal.press("replace world with moon in src/notes.txt\r");
    let asked = terminal.wait_for("[N]o: ");
    assert!(asked.contains("- hello world") && asked.contains("+ hello moon"), "{asked}");
    assert_eq!(notes(&context), "hello world\n", "nothing happens before the answer");
    terminal.press("n\r");
    let shown = terminal.wait_for("main · rehearsal > ");
    assert!(shown.contains("The user said no."), "{shown}");
    assert_eq!(notes(&context), "hello world\n");

    terminal.press("replace world with moon in src/notes.txt\r");
    terminal.wait_for("[N]o: ");
    terminal.press("y\r");
    let shown = terminal.wait_for("main · rehearsal > ");
    assert!(shown.contains("done ("), "{shown}");
    assert_eq!(notes(&context), "hello moon\n");

    terminal.press("replace world with moon in other.txt\r");
    let shown = terminal.wait_for("main · rehearsal > ");
    assert!(shown.contains("Scope violation"), "{shown}");
    terminal.press("\u{4}");
    let (status, screen) = terminal.finish();
    assert_eq!(status, 0, "{screen}");

    let known: Vec<_> = entries(&context).into_iter().filter(|it| it.path() == Some("src/notes.txt")).collect();
    assert_eq!(known.len(), 1, "{known:?}");
    assert_eq!((known[0].intent_id.as_str(), known[0].tool_name.as_str()), ("INT-001", "edit_file"));
    let log = context.dispatch(&["trace", "log"]).stdout;
    assert!(log.contains("INT-001     pass") && log.contains("src/notes.txt  edit_file"), "{log}");
    assert_eq!(context.dispatch(&["trace", "verify"]).status, 0);
}

#[test]
fn without_a_person_the_answer_is_the_one_that_was_given() {
    let context = project();
    let edit = "replace world with moon in src/notes.txt";
    let read = dispatch(&context, &["chat", "read src/notes.txt", "--session", "main"]);
    assert_eq!(read.status, 0, "{read:?}");
    assert_eq!(context.dispatch(&["intent", "select", "INT-001"]).status, 0);
    for refusing in
        [&["chat", edit, "--session", "main"][..], &["chat", edit, "--session", "main", "--approve", "none"]]
    {
        let output = dispatch(&context, refusing);
        assert!(
            output.stderr.contains("refused (PERMISSION): ") && output.stderr.contains("Nobody can be asked"),
            "{output:?}"
        );
        assert_eq!(notes(&context), "hello world\n");
    }
    let output = dispatch(&context, &["chat", edit, "--session", "main", "--approve", "all", "--json"]).json();
    assert_eq!((&output["status"], &output["tool_calls"][0]["status"]), (&"finished".into(), &"succeeded".into()));
    assert_eq!(notes(&context), "hello moon\n");
}

#[test]
fn a_conversation_has_commands_history_and_several_lines() {
    let context = TestContext::new();
    let mut terminal = chat(&context, &["--session", "main"]);
    terminal.wait_for("main · rehearsal > ");
    terminal.press("first \\\r");
    terminal.wait_for("... ");
    terminal.press("second\r");
    terminal.wait_for("main · rehearsal > ");
    terminal.press("/fork other\r");
    terminal.wait_for("other continues main");
    terminal.wait_for("other · rehearsal > ");
    terminal.press("/model m2\r");
    terminal.wait_for("unknown model `m2`");
    terminal.wait_for("other · rehearsal > ");
    terminal.press("/queue\r");
    terminal.wait_for("no messages wait or run");
    terminal.press("/history\r");
    terminal.wait_for("you:\r\n  first\r\n  second");
    terminal.press("/nothing\r");
    terminal.wait_for("unknown command `/nothing`");
    terminal.press("/exit\r");
    let (status, screen) = terminal.finish();
    assert_eq!(status, 0, "{screen}");

    let mut terminal = chat(&context, &["--continue"]);
    terminal.wait_for(" > ");
    // Up over `/exit`, `/nothing`, ... to the first message is the history of the run before.
    terminal.press(&"\u{1b}[A".repeat(7));
    terminal.wait_for("first");
    terminal.press("\u{3}");
    terminal.wait_for("ctrl-C again, ctrl-D or /exit leaves");
    terminal.wait_for(" > ");
    terminal.press("\u{3}");
    assert_eq!(terminal.finish().0, 0);
}

#[test]
fn ctrl_c_stops_the_turn_and_the_conversation_goes_on() {
    let context = TestContext::new();
    let mut terminal = chat(&context, &["--session", "main", "--approve", "all"]);
    terminal.wait_for("main · rehearsal > ");
    terminal.press("run echo begun; sleep 300\r");
    terminal.wait_for("│ begun");
    terminal.press("\u{3}");
    terminal.wait_for("stopping the turn");
    terminal.wait_for("main · rehearsal > ");
    terminal.press("hello\r");
    terminal.wait_for("You said: \"hello\"");
    terminal.wait_for("main · rehearsal > ");
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().0, 0);
}

#[test]
fn lines_typed_while_a_turn_runs_are_said_afterwards() {
    let context = TestContext::new();
    let mut terminal = chat(&context, &["--session", "main", "--approve", "all"]);
    terminal.wait_for("main · rehearsal > ");
    terminal.press("run echo begun; while [ ! -e go ]; do sleep 0.1; done\r");
    terminal.wait_for("│ begun");
    terminal.press("one\rtwo\rthree\r");
    terminal.wait_for("three");
    context.write("go", "");
    for line in ["one", "two", "three"] {
        terminal.wait_for(&format!("You said: \"{line}\""));
    }
    terminal.wait_for("main · rehearsal > ");
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().0, 0);
}
