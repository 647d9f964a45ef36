//! Editors of streams: `sed`, `awk`, `perl`, `patch`.
//!
//! Pure.

use super::super::arguments::{Arguments, OptionSyntax};
use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::foreign;
use super::super::interpreter::{Interpreter, Stdin};
use super::super::recorder::EffectReach;
use super::refuse_hidden_options;
use crate::access::Access;

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    match call.program {
        "sed" | "gsed" => sed(interpreter, call),
        "awk" | "gawk" | "mawk" | "nawk" => awk(interpreter, call),
        "perl" => perl(interpreter, call),
        "patch" => patch(interpreter, call),
        _ => return false,
    }
    true
}

fn sed(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(
        call.arguments,
        OptionSyntax { short: "efl", long: &["--expression", "--file", "--line-length"] },
    );
    refuse_hidden_options(interpreter, call, &parsed);
    let scripts: Vec<&ShellField> = parsed.values(&["-e", "--expression"]).collect();
    let from_file: Vec<&ShellField> = parsed.values(&["-f", "--file"]).collect();
    let given = !scripts.is_empty() || !from_file.is_empty();
    let (script, mut files) = match parsed.operands.split_first() {
        Some((first, rest)) if !given => (Some(first), rest),
        _ => (None, parsed.operands.as_slice()),
    };
    let in_place = parsed.has(&["-i", "-I", "--in-place"]);
    // BSD takes the suffix of a copy as a separate word: `sed -i '' script file`.
    let script = match script {
        Some(first) if in_place && first.exact && first.text.is_empty() => {
            let second = files.first();
            files = files.get(1..).unwrap_or_default();
            second
        }
        other => other,
    };
    let scripts: Vec<&ShellField> = scripts.into_iter().chain(script).collect();
    for script in &scripts {
        check_sed_script(interpreter, call, script);
    }
    if in_place {
        for file in files {
            edit_written(interpreter, call, &scripts, file);
        }
    }
    for file in from_file {
        interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
        interpreter.recorder.code(UnknownReason::UnresolvedCode, "sed -f");
    }
    let access = if in_place { Access::Write } else { Access::Read };
    let suffix = call.arguments.iter().find_map(|word| {
        word.text
            .strip_prefix("--in-place=")
            .or_else(|| word.text.strip_prefix("-i"))
            .filter(|suffix| !suffix.is_empty())
    });
    for file in files {
        interpreter.recorder.touch(call.state, file, access, EffectReach::Itself);
        if let Some(suffix) = suffix {
            let copy = ShellField { text: format!("{}{suffix}", file.text), ..file.clone() };
            interpreter.recorder.touch(call.state, &copy, Access::Write, EffectReach::Itself);
        }
    }
    if suffix.is_some_and(|suffix| suffix.contains(['*', '/'])) {
        interpreter.recorder.unknown(UnknownReason::UnresolvedPath, call.program);
    }
}

/// What `sed -i s/a/b/` makes of a file that the same command wrote; other edits leave what is known of it.
fn edit_written(interpreter: &mut Interpreter, call: &Invocation<'_>, scripts: &[&ShellField], file: &ShellField) {
    let Some(mut text) = interpreter.written_text(file, call.state) else {
        return;
    };
    for script in scripts.iter().filter_map(|script| script.known()?.strip_prefix('s')) {
        let Some(delimiter) = script.chars().next() else { continue };
        let pattern = script.split(delimiter).nth(1).unwrap_or_default();
        let plain = !pattern.is_empty() && !pattern.contains(['\\', '[', '*', '^', '$', '.']);
        let replacement = SedSubstitution::parse(script).replacement;
        if plain && !replacement.contains(['\\', '&']) {
            text = text.replace(pattern, &replacement);
        }
    }
    for path in file.known().and_then(|name| call.state.directories.resolve(name)).unwrap_or_default() {
        interpreter.written.set(&path, Some(text.clone()));
    }
}

/// A script may write files (`w`) and run commands (`e`); anything not plainly harmless is unknown.
fn check_sed_script(interpreter: &mut Interpreter, call: &Invocation<'_>, script: &ShellField) {
    let Some(text) =
        script.exact.then_some(script.text.as_str()).filter(|_| !script.glob || script.text.starts_with('s'))
    else {
        interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program);
        return;
    };
    if !text.split([';', '\n']).all(|part| is_plain_sed(part.trim())) && !is_plain_sed(text.trim()) {
        interpreter.recorder.code(UnknownReason::ForeignCode, call.program);
        for part in text.split([';', '\n']) {
            follow_sed(interpreter, call, part.trim());
        }
    }
}

