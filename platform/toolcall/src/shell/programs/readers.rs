//! Programs that look at files and print: one row of data each.
//!
//! Pure.

use super::super::arguments::{Arguments, OptionSyntax};
use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::interpreter::{Interpreter, Lifetime, Stdin};
use super::super::recorder::EffectReach;
use super::super::unbounded::UnboundedKind;
use super::refuse_hidden_options;
use crate::access::Access;

/// What the words of a reader that are not options stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperandRole {
    /// Files to read.
    Files,
    /// Files to read; the working directory if there are none.
    FilesOrHere,
    /// A pattern or a program, then files.
    PatternThenFiles,
    /// A file to read, then a file to write.
    InThenOut,
    /// No files.
    Words,
}

/// A program that looks at files and prints.
pub(in crate::shell) struct ReaderProgram {
    names: &'static [&'static str],
    operands: OperandRole,
    syntax: OptionSyntax,
    /// Options whose value is a file that is written.
    writes: &'static [&'static str],
    /// Options that make the program run or change something.
    hazards: &'static [&'static str],
}

const fn row(names: &'static [&'static str], operands: OperandRole, short: &'static str) -> ReaderProgram {
    ReaderProgram { names, operands, syntax: OptionSyntax { short, long: &[] }, writes: &[], hazards: &[] }
}

const fn writing(
    reader: ReaderProgram,
    writes: &'static [&'static str],
    long: &'static [&'static str],
) -> ReaderProgram {
    let syntax = OptionSyntax { short: reader.syntax.short, long };
    ReaderProgram { writes, syntax, ..reader }
}

const fn hazardous(reader: ReaderProgram, hazards: &'static [&'static str]) -> ReaderProgram {
    ReaderProgram { hazards, ..reader }
}

use OperandRole::{Files, FilesOrHere, InThenOut, PatternThenFiles, Words};

