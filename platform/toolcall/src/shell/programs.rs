//! What programs do: a table of readers and one file per family of the others.
//!
//! Pure.

mod archive;
mod code;
mod diff;
mod editors;
mod files;
mod git;
mod inner_shells;
mod network;
mod outputs;
mod readers;
mod search;
mod servers;
mod system;
mod text;

use super::arguments::Arguments;
use super::command::Invocation;
use super::effects::UnknownReason;
use super::field::ShellField;
use super::interpreter::Interpreter;
use super::{output, runners};

pub(super) use files::target;
pub(super) use readers::{ReaderProgram, reader_row};
pub(super) use servers::{EndlessProgram, endless_rows};

const TRUSTED_FOLDERS: &[&str] =
    &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"];

/// Words of the grammar that are not programs: where one is run, the tree is wrong.
const KEYWORDS: &[&str] = &[
    "{", "}", "do", "done", "then", "fi", "esac", "if", "while", "for", "case", "function", "in", "elif", "else", "!",
    "[[", "]]", "select", "until",
];

/// The name to look a program up by; `None` if it is a file of unknown origin.
pub(super) fn trusted_name(word: &str) -> Option<&str> {
    match word.rsplit_once('/') {
        None => Some(word),
        Some((folder, name)) => TRUSTED_FOLDERS.contains(&folder).then_some(name),
    }
}

/// Records what a program does.
pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    if KEYWORDS.contains(&call.program) {
        interpreter.recorder.unknown(UnknownReason::Syntax, call.program);
        return;
    }
    servers::note(interpreter, call);
    inner_shells::follow(interpreter, call);
    let known = editors::run(interpreter, call)
        || readers::run(interpreter, call)
        || files::run(interpreter, call)
        || text::run(interpreter, call)
        || search::run(interpreter, call)
        || git::run(interpreter, call)
        || network::run(interpreter, call)
        || archive::run(interpreter, call)
        || code::run(interpreter, call)
        || system::run(interpreter, call);
    if !known || outputs::is_about(call.program) {
        outputs::note(interpreter, call);
    }
    if !known {
        interpreter.recorder.code(UnknownReason::UnknownProgram, call.program);
        let mut fields = vec![ShellField::literal(call.program)];
        fields.extend_from_slice(call.arguments);
        runners::search(interpreter, &fields, call);
    }
    if interpreter.output.is_none() {
        interpreter.output = output::filtered(interpreter, call);
        if matches!(call.program, "base64" | "gbase64" | "xxd" | "rev" | "tr" | "base32" | "openssl") {
            interpreter.note_decoded();
        }
    }
}

/// For a program with options that write: a computed word may be one of them.
fn refuse_hidden_options(interpreter: &mut Interpreter, call: &Invocation<'_>, parsed: &Arguments) {
    if parsed.hides_options || parsed.pattern_may_be_option {
        interpreter.recorder.unknown(UnknownReason::Option, call.program);
    }
}
