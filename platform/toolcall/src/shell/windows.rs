//! PowerShell and `cmd`: what their commands remove, write and run, as far as their words are plain.
//!
//! Not a parser: statements are cut at their separators and judged one by one.
//!
//! Pure.

mod cut;

use std::collections::BTreeMap;

use super::command::CommandLookup;
use super::effects::{SimpleCommand, UnknownReason};
use super::field::ShellField;
use super::foreign::{self, Language};
use super::interpreter::{CommandContext, Interpreter};
use super::output;
use super::recorder::EffectReach;
use super::runners;
use super::state::ShellState;
use super::unbounded::UnboundedKind;
use crate::access::Access;
use cut::WindowsStatement;

/// Statements of one text that are looked at.
const MAX_STATEMENTS: usize = 256;

/// Judges a call of `pwsh`, `powershell` or `cmd`; what they are told to run stands in their words.
pub(super) fn run(
    interpreter: &mut Interpreter,
    program: &str,
    words: &[ShellField],
    state: &ShellState,
    context: &CommandContext,
) {
    interpreter.recorder.code(UnknownReason::ForeignShell, program);
    let context = context.wrapped(program);
    let lower: Vec<String> = words.iter().map(|word| word.text.to_ascii_lowercase()).collect();
    if program.starts_with("cmd") {
        let at = lower.iter().position(|word| matches!(word.as_str(), "/c" | "/k" | "/r" | "-c"));
        let rest = at.and_then(|at| words.get(at + 1..)).unwrap_or_default();
        let text: Vec<&str> =
            rest.iter().map(|word| if word.exact { word.text.as_str() } else { word.raw.as_str() }).collect();
        judge(interpreter, &text.join(" "), state, &context);
        return;
    }
    for (at, option) in lower.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
        let is = |name: &str, least: usize| option.len() > least && name.starts_with(option.trim_start_matches('-'));
        let Some(value) = words.get(at + 1..).filter(|rest| !rest.is_empty()) else {
            continue;
        };
        if is("encodedcommand", 1) || option == "-ec" {
            let text = value.first().and_then(|word| output::base64_bytes(&word.text)).map(|bytes| utf16(&bytes));
            judge(interpreter, &text.unwrap_or_default(), state, &context);
            return;
        }
        if is("command", 1) {
            let text: Vec<&str> = value
                .iter()
                .map(|word| if word.exact { word.text.as_str() } else { word.raw.trim_matches('"') })
                .collect();
            judge(interpreter, &text.join(" "), state, &context);
            return;
        }
    }
    if let super::interpreter::Stdin::Text(text) = &context.stdin.clone() {
        judge(interpreter, text, state, &context);
    } else if words.first().is_some_and(|word| !word.text.starts_with('-'))
        && runners::option_texts(words, &["-File"]).is_empty()
    {
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        judge(interpreter, &text.join(" "), state, &context);
    }
}

fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// Records what a text for PowerShell or `cmd` does.
pub(super) fn judge(interpreter: &mut Interpreter, text: &str, state: &ShellState, context: &CommandContext) {
    let Some(context) = &context.deeper() else {
        interpreter.recorder.code(UnknownReason::TooDeep, "");
        return;
    };
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    let home = state.home().unwrap_or_else(|| "~".to_owned());
    for name in ["home", "env:userprofile", "env:home", "env:homepath", "~"] {
        variables.insert(name.to_owned(), home.clone());
    }
    variables.insert("env:systemdrive".to_owned(), "C:".to_owned());
    variables.insert("env:homedrive".to_owned(), "C:".to_owned());
    variables.insert("env:systemroot".to_owned(), "C:\\Windows".to_owned());
    variables.insert("profile".to_owned(), format!("{home}/.config/powershell/profile.ps1"));
    let mut aliases: BTreeMap<String, String> = BTreeMap::new();
    let mut before: Option<WindowsStatement> = None;
    for mut statement in cut::statements(text, &mut variables).into_iter().take(MAX_STATEMENTS) {
        let name = statement.name().unwrap_or_default();
        if let (Some(meaning), Some(first)) = (aliases.get(&name), statement.words.first_mut()) {
            first.clone_from(meaning);
        }
        if let ("set-alias" | "new-alias" | "sal" | "nal", [alias, meaning, ..]) =
            (name.as_str(), statement.operands().as_slice())
        {
            aliases.insert(alias.to_ascii_lowercase(), (*meaning).to_owned());
        }
        one(interpreter, &statement, before.as_ref(), state, context);
        before = Some(statement);
    }
    let lower = text.to_ascii_lowercase();
    if lower.contains("[scriptblock]::create")
        && ["irm", "iwr", "invoke-webrequest", "invoke-restmethod", "downloadstring"]
            .iter()
            .any(|name| lower.contains(name))
    {
        list(interpreter, "curl", &["curl".to_owned()], (state, context));
        list(interpreter, "eval", &["eval".to_owned(), "$(curl)".to_owned()], (state, context));
    }
    if text.contains("::") || text.contains(".Delete") {
        foreign::judge(interpreter, Language::Other, text, state, context);
    }
}

