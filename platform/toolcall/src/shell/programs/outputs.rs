//! Files that programs write or read because an option names them, where no other table knows the program.
//!
//! Pure.

use super::super::command::Invocation;
use super::super::field::ShellField;
use super::super::interpreter::Interpreter;
use super::super::recorder::EffectReach;
use crate::access::Access;

/// Options that name a file which is written.
const FILES: &[&str] = &[
    "-o",
    "-out",
    "--out",
    "--output",
    "--outfile",
    "--out-file",
    "--output-file",
    "--output-path",
    "--outFile",
    "-O",
];
/// Options that name a folder in which files are written.
const FOLDERS: &[&str] = &[
    "--outDir",
    "--outdir",
    "--out-dir",
    "--output-dir",
    "--output-directory",
    "--target-dir",
    "--target-directory",
    "--dest",
    "--destination",
    "--dist-dir",
];
/// Programs that copy between a store and this machine: the last word is where it goes.
const STORES: &[&str] = &["aws", "gsutil", "gcloud", "rclone", "azcopy", "mc", "s3cmd", "s5cmd", "oras", "gdown", "az"];
/// Their verbs that bring something here.
const FETCHES: &[&str] = &["cp", "sync", "mv", "rsync", "copy", "move", "mirror", "get", "copyto"];

/// Whether another table tells of a program, but not of the options with which it writes.
pub(super) fn is_about(program: &str) -> bool {
    const OTHERS: &[&str] = &["gpg", "kubectl", "helm", "terraform", "gh"];
    STORES.contains(&program) || OTHERS.contains(&program) || super::code::builds(program)
}

/// Records what the options of a program write, and for `openssl` what it reads.
pub(super) fn note(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let words = call.arguments;
    for (at, word) in words.iter().enumerate() {
        let (name, attached) = match word.text.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value)),
            _ => (word.text.as_str(), None),
        };
        let reach = match (FILES.contains(&name), FOLDERS.contains(&name)) {
            (true, _) => EffectReach::Itself,
            (_, true) => EffectReach::Tree,
            _ => continue,
        };
        let value = match attached {
            Some(text) => Some(ShellField { text: text.to_owned(), ..word.clone() }),
            None => words.get(at + 1).cloned(),
        };
        if let Some(file) = value.filter(is_path) {
            interpreter.recorder.touch(call.state, &file, Access::Write, reach);
        }
    }
    if STORES.contains(&call.program)
        && words.iter().any(|word| FETCHES.contains(&word.text.as_str()))
        && let Some(place) = words.iter().rfind(|word| !word.text.starts_with('-')).filter(|word| is_path(word))
    {
        interpreter.recorder.touch(call.state, place, Access::Write, EffectReach::Tree);
    }
    if call.program == "sqlite3"
        && let Some(file) = words.iter().find(|word| !word.text.starts_with('-')).filter(|word| is_path(word))
    {
        interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
    }
    if call.program == "openssl" {
        let inputs = words.windows(2).filter(|pair| matches!(pair[0].text.as_str(), "-in" | "-inkey" | "-key"));
        let inputs: Vec<ShellField> = inputs.map(|pair| pair[1].clone()).filter(is_path).collect();
        for file in inputs {
            interpreter.recorder.touch(call.state, &file, Access::Read, EffectReach::Itself);
        }
    }
}

/// Whether a value looks like a path: formats, numbers and settings do not.
fn is_path(field: &ShellField) -> bool {
    let text = field.text.as_str();
    let local = !text.contains("://") && !text.split('/').next().unwrap_or_default().contains(':');
    field.exact
        && local
        && !text.contains('=')
        && !text.starts_with('-')
        && (text.contains('/') || text.starts_with('.'))
}
