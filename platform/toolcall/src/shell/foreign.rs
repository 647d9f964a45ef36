//! Code of other languages inside a command, as far as its constant strings tell what it does.
//!
//! Not a parser: calls with a known name are looked for, and their arguments are followed where they
//! are texts, lists of texts, sums of those, or names that were given one.
//!
//! Pure.

mod calls;
mod evaluate;
mod lex;

use super::command::CommandLookup;
use super::field::ShellField;
use super::interpreter::{CommandContext, Interpreter, Lifetime};
use super::recorder::EffectReach;
use super::state::{ShellState, WorkingDirectories};
use super::unbounded::UnboundedKind;
use crate::access::Access;
use calls::{CallKind, FoundCall};
use evaluate::CodeValue;

/// Code that runs code, nested deeper than this, is not followed.
const MAX_LEVELS: usize = 8;

/// The languages that are looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    /// Perl, Ruby, PHP: a text in backticks is a command.
    Backticks,
    Awk,
    /// Emacs Lisp and the like: the name stands behind the parenthesis.
    Lisp,
    Other,
}

/// The language of an interpreter, by its name or by the first line of a script.
pub(super) fn language_of(program: &str) -> Option<Language> {
    let name = program.split_whitespace().last()?.rsplit('/').next()?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match name {
        "python" | "pypy" | "ipython" | "jython" | "micropython" | "uv" => Language::Python,
        "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" | "qjs" | "jsc" | "d" => Language::JavaScript,
        "perl" | "ruby" | "php" | "irb" | "raku" | "jruby" => Language::Backticks,
        "awk" | "gawk" | "mawk" | "nawk" => Language::Awk,
        "emacs" | "emacsclient" | "guile" | "racket" | "sbcl" | "clojure" => Language::Lisp,
        "lua" | "luajit" | "tclsh" | "Rscript" | "R" | "julia" | "groovy" | "osascript" | "elixir" | "vim" | "nvim"
        | "vi" | "ex" | "view" => Language::Other,
        _ => return None,
    })
}

/// Records what a piece of code does.
pub(super) fn judge(
    interpreter: &mut Interpreter,
    language: Language,
    code: &str,
    state: &ShellState,
    context: &CommandContext,
) {
    if context.lifetime == Lifetime::Open && loops_for_ever(code) {
        interpreter.recorder.unbounded(UnboundedKind::Endless, context.calls.last().map_or("code", String::as_str));
    }
    let tokens = lex::tokens(code, language);
    let found = calls::find(&tokens, language, state.home().as_deref());
    let mut state = state.clone();
    let mut opaque = false;
    for call in &found {
        opaque |= !follow(interpreter, language, call, &mut state, context);
    }
    if opaque {
        interpreter.recorder.opaque_text(code);
    }
}

/// A loop without a condition, in a code that has no way out of one.
fn loops_for_ever(code: &str) -> bool {
    const LOOPS: &[&str] =
        &["while True:", "while 1:", "while(1)", "while (1)", "while(true)", "while (true)", "for(;;)"];
    const WAYS_OUT: &[&str] = &["break", "return", "exit", "raise", "throw", "last", "die", "yield", "await", "except"];
    let ends = |word: &str| WAYS_OUT.contains(&word);
    LOOPS.iter().any(|endless| code.contains(endless)) && !code.split(|c: char| !c.is_alphanumeric()).any(ends)
}