fn one(
    interpreter: &mut Interpreter,
    statement: &WindowsStatement,
    before: Option<&WindowsStatement>,
    state: &ShellState,
    context: &CommandContext,
) {
    for file in &statement.outputs {
        touch(interpreter, state, file, Access::Write);
    }
    let Some(name) = statement.name() else {
        return;
    };
    let words = &statement.words;
    match cmdlet(&name) {
        "remove-item" => remove(interpreter, statement, before, state),
        "set-content"
            if name == "sc"
                && words
                    .get(1)
                    .is_some_and(|word| ["stop", "delete", "config", "query", "start"].contains(&word.as_str())) =>
        {
            list(interpreter, "sc.exe", words, (state, context));
        }
        "set-content" => {
            for path in statement
                .values(&["-path", "-filepath", "-literalpath", "-name"])
                .into_iter()
                .chain(statement.operands().into_iter().take(1))
            {
                touch(interpreter, state, path, Access::Write);
            }
        }
        kind @ ("copy-item" | "move-item") => {
            let operands = statement.operands();
            let target =
                statement.values(&["-destination", "-newname"]).into_iter().next().or(operands.get(1).copied());
            if let Some(target) = target {
                touch(interpreter, state, target, Access::Write);
            }
            let source = statement.values(&["-path", "-literalpath"]).into_iter().next().or(operands.first().copied());
            if let (Some(source), "move-item") = (source, kind) {
                touch(interpreter, state, source, Access::Delete);
            }
        }
        "invoke-expression" => {
            let fetched =
                before.and_then(WindowsStatement::name).is_some_and(|name| cmdlet(&name) == "invoke-webrequest")
                    || words.iter().any(|word| matches!(cmdlet(&word.to_ascii_lowercase()), "invoke-webrequest"))
                    || statement.opens_group;
            if fetched {
                list(interpreter, "curl", &["curl".to_owned()], (state, context));
                list(interpreter, "eval", &["eval".to_owned(), "$(curl)".to_owned()], (state, context));
            }
            for text in statement.operands() {
                judge(interpreter, text, state, context);
            }
        }
        "start-process" => {
            let mut command: Vec<&str> = statement.values(&["-filepath"]);
            command.extend(statement.operands());
            let arguments = statement.values(&["-argumentlist", "-args"]);
            let text = command.into_iter().chain(arguments).collect::<Vec<_>>().join(" ");
            judge(interpreter, &text, state, context);
        }
        "get-content" => {
            for path in statement.values(&["-path", "-literalpath"]).into_iter().chain(statement.operands()) {
                touch(interpreter, state, path, Access::Read);
            }
            list(interpreter, "cat", words, (state, context));
        }
        "invoke-webrequest" => {
            let mut sent = vec!["curl".to_owned()];
            for file in statement.values(&["-outfile"]) {
                touch(interpreter, state, file, Access::Write);
                sent.extend(["-o".to_owned(), file.to_owned()]);
            }
            for file in statement.values(&["-infile"]) {
                sent.extend(["-T".to_owned(), file.to_owned()]);
            }
            sent.extend(words.iter().skip(1).cloned());
            list(interpreter, "curl", &sent, (state, context));
        }
        "stop-process" => {
            let all = before.is_some_and(|before| {
                let name = before.name().unwrap_or_default();
                matches!(name.as_str(), "get-process" | "gps" | "ps") && before.words.len() == 1
            });
            let mut words = words.clone();
            words.extend(all.then(|| "*".to_owned()));
            list(interpreter, "stop-process", &words, (state, context));
        }
        "format" => {
            for drive in statement.operands().into_iter().filter(|word| word.ends_with(':')) {
                interpreter.recorder.unbounded(UnboundedKind::DeviceWrite, drive);
            }
        }
        "pwsh" | "powershell" | "cmd" => {
            let fields: Vec<ShellField> = words.iter().skip(1).map(|word| ShellField::literal(word)).collect();
            run(interpreter, cmdlet(&name), &fields, state, context);
        }
        other => {
            if other.contains('-') || other == "shutdown" {
                list(interpreter, other, words, (state, context));
            } else {
                let fields: Vec<ShellField> = words.iter().map(|word| ShellField::literal(word)).collect();
                interpreter.invoke(&fields, state.clone(), context, CommandLookup::Programs);
            }
        }
    }
}