const READERS: &[ReaderProgram] = &[
    row(
        &["cat", "tac", "nl", "rev", "zcat", "bzcat", "xzcat", "zstdcat", "gzcat", "lz4cat", "more", "most"],
        Files,
        "",
    ),
    row(&["head", "tail"], Files, "nc"),
    row(
        &[
            "wc",
            "cksum",
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "sum",
            "md5",
        ],
        Files,
        "",
    ),
    row(&["shasum"], Files, "a"),
    row(&["ls", "dir", "vdir", "exa", "eza", "lsd"], FilesOrHere, "IwT"),
    row(&["stat"], Files, "cft"),
    hazardous(row(&["file"], Files, "mfFP"), &["-C", "--compile"]),
    row(&["du"], FilesOrHere, "dtX"),
    row(&["df"], Files, "t"),
    row(&["readlink", "realpath"], Files, ""),
    row(&["basename"], Words, "s"),
    row(&["od", "hexdump", "hd"], Files, "jNtAwnse"),
    row(&["strings"], Files, "nte"),
    row(&["cmp"], Files, "in"),
    hazardous(row(&["diff", "diff3", "colordiff", "zdiff"], Files, "xXIULF"), &["--diff-program"]),
    writing(row(&["sdiff"], Files, "wo"), &["-o", "--output"], &["--output"]),
    row(&["comm", "zcmp"], Files, ""),
    row(&["join"], Files, "tjeo12aiv"),
    row(&["paste"], Files, "d"),
    row(&["cut"], Files, "dfcb"),
    row(&["tr"], Words, ""),
    row(&["fold", "fmt", "expand", "unexpand"], Files, "wtpg"),
    row(&["column"], Files, "cstNRHo"),
    row(&["uniq"], InThenOut, "fsw"),
    row(&["xxd"], InThenOut, "clgso"),
    writing(
        hazardous(row(&["sort"], Files, "kotTS"), &["--compress-program"]),
        &["-o", "--output"],
        &["--output", "--key", "--field-separator"],
    ),
    writing(row(&["shuf"], Files, "onir"), &["-o", "--output"], &["--output"]),
    row(&["grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep"], PatternThenFiles, "efmABCdD"),
    hazardous(
        row(&["rg", "ripgrep"], PatternThenFiles, "efmABCgtTdEMrj"),
        &["--pre", "--hostname-bin", "--search-zip", "-z"],
    ),
    hazardous(row(&["ag", "ack"], PatternThenFiles, "ABCmGg"), &["--pager", "--output"]),
    hazardous(row(&["jq", "gojq", "jaq"], PatternThenFiles, "fL"), &["-i", "--in-place"]),
    hazardous(row(&["yq"], PatternThenFiles, "o"), &["-i", "--inplace", "-s", "--split-exp"]),
    writing(row(&["tree"], FilesOrHere, "LPIHTo"), &["-o"], &[]),
    row(
        &[
            "which",
            "whereis",
            "locate",
            "whoami",
            "id",
            "groups",
            "users",
            "who",
            "w",
            "uptime",
            "ps",
            "pgrep",
            "free",
            "lsof",
            "nproc",
            "arch",
            "tty",
            "locale",
            "getconf",
            "seq",
            "expr",
            "factor",
            "numfmt",
            "uname",
            "cal",
            "printenv",
            "sw_vers",
            "lscpu",
            "lsblk",
            "lsusb",
            "lspci",
            "dirname",
            "tput",
            "clear",
            "logname",
            "hostid",
            "ncal",
            "vmstat",
            "iostat",
            "apropos",
            "whatis",
            "tldr",
            "lsb_release",
            "findmnt",
            "sleep",
            "yes",
        ],
        Words,
        "",
    ),
    hazardous(
        row(&["man", "info"], Words, "PHMCS"),
        &["-P", "--pager", "-H", "--html", "-C", "--config-file", "-o", "--output", "--dribble"],
    ),
    hazardous(row(&["dmesg"], Words, "ln"), &["-C", "-c", "-n", "-D", "-E", "--clear", "--read-clear"]),
    hazardous(row(&["date"], Words, "drf"), &["-s", "--set"]),
    writing(row(&["base64", "base32", "basenc"], Files, "wio"), &["-o"], &[]),
    writing(row(&["iconv"], Files, "fto"), &["-o", "--output"], &["--output", "--from-code", "--to-code"]),
    writing(
        hazardous(row(&["less", "bat", "batcat"], Files, "bhjkopPtTxyzoO"), &["-k", "--lesskey-file", "--pager"]),
        &["-o", "-O", "--log-file"],
        &["--log-file"],
    ),
    row(&["nm", "objdump", "readelf", "size", "otool"], Files, ""),
    row(&["cloc", "tokei", "scc", "sloccount"], FilesOrHere, ""),
    row(&["look", "pr", "tsort", "zipinfo", "lsattr", "getfacl", "namei", "getfattr"], Files, ""),
];

/// The row of a program.
pub(in crate::shell) fn reader_row(program: &str) -> Option<&'static ReaderProgram> {
    READERS.iter().find(|reader| reader.names.contains(&program))
}

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    let Some(reader) = interpreter.rows(call.program).reader else {
        return false;
    };
    let parsed = Arguments::parse(call.arguments, reader.syntax);
    if parsed.has(reader.hazards) || operand_acts(call.program, &parsed) {
        interpreter.recorder.code(UnknownReason::Option, call.program);
    }
    if !(reader.hazards.is_empty() && reader.writes.is_empty()) || reader.operands == InThenOut {
        refuse_hidden_options(interpreter, call, &parsed);
    }
    for target in parsed.values(reader.writes) {
        interpreter.recorder.touch(call.state, target, Access::Write, EffectReach::Itself);
    }
    record_operands(interpreter, call, reader, &parsed);
    note_endless(interpreter, call, &parsed);
    true
}

/// Pagers run what stands behind `+`, and `date` sets the clock to a plain operand.
fn operand_acts(program: &str, parsed: &Arguments) -> bool {
    let mut operands = parsed.operands.iter();
    match program {
        "less" | "more" | "most" | "bat" | "batcat" => {
            operands.any(|field| field.text.starts_with('+') || field.may_hide_option())
        }
        "date" => operands.any(|field| !field.text.starts_with('+')),
        _ => false,
    }
}

