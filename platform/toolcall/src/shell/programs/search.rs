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
            let target = target(call.state, root);
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
            "-delete" => delete(interpreter, call, roots),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = expression.get(at..).unwrap_or_default();
                let length = rest.iter().position(ends_command).unwrap_or(rest.len());
                execute(interpreter, call, roots, rest.get(..length).unwrap_or_default());
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

fn delete(interpreter: &mut Interpreter, call: &Invocation<'_>, roots: &[ShellField]) {
    for root in roots {
        interpreter.recorder.touch(call.state, root, Access::Delete, EffectReach::Tree);
        let target = target(call.state, root);
        interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
    }
}

/// Runs the command once per root with `{}` standing for anything below that root.
fn execute(interpreter: &mut Interpreter, call: &Invocation<'_>, roots: &[ShellField], words: &[ShellField]) {
    let context = call.context.wrapped("find");
    for root in roots {
        let below = |word: &ShellField| {
            if !word.text.contains("{}") {
                return word.clone();
            }
            if !root.exact {
                return ShellField { text: String::new(), exact: false, ..word.clone() };
            }
            let base = root.text.trim_end_matches('/');
            let found = format!("{base}/**");
            let anchored = match base.starts_with(['/', '.']) {
                true => found,
                false => format!("./{found}"),
            };
            ShellField { text: word.text.replace("{}", &anchored), glob: true, ..word.clone() }
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
    }
    let here = [ShellField::literal(".")];
    let roots = parsed.operands.get(1..).filter(|roots| !roots.is_empty()).unwrap_or(&here);
    for root in roots {
        interpreter.recorder.touch(call.state, root, Access::Read, EffectReach::Tree);
        if !parsed.has(&["-d", "--max-depth"]) {
            let target = target(call.state, root);
            interpreter.recorder.unbounded(UnboundedKind::RecursiveTraversal, &target);
        }
    }
}
