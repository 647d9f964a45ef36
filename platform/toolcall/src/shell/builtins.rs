//! Builtins that change the shell itself: folder, variables, code that is run by name.
//!
//! Pure.

use super::command::CommandLookup;
use super::effects::UnknownReason;
use super::field::{ShellField, VariableValue};
use super::interpreter::{CommandContext, Interpreter, Stdin};
use super::recorder::EffectReach;
use super::state::{CommandOutcome, OnError, ShellState, WorkingDirectories};
use crate::access::Access;

/// A builtin: what it does to the state, and its effects.
pub(super) type Builtin = fn(&mut Interpreter, &[ShellField], ShellState, &CommandContext) -> CommandOutcome;

/// The builtin of a name, if it is one that the state depends on.
pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "cd" | "chdir" => cd,
        "pushd" => pushd,
        "popd" => popd,
        "pwd" => pwd,
        "echo" => echo,
        "printf" => printf,
        "eval" => eval,
        "source" | "." => source,
        "exec" => exec,
        "command" => command,
        "builtin" => builtin,
        "trap" => trap,
        "alias" => alias,
        "unalias" | "true" | "false" | ":" | "wait" | "umask" | "times" | "caller" | "dirs" | "help" | "break"
        | "continue" | "shopt" | "ulimit" | "suspend" | "disown" | "fg" | "bg" => nothing,
        "test" | "[" => test,
        "exit" | "return" | "logout" => leave,
        "set" => set,
        "shift" => shift,
        "read" | "getopts" => read,
        "mapfile" | "readarray" => read_lines,
        "let" => arithmetic,
        "export" | "declare" | "typeset" | "local" | "readonly" | "unset" => names,
        "hash" => hash,
        "type" => name_type,
        "enable" | "bind" | "complete" | "compopt" | "compgen" | "fc" | "history" | "jobs" => opaque,
        _ => return None,
    })
}

fn nothing(_: &mut Interpreter, _: &[ShellField], state: ShellState, _: &CommandContext) -> CommandOutcome {
    CommandOutcome::same(state)
}

fn opaque(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    if !arguments.is_empty() {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, "builtin");
    }
    for field in arguments {
        interpreter.keep_possible_code(field.shown());
    }
    CommandOutcome::same(state)
}

/// `type -p NAME` prints where a program lies.
fn name_type(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    if arguments.first().is_some_and(|word| matches!(word.text.as_str(), "-p" | "-P")) {
        interpreter.output = super::output::program_path(arguments);
    }
    CommandOutcome::same(state)
}

/// `hash -p PATH NAME`: the name stands for the program from now on.
fn hash(_: &mut Interpreter, arguments: &[ShellField], mut state: ShellState, _: &CommandContext) -> CommandOutcome {
    if let [option, path, name] = arguments
        && let ("-p", Some(path), Some(name)) = (option.text.as_str(), path.known(), name.known())
    {
        state.add_alias(name, path);
    }
    CommandOutcome::same(state)
}

/// A quoted `$(` in an index runs when the variable is looked up.
fn test(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    for field in arguments.iter().filter(|field| field.text.contains("$(") || field.text.contains('`')) {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, "test");
        interpreter.keep_possible_code(&field.text);
    }
    CommandOutcome::same(state)
}

fn leave(_: &mut Interpreter, _: &[ShellField], mut state: ShellState, _: &CommandContext) -> CommandOutcome {
    state.ended = true;
    CommandOutcome::same(state)
}

fn cd(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    interpreter.output = Some(String::new());
    let target = arguments.iter().find(|field| !matches!(field.text.as_str(), "-P" | "-L" | "-e" | "--"));
    let directories = match target {
        None => state.home().map_or(WorkingDirectories::Unknown, |home| WorkingDirectories::at(&home)),
        Some(field) if field.known() == Some("-") => state.previous.clone(),
        Some(field) => target_directories(field, &state),
    };
    go(state, directories)
}