/// `e COMMAND` runs a command, `w FILE` writes a file, and so do the flags of `s`.
fn follow_sed(interpreter: &mut Interpreter, call: &Invocation<'_>, part: &str) {
    let address = |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '~' | '+' | '!' | ' ' | '{' | '}');
    let rest = skip_regex_addresses(part.trim_start_matches(address)).trim_end_matches(['}', ' ']);
    let mut chars = rest.chars();
    let written = match chars.next() {
        Some('e') => {
            let given = chars.as_str().trim();
            // Alone it runs the line that it reads.
            let text = match &call.context.stdin {
                Stdin::Text(input) if given.is_empty() => input.clone(),
                _ => given.to_owned(),
            };
            interpreter.script(&text, call.state.child(), &call.context.wrapped(call.program));
            None
        }
        Some('w' | 'W') => Some(chars.as_str().trim()),
        Some('s') => {
            let substitution = SedSubstitution::parse(chars.as_str());
            if substitution.flags.contains('e') {
                interpreter.recorder.code(UnknownReason::UnresolvedCode, "sed");
                interpreter.recorder.opaque_text(&substitution.replacement);
                let context = call.context.wrapped(call.program);
                interpreter.script(&substitution.replacement, call.state.child(), &context);
            }
            substitution.flags.split_once('w').map(|(_, file)| file.trim())
        }
        _ => None,
    };
    if let Some(file) = written.filter(|file| !file.is_empty()) {
        interpreter.recorder.touch(call.state, &ShellField::literal(file), Access::Write, EffectReach::Itself);
    }
}

/// `/pattern/replacement/flags` behind an `s`, with any delimiter.
struct SedSubstitution<'t> {
    /// As sed reads it: an escaped delimiter is the character itself.
    replacement: String,
    flags: &'t str,
}

impl<'t> SedSubstitution<'t> {
    fn parse(text: &'t str) -> Self {
        let delimiter = text.chars().next().unwrap_or('/');
        let body = text.get(delimiter.len_utf8()..).unwrap_or_default();
        let cut = |text: &'t str| {
            let at = find_unescaped(text, delimiter).unwrap_or(text.len());
            (text.get(..at).unwrap_or_default(), text.get(at + delimiter.len_utf8()..).unwrap_or_default())
        };
        let (_, rest) = cut(body);
        let (replacement, flags) = cut(rest);
        Self { replacement: replacement.replace(&format!("\\{delimiter}"), &delimiter.to_string()), flags }
    }
}

fn is_plain_sed(text: &str) -> bool {
    let address = |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '~' | '+' | '!' | ' ' | '{' | '}');
    let rest = text.trim_start_matches(address);
    let rest = skip_regex_addresses(rest).trim_end_matches(['}', ' ', ';']);
    let mut chars = rest.chars();
    match chars.next() {
        None => true,
        Some('s') => is_plain_substitution(chars.as_str()),
        Some('y') => true,
        Some('p' | 'd' | 'q' | 'Q' | 'n' | 'N' | 'D' | 'P' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'l' | '#') => {
            chars.all(|c| c.is_ascii_digit() || c == ' ')
        }
        Some('a' | 'i' | 'c') => true,
        _ => false,
    }
}

fn skip_regex_addresses(text: &str) -> &str {
    let mut rest = text;
    while let Some(inner) = rest.strip_prefix('/') {
        let Some(end) = find_unescaped(inner, '/') else {
            return rest;
        };
        let after = inner.get(end + 1..).unwrap_or_default();
        rest = after
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '+' | '!' | ' ' | 'I' | '{'));
    }
    rest
}

fn is_plain_substitution(text: &str) -> bool {
    let Some(delimiter) = text.chars().next() else {
        return false;
    };
    let body = text.get(delimiter.len_utf8()..).unwrap_or_default();
    let Some(first) = find_unescaped(body, delimiter) else {
        return false;
    };
    let replacement = body.get(first + delimiter.len_utf8()..).unwrap_or_default();
    let Some(second) = find_unescaped(replacement, delimiter) else {
        return false;
    };
    let flags = replacement.get(second + delimiter.len_utf8()..).unwrap_or_default();
    flags.chars().all(|c| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M'))
}

fn find_unescaped(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(index, c)| {
        let found = c == wanted && !escaped;
        escaped = c == '\\' && !escaped;
        found.then_some(index)
    })
}

