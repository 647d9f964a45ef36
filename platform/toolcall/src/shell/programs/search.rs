//! `find` and `fd`: walks that may also remove, write and run.
//!
//! Pure.

use super::super::arguments::{Arguments, OptionSyntax};
use super::super::command::{CommandLookup, Invocation};
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::interpreter::Interpreter;
use super::super::recorder::EffectReach;
use super::super::unbounded::UnboundedKind;
use super::files::target;
use crate::access::Access;

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    match call.program {
        "find" | "gfind" => find(interpreter, call),
        "fd" | "fdfind" => fd(interpreter, call),
        _ => return false,
    }
    true
}

fn find(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let options = call.arguments.iter().take_while(|word| matches!(word.text.as_str(), "-H" | "-L" | "-P")).count();
    let words = call.arguments.get(options..).unwrap_or_default();
    let starts_expression = |word: &ShellField| word.text.starts_with(['-', '!', '(']) && word.exact;
    let split = words.iter().position(starts_expression).unwrap_or(words.len());
    let (roots, expression) = words.split_at(split);
    if words.iter().any(ShellField::may_hide_option) {
        interpreter.recorder.code(UnknownReason::Option, "find");
    }
    let here = [ShellField::literal(".")];
    let roots = if roots.is_empty() { &here[..] } else { roots };
    let bounded = expression.iter().any(|word| matches!(word.text.as_str(), "-maxdepth" | "-quit"));
    for root in roots {
        interpreter.recorder.touch(call.state, root, Access::Read, EffectReach::Tree);
        if !bounded {
            let target = target(interpreter, call.state, root);
            interpreter.recorder.unbounded(UnboundedKind::RecursiveTraversal, &target);
        }
    }
    actions(interpreter, call, roots, expression);
}

fn actions(interpreter: &mut Interpreter, call: &Invocation<'_>, roots: &[ShellField], expression: &[ShellField]) {
    let mut at = 0;
    while let Some(word) = expression.get(at) {
        at += 1;
        match word.text.as_str() {
            "-delete" => delete(interpreter, call, &narrowed(roots, alternative(expression, at))),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = expression.get(at..).unwrap_or_default();
                let length = rest.iter().position(ends_command).unwrap_or(rest.len());
                execute(
                    interpreter,
                    call,
                    &narrowed(roots, alternative(expression, at)),
                    rest.get(..length).unwrap_or_default(),
                );
                at += length + 1;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(file) = expression.get(at) {
                    interpreter.recorder.touch(call.state, file, Access::Write, EffectReach::Itself);
                }
            }
            _ => {}
        }
    }
}

fn ends_command(word: &ShellField) -> bool {
    matches!(word.text.as_str(), ";" | "+")
}

/// A start of a walk, and the names that a test of the expression lets through.
struct WalkRoot<'a> {
    root: &'a ShellField,
    /// The pattern of a name; everything without one.
    name: Option<String>,
}

/// The part of an expression, between two `-o` outside parentheses, that holds the action before `at`.
fn alternative(expression: &[ShellField], at: usize) -> &[ShellField] {
    let before = expression.get(..at).unwrap_or_default();
    let (mut depth, mut start) = (0_usize, 0);
    for (index, word) in before.iter().enumerate() {
        match word.text.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "-o" | "-or" | "," if depth == 0 => start = index + 1,
            _ => {}
        }
    }
    before.get(start..).unwrap_or_default()
}

/// Each root with the tests of a name that narrow it down: all that stand between `-o`, if each of them has one.
fn narrowed<'a>(roots: &'a [ShellField], expression: &[ShellField]) -> Vec<WalkRoot<'a>> {
    let is_or = |word: &ShellField| matches!(word.text.as_str(), "-o" | "-or" | ",");
    let negates_group =
        expression.windows(2).any(|pair| matches!(pair[0].text.as_str(), "!" | "-not") && pair[1].text == "(");
    let names: Option<Vec<String>> =
        if negates_group { None } else { expression.split(is_or).map(tested_name).collect() };
    let names: Vec<Option<String>> = match names.filter(|names| names.len() <= MAX_NAMES) {
        Some(names) => names.into_iter().map(Some).collect(),
        None => vec![None],
    };
    let with = |root: &'a ShellField| names.iter().map(move |name| WalkRoot { root, name: name.clone() });
    roots.iter().flat_map(with).collect()
}

/// Names that are followed for one action.
const MAX_NAMES: usize = 16;