fn target_directories(field: &ShellField, state: &ShellState) -> WorkingDirectories {
    // A pattern leads to something that it matches, and is judged as such.
    let paths = field.exact.then(|| state.directories.resolve(&field.text)).flatten();
    paths.map_or(WorkingDirectories::Unknown, WorkingDirectories::Known)
}

/// The folder changes only if the command worked.
fn go(state: ShellState, directories: WorkingDirectories) -> CommandOutcome {
    let failure = state.clone();
    let mut success = state;
    success.previous = std::mem::replace(&mut success.directories, directories);
    CommandOutcome { success, failure }
}

fn pushd(_: &mut Interpreter, arguments: &[ShellField], state: ShellState, _: &CommandContext) -> CommandOutcome {
    let plain = arguments.first().filter(|field| !field.text.starts_with(['+', '-']));
    let directories = plain.map_or(WorkingDirectories::Unknown, |field| target_directories(field, &state));
    let here = state.directories.clone();
    let mut outcome = go(state, directories);
    outcome.success.stack.push(here);
    outcome
}

fn popd(_: &mut Interpreter, arguments: &[ShellField], mut state: ShellState, _: &CommandContext) -> CommandOutcome {
    let top = state.stack.pop().filter(|_| arguments.is_empty());
    go(state, top.unwrap_or(WorkingDirectories::Unknown))
}

fn pwd(interpreter: &mut Interpreter, _: &[ShellField], state: ShellState, _: &CommandContext) -> CommandOutcome {
    if let WorkingDirectories::Known(folders) = &state.directories {
        if folders.len() > 1 {
            interpreter.recorder.unknown(UnknownReason::UnknownDirectory, "pwd");
        }
        // The first one is where a `cd` before it leads.
        interpreter.output = folders.first().map(|folder| format!("{folder}\n"));
    }
    CommandOutcome::same(state)
}

fn echo(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    interpreter.output = super::output::echo(arguments);
    note_escapes(interpreter, arguments);
    CommandOutcome::same(state)
}

fn printf(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    mut state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    if let Some(at) = arguments.iter().position(|field| field.text.starts_with("-v") || field.may_hide_option()) {
        match arguments.get(at).map(|field| field.text.as_str()) {
            Some("-v") => {
                let printed = super::output::printf(arguments.get(at + 2..).unwrap_or_default());
                match (printed, arguments.get(at + 1).and_then(ShellField::known).filter(|name| is_plain_name(name))) {
                    (Some(text), Some(name)) => interpreter.set_variable(name, VariableValue::Known(text), &mut state),
                    _ => forget(interpreter, arguments.get(at + 1), &mut state),
                }
            }
            _ => state.forget_variables(),
        }
        return CommandOutcome::same(state);
    }
    interpreter.output = super::output::printf(arguments);
    note_escapes(interpreter, arguments);
    CommandOutcome::same(state)
}

/// Letters that are spelled by their numbers hide what is written.
fn note_escapes(interpreter: &mut Interpreter, arguments: &[ShellField]) {
    let spelled = |text: &str| {
        text.split('\\').skip(1).any(|rest| {
            rest.starts_with('x') || rest.starts_with('u') || rest.starts_with(|c: char| ('1'..='7').contains(&c))
        })
    };
    if arguments.iter().any(|field| spelled(&field.text)) {
        interpreter.note_decoded();
    }
}

fn eval(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    context: &CommandContext,
) -> CommandOutcome {
    let words: Option<Vec<&str>> = arguments.iter().map(ShellField::known).collect();
    match words {
        Some(words) => interpreter.script(&words.join(" "), state, &context.wrapped("eval")),
        None => {
            interpreter.recorder.code(UnknownReason::UnresolvedCode, "eval");
            for field in arguments {
                interpreter.recorder.opaque_text(&field.raw);
            }
            forget_everything(state)
        }
    }
}