fn awk(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(
        call.arguments,
        OptionSyntax { short: "Ffvielo", long: &["--file", "--assign", "--field-separator", "--include", "--load"] },
    );
    refuse_hidden_options(interpreter, call, &parsed);
    if parsed.has(&[
        "-i",
        "-l",
        "-o",
        "-p",
        "-E",
        "--include",
        "--load",
        "--pretty-print",
        "--exec",
        "--debug",
        "--profile",
        "--dump-variables",
        "-d",
    ]) {
        interpreter.recorder.code(UnknownReason::Option, call.program);
    }
    let from_file: Vec<&ShellField> = parsed.values(&["-f", "--file"]).collect();
    let files = match parsed.operands.split_first() {
        Some((program, files)) if from_file.is_empty() => {
            check_awk_program(interpreter, call, program);
            files
        }
        _ => parsed.operands.as_slice(),
    };
    for file in from_file {
        interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
        interpreter.recorder.code(UnknownReason::UnresolvedCode, "awk -f");
    }
    for file in files.iter().filter(|field| !field.text.contains('=')) {
        interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
    }
}

/// A program without output redirection, pipes and calls of the system only prints.
fn check_awk_program(interpreter: &mut Interpreter, call: &Invocation<'_>, program: &ShellField) {
    let text = program.text.as_str();
    let acts =
        ["system", "|", "getline", "@", "close", "fflush"].iter().any(|part| text.replace("||", "").contains(part));
    let redirects = text.contains('>') && text.contains("print");
    if !program.exact || acts || redirects {
        interpreter.recorder.code(UnknownReason::ForeignCode, call.program);
    }
    if program.exact && (acts || redirects) {
        let context = call.context.wrapped(call.program);
        foreign::judge(interpreter, foreign::Language::Awk, text, call.state, &context);
    }
}

/// `-ne`, `-lane` and the like: the code is run for each line of the files behind it.
fn is_filter(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| {
        !letters.starts_with('-') && letters.len() < 8 && letters.contains(['n', 'p']) && letters.ends_with(['e', 'E'])
    })
}

fn perl(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "eEIMmFxCD", long: &[] });
    interpreter.recorder.code(UnknownReason::ForeignCode, "perl");
    super::code::inline_code(interpreter, call, foreign::Language::Backticks);
    if let Some(text) = parsed.operands.first().and_then(|file| interpreter.written_text(file, call.state)) {
        foreign::judge(interpreter, foreign::Language::Backticks, &text, call.state, call.context);
    } else if let (Stdin::Text(text), true) = (&call.context.stdin, call.arguments.iter().all(|word| word.text == "-"))
    {
        foreign::judge(interpreter, foreign::Language::Backticks, &text.clone(), call.state, call.context);
    }
    if parsed.has(&["-n", "-p", "-ne", "-pe"]) || call.arguments.iter().any(|word| is_filter(&word.text)) {
        for file in &parsed.operands {
            interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
        }
    }
    let edits = call
        .arguments
        .iter()
        .any(|word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('i'));
    if edits && parsed.has(&["-e", "-E"]) {
        for file in &parsed.operands {
            interpreter.recorder.touch(call.state, file, Access::Write, EffectReach::Itself);
        }
    }
}

fn patch(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(
        call.arguments,
        OptionSyntax { short: "pidoBrVDFYz", long: &["--input", "--directory", "--output", "--strip"] },
    );
    for file in parsed.values(&["-i", "--input"]) {
        interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
    }
    if let Some(file) = parsed.operands.get(1) {
        interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
    }
    if parsed.has(&["--dry-run"]) && !parsed.hides_options {
        return;
    }
    for file in parsed.values(&["-o", "--output"]).chain(parsed.operands.first()) {
        interpreter.recorder.touch(call.state, file, Access::Write, EffectReach::Itself);
    }
    if parsed.operands.is_empty() {
        interpreter.recorder.unknown(UnknownReason::UnresolvedPath, "patch");
        let strip = parsed.values(&["-p", "--strip"]).next().and_then(|field| field.text.parse().ok()).unwrap_or(0);
        let mut state = call.state.clone();
        for folder in parsed.values(&["-d", "--directory"]) {
            super::super::wrappers::enter(folder, &mut state);
        }
        let named = parsed.values(&["-i", "--input"]).next().or(parsed.operands.get(1));
        super::diff::touch_files(interpreter, &call.context.stdin, named, &state, strip);
    }
}