/// The name that a part of an expression lets through.
fn tested_name(part: &[ShellField]) -> Option<String> {
    let text = |at: usize| part.get(at).map(|word| word.text.as_str());
    (0..part.len()).find_map(|at| {
        let negated = at.checked_sub(1).and_then(text).is_some_and(|word| matches!(word, "!" | "-not"));
        match text(at)? {
            _ if negated => None,
            "-name" | "-iname" => part.get(at + 1).filter(|word| word.exact).map(|word| word.text.clone()),
            // What is empty holds no rules and no work.
            "-empty" => Some(EMPTY_NAME.to_owned()),
            _ => None,
        }
    })
}

/// Stands for the name of something that is empty.
const EMPTY_NAME: &str = "(empty)";

impl WalkRoot<'_> {
    /// What is found below the root, as a pattern; the root itself if it cannot be told.
    fn found(&self) -> ShellField {
        let base = self.root.text.trim_end_matches('/');
        let anchored = match base.starts_with(['/', '.']) || !self.root.exact {
            true => base.to_owned(),
            false => format!("./{base}"),
        };
        let text = match &self.name {
            Some(name) => format!("{anchored}/**/{name}"),
            None => format!("{anchored}/**"),
        };
        ShellField { text, glob: true, ..self.root.clone() }
    }
}

fn delete(interpreter: &mut Interpreter, call: &Invocation<'_>, roots: &[WalkRoot<'_>]) {
    for walk in roots {
        match walk.name {
            Some(_) => interpreter.recorder.touch(call.state, &walk.found(), Access::Delete, EffectReach::Tree),
            None => interpreter.recorder.touch(call.state, walk.root, Access::Delete, EffectReach::Tree),
        }
        let target = target(interpreter, call.state, walk.root);
        interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
    }
}

/// Runs the command once per root with `{}` standing for anything below that root.
fn execute(interpreter: &mut Interpreter, call: &Invocation<'_>, roots: &[WalkRoot<'_>], words: &[ShellField]) {
    let context = call.context.wrapped("find");
    for walk in roots {
        let below = |word: &ShellField| {
            if !word.text.contains("{}") {
                return word.clone();
            }
            if !walk.root.exact {
                return ShellField { text: String::new(), exact: false, ..word.clone() };
            }
            let found = walk.found();
            ShellField { text: word.text.replace("{}", &found.text), glob: true, ..word.clone() }
        };
        let words: Vec<ShellField> = words.iter().map(below).collect();
        interpreter.invoke(&words, call.state.clone(), &context, CommandLookup::Programs);
    }
}

fn fd(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(
        call.arguments,
        OptionSyntax { short: "detEcjS", long: &["--max-depth", "--extension", "--type", "--exclude"] },
    );
    if parsed.has(&["-x", "--exec", "-X", "--exec-batch"]) || parsed.hides_options {
        interpreter.recorder.code(UnknownReason::Option, call.program);
        let at = call
            .arguments
            .iter()
            .position(|word| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
        let words = at.and_then(|at| call.arguments.get(at + 1..)).unwrap_or_default();
        let words: Vec<ShellField> = words
            .iter()
            .filter(|word| word.text != ";")
            .map(|word| if word.text.contains('{') { ShellField::unknown(&word.raw) } else { word.clone() })
            .collect();
        // With hidden files among what is found, a name may be that of a rule.
        let hidden = parsed.has(&["-H", "--hidden", "-u", "--unrestricted", "-uu"]);
        let removes =
            words.first().is_some_and(|word| matches!(word.text.as_str(), "rm" | "unlink" | "shred" | "truncate"));
        if let (true, true, Some(name)) = (hidden, removes, parsed.operands.first().and_then(ShellField::known)) {
            let found = ShellField { glob: true, ..ShellField::literal(&format!("./**/{name}")) };
            interpreter.recorder.touch(call.state, &found, Access::Delete, EffectReach::Itself);
        }
        if hidden && removes && parsed.operands.is_empty() && !parsed.has(&["-e", "--extension", "-t", "--type"]) {
            let here = target(interpreter, call.state, &ShellField::literal("."));
            interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &here);
        }
        if !words.is_empty() {
            interpreter.invoke(
                &words,
                call.state.clone(),
                &call.context.wrapped(call.program),
                CommandLookup::Programs,
            );
        }
    }
    let here = [ShellField::literal(".")];
    let roots = parsed.operands.get(1..).filter(|roots| !roots.is_empty()).unwrap_or(&here);
    for root in roots {
        interpreter.recorder.touch(call.state, root, Access::Read, EffectReach::Tree);
        if !parsed.has(&["-d", "--max-depth"]) {
            let target = target(interpreter, call.state, root);
            interpreter.recorder.unbounded(UnboundedKind::RecursiveTraversal, &target);
        }
    }
}
