//! `parallel`: a command and, behind `:::` or on standard input, what it runs for.
//!
//! Pure.

use super::command::{CommandLookup, Invocation};
use super::effects::UnknownReason;
use super::field::ShellField;
use super::interpreter::{Interpreter, Stdin};

/// Options with a value of their own.
const VALUES: &[&str] = &[
    "-j",
    "--jobs",
    "-P",
    "-a",
    "--arg-file",
    "-n",
    "-N",
    "--max-args",
    "-S",
    "--sshlogin",
    "--colsep",
    "-C",
    "-I",
    "--joblog",
    "--results",
    "--tmpdir",
    "--timeout",
    "--retries",
    "--delay",
    "--wd",
    "--workdir",
    "-d",
    "-L",
    "-s",
];
const MAX_LINES: usize = 32;

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let mut at = 0;
    while let Some(word) = call.arguments.get(at).filter(|word| word.text.starts_with('-') && word.exact) {
        at += if VALUES.contains(&word.text.as_str()) { 2 } else { 1 };
    }
    let rest = call.arguments.get(at..).unwrap_or_default();
    let mark = rest.iter().position(|word| word.text.starts_with(":::"));
    let (command, inputs) = rest.split_at(mark.unwrap_or(rest.len()));
    let known: Option<Vec<String>> = match (mark, &call.context.stdin) {
        (Some(_), _) => {
            let words = inputs.iter().filter(|word| !word.text.starts_with(":::"));
            words.map(|word| word.known().map(str::to_owned)).collect()
        }
        (None, Stdin::Text(text)) => Some(text.lines().map(str::to_owned).collect()),
        (None, _) => None,
    };
    let words: Option<Vec<&str>> = command.iter().map(ShellField::known).collect();
    let (Some(words), Some(known)) = (words, known) else {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program);
        let context = call.context.wrapped(call.program);
        let mut fields = command.to_vec();
        fields.push(ShellField::unknown("parallel input"));
        if !command.is_empty() {
            interpreter.invoke(&fields, call.state.clone(), &context, CommandLookup::Programs);
        }
        return;
    };
    let context = call.context.wrapped(call.program).with_stdin(Stdin::Computed);
    for input in known.iter().take(MAX_LINES) {
        let text = words.join(" ");
        let line = match (text.is_empty(), text.contains("{}")) {
            (true, _) => input.clone(),
            (_, true) => text.replace("{}", input),
            (_, false) => format!("{text} {input}"),
        };
        interpreter.script(&line, call.state.child(), &context);
    }
}
