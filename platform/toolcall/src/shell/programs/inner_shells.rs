//! Programs whose own commands can start a shell: database clients, debuggers, `make`, containers that see the disk.
//!
//! Pure.

use super::super::command::{CommandLookup, Invocation};
use super::super::field::ShellField;
use super::super::interpreter::{CommandContext, Interpreter, Lifetime, Stdin};
use super::super::runners;
use super::super::wrappers::enter;

/// Programs, and how a line begins that the shell is to run.
const ESCAPES: &[(&[&str], &[&str])] = &[
    (&["psql", "pgcli"], &["\\!"]),
    (&["mysql", "mariadb", "mycli"], &["\\!", "system "]),
    (&["sqlite3", "litecli", "duckdb"], &[".shell ", ".system "]),
    (&["gdb"], &["shell ", "!", "python "]),
    (&["lldb"], &["platform shell ", "script "]),
    (&["ftp", "sftp", "lftp", "telnet", "mail", "mailx", "bc", "irb"], &["!"]),
    (&["tclsh", "wish", "expect"], &["exec ", "spawn ", "system "]),
];

/// Runs what a program hands to a shell; its other effects are told elsewhere.
pub(super) fn follow(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    match call.program {
        "make" | "gmake" | "bmake" => make(interpreter, call),
        "docker" | "podman" | "nerdctl" => container(interpreter, call),
        "cmake" => elsewhere(interpreter, call),
        "npm" | "pnpm" => package_scripts(interpreter, call),
        "gdb" | "lldb" if call.arguments.iter().any(|word| word.text == "--args") => {
            let at = call.arguments.iter().position(|word| word.text == "--args").unwrap_or(0);
            let rest = call.arguments.get(at + 1..).unwrap_or_default();
            interpreter.invoke(rest, call.state.clone(), &call.context.wrapped(call.program), CommandLookup::Programs);
        }
        _ => {}
    }
    let Some((_, marks)) = ESCAPES.iter().find(|(names, _)| names.contains(&call.program)) else {
        return;
    };
    let mut lines: Vec<String> = call.arguments.iter().map(|word| word.text.clone()).collect();
    if let Stdin::Text(text) = &call.context.stdin {
        lines.extend(text.lines().map(str::to_owned));
    }
    if matches!(call.program, "tclsh" | "wish" | "expect") {
        lines = lines.iter().flat_map(|line| line.split([';', '\n', '[', '{'])).map(str::to_owned).collect();
    }
    let context = call.context.wrapped(call.program);
    for line in &lines {
        let code = marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark));
        if let Some(code) = code.filter(|code| !code.trim().is_empty()) {
            interpreter.script(code.trim(), call.state.child(), &context);
        }
    }
}

/// The recipes of a makefile that is part of the command.
fn make(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let mut texts: Vec<String> = Vec::new();
    for file in runners::option_texts(call.arguments, &["-f", "--file"]).into_iter().cloned().collect::<Vec<_>>() {
        match (file.text.as_str(), &call.context.stdin) {
            ("-" | "/dev/stdin", Stdin::Text(text)) => texts.push(text.clone()),
            _ => texts.extend(interpreter.written_text(&file, call.state)),
        }
    }
    texts.extend(interpreter.written_text(&ShellField::literal("Makefile"), call.state));
    texts.extend(runners::attached_texts(call.arguments, &["--eval", "-E"]).into_iter().map(str::to_owned));
    texts.extend(runners::option_texts(call.arguments, &["--eval", "-E"]).into_iter().map(|word| word.text.clone()));
    let context = call.context.wrapped(call.program);
    for text in &texts {
        for line in text.lines() {
            let recipe = line
                .strip_prefix('\t')
                .or_else(|| line.split_once(":;").or(line.split_once(": ;")).map(|(_, recipe)| recipe));
            if let Some(recipe) = recipe {
                interpreter.script(recipe.trim_start_matches(['@', '-', '+', ' ']), call.state.child(), &context);
            }
        }
    }
}