/// Records one call; `false` if its arguments are computed.
fn follow(
    interpreter: &mut Interpreter,
    language: Language,
    call: &FoundCall,
    state: &mut ShellState,
    context: &CommandContext,
) -> bool {
    // `shell.rm('-rf', FOLDER)`.
    let is_option = |argument: &&CodeValue| argument.text().is_some_and(|text| text.starts_with('-'));
    let options =
        if call.kind == CallKind::RemovesTree { call.arguments.iter().take_while(is_option).count() } else { 0 };
    let first = call.arguments.get(options);
    let text = first.and_then(|argument| argument.text());
    match call.kind {
        CallKind::RunsCommand => return run_command(interpreter, call, state, context),
        CallKind::RunsCode => match text {
            Some(code) if context.calls.len() < MAX_LEVELS => {
                let mut inner = context.clone();
                inner.calls.push("code".to_owned());
                judge(interpreter, language, code, state, &inner);
            }
            _ => return false,
        },
        CallKind::RemovesTree | CallKind::Removes | CallKind::Writes => {
            let Some(path) = text else {
                return call.arguments.is_empty();
            };
            touch(interpreter, call.kind, path, state);
        }
        CallKind::WritesSecond => {
            let Some(path) = call.arguments.get(1).and_then(|argument| argument.text()) else {
                return call.arguments.len() < 2;
            };
            touch(interpreter, CallKind::Writes, path, state);
            if let (true, Some(from)) = (call.moves, text) {
                touch(interpreter, CallKind::Removes, from, state);
                interpreter.recorder.moved(state, &ShellField::literal(from), &ShellField::literal(path));
            }
        }
        CallKind::Opens => {
            let mode = call.arguments.get(1).and_then(|argument| argument.text()).unwrap_or("r");
            if mode.contains(['w', 'a', 'x', '+', '>']) {
                match text {
                    Some(path) => touch(interpreter, CallKind::Writes, path, state),
                    None => return false,
                }
            } else if let Some(path) = text {
                touch(interpreter, CallKind::Reads, path, state);
            }
        }
        CallKind::Reads => {
            if let Some(path) = text {
                touch(interpreter, CallKind::Reads, path, state);
            }
        }
        CallKind::Enters => {
            let paths = text.and_then(|text| state.directories.resolve(text));
            state.directories = paths.map_or(WorkingDirectories::Unknown, WorkingDirectories::Known);
        }
    }
    true
}

fn run_command(interpreter: &mut Interpreter, call: &FoundCall, state: &ShellState, context: &CommandContext) -> bool {
    let Some(first) = call.arguments.first() else {
        return true;
    };
    let context = context.wrapped("code");
    let mut words: Vec<Option<String>> = match (first.list(), first.text()) {
        (Some(list), _) => list.to_vec(),
        (None, Some(text)) => vec![Some(text.to_owned())],
        (None, None) => return false,
    };
    let is_text = first.list().is_none();
    let more = call.arguments.get(1);
    match more.and_then(|more| more.list()) {
        Some(list) => words.extend(list.iter().cloned()),
        None if call.spreads => {
            words.extend(call.arguments.iter().skip(1).map(|argument| argument.text().map(str::to_owned)));
        }
        None => {}
    }
    if let (true, [Some(text)]) = (is_text, words.as_slice()) {
        interpreter.script(&text.clone(), state.child(), &context);
        return true;
    }
    let fields: Vec<ShellField> = words
        .iter()
        .map(|word| word.as_deref().map_or_else(|| ShellField::unknown("code"), ShellField::literal))
        .collect();
    interpreter.invoke(&fields, state.clone(), &context, CommandLookup::Programs);
    words.iter().all(Option::is_some)
}

fn touch(interpreter: &mut Interpreter, kind: CallKind, path: &str, state: &ShellState) {
    // Not every language expands it; a folder that is called `~` is nobody's wish.
    let home = path
        .strip_prefix('~')
        .filter(|rest| kind == CallKind::RemovesTree && (rest.is_empty() || rest.starts_with('/')));
    let expanded = home.and_then(|rest| Some(state.home()? + rest));
    let field = ShellField::literal(expanded.as_deref().unwrap_or(path));
    let (access, reach) = match kind {
        CallKind::RemovesTree => (Access::Delete, EffectReach::Tree),
        CallKind::Removes => (Access::Delete, EffectReach::Itself),
        CallKind::Reads => (Access::Read, EffectReach::Itself),
        _ => (Access::Write, EffectReach::Itself),
    };
    interpreter.recorder.touch(state, &field, access, reach);
    if kind == CallKind::RemovesTree {
        let drive = path.as_bytes().get(1) == Some(&b':');
        let target = if drive { path.to_owned() } else { super::programs::target(interpreter, state, &field) };
        interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
    }
}
