//! Archives and compression.
//!
//! Pure.

use super::super::arguments::{Arguments, OptionSyntax};
use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::interpreter::Interpreter;
use super::super::recorder::EffectReach;
use super::super::unbounded::UnboundedKind;
use crate::access::Access;

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    match call.program {
        "tar" | "bsdtar" | "gtar" => tar(interpreter, call),
        "unzip" => unzip(interpreter, call),
        "zip" => zip(interpreter, call),
        "gzip" | "bzip2" | "xz" | "zstd" | "lz4" | "lzma" => compress(interpreter, call),
        "gunzip" | "bunzip2" | "unxz" | "unzstd" | "unlz4" | "uncompress" => compress(interpreter, call),
        "7z" | "7za" | "7zz" | "bsdcpio" | "unar" => extract_elsewhere(interpreter, call),
        "cpio" => {
            interpreter.recorder.unknown(UnknownReason::UnresolvedPath, call.program);
            for folder in super::super::runners::option_texts(call.arguments, &["-D", "--directory"]) {
                interpreter.recorder.touch(call.state, folder, Access::Write, EffectReach::Tree);
            }
        }
        "ar" | "unrar" | "rar" => interpreter.recorder.unknown(UnknownReason::UnresolvedPath, call.program),
        _ => return false,
    }
    true
}

fn tar(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    // The first word may be a cluster of letters without a dash.
    let mut words = call.arguments.to_vec();
    if let Some(first) = words.first_mut().filter(|word| word.exact && !word.text.starts_with('-')) {
        first.text.insert(0, '-');
    }
    let syntax = OptionSyntax {
        short: "fCTXIbgHLNV",
        long: &[
            "--file",
            "--directory",
            "--files-from",
            "--exclude",
            "--exclude-from",
            "--use-compress-program",
            "--transform",
            "--to-command",
            "--checkpoint-action",
            "--info-script",
        ],
    };
    let parsed = Arguments::parse(&words, syntax);
    let runs = [
        "-I",
        "--use-compress-program",
        "--to-command",
        "--checkpoint-action",
        "--info-script",
        "--new-volume-script",
        "-F",
        "--rsh-command",
        "--rmt-command",
    ];
    if parsed.has(&runs) || parsed.hides_options || parsed.pattern_may_be_option {
        interpreter.recorder.code(UnknownReason::Option, "tar");
    }
    for text in ["--checkpoint-action", "--to-command", "-I", "--use-compress-program", "--info-script", "-F"]
        .iter()
        .flat_map(|name| parsed.options.iter().filter(move |option| option.name == *name))
        .filter_map(|option| option.value.as_ref())
        .filter_map(ShellField::known)
        .map(|text| text.strip_prefix("exec=").unwrap_or(text))
        .collect::<Vec<_>>()
    {
        interpreter.script(text, call.state.child(), &call.context.wrapped(call.program));
    }
    let archive = parsed.values(&["-f", "--file"]).find(|field| field.text != "-").cloned();
    let folder = parsed.values(&["-C", "--directory"]).last().cloned().unwrap_or_else(|| ShellField::literal("."));
    if parsed.has(&["-x", "--extract", "--get"]) {
        touch_all(interpreter, call, archive.as_ref(), Access::Read, EffectReach::Itself);
        interpreter.recorder.touch(call.state, &folder, Access::Write, EffectReach::Tree);
        let inner = {
            let mut inner = call.state.clone();
            super::super::wrappers::enter(&folder, &mut inner);
            inner
        };
        for member in &parsed.operands {
            interpreter.recorder.touch(&inner, member, Access::Write, EffectReach::Tree);
        }
        if parsed.has(&["-P", "--absolute-names"]) {
            interpreter.recorder.unknown(UnknownReason::UnresolvedPath, "tar -P");
        }
    } else if parsed.has(&["-t", "--list", "-d", "--diff", "--compare"]) {
        touch_all(interpreter, call, archive.as_ref(), Access::Read, EffectReach::Itself);
    } else if parsed.has(&["-c", "--create", "-r", "-u", "-A", "--append", "--update", "--catenate", "--delete"]) {
        touch_all(interpreter, call, archive.as_ref(), Access::Write, EffectReach::Itself);
        match folder.text == "." {
            true => touch_all(interpreter, call, parsed.operands.iter(), Access::Read, EffectReach::Tree),
            false => interpreter.recorder.touch(call.state, &folder, Access::Read, EffectReach::Tree),
        }
        if parsed.has(&["--remove-files"]) {
            touch_all(interpreter, call, parsed.operands.iter(), Access::Delete, EffectReach::Tree);
            note_removal(interpreter, call, &parsed.operands);
        }
    } else {
        interpreter.recorder.unknown(UnknownReason::Option, "tar");
    }
}

