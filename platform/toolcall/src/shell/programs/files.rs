//! Programs that make, copy, move, change and remove files.
//!
//! Pure.

use super::super::arguments::{Arguments, OptionSyntax};
use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::interpreter::{Interpreter, Lifetime, Stdin};
use super::super::recorder::EffectReach;
use super::super::state::ShellState;
use super::super::unbounded::UnboundedKind;
use crate::access::Access;

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    match call.program {
        "rm" | "rimraf" | "trash" | "trash-put" | "trash-cli" | "del-cli" | "srm" | "wipe" | "zf_rm" => {
            remove(interpreter, call)
        }
        "tmpreaper" | "tmpwatch" => remove_old(interpreter, call),
        "robocopy" | "robocopy.exe" => mirror(interpreter, call),
        "cmake" if is_cmake_removal(call) => remove(interpreter, call),
        "gio" | "gvfs-trash" if call.arguments.iter().any(|word| matches!(word.text.as_str(), "trash" | "remove")) => {
            remove(interpreter, call);
        }
        "rmdir" | "unlink" => {
            each(interpreter, call, "", Access::Delete);
            let parents = |word: &ShellField| word.text == "-p" || word.text == "--parents";
            let root = |word: &&ShellField| word.text.starts_with('/');
            if call.arguments.iter().any(parents)
                && let Some(path) = call.arguments.iter().find(root)
            {
                let target = target(interpreter, call.state, path);
                interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
            }
        }
        "mkdir" => each(interpreter, call, "mZ", Access::Create),
        "mkfifo" | "mknod" => each(interpreter, call, "mZ", Access::Create),
        "touch" => touch(interpreter, call),
        "tee" => tee(interpreter, call),
        "truncate" => each(interpreter, call, "sr", Access::Write),
        "shred" => shred(interpreter, call),
        "dos2unix" | "unix2dos" => each(interpreter, call, "", Access::Write),
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" => change_mode(interpreter, call),
        "cp" | "install" => copy(interpreter, call),
        "mv" => rename(interpreter, call),
        "ln" | "link" => link(interpreter, call),
        "dd" => convert(interpreter, call),
        "mktemp" => make_temporary(interpreter, call),
        "split" | "csplit" => split(interpreter, call),
        _ => return false,
    }
    true
}

/// `cmake -E rm -rf FOLDER`, `cmake -E remove_directory FOLDER`.
fn is_cmake_removal(call: &Invocation<'_>) -> bool {
    let word = |at: usize| call.arguments.get(at).map(|word| word.text.as_str()).unwrap_or_default();
    word(0) == "-E" && matches!(word(1), "rm" | "remove" | "remove_directory")
}

/// How a fact names the target of a call: its only path, else the word as written.
pub(in super::super) fn target(interpreter: &Interpreter, state: &ShellState, field: &ShellField) -> String {
    let paths = field.exact.then(|| state.directories.resolve(&field.text)).flatten();
    match paths.as_deref() {
        Some([only]) => {
            // What lies behind a link that this command made is what the link leads to.
            let inside = interpreter
                .recorder
                .followed(only)
                .filter(|led| field.text.ends_with(['/', '*']) || !led.ends_with(only));
            inside.unwrap_or_else(|| only.clone())
        }
        _ => field.raw.clone(),
    }
}

/// The same where several folders are possible: `cd /; rm -rf etc` means the one to which the command goes if nothing fails.
/// What stands for everything in a folder stays as written.
pub(super) fn likely_target(interpreter: &Interpreter, state: &ShellState, field: &ShellField) -> String {
    let paths = field.exact.then(|| state.directories.resolve(&field.text)).flatten().unwrap_or_default();
    let everything = field.glob || matches!(field.text.trim_end_matches('/'), "." | "..");
    match paths.as_slice() {
        [first, _, ..] if !everything => first.clone(),
        _ => target(interpreter, state, field),
    }
}

/// Every operand is touched in the same way.
fn each(interpreter: &mut Interpreter, call: &Invocation<'_>, short: &'static str, access: Access) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short, long: &["--mode", "--size", "--reference"] });
    for operand in &parsed.operands {
        interpreter.recorder.touch(call.state, operand, access, EffectReach::Itself);
    }
}

fn tee(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax::default());
    let text = match &call.context.stdin {
        Stdin::Text(text) => Some(text.clone()),
        _ => None,
    };
    for operand in &parsed.operands {
        interpreter.recorder.touch(call.state, operand, Access::Write, EffectReach::Itself);
        for path in operand.known().and_then(|name| call.state.directories.resolve(name)).unwrap_or_default() {
            match parsed.has(&["-a", "--append"]) {
                true => interpreter.written.append(&path, text.clone()),
                false => interpreter.written.set(&path, text.clone()),
            }
        }
    }
    interpreter.output = text;
}

