//! Programs that run another one in a way of their own: `env`, shells; the others are rows of a table.
//!
//! Pure.

use super::arguments::{Arguments, OptionSyntax};
use super::command::{CommandLookup, Invocation};
use super::effects::UnknownReason;
use super::environment;
use super::field::{ShellField, VariableValue};
use super::interpreter::{CommandContext, Interpreter, Lifetime, Stdin};
use super::state::{ShellState, WorkingDirectories};
use super::{parallel, runners, windows, xargs};

/// The options with a value of a program whose options come first and whose command is the rest.
pub(super) struct LeadingOptions {
    /// Letters of short options with a value.
    pub(super) short: &'static str,
    /// Long options with a value.
    pub(super) long: &'static [&'static str],
}

pub(super) const fn plain(short: &'static str, long: &'static [&'static str]) -> LeadingOptions {
    LeadingOptions { short, long }
}

/// Runs the wrapped command; `false` if the program is not a wrapper.
pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    match call.program {
        "env" | "genv" => env(interpreter, call),
        "xargs" | "gxargs" => xargs::run(interpreter, call),
        "parallel" | "rush" | "sem" => parallel::run(interpreter, call),
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "mksh" | "rbash" | "fish" | "yash" | "posh" | "oksh" => {
            shell(interpreter, call)
        }
        "csh" | "tcsh" | "rc" | "elvish" | "nu" | "xonsh" => foreign_shell(interpreter, call),
        "pwsh" | "powershell" | "pwsh.exe" | "powershell.exe" | "pwsh-preview" | "cmd" | "cmd.exe" => {
            windows::run(interpreter, call.program, call.arguments, call.state, call.context);
        }
        "watch" => {
            servers_note(interpreter, call);
            runners::run(interpreter, call);
        }
        "bwrap" | "chpst" | "nsjail" | "proot" => {
            interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program);
            let mut fields = vec![ShellField::literal(call.program)];
            fields.extend_from_slice(call.arguments);
            runners::search(interpreter, &fields, call);
        }
        _ => return runners::run(interpreter, call) && is_only_runner(call),
    }
    true
}

/// Whether a program does nothing but run another one; the others have effects of their own too.
fn is_only_runner(call: &Invocation<'_>) -> bool {
    !matches!(call.program, "git" | "npm" | "cargo" | "gdb" | "lldb" | "repo" | "mr" | "nix" | "mix" | "cabal")
}

fn servers_note(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let own = call.arguments.iter().take_while(|word| word.text.starts_with('-') || word.text.parse::<f64>().is_ok());
    let ends = ["--version", "-v", "--help", "-h", "-g", "--chgexit", "-q", "--equexit", "-e", "--errexit"];
    let about = own.into_iter().any(|word| ends.contains(&word.text.as_str()));
    if call.context.lifetime == Lifetime::Open && !about {
        interpreter.recorder.unbounded(super::unbounded::UnboundedKind::Endless, "watch");
    }
}

/// A shell of another family: what its `-c` says is read as if it were ours.
fn foreign_shell(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    interpreter.recorder.code(UnknownReason::ForeignShell, call.program);
    let context = call.context.wrapped(call.program);
    for text in runners::option_texts(call.arguments, &["-c"]) {
        if let Some(text) = text.known() {
            interpreter.script(text, fresh(call.state, &[]), &context);
        }
    }
}

pub(super) fn enter(field: &ShellField, state: &mut ShellState) {
    let paths = field.known().and_then(|text| state.directories.resolve(text));
    state.directories = paths.map_or(WorkingDirectories::Unknown, WorkingDirectories::Known);
}

pub(super) fn is_assignment(field: &ShellField) -> bool {
    field
        .text
        .split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()))
}

pub(super) fn assign(interpreter: &mut Interpreter, field: &ShellField, state: &mut ShellState) {
    if let Some((name, value)) = field.text.split_once('=') {
        let value = if field.exact { VariableValue::Known(value.to_owned()) } else { VariableValue::Unknown };
        if environment::changes_programs(name, &value) {
            interpreter.recorder.code(UnknownReason::Environment, name);
        }
        if let VariableValue::Known(text) = &value {
            interpreter.keep_possible_code(text);
        }
        state.assign(name, value);
    }
}

