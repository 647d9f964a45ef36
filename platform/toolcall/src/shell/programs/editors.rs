//! Editors in batch mode: `ed`, `vim -c`, `emacs --batch`.
//!
//! Pure.

use super::super::arguments::{Arguments, OptionSyntax};
use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::foreign::{self, Language};
use super::super::interpreter::{Interpreter, Stdin};
use super::super::recorder::EffectReach;
use super::super::runners;
use crate::access::Access;

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    match call.program {
        "ed" | "red" | "ex" | "vi" | "vim" | "nvim" | "view" | "vimdiff" | "gvim" => line_editor(interpreter, call),
        "emacs" | "emacsclient" => emacs(interpreter, call),
        "nano" | "pico" | "micro" | "joe" | "hx" | "kak" | "code" | "subl" => {
            interpreter.recorder.code(UnknownReason::ProjectCode, call.program);
            for file in
                call.arguments.iter().filter(|word| word.text.contains(['/', '.']) && !word.text.starts_with('-'))
            {
                let is_folder = matches!(file.text.as_str(), "." | "..") || file.text.ends_with('/');
                if !is_folder {
                    interpreter.recorder.touch(call.state, file, Access::Write, EffectReach::Itself);
                }
            }
        }
        _ => return false,
    }
    true
}

/// Commands come by option, by `+COMMAND`, or by standard input.
fn line_editor(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    if call.arguments.iter().any(|word| matches!(word.text.as_str(), "--version" | "--help" | "-h")) {
        return;
    }
    interpreter.recorder.code(UnknownReason::ForeignCode, call.program);
    let parsed = Arguments::parse(
        call.arguments,
        OptionSyntax { short: if call.program == "ed" { "p" } else { "cSuUiwWtTq" }, long: &["--cmd"] },
    );
    let mut commands: Vec<String> =
        runners::option_texts(call.arguments, &["-c", "--cmd"]).into_iter().map(|field| field.text.clone()).collect();
    let plus = parsed.operands.iter().filter_map(|field| field.text.strip_prefix('+'));
    commands.extend(plus.map(str::to_owned));
    if let Stdin::Text(text) = &call.context.stdin {
        commands.extend(text.lines().map(str::to_owned));
    }
    for file in runners::option_texts(call.arguments, &["-S"]).into_iter().cloned().collect::<Vec<_>>() {
        commands.extend(interpreter.written_text(&file, call.state).unwrap_or_default().lines().map(str::to_owned));
    }
    let batch = !commands.is_empty();
    for command in &commands {
        editor_command(interpreter, call, command);
    }
    for file in parsed.operands.iter().filter(|field| !field.text.starts_with('+')) {
        let access = if batch || call.program != "view" { Access::Write } else { Access::Read };
        interpreter.recorder.touch(call.state, file, access, EffectReach::Itself);
    }
}

fn editor_command(interpreter: &mut Interpreter, call: &Invocation<'_>, command: &str) {
    let context = call.context.wrapped(call.program);
    let command = command.trim_start_matches([':', ' ']);
    let command = command.strip_prefix("silent").map_or(command, |rest| rest.trim_start_matches(['!', ' '])).trim();
    let whole = command;
    if let Some((range, code)) = whole.split_once('!')
        && range.chars().all(|c| "0123456789,.$% ".contains(c) || range.starts_with('r') || range.starts_with('w'))
    {
        interpreter.script(code, call.state.child(), &context);
        return;
    }
    let after_range = whole.trim_start_matches(|c: char| c.is_ascii_digit() || ",.$% ".contains(c));
    let (verb, rest) = after_range.split_once(' ').unwrap_or((after_range, ""));
    let writes = matches!(verb.trim_end_matches('!'), "w" | "write" | "wq" | "saveas" | "sav" | "W" | "up" | "x");
    if writes && !rest.trim().is_empty() {
        let file = ShellField::literal(rest.trim());
        interpreter.recorder.touch(call.state, &file, Access::Write, EffectReach::Itself);
    } else if command_like(whole) {
        // A shell that was started, or a script of the editor: its calls are looked at.
        foreign::judge(interpreter, Language::Other, whole, call.state, &context);
    } else if let Some(code) = after_range.strip_prefix('!') {
        interpreter.script(code, call.state.child(), &context);
    }
}

fn command_like(text: &str) -> bool {
    text.contains('(') || text.contains("system") || text.starts_with("exe")
}

fn emacs(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    interpreter.recorder.code(UnknownReason::ForeignCode, call.program);
    let context = call.context.wrapped(call.program);
    let codes: Vec<ShellField> =
        runners::option_texts(call.arguments, &["--eval", "-eval", "--execute", "-e"]).into_iter().cloned().collect();
    for code in &codes {
        foreign::judge(interpreter, Language::Lisp, &code.text, call.state, &context);
    }
    for code in runners::attached_texts(call.arguments, &["--eval", "--execute"]) {
        foreign::judge(interpreter, Language::Lisp, code, call.state, &context);
    }
    for file in call.arguments.iter().filter(|word| !word.text.starts_with(['-', '(', '+'])) {
        interpreter.recorder.touch(call.state, file, Access::Write, EffectReach::Itself);
    }
}