fn remove(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax::default());
    // The others of this family take whole folders without being told to.
    let recursive =
        parsed.has(&["-r", "-R", "--recursive"]) || !matches!(call.program, "rm" | "srm" | "wipe" | "zf_rm");
    let reach = if recursive || parsed.hides_options { EffectReach::Tree } else { EffectReach::Itself };
    // The verb of a program that does more than remove is not a file.
    let verbs = usize::from(matches!(call.program, "cmake" | "gio"));
    for operand in parsed.operands.iter().skip(verbs) {
        interpreter.recorder.touch(call.state, operand, Access::Delete, reach);
        if recursive {
            let target = likely_target(interpreter, call.state, operand);
            interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
        }
    }
}

/// `tmpreaper AGE FOLDER...`: everything below that is old enough.
fn remove_old(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "Tx", long: &["--runtime", "--exclude"] });
    let tries = parsed.has(&["-t", "--test"]);
    for folder in parsed.operands.iter().skip(1).filter(|_| !tries) {
        interpreter.recorder.touch(call.state, folder, Access::Delete, EffectReach::Tree);
        let target = target(interpreter, call.state, folder);
        interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
    }
}

/// `robocopy FROM TO /MIR` removes what the source does not have.
fn mirror(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let has = |names: &[&str]| {
        call.arguments.iter().any(|word| names.iter().any(|name| word.text.eq_ignore_ascii_case(name)))
    };
    let Some(folder) = call.arguments.get(1).filter(|_| !has(&["/L"])) else {
        return;
    };
    interpreter.recorder.touch(call.state, folder, Access::Write, EffectReach::Tree);
    if has(&["/MIR", "/PURGE"]) {
        let drive = folder.text.as_bytes().get(1) == Some(&b':');
        let target = if drive { folder.text.clone() } else { target(interpreter, call.state, folder) };
        interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
    }
}

fn touch(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed =
        Arguments::parse(call.arguments, OptionSyntax { short: "dtr", long: &["--date", "--reference", "--time"] });
    for operand in &parsed.operands {
        interpreter.recorder.touch(call.state, operand, Access::Create, EffectReach::Itself);
    }
}

fn shred(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "ns", long: &["--iterations", "--size"] });
    let access = if parsed.has(&["-u", "--remove"]) || parsed.hides_options { Access::Delete } else { Access::Write };
    for operand in &parsed.operands {
        interpreter.recorder.touch(call.state, operand, access, EffectReach::Itself);
    }
}

/// `chmod MODE FILE...`: the first operand is not a file unless a reference is given.
fn change_mode(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let syntax = match call.program {
        "setfacl" => OptionSyntax { short: "mxMX", long: &["--modify", "--remove", "--set"] },
        _ => OptionSyntax { short: "", long: &["--reference", "--from"] },
    };
    // A mode such as `-x` looks like an option, and is one to this parser as well.
    let parsed = Arguments::parse(call.arguments, syntax);
    let mode_is_option = parsed.has(&["--reference"])
        || call.program == "setfacl"
        || parsed.options.iter().any(|option| call.program == "chmod" && "-r-w-x-s-t".contains(&option.name));
    let recursive = parsed.has(&["-R", "--recursive"]) || parsed.hides_options;
    let reach = if recursive { EffectReach::Tree } else { EffectReach::Itself };
    let skip = usize::from(!mode_is_option);
    for operand in parsed.operands.iter().skip(skip) {
        interpreter.recorder.touch(call.state, operand, Access::Write, reach);
        // A script that is made one here is run later, by whoever looks for it.
        if let Some(script) = interpreter.written_text(operand, call.state) {
            interpreter.keep_possible_code(&script);
        }
        if recursive {
            let target = likely_target(interpreter, call.state, operand);
            interpreter.recorder.unbounded(UnboundedKind::RecursiveChange, &target);
        }
    }
}

/// Sources and destination of `cp`, `mv`, `ln` and `install`.
struct FileTransfer {
    sources: Vec<ShellField>,
    destination: Option<ShellField>,
    into_folder: bool,
    /// `-T`: the destination is not a folder to put something into.
    over_folder: bool,
}

