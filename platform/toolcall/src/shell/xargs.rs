//! `xargs`: the command it runs for what it reads.
//!
//! Pure.

use super::arguments::{Arguments, OptionSyntax};
use super::command::{CommandLookup, Invocation};
use super::field::ShellField;
use super::interpreter::{Interpreter, Stdin};
use super::recorder::EffectReach;
use super::words;
use super::wrappers::{leading_options, plain};
use crate::access::Access;

/// Lines of a known input for which the command is tried one by one.
const MAX_LINES: usize = 32;

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let wrapper = plain(
        "adEILnPs",
        &["--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"],
    );
    let Some((options, rest)) = leading_options(call.arguments, &wrapper) else {
        interpreter.recorder.code(super::effects::UnknownReason::Option, "xargs");
        return;
    };
    let parsed = Arguments::parse(options, OptionSyntax { short: wrapper.short, long: wrapper.long });
    let mut input = match &call.context.stdin {
        Stdin::Text(text) => Some(text.clone()),
        _ => None,
    };
    for field in parsed.values(&["-a", "--arg-file"]) {
        if matches!(field.known(), Some("-" | "/dev/stdin" | "/dev/fd/0")) {
            continue;
        }
        interpreter.recorder.touch(call.state, field, Access::Read, EffectReach::Itself);
        input = interpreter.written_text(field, call.state);
    }
    if rest.is_empty() {
        return;
    }
    let implied = parsed.has(&["-i", "--replace"]).then(|| "{}".to_owned());
    let mark = parsed.values(&["-I", "--replace"]).next().map(|field| field.text.clone()).or(implied);
    let context = call.context.wrapped("xargs").with_stdin(Stdin::Computed);
    match mark.filter(|mark| !mark.is_empty()) {
        Some(mark) => {
            let lines: Vec<Option<&str>> = match &input {
                Some(text) => text.lines().filter(|line| !line.is_empty()).take(MAX_LINES).map(Some).collect(),
                None => vec![None],
            };
            for line in lines {
                let words: Vec<ShellField> =
                    rest.iter().map(|word| replaced(word, &mark, line.map(str::trim))).collect();
                interpreter.invoke(&words, call.state.clone(), &context, CommandLookup::Programs);
            }
        }
        None => {
            let mut words = rest.to_vec();
            words.extend(input_words(input.as_deref(), &parsed));
            interpreter.invoke(&words, call.state.clone(), &context, CommandLookup::Programs);
        }
    }
}

/// A word with the mark replaced by what was read, if that is known.
fn replaced(word: &ShellField, mark: &str, line: Option<&str>) -> ShellField {
    match line {
        _ if !word.text.contains(mark) => word.clone(),
        Some(line) => ShellField { text: word.text.replace(mark, line), ..word.clone() },
        None => {
            let before = word.text.split(mark).next().unwrap_or_default().to_owned();
            ShellField { text: before, exact: false, splits: false, ..word.clone() }
        }
    }
}

/// What is appended: the words of the input where it is known.
fn input_words(input: Option<&str>, parsed: &Arguments) -> Vec<ShellField> {
    let Some(text) = input else {
        return vec![ShellField::unknown("xargs input")];
    };
    let delimiter = match parsed.values(&["-d", "--delimiter"]).next().map(|field| field.text.as_str()) {
        Some("\\n") => Some('\n'),
        Some(text) => text.chars().next(),
        None => parsed.has(&["-0", "--null"]).then_some('\0'),
    };
    match delimiter {
        Some(mark) => {
            text.trim_end_matches('\n').split(mark).filter(|part| !part.is_empty()).map(ShellField::literal).collect()
        }
        None => words::split(text).iter().map(|word| ShellField::literal(word)).collect(),
    }
}