fn source(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    context: &CommandContext,
) -> CommandOutcome {
    if let Some(file) = arguments.first() {
        let standard_input = matches!(file.known(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"));
        let text = match &context.stdin {
            Stdin::Text(text) if standard_input => Some(text.clone()),
            _ => interpreter.written_text(file, &state),
        };
        if let Some(text) = text {
            return interpreter.script(&text, state, &context.wrapped("source"));
        }
        interpreter.recorder.touch(&state, file, Access::Read, EffectReach::Itself);
    }
    interpreter.recorder.code(UnknownReason::UnresolvedCode, "source");
    forget_everything(state)
}

/// After code that is not seen, nothing of the shell's state is known.
fn forget_everything(mut state: ShellState) -> CommandOutcome {
    state.forget_variables();
    state.directories = WorkingDirectories::Unknown;
    CommandOutcome::same(state)
}

fn exec(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    context: &CommandContext,
) -> CommandOutcome {
    let skip = arguments.iter().take_while(|field| matches!(field.text.as_str(), "-c" | "-l" | "--")).count();
    let rest = arguments.get(skip..).unwrap_or_default();
    match rest.first() {
        None => CommandOutcome::same(state),
        Some(first) if first.text == "-a" => {
            let rest = rest.get(2..).unwrap_or_default();
            interpreter.invoke(rest, state, &context.wrapped("exec"), CommandLookup::Programs)
        }
        Some(_) => interpreter.invoke(rest, state, &context.wrapped("exec"), CommandLookup::Programs),
    }
}

fn command(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    context: &CommandContext,
) -> CommandOutcome {
    let asks = arguments.iter().take_while(|field| field.text.starts_with('-'));
    if asks.clone().any(|field| field.text.contains(['v', 'V'])) {
        interpreter.output = super::output::program_path(arguments);
        return CommandOutcome::same(state);
    }
    let rest = arguments.get(asks.count()..).unwrap_or_default();
    interpreter.invoke(rest, state, &context.wrapped("command"), CommandLookup::Programs)
}

fn builtin(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    context: &CommandContext,
) -> CommandOutcome {
    interpreter.invoke(arguments, state, &context.wrapped("builtin"), CommandLookup::Programs)
}

fn trap(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    state: ShellState,
    context: &CommandContext,
) -> CommandOutcome {
    let arguments = match arguments.split_first() {
        Some((first, rest)) if first.text == "--" => rest,
        _ => arguments,
    };
    let Some((handler, [_, ..])) = arguments.split_first() else {
        return CommandOutcome::same(state);
    };
    match handler.known() {
        Some("-" | "" | "-p" | "-l") => {}
        Some(code) => {
            interpreter.script(code, state.clone(), &context.wrapped("trap"));
        }
        None => interpreter.recorder.code(UnknownReason::UnresolvedCode, "trap"),
    }
    CommandOutcome::same(state)
}

fn alias(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    mut state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    for field in arguments {
        match field.text.split_once('=') {
            Some((name, meaning)) if field.exact => state.add_alias(name, meaning),
            None if field.exact => {}
            _ => interpreter.recorder.code(UnknownReason::UnresolvedCode, "alias"),
        }
    }
    CommandOutcome::same(state)
}

fn set(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    mut state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    let mut words = arguments.iter();
    while let Some(field) = words.next() {
        let text = field.text.as_str();
        if text == "--" || !text.starts_with(['-', '+']) {
            let rest = words.as_slice().iter().cloned();
            let own = (text != "--").then(|| field.clone());
            state.positional = Some(std::rc::Rc::new(own.into_iter().chain(rest).collect()));
            break;
        }
        let named = text.ends_with('o').then(|| words.next().map(|name| name.text.as_str())).flatten();
        // Every word that looks like an assignment then reaches the program's environment.
        if text.contains('k') || named == Some("keyword") {
            interpreter.recorder.unknown(UnknownReason::Environment, "set -k");
        }
        if text.contains('e') || named == Some("errexit") {
            state.on_error = if text.starts_with('-') { OnError::Exit } else { OnError::Continue };
        }
    }
    CommandOutcome::same(state)
}

fn shift(_: &mut Interpreter, arguments: &[ShellField], mut state: ShellState, _: &CommandContext) -> CommandOutcome {
    let count = arguments.first().map_or(Some(1), |field| field.known()?.parse::<usize>().ok());
    let left = state.positional.as_ref().zip(count).and_then(|(words, count)| words.get(count..));
    state.positional = left.map(|words| std::rc::Rc::new(words.to_vec()));
    CommandOutcome::same(state)
}

/// `mapfile` and `readarray`: the lines of the input become a list.
fn read_lines(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    mut state: ShellState,
    context: &CommandContext,
) -> CommandOutcome {
    if arguments.iter().any(|field| field.text.starts_with('-') && field.text.contains('C')) {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, "mapfile");
        for field in arguments {
            interpreter.keep_possible_code(&field.text);
        }
    }
    let known = match &context.stdin {
        Stdin::Text(text) => interpreter.map_lines(arguments, text, &mut state),
        _ => false,
    };
    if !known {
        state.assign("MAPFILE", VariableValue::Unknown);
        for field in arguments.iter().filter(|field| !field.text.starts_with('-') || !field.exact) {
            forget(interpreter, Some(field), &mut state);
        }
    }
    CommandOutcome::same(state)
}

fn read(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    mut state: ShellState,
    context: &CommandContext,
) -> CommandOutcome {
    // The index of a name is evaluated: `read 'a[$(...)]'`.
    for field in arguments.iter().filter(|field| field.text.contains('[')) {
        interpreter.keep_possible_code(&field.text);
    }
    for name in ["REPLY", "OPTARG", "OPTIND"] {
        state.assign(name, VariableValue::Unknown);
    }
    if let Stdin::Text(text) = &context.stdin
        && interpreter.read_line(arguments, text.lines().next().unwrap_or_default(), &mut state)
    {
        return CommandOutcome::same(state);
    }
    for field in arguments.iter().filter(|field| !field.text.starts_with('-') || !field.exact) {
        forget(interpreter, Some(field), &mut state);
    }
    CommandOutcome::same(state)
}

fn arithmetic(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    mut state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    for field in arguments {
        if !field.exact || field.text.contains("$(") || field.text.contains(['`', '[']) {
            interpreter.recorder.code(UnknownReason::UnresolvedCode, "let");
            interpreter.keep_possible_code(&field.text);
        }
        let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
        for name in field.text.split(|c| !is_name(c)) {
            let held = state.variable(name);
            let number = !matches!(&held, VariableValue::Known(text) if !text.chars().all(|c| c.is_ascii_digit()));
            if !number {
                interpreter.recorder.code(UnknownReason::UnresolvedCode, name);
            }
            state.assign(name, VariableValue::Unknown);
        }
    }
    CommandOutcome::same(state)
}

/// `export`, `declare`, `unset` and the like where the grammar did not see them as such.
fn names(
    interpreter: &mut Interpreter,
    arguments: &[ShellField],
    mut state: ShellState,
    _: &CommandContext,
) -> CommandOutcome {
    interpreter.declare_words(arguments, &mut state);
    CommandOutcome::same(state)
}

/// The variable gets a value that is not known; a computed name may be any variable.
pub(super) fn forget(interpreter: &mut Interpreter, name: Option<&ShellField>, state: &mut ShellState) {
    match name.and_then(ShellField::known) {
        Some(name) if is_plain_name(name) => interpreter.set_variable(name, VariableValue::Unknown, state),
        Some(name) if name.contains("$(") || name.contains('`') => {
            interpreter.recorder.code(UnknownReason::UnresolvedCode, "[");
            interpreter.keep_possible_code(name);
        }
        _ => state.forget_variables(),
    }
}

pub(super) fn is_plain_name(name: &str) -> bool {
    name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}