impl FileTransfer {
    fn of(parsed: &Arguments) -> Self {
        let folder = parsed.values(&["-t", "--target-directory"]).next().cloned();
        let mut sources = parsed.operands.clone();
        let named_folder = folder.is_some();
        let destination = folder.or_else(|| if sources.len() > 1 { sources.pop() } else { None });
        let several = sources.len() > 1 || sources.iter().any(|source| source.glob || source.splits);
        let pattern = destination.as_ref().is_some_and(|field| field.glob);
        let several = several && !pattern;
        let slash = destination.as_ref().is_some_and(|field| field.exact && field.text.ends_with('/'));
        let dots = destination
            .as_ref()
            .is_some_and(|field| field.exact && matches!(field.text.rsplit('/').next(), Some("." | "..")));
        let into_folder = (named_folder || several || slash || dots) && !parsed.has(&["-T", "--no-target-directory"]);
        let over_folder = parsed.has(&["-T", "--no-target-directory"]);
        Self { sources, destination, into_folder, over_folder }
    }

    /// Where one source ends up.
    fn place(&self, source: &ShellField) -> Option<ShellField> {
        let destination = self.destination.clone()?;
        if !self.into_folder || !destination.exact {
            // What is in a copied folder lands in the one that it is copied over.
            let over = self.over_folder && destination.exact && matches!(destination.text.as_str(), "." | "./");
            let text = if over { "./**".to_owned() } else { destination.text.clone() };
            return Some(ShellField { text, glob: destination.glob || over, ..destination });
        }
        let trimmed = source.text.trim_end_matches('/');
        let name = trimmed.rsplit('/').next().unwrap_or(trimmed);
        let unclear = !source.exact || matches!(name, "" | "." | "..");
        let folder = destination.text.trim_end_matches('/');
        let (text, glob) = if unclear {
            (format!("{folder}/**"), true)
        } else {
            (format!("{folder}/{name}"), source.glob || destination.glob)
        };
        Some(ShellField { text, glob, ..destination })
    }
}

const TRANSFER: OptionSyntax =
    OptionSyntax { short: "tSmog", long: &["--target-directory", "--suffix", "--mode", "--owner", "--group"] };

fn copy(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let install = call.program == "install";
    let syntax = if install { TRANSFER } else { OptionSyntax { short: "tS", long: TRANSFER.long } };
    let parsed = Arguments::parse(call.arguments, syntax);
    if parsed.hides_options {
        interpreter.recorder.unknown(UnknownReason::Option, call.program);
    }
    if install && parsed.has(&["-d", "--directory"]) {
        for operand in &parsed.operands {
            interpreter.recorder.touch(call.state, operand, Access::Create, EffectReach::Itself);
        }
        return;
    }
    let recursive = parsed.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    let reach = if recursive { EffectReach::Tree } else { EffectReach::Itself };
    let transfer = FileTransfer::of(&parsed);
    for source in &transfer.sources {
        interpreter.recorder.touch(call.state, source, Access::Read, reach);
        match transfer.place(source) {
            Some(place) => {
                interpreter.recorder.touch(call.state, &place, Access::Write, reach);
                match (&call.context.stdin, source.known()) {
                    (Stdin::Text(text), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) => {
                        for path in place.known().and_then(|to| call.state.directories.resolve(to)).unwrap_or_default()
                        {
                            interpreter.written.set(&path, Some(text.clone()));
                        }
                    }
                    _ => interpreter.copy_written(source, &place, call.state),
                }
                if parsed.has(&["-l", "--link", "-s", "--symbolic-link"]) && !install {
                    remember_link(interpreter, call, source, &place, LinkTarget::FromHere);
                }
            }
            None => interpreter.recorder.unknown(UnknownReason::UnresolvedPath, call.program),
        }
    }
}

fn rename(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "tS", long: TRANSFER.long });
    if parsed.hides_options {
        interpreter.recorder.unknown(UnknownReason::Option, call.program);
    }
    let transfer = FileTransfer::of(&parsed);
    for source in &transfer.sources {
        match transfer.place(source) {
            Some(place) => {
                interpreter.recorder.moved(call.state, source, &place);
                interpreter.copy_written(source, &place, call.state);
            }
            None => interpreter.recorder.unknown(UnknownReason::UnresolvedPath, call.program),
        }
    }
}

