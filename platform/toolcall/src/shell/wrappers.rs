//! Programs that run another program: `sudo`, `env`, `timeout`, `xargs`, `sh -c` and the like.
//!
//! Pure.

use super::arguments::{Arguments, OptionSyntax};
use super::command::{CommandLookup, Invocation};
use super::effects::UnknownReason;
use super::environment;
use super::field::{ShellField, VariableValue};
use super::interpreter::{CommandContext, Interpreter, Lifetime, Stdin};
use super::state::{ShellState, WorkingDirectories};

/// A wrapper whose options come first and whose command is the rest.
struct WrapperProgram {
    /// Letters of short options with a value.
    short: &'static str,
    /// Long options with a value.
    long: &'static [&'static str],
    /// Operands before the command.
    operands: usize,
}

const fn plain(short: &'static str, long: &'static [&'static str], operands: usize) -> WrapperProgram {
    WrapperProgram { short, long, operands }
}

fn find(program: &str) -> Option<WrapperProgram> {
    Some(match program {
        "nohup" | "setsid" | "unbuffer" | "catchsegv" | "coproc" | "rlwrap" | "chronic" => plain("", &[], 0),
        "time" => plain("fo", &["--format", "--output"], 0),
        "timeout" | "gtimeout" => plain("ks", &["--kill-after", "--signal"], 1),
        "nice" => plain("n", &["--adjustment"], 0),
        "ionice" => plain("cnpPu", &["--class", "--classdata"], 0),
        "chrt" | "taskset" => plain("p", &[], 1),
        "stdbuf" => plain("ioe", &["--input", "--output", "--error"], 0),
        "sudo" => plain(
            "ugpCDhrtRTU",
            &["--user", "--group", "--prompt", "--chdir", "--host", "--role", "--type", "--chroot"],
            0,
        ),
        "doas" => plain("uC", &[], 0),
        "busybox" | "toybox" => plain("", &[], 0),
        "caffeinate" => plain("tw", &[], 0),
        "flock" => plain("wE", &["--timeout", "--conflict-exit-code"], 1),
        "strace" | "ltrace" => plain("eopsEau", &[], 0),
        _ => return None,
    })
}

/// Runs the wrapped command; `false` if the program is not a wrapper.
pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    match call.program {
        "env" => env(interpreter, call),
        "xargs" => xargs(interpreter, call),
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "mksh" | "rbash" => shell(interpreter, call),
        "watch" => watch(interpreter, call),
        "su" | "runuser" | "chroot" | "unshare" | "nsenter" | "systemd-run" | "script" | "parallel" | "entr" | "at"
        | "batch" | "screen" | "tmux" | "expect" | "fish" | "csh" | "tcsh" | "pwsh" | "powershell" | "cmd.exe"
        | "osascript" => interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program),
        _ => match find(call.program) {
            Some(wrapper) => plain_wrapper(interpreter, call, &wrapper),
            None => return false,
        },
    }
    true
}

fn plain_wrapper(interpreter: &mut Interpreter, call: &Invocation<'_>, wrapper: &WrapperProgram) {
    let Some((options, rest)) = leading_options(call.arguments, wrapper) else {
        interpreter.recorder.code(UnknownReason::Option, call.program);
        return;
    };
    let mut context = call.context.wrapped(call.program);
    let mut state = call.state.clone();
    if call.program.ends_with("timeout") && rest.first().is_some_and(|field| field.text != "0") {
        context.lifetime = Lifetime::Bounded;
    }
    let parsed = Arguments::parse(options, OptionSyntax { short: wrapper.short, long: wrapper.long });
    wrapper_options(interpreter, call, &parsed, &mut state);
    let rest = rest.get(wrapper.operands..).unwrap_or_default();
    let skip = rest.iter().take_while(|field| is_sudo_assignment(call.program, field)).count();
    for field in rest.iter().take(skip) {
        assign(interpreter, field, &mut state);
    }
    let rest = rest.get(skip..).unwrap_or_default();
    if rest.iter().any(|field| matches!(field.text.as_str(), "{" | "("))
        && rest.first().is_some_and(|field| field.text == "{")
    {
        interpreter.recorder.unknown(UnknownReason::Syntax, "{");
        return;
    }
    interpreter.invoke(rest, state, &context, CommandLookup::Programs);
}

fn wrapper_options(interpreter: &mut Interpreter, call: &Invocation<'_>, parsed: &Arguments, state: &mut ShellState) {
    let writes = match call.program {
        "time" => &["-o", "--output"][..],
        "strace" | "ltrace" => &["-o"][..],
        _ => &[],
    };
    for field in parsed.values(writes) {
        interpreter.recorder.touch(
            call.state,
            field,
            crate::access::Access::Write,
            super::recorder::EffectReach::Itself,
        );
    }
    if call.program == "sudo" {
        if parsed.has(&["-e", "--edit", "-s", "--shell", "-i", "--login"]) {
            interpreter.recorder.code(UnknownReason::UnresolvedCode, "sudo");
        }
        for field in parsed.values(&["-D", "--chdir"]) {
            enter(field, state);
        }
        // Another user has another home.
        state.assign("HOME", VariableValue::Unknown);
    }
    if call.program == "flock" && parsed.has(&["-c", "--command"]) {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, "flock");
    }
}

fn enter(field: &ShellField, state: &mut ShellState) {
    let paths = field.known().and_then(|text| state.directories.resolve(text));
    state.directories = paths.map_or(WorkingDirectories::Unknown, WorkingDirectories::Known);
}