/// The full name of what is often written short.
fn cmdlet(name: &str) -> &str {
    match name.strip_suffix(".exe").unwrap_or(name) {
        "ri" | "rm" | "del" | "erase" | "rd" | "rmdir" | "remove-item" => "remove-item",
        "sc" | "ac" | "clc" | "ni" | "set-content" | "add-content" | "out-file" | "clear-content" | "new-item"
        | "tee-object" => "set-content",
        "cp" | "cpi" | "copy" | "xcopy" | "robocopy" | "copy-item" => "copy-item",
        "mv" | "mi" | "move" | "ren" | "rni" | "move-item" | "rename-item" => "move-item",
        "iex" | "invoke-expression" => "invoke-expression",
        "iwr" | "irm" | "curl" | "wget" | "invoke-webrequest" | "invoke-restmethod" => "invoke-webrequest",
        "start" | "saps" | "start-process" => "start-process",
        "gc" | "cat" | "type" | "get-content" => "get-content",
        "gci" | "ls" | "dir" | "get-childitem" | "get-item" | "gi" => "get-childitem",
        other => other,
    }
}

fn remove(
    interpreter: &mut Interpreter,
    statement: &WindowsStatement,
    before: Option<&WindowsStatement>,
    state: &ShellState,
) {
    let recursive = statement.words.iter().skip(1).any(|word| {
        let word = word.to_ascii_lowercase();
        let long = word.len() > 1 && "-recurse".starts_with(&word);
        let cluster = word.starts_with('-')
            && word.len() < 5
            && word.contains('r')
            && word.chars().skip(1).all(|c| "rfiv".contains(c));
        long || cluster || word == "/s"
    });
    let mut targets: Vec<&str> = statement.values(&["-path", "-literalpath"]);
    targets.extend(statement.operands());
    if targets.is_empty()
        && let Some(found) = before.filter(|before| before.name().is_some_and(|name| cmdlet(&name) == "get-childitem"))
    {
        targets.extend(found.operands());
    }
    // `"/" | Remove-Item`: a text alone is what it says.
    if let (true, Some(before)) = (targets.is_empty(), before)
        && let [only] = before.words.as_slice()
        && only.contains(['/', '\\', '~', '.', ':'])
    {
        targets.push(only);
    }
    let named = targets.into_iter().flat_map(|target| target.split(',')).filter(|target| !target.is_empty());
    for target in named {
        touch(interpreter, state, target, Access::Delete);
        if recursive {
            let shown = if is_drive(target) {
                target.to_owned()
            } else {
                super::programs::target(interpreter, state, &field(target))
            };
            interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &shown);
        }
    }
}

fn is_drive(path: &str) -> bool {
    path.as_bytes().get(1) == Some(&b':')
}

fn field(path: &str) -> ShellField {
    let text = path.replace('\\', "/");
    let glob = text.contains('*');
    ShellField { glob, ..ShellField::literal(&text) }
}

fn touch(interpreter: &mut Interpreter, state: &ShellState, path: &str, access: Access) {
    if !is_drive(path) {
        let reach = if access == Access::Delete { EffectReach::Tree } else { EffectReach::Itself };
        interpreter.recorder.touch(state, &field(path), access, reach);
    }
}

fn list(
    interpreter: &mut Interpreter,
    program: &str,
    words: &[String],
    (state, context): (&ShellState, &CommandContext),
) {
    interpreter.recorder.command(SimpleCommand {
        program: program.to_owned(),
        argv: words.to_vec(),
        cwd: state.directories.single().map(str::to_owned),
        wrapped_by: context.wrapped_by.clone(),
        exact: program != "eval",
    });
}