fn record_operands(interpreter: &mut Interpreter, call: &Invocation<'_>, reader: &ReaderProgram, parsed: &Arguments) {
    let operands = parsed.operands.as_slice();
    let files = match reader.operands {
        Words => return,
        InThenOut => {
            if let Some(output) = operands.get(1) {
                interpreter.recorder.touch(call.state, output, Access::Write, EffectReach::Itself);
            }
            if operands.iter().any(|field| field.splits || field.glob) {
                interpreter.recorder.unknown(UnknownReason::UnresolvedPath, call.program);
            }
            operands.get(..operands.len().min(1)).unwrap_or_default()
        }
        PatternThenFiles => {
            for file in parsed.values(&["-f", "--file"]) {
                interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
            }
            let given = parsed.has(&["-e", "-f", "--regexp", "--file", "--files", "--type-list"]);
            operands.get(usize::from(!given)..).unwrap_or_default()
        }
        Files | FilesOrHere => operands,
    };
    let reach = traversal(call.program, parsed);
    if files.is_empty() && (reader.operands == FilesOrHere || searches_here(call, reach)) {
        touch_tree(interpreter, call, &ShellField::literal("."), reach);
    }
    for file in files.iter().filter(|file| file.text != "-" || !file.exact) {
        touch_tree(interpreter, call, file, reach);
    }
}

fn touch_tree(interpreter: &mut Interpreter, call: &Invocation<'_>, file: &ShellField, reach: EffectReach) {
    interpreter.recorder.touch(call.state, file, Access::Read, reach);
    if reach == EffectReach::Tree {
        let target = super::files::target(interpreter, call.state, file);
        interpreter.recorder.unbounded(UnboundedKind::RecursiveTraversal, &target);
    }
}

/// Whether a reader goes through everything below the paths it is given.
fn traversal(program: &str, parsed: &Arguments) -> EffectReach {
    let recursive = match program {
        "grep" | "egrep" | "fgrep" | "zgrep" => parsed.has(&["-r", "-R", "--recursive", "--dereference-recursive"]),
        "ls" | "dir" | "vdir" | "eza" | "exa" => parsed.has(&["-R", "--recursive"]),
        "rg" | "ripgrep" | "ag" | "ack" => !parsed.has(&["-d", "--max-depth"]),
        "tree" => !parsed.has(&["-L"]),
        "du" => !parsed.has(&["-d", "--max-depth"]),
        "diff" => parsed.has(&["-r", "--recursive"]),
        _ => false,
    };
    if recursive { EffectReach::Tree } else { EffectReach::Itself }
}

fn searches_here(call: &Invocation<'_>, reach: EffectReach) -> bool {
    let searches = matches!(call.program, "rg" | "ripgrep" | "ag" | "ack") || reach == EffectReach::Tree;
    searches && call.context.stdin == Stdin::Inherited
}

fn note_endless(interpreter: &mut Interpreter, call: &Invocation<'_>, parsed: &Arguments) {
    let reads_endless_device = || {
        parsed.operands.iter().any(|field| matches!(field.text.as_str(), "/dev/zero" | "/dev/random" | "/dev/urandom"))
    };
    let endless = match call.program {
        "yes" => true,
        "less" => parsed.has(&["+F"]),
        "sleep" => parsed.operands.iter().any(|field| sleeps_for_days(&field.text)),
        // Of `iostat` an operand may be a device.
        "vmstat" | "iostat" => {
            let is_number = |field: &&ShellField| field.text.chars().all(|c| c.is_ascii_digit());
            parsed.operands.len() == 1 && parsed.operands.iter().filter(is_number).count() == 1
        }
        "od" | "hexdump" | "xxd" if parsed.has(&["-N", "--read-bytes", "-n", "-l", "-len"]) => false,
        "cat" | "tail" | "od" | "hexdump" | "base64" | "xxd" | "strings" | "sha256sum" | "md5sum" | "wc" | "sort" => {
            reads_endless_device()
        }
        _ => false,
    };
    if endless && call.context.lifetime == Lifetime::Open {
        interpreter.recorder.unbounded(UnboundedKind::Endless, call.program);
    }
}

/// `infinity`, `1e9`, `9999d`: nobody waits for the end.
fn sleeps_for_days(time: &str) -> bool {
    const DAY_SECONDS: f64 = 86_400.0;
    let number = time.trim_end_matches(['s', 'm', 'h', 'd']);
    let unit = match time.get(number.len()..) {
        Some("m") => 60.0,
        Some("h") => 3_600.0,
        Some("d") => DAY_SECONDS,
        _ => 1.0,
    };
    number.parse::<f64>().is_ok_and(|count| count * unit > DAY_SECONDS)
}
