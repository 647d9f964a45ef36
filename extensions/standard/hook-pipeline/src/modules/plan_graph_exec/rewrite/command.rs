//! Shell commands that get a bound: searches, logs, and walks from the top of the workspace.
//!
//! Pure.

use std::path::Path;

use dispatch_hook_module::Context;
use dispatch_toolcall::{ShellEffects, UnboundedKind, resolve};
use serde_json::{Map, Value};

use super::words::{CommandWord, WordEdit, apply, split};
use super::{InputRewrite, is_plain};
use crate::plan::PlanNode;

/// Fields that hold a command line.
const COMMAND_FIELDS: [&str; 6] = ["command", "cmd", "command_line", "commandLine", "CommandLine", "script"];

/// Options of a search that already bound it, or whose result a bound would change.
const SEARCH_BOUNDS: [&str; 14] = [
    "--max-count",
    "--count",
    "--count-matches",
    "--files",
    "--files-with-matches",
    "--files-without-match",
    "--quiet",
    "--silent",
    "--json",
    "--stats",
    "--passthru",
    "--type-list",
    "--help",
    "--version",
];
/// Short options with the same meaning.
const SEARCH_BOUND_LETTERS: &str = "mclLqV";

/// Options of `git log` that already bound it, or that a bound would change.
const LOG_BOUNDS: [&str; 8] =
    ["--max-count", "--since", "--after", "--until", "--before", "--since-as-filter", "--reverse", "--help"];

/// Tests of `find` that count from where it starts.
const DEPTH_TESTS: [&str; 2] = ["-maxdepth", "-mindepth"];

/// What is changed, and why the model should know.
struct CommandRewrite {
    edits: Vec<WordEdit>,
    why: String,
}

pub(super) fn bounded(ctx: &Context<'_>, open: &[&PlanNode], max_count: u32) -> Option<InputRewrite> {
    let call = ctx.call?;
    let (command, effects) = (call.command.as_deref()?, call.effects.as_ref()?);
    let words = split(command)?;
    let plan = match words.first()?.text.as_str() {
        "rg" | "grep" | "egrep" | "fgrep" => search(&words, effects, max_count),
        "git" => log(&words, max_count),
        "find" => walk(ctx, &words, effects, open),
        _ => None,
    }?;
    let text = apply(command, &words, &plan.edits, effects, ctx.home)?;
    let note = format!("The command was changed to `{text}`: {}", plan.why);
    Some(InputRewrite { update: update(&ctx.event.tool_input, command, text)?, note })
}

/// The input with the new command, where the old one stands as it is.
fn update(input: &Value, old: &str, new: String) -> Option<Value> {
    if input.as_str() == Some(old) {
        return Some(Value::String(new));
    }
    let fields = input.as_object()?;
    let field = COMMAND_FIELDS.iter().find(|field| fields.contains_key(**field))?;
    let same = fields.get(*field).and_then(Value::as_str) == Some(old);
    same.then(|| Value::Object(Map::from_iter([((*field).to_owned(), Value::String(new))])))
}

fn search(words: &[CommandWord], effects: &ShellEffects, max_count: u32) -> Option<CommandRewrite> {
    let recursive = effects.unbounded.iter().any(|call| call.what == UnboundedKind::RecursiveTraversal);
    let bounds = |word: &CommandWord| {
        let short = word.text.starts_with('-') && !word.text.starts_with("--");
        has_option(&word.text, &SEARCH_BOUNDS) || (short && word.text.contains(|c| SEARCH_BOUND_LETTERS.contains(c)))
    };
    if !recursive || options(words, 1).any(bounds) {
        return None;
    }
    let edits = vec![WordEdit::After(0, vec![format!("--max-count={max_count}")])];
    Some(CommandRewrite {
        edits,
        why: format!("at most {max_count} matches per file. Give `--max-count` to see more."),
    })
}

fn log(words: &[CommandWord], max_count: u32) -> Option<CommandRewrite> {
    let place = log_place(words)?;
    let bounds = |word: &CommandWord| {
        let text = word.text.as_str();
        let number =
            text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == 'n'));
        has_option(text, &LOG_BOUNDS) || number || text == "-h" || text.contains("..")
    };
    if options(words, place + 1).any(bounds) {
        return None;
    }
    let mut edits = vec![WordEdit::After(place, vec!["-n".to_owned(), max_count.to_string()])];
    let global = words.get(1..place).unwrap_or_default();
    if !global.iter().any(|word| matches!(word.text.as_str(), "--no-pager" | "-P")) {
        edits.push(WordEdit::After(0, vec!["--no-pager".to_owned()]));
    }
    Some(CommandRewrite { edits, why: format!("the newest {max_count} commits. Give `-n` to see more.") })
}

/// Where `log` stands, behind options of `git` itself that say nothing about output.
fn log_place(words: &[CommandWord]) -> Option<usize> {
    let mut place = 1;
    loop {
        match words.get(place)?.text.as_str() {
            "log" => return Some(place),
            "-C" | "-c" => place += 2,
            "--no-pager" | "-P" => place += 1,
            _ => return None,
        }
    }
}

fn walk(
    ctx: &Context<'_>,
    words: &[CommandWord],
    effects: &ShellEffects,
    open: &[&PlanNode],
) -> Option<CommandRewrite> {
    let base = only_base(ctx, open)?;
    let is_test = |word: &CommandWord| word.text.starts_with(['-', '(', '!']);
    let roots = words.iter().skip(1).take_while(|word| !is_test(word)).count();
    let tests = words.get(1 + roots..).unwrap_or_default();
    let places = ["-H", "-L", "-P", "-D", "-O"];
    if tests.iter().any(|word| DEPTH_TESTS.contains(&word.text.as_str()) || places.contains(&word.text.as_str())) {
        return None;
    }
    let cwd = effects.commands.first()?.cwd.as_deref()?;
    let root = match roots {
        0 => ".",
        1 => words.get(1)?.text.as_str(),
        _ => return None,
    };
    if Path::new(&resolve(root, cwd, ctx.home)) != ctx.paths.repo_root {
        return None;
    }
    // Found paths keep the form they would have had.
    let root = root.trim_end_matches('/');
    let start = if root.is_empty() { return None } else { format!("{root}/{base}") };
    let edit = if roots == 0 { WordEdit::After(0, vec![start.clone()]) } else { WordEdit::Replace(1, start.clone()) };
    is_word(&start).then(|| CommandRewrite {
        edits: vec![edit],
        why: "it starts at the scope of the open plan node. Name another folder to search there.".to_owned(),
    })
}

/// The one folder that every open scope is in, if there is exactly one and it exists.
fn only_base(ctx: &Context<'_>, open: &[&PlanNode]) -> Option<String> {
    let mut bases: Vec<String> = open.iter().flat_map(|node| node.globs()).flat_map(|glob| glob.bases()).collect();
    bases.sort();
    bases.dedup();
    let [base] = bases.as_slice() else {
        return None;
    };
    let usable = is_plain(base) && !base.contains(['*', '?']) && base != ".";
    let exists = || ctx.session.modified_ms(&ctx.paths.repo_root.join(base)).is_some();
    (usable && exists()).then(|| base.clone())
}

/// Whether a text is one word to every shell.
fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
}

/// The words that can be options: those before `--`.
fn options(words: &[CommandWord], from: usize) -> impl Iterator<Item = &CommandWord> {
    words.iter().skip(from).take_while(|word| word.text != "--")
}

fn has_option(word: &str, names: &[&str]) -> bool {
    names.iter().any(|name| word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}