/// What is packed goes away with all that is in it.
fn note_removal(interpreter: &mut Interpreter, call: &Invocation<'_>, packed: &[ShellField]) {
    for field in packed {
        let target = super::files::likely_target(interpreter, call.state, field);
        interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
    }
}

fn touch_all<'f>(
    interpreter: &mut Interpreter,
    call: &Invocation<'_>,
    fields: impl IntoIterator<Item = &'f ShellField>,
    access: Access,
    reach: EffectReach,
) {
    for field in fields {
        interpreter.recorder.touch(call.state, field, access, reach);
    }
}

fn unzip(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "dxPO", long: &[] });
    touch_all(interpreter, call, parsed.operands.first(), Access::Read, EffectReach::Itself);
    if parsed.has(&["-l", "-v", "-t", "-p", "-Z", "-z"]) && !parsed.hides_options {
        return;
    }
    let here = ShellField::literal(".");
    let folder = parsed.values(&["-d"]).next().unwrap_or(&here);
    interpreter.recorder.touch(call.state, folder, Access::Write, EffectReach::Tree);
    let mut inner = call.state.clone();
    super::super::wrappers::enter(folder, &mut inner);
    for member in parsed.operands.iter().skip(1) {
        interpreter.recorder.touch(&inner, member, Access::Write, EffectReach::Itself);
    }
}

/// `7z x -oFOLDER`, `unar -o FOLDER`.
fn extract_elsewhere(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    interpreter.recorder.unknown(UnknownReason::UnresolvedPath, call.program);
    let folder = call.arguments.iter().find_map(|word| word.text.strip_prefix("-o").filter(|rest| !rest.is_empty()));
    let folder = folder.unwrap_or(".").to_owned();
    interpreter.recorder.touch(call.state, &ShellField::literal(&folder), Access::Write, EffectReach::Tree);
}

fn zip(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "bnPstxi", long: &["--exclude", "--include"] });
    if parsed.has(&["-TT", "--unzip-command", "-T"]) || parsed.hides_options {
        interpreter.recorder.code(UnknownReason::Option, "zip");
    }
    let Some((archive, packed)) = parsed.operands.split_first() else {
        return;
    };
    touch_all(interpreter, call, [archive], Access::Write, EffectReach::Itself);
    let moves = parsed.has(&["-m", "--move"]);
    if moves {
        note_removal(interpreter, call, packed);
    }
    touch_all(interpreter, call, packed, if moves { Access::Delete } else { Access::Read }, EffectReach::Tree);
}

/// The file is replaced by its other form, unless it is kept or printed.
fn compress(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "SbpTo", long: &["--suffix", "--output"] });
    let prints =
        parsed.has(&["-c", "--stdout", "--to-stdout", "-t", "--test", "-l", "--list"]) && !parsed.hides_options;
    let keeps = parsed.has(&["-k", "--keep"]) || matches!(call.program, "zstd" | "unzstd" | "lz4" | "unlz4");
    for target in parsed.values(&["-o", "--output"]) {
        interpreter.recorder.touch(call.state, target, Access::Write, EffectReach::Itself);
    }
    for file in &parsed.operands {
        interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
        if prints {
            continue;
        }
        let place = ShellField { text: other_form(call.program, &parsed, &file.text), ..file.clone() };
        interpreter.recorder.touch(call.state, &place, Access::Write, EffectReach::Itself);
        if !keeps {
            interpreter.recorder.touch(call.state, file, Access::Delete, EffectReach::Itself);
        }
    }
}

fn other_form(program: &str, parsed: &Arguments, name: &str) -> String {
    let expands = program.starts_with("un")
        || program.contains("un") && program != "uncompress"
        || parsed.has(&["-d", "--decompress", "--uncompress"]);
    if expands {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        return stem.to_owned();
    }
    let suffix = match program {
        "bzip2" => "bz2",
        "xz" => "xz",
        "zstd" => "zst",
        "lz4" => "lz4",
        "lzma" => "lzma",
        _ => "gz",
    };
    format!("{name}.{suffix}")
}