fn is_sudo_assignment(program: &str, field: &ShellField) -> bool {
    matches!(program, "sudo" | "doas") && is_assignment(field)
}

fn is_assignment(field: &ShellField) -> bool {
    field
        .text
        .split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()))
}

fn assign(interpreter: &mut Interpreter, field: &ShellField, state: &mut ShellState) {
    if let Some((name, value)) = field.text.split_once('=') {
        let value = if field.exact { VariableValue::Known(value.to_owned()) } else { VariableValue::Unknown };
        if environment::changes_programs(name, &value) {
            interpreter.recorder.code(UnknownReason::Environment, name);
        }
        state.assign(name, value);
    }
}

/// The options before the first operand, and the rest; `None` if a computed word may hide one.
fn leading_options<'a>(
    words: &'a [ShellField],
    wrapper: &WrapperProgram,
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
    let wrapper = plain("uCS", &["--unset", "--chdir", "--split-string"], 0);
    let Some((options, rest)) = leading_options(call.arguments, &wrapper) else {
        interpreter.recorder.code(UnknownReason::Option, "env");
        return;
    };
    let parsed = Arguments::parse(options, OptionSyntax { short: wrapper.short, long: wrapper.long });
    let mut state = call.state.clone();
    for field in parsed.values(&["-C", "--chdir"]) {
        enter(field, &mut state);
    }
    if parsed.has(&["-S", "--split-string"]) {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, "env -S");
        return;
    }
    let count = rest.iter().take_while(|field| is_assignment(field)).count();
    for field in rest.iter().take(count) {
        assign(interpreter, field, &mut state);
    }
    let rest = rest.get(count..).unwrap_or_default();
    interpreter.invoke(rest, state, &call.context.wrapped("env"), CommandLookup::Programs);
}

fn xargs(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let wrapper = plain(
        "adEeIiLlnPs",
        &["--arg-file", "--delimiter", "--eof", "--replace", "--max-lines", "--max-args", "--max-procs", "--max-chars"],
        0,
    );
    let Some((options, rest)) = leading_options(call.arguments, &wrapper) else {
        interpreter.recorder.code(UnknownReason::Option, "xargs");
        return;
    };
    let parsed = Arguments::parse(options, OptionSyntax { short: wrapper.short, long: wrapper.long });
    for field in parsed.values(&["-a", "--arg-file"]) {
        interpreter.recorder.touch(
            call.state,
            field,
            crate::access::Access::Read,
            super::recorder::EffectReach::Itself,
        );
    }
    let mark = parsed.values(&["-I", "--replace", "-i"]).next().map(|field| field.text.clone());
    let mut words: Vec<ShellField> = rest.to_vec();
    if words.is_empty() {
        return;
    }
    match mark.filter(|mark| !mark.is_empty()) {
        Some(mark) => {
            for word in words.iter_mut().filter(|word| word.text.contains(&mark)) {
                let before = word.text.split(&mark).next().unwrap_or_default().to_owned();
                *word = ShellField { text: before, exact: false, splits: false, ..word.clone() };
            }
        }
        None => words.extend(input_words(&call.context.stdin, &parsed)),
    }
    let context = call.context.wrapped("xargs").with_stdin(Stdin::Computed);
    interpreter.invoke(&words, call.state.clone(), &context, CommandLookup::Programs);
}

/// What `xargs` appends: the words of its input where that is plain text.
fn input_words(stdin: &Stdin, parsed: &Arguments) -> Vec<ShellField> {
    match stdin {
        Stdin::Text(text) if parsed.options.is_empty() && !text.contains(['\'', '"', '\\']) => {
            text.split_whitespace().map(ShellField::literal).collect()
        }
        _ => vec![ShellField::unknown("xargs input")],
    }
}

fn watch(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    if call.context.lifetime == Lifetime::Open {
        interpreter.recorder.unbounded(super::unbounded::UnboundedKind::Endless, "watch");
    }
    let wrapper = plain("nq", &["--interval"], 0);
    let code = leading_options(call.arguments, &wrapper).and_then(|(_, rest)| {
        let words: Option<Vec<&str>> = rest.iter().map(ShellField::known).collect();
        words.map(|words| words.join(" "))
    });
    match code {
        Some(code) => {
            interpreter.script(&code, call.state.clone(), &call.context.wrapped("watch"));
        }
        None => interpreter.recorder.code(UnknownReason::UnresolvedCode, "watch"),
    }
}

/// A shell: a text with `-c`, a script file, or code from standard input.
fn shell(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let wrapper = plain("oO", &["--rcfile", "--init-file"], 0);
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
        interpreter.recorder.code(UnknownReason::UnresolvedCode, &file.raw);
    } else if options.iter().any(|field| matches!(field.text.as_str(), "--version" | "--help")) {
    } else {
        match &call.context.stdin {
            Stdin::Text(text) => {
                let text = text.clone();
                interpreter.script(&text, fresh(call.state, &[]), &context.with_stdin(Stdin::Inherited));
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
        None => interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program),
    }
}

/// A new shell knows the folder, but variables and functions only if they were exported.
fn fresh(state: &ShellState, arguments: &[ShellField]) -> ShellState {
    let mut inner = state.child();
    inner.positional = Some(std::rc::Rc::new(arguments.to_vec()));
    inner
}