/// `npm pkg set scripts.x='COMMAND'`.
fn package_scripts(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let [first, verb, rest @ ..] = call.arguments else {
        return;
    };
    if first.text != "pkg" || verb.text != "set" {
        return;
    }
    let texts = rest.iter().filter_map(|word| word.known()?.strip_prefix("scripts.")?.split_once('='));
    let texts: Vec<String> = texts.map(|(_, text)| text.to_owned()).collect();
    let context = CommandContext { lifetime: Lifetime::Bounded, ..call.context.wrapped(call.program) };
    for text in &texts {
        interpreter.speculate(|interpreter| {
            interpreter.script(text, call.state.child(), &context);
        });
    }
}

/// `cmake -E chdir FOLDER COMMAND`.
fn elsewhere(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    if let [first, verb, folder, rest @ ..] = call.arguments
        && first.text == "-E"
        && verb.text == "chdir"
    {
        let mut state = call.state.clone();
        enter(folder, &mut state);
        interpreter.invoke(rest, state, &call.context.wrapped(call.program), CommandLookup::Programs);
    }
}

/// `--mount type=bind,source=FOLDER,target=PLACE`.
fn bind_mount(text: &str) -> Option<(String, String)> {
    let text = text.strip_prefix("--mount=").unwrap_or(text);
    let field = |names: &[&str]| {
        text.split(',')
            .filter_map(|part| part.split_once('='))
            .find(|(name, _)| names.contains(name))
            .map(|(_, value)| value)
    };
    let (source, target) = (field(&["source", "src"])?, field(&["target", "dst", "destination"])?);
    text.contains("type=bind").then(|| (source.to_owned(), target.to_owned()))
}

/// `docker run -v /:/host IMAGE rm -rf /host`: what lies behind the mounted folder is this machine's.
fn container(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let mut mounts: Vec<(String, String)> = Vec::new();
    for (at, word) in call.arguments.iter().enumerate() {
        let text = word.text.as_str();
        let value = match text {
            "-v" | "--volume" => call
                .arguments
                .get(at + 1)
                .map(|next| if next.raw.starts_with("~:") { next.raw.as_str() } else { &next.text }),
            _ => text.strip_prefix("--volume=").or_else(|| text.strip_prefix("-v").filter(|rest| rest.contains(':'))),
        };
        mounts.extend(bind_mount(text).or_else(|| {
            let next = (text == "--mount").then(|| call.arguments.get(at + 1)).flatten()?;
            bind_mount(&next.text)
        }));
        let mut parts = value.unwrap_or_default().split(':');
        if let (Some(source), Some(target)) =
            (parts.next().filter(|source| source.starts_with(['/', '~', '.'])), parts.next())
        {
            let home = source.strip_prefix('~').zip(call.state.home());
            let source = home.map_or_else(|| source.to_owned(), |(rest, home)| format!("{home}{rest}"));
            mounts.push((source, target.to_owned()));
        }
    }
    if mounts.is_empty() {
        return;
    }
    let moved = |text: &str| -> String {
        mounts.iter().fold(text.to_owned(), |text, (source, target)| {
            let source = source.trim_end_matches('/');
            let text = text.replace(&format!(" {target}"), &format!(" {source}/"));
            match text.strip_prefix(target.as_str()) {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                    format!("{source}/{}", rest.trim_start_matches('/'))
                }
                _ => text,
            }
        })
    };
    let fields: Vec<ShellField> = call
        .arguments
        .iter()
        .map(|word| match word.exact {
            true => ShellField { text: moved(&word.text), ..word.clone() },
            false => word.clone(),
        })
        .collect();
    let text: Vec<&str> = fields.iter().map(ShellField::shown).collect();
    interpreter.keep_possible_code(&text.join(" "));
    runners::search(interpreter, &fields, call);
}