fn link(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "tS", long: TRANSFER.long });
    if parsed.hides_options {
        interpreter.recorder.unknown(UnknownReason::Option, call.program);
    }
    let mut transfer = FileTransfer::of(&parsed);
    if transfer.destination.is_none() {
        transfer.destination = Some(ShellField::literal("."));
        transfer.into_folder = true;
    }
    let access = if parsed.has(&["-f", "--force"]) { Access::Write } else { Access::Create };
    for source in &transfer.sources {
        interpreter.recorder.touch(call.state, source, Access::Read, EffectReach::Itself);
        if let Some(place) = transfer.place(source) {
            interpreter.recorder.touch(call.state, &place, access, EffectReach::Itself);
            let from = match parsed.has(&["-s", "--symbolic"]) && !parsed.has(&["-r", "--relative"]) {
                true => LinkTarget::FromLink,
                false => LinkTarget::FromHere,
            };
            remember_link(interpreter, call, source, &place, from);
            interpreter.copy_written(source, &place, call.state);
        }
    }
}

/// From where the target of a link is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkTarget {
    FromHere,
    /// A symbolic link holds its target as text, to be read from where the link lies.
    FromLink,
}

fn remember_link(
    interpreter: &mut Interpreter,
    call: &Invocation<'_>,
    target: &ShellField,
    name: &ShellField,
    from: LinkTarget,
) {
    let resolve = |field: &ShellField| field.known().and_then(|text| call.state.directories.resolve(text));
    let Some(names) = resolve(name) else {
        return;
    };
    for name in names {
        let folder = name.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        let led = match (from, target.known()) {
            (LinkTarget::FromLink, Some(text)) => Some(crate::path::resolve(text, folder, None)),
            _ => resolve(target).and_then(|paths| paths.into_iter().next()),
        };
        if let Some(led) = led {
            interpreter.recorder.link(name, led);
        }
    }
}

fn convert(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let mut bounded = false;
    let mut endless_input = false;
    let named = |name: &str| {
        let value = |word: &ShellField| word.known()?.strip_prefix(name)?.strip_prefix('=').map(ShellField::literal);
        call.arguments.iter().find_map(value)
    };
    if let (Some(from), Some(to)) = (named("if"), named("of")) {
        interpreter.copy_written(&from, &to, call.state);
    }
    for word in call.arguments {
        let value = |text: &str| ShellField { text: text.to_owned(), ..word.clone() };
        if word.may_hide_option() {
            interpreter.recorder.unknown(UnknownReason::UnresolvedPath, "dd");
        }
        match word.text.split_once('=') {
            Some(("if", path)) => {
                endless_input |= matches!(path, "/dev/zero" | "/dev/random" | "/dev/urandom" | "/dev/full");
                interpreter.recorder.touch(call.state, &value(path), Access::Read, EffectReach::Itself);
            }
            Some(("of", path)) => {
                interpreter.recorder.touch(call.state, &value(path), Access::Write, EffectReach::Itself)
            }
            Some(("count", _)) => bounded = true,
            _ => {}
        }
    }
    if endless_input && !bounded && call.context.lifetime == Lifetime::Open {
        interpreter.recorder.unbounded(UnboundedKind::Endless, "dd");
    }
}

fn make_temporary(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "p", long: &["--tmpdir", "--suffix"] });
    let folder = parsed.values(&["-p", "--tmpdir"]).next().cloned().unwrap_or_else(|| ShellField::literal("/tmp"));
    let template = parsed.operands.first();
    let place = match template {
        Some(template) if !parsed.has(&["-p", "--tmpdir", "-t"]) => template.clone(),
        _ => ShellField { text: format!("{}/tmp.XXXXXXXXXX", folder.text), ..folder },
    };
    // What it prints is a name that nothing else has.
    if place.exact {
        let count = interpreter.recorder.effects.commands.len();
        interpreter.output = Some(format!("{}.{count}\n", place.text));
    }
    let text = place.text.replace('X', "?");
    interpreter.recorder.touch(
        call.state,
        &ShellField { text, glob: true, ..place },
        Access::Create,
        EffectReach::Itself,
    );
}

fn split(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(
        call.arguments,
        OptionSyntax { short: "abClnf", long: &["--prefix", "--bytes", "--lines", "--number"] },
    );
    if parsed.has(&["--filter"]) || parsed.hides_options {
        interpreter.recorder.code(UnknownReason::Option, call.program);
    }
    if let Some(input) = parsed.operands.first() {
        interpreter.recorder.touch(call.state, input, Access::Read, EffectReach::Itself);
    }
    let named = match call.program {
        "csplit" => parsed.values(&["-f", "--prefix"]).next(),
        _ => parsed.operands.get(1),
    };
    let prefix = named.cloned().unwrap_or_else(|| ShellField::literal("x"));
    let pattern = ShellField { text: format!("{}*", prefix.text), glob: true, ..prefix };
    interpreter.recorder.touch(call.state, &pattern, Access::Write, EffectReach::Itself);
}