/// The options before the first operand, and the rest; `None` if a computed word may hide one.
pub(super) fn leading_options<'a>(
    words: &'a [ShellField],
    wrapper: &LeadingOptions,
) -> Option<(&'a [ShellField], &'a [ShellField])> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if word.may_hide_option() {
            return None;
        }
        let text = word.text.as_str();
        if text == "--" {
            return Some((words.get(..at)?, words.get(at + 1..)?));
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        let takes_next = match text.strip_prefix("--") {
            Some(long) => !long.contains('=') && wrapper.long.contains(&text),
            None => text
                .chars()
                .position(|c| wrapper.short.contains(c))
                .is_some_and(|index| index + 1 == text.chars().count()),
        };
        at += if takes_next { 2 } else { 1 };
    }
    words.split_at_checked(at.min(words.len()))
}

fn env(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let wrapper = plain("uCS", &["--unset", "--chdir", "--split-string"]);
    let Some((options, rest)) = leading_options(call.arguments, &wrapper) else {
        interpreter.recorder.code(UnknownReason::Option, "env");
        return;
    };
    let parsed = Arguments::parse(options, OptionSyntax { short: wrapper.short, long: wrapper.long });
    let mut state = call.state.clone();
    for field in parsed.values(&["-C", "--chdir"]) {
        enter(field, &mut state);
    }
    if let Some(text) = parsed.values(&["-S", "--split-string"]).next() {
        split_string(interpreter, call, text, rest, state);
        return;
    }
    let count = rest.iter().take_while(|field| is_assignment(field)).count();
    for field in rest.iter().take(count) {
        assign(interpreter, field, &mut state);
    }
    let rest = rest.get(count..).unwrap_or_default();
    interpreter.invoke(rest, state, &call.context.wrapped("env"), CommandLookup::Programs);
}

/// `env -S TEXT WORD...`: the text is split into words as a shell would, without expansion.
fn split_string(
    interpreter: &mut Interpreter,
    call: &Invocation<'_>,
    text: &ShellField,
    rest: &[ShellField],
    state: ShellState,
) {
    let Some(text) = text.known() else {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, "env -S");
        return;
    };
    let mut words = vec![ShellField::literal("env")];
    words.extend(super::words::split(text).iter().map(|word| ShellField::literal(word)));
    words.extend_from_slice(rest);
    interpreter.invoke(&words, state, &call.context.wrapped("env"), CommandLookup::Programs);
}

/// A shell: a text with `-c`, a script file, or code from standard input.
fn shell(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let wrapper = plain("oO", &["--rcfile", "--init-file"]);
    let Some((options, rest)) = leading_options(call.arguments, &wrapper) else {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program);
        return;
    };
    let flags = |letter: char| options.iter().any(|field| !field.text.starts_with("--") && field.text.contains(letter));
    if options.iter().any(|field| field.text.starts_with("--rcfile") || field.text.starts_with("--init")) {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program);
    }
    let context = call.context.wrapped(call.program);
    if flags('c') {
        run_text(interpreter, call, rest, &context);
    } else if let Some(file) = rest.first().filter(|file| !flags('s') && file.text != "-") {
        interpreter.recorder.touch(call.state, file, crate::access::Access::Read, super::recorder::EffectReach::Itself);
        let arguments = rest.get(1..).unwrap_or_default();
        if !interpreter.run_written(file, fresh(call.state, arguments), &context) {
            interpreter.recorder.code(UnknownReason::UnresolvedCode, &file.raw);
        }
    } else if options.iter().any(|field| matches!(field.text.as_str(), "--version" | "--help")) {
    } else {
        match &call.context.stdin {
            Stdin::Text(text) => {
                let text = text.clone();
                interpreter.script(&text, fresh(call.state, rest), &context.with_stdin(Stdin::Inherited));
            }
            _ => interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program),
        }
    }
}

fn run_text(interpreter: &mut Interpreter, call: &Invocation<'_>, rest: &[ShellField], context: &CommandContext) {
    match rest.first().and_then(ShellField::known) {
        Some(text) => {
            let arguments = rest.get(2..).unwrap_or_default();
            interpreter.script(text, fresh(call.state, arguments), context);
        }
        None => {
            interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program);
            if let Some(text) = rest.first() {
                interpreter.recorder.opaque_text(&text.raw);
            }
        }
    }
}

/// A new shell knows the folder, but variables and functions only if they were exported.
fn fresh(state: &ShellState, arguments: &[ShellField]) -> ShellState {
    let mut inner = state.child();
    inner.positional = Some(std::rc::Rc::new(arguments.to_vec()));
    inner
}
