//! What programs print, where their words and their input say all of it.
//!
//! Pure.

use super::ansi;
use super::arguments::{Arguments, OptionSyntax};
use super::command::Invocation;
use super::field::ShellField;
use super::interpreter::{Interpreter, Stdin};

/// A longer output is not followed.
const MAX_OUTPUT_BYTES: usize = 128 * 1024;

impl Interpreter {
    /// The output was decoded: what runs it runs what nobody can read.
    pub(super) fn note_decoded(&mut self) {
        if let Some(output) = self.output.as_deref().map(str::trim).filter(|output| !output.is_empty()) {
            self.decoded.push(output.to_owned());
        }
    }
}

/// The output of two commands, one after the other.
pub(super) fn appended(before: Option<String>, after: Option<String>) -> Option<String> {
    let joined = before? + &after?;
    (joined.len() <= MAX_OUTPUT_BYTES).then_some(joined)
}

fn texts(fields: &[ShellField]) -> Option<Vec<&str>> {
    fields.iter().map(ShellField::known).collect()
}

/// `echo`, with the options of bash.
pub(super) fn echo(arguments: &[ShellField]) -> Option<String> {
    let words = texts(arguments)?;
    let is_option = |word: &&&str| {
        word.strip_prefix('-').is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| "neE".contains(c)))
    };
    let options = words.iter().take_while(is_option).count();
    let given = |letter: char| words.iter().take(options).any(|word| word.contains(letter));
    let text = words.get(options..).unwrap_or_default().join(" ");
    let text = if given('e') { ansi::decode(&text)? } else { text };
    Some(if given('n') { text } else { text + "\n" })
}

/// `printf FORMAT WORD...`: text, escapes, and the formats for text and plain numbers.
pub(super) fn printf(arguments: &[ShellField]) -> Option<String> {
    let words = texts(arguments)?;
    let words = words.strip_prefix(&["--"]).unwrap_or(&words);
    let (format, values) = words.split_first()?;
    let format = &without_nul(format);
    let mut values = values.iter();
    let mut out = String::new();
    loop {
        let before = values.len();
        one_format(format, &mut values, &mut out)?;
        if values.len() == 0 || values.len() == before || out.len() > MAX_OUTPUT_BYTES {
            return Some(out);
        }
    }
}

/// A format with a line's end for each NUL: between the words that `xargs -0` reads, that will do.
fn without_nul(format: &str) -> String {
    let mut parts = format.split("\\0");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches('0');
        // `\057` is a letter by its number.
        let is_number = rest.starts_with(|c: char| ('1'..='7').contains(&c)) && part.len() - rest.len() < 2;
        text.push_str(if is_number { "\\0" } else { "\n" });
        text.push_str(if is_number { part } else { rest });
    }
    text.replace("\\x00", "\n")
}

fn one_format(format: &str, values: &mut std::slice::Iter<'_, &str>, out: &mut String) -> Option<()> {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&ansi::decode(&rest[..at])?);
        let after = &rest[at + 1..];
        let kind = after.chars().next()?;
        match kind {
            '%' => out.push('%'),
            's' | 'd' | 'i' | 'u' => out.push_str(values.next().copied().unwrap_or_default()),
            'b' => out.push_str(&ansi::decode(values.next().copied().unwrap_or_default())?),
            'q' => out.push_str(values.next().copied().unwrap_or_default()),
            'c' => out.extend(values.next().copied().unwrap_or_default().chars().next()),
            _ => return None,
        }
        rest = &after[kind.len_utf8()..];
    }
    out.push_str(&ansi::decode(rest)?);
    Some(())
}

/// What `command -v`, `which` and `type -p` say of a program.
pub(super) fn program_path(arguments: &[ShellField]) -> Option<String> {
    let name = arguments.iter().find(|field| !field.text.starts_with('-'))?.known()?;
    Some(if name.contains('/') { format!("{name}\n") } else { format!("/usr/bin/{name}\n") })
}

/// What programs print that say where something lies.
fn path_output(call: &Invocation<'_>) -> Option<String> {
    let words: Vec<&str> = call.arguments.iter().map(|field| field.text.as_str()).collect();
    let operands: Vec<&ShellField> = call.arguments.iter().filter(|field| !field.text.starts_with('-')).collect();
    let resolved = |field: &ShellField| match call.state.directories.resolve(&field.text)?.as_slice() {
        [only] if field.exact => Some(only.clone()),
        _ => None,
    };
    let printed: Vec<String> = match call.program {
        "realpath" | "grealpath" => operands.iter().map(|field| resolved(field)).collect::<Option<_>>()?,
        "readlink" | "greadlink" if words.iter().any(|word| matches!(*word, "-f" | "-e" | "-m")) => {
            operands.iter().map(|field| resolved(field)).collect::<Option<_>>()?
        }
        "dirname" => operands.iter().map(|field| field.known().map(parent)).collect::<Option<_>>()?,
        // The names that a pattern matches are what the pattern stands for.
        "ls" if words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('d')) => {
            operands.iter().map(|field| field.exact.then(|| field.text.clone())).collect::<Option<_>>()?
        }
        _ => return None,
    };
    (!printed.is_empty()).then(|| printed.join("\n") + "\n")
}

/// What `ls` says of files that the same command wrote.
fn written_names(interpreter: &Interpreter, call: &Invocation<'_>) -> Option<String> {
    let files: Vec<&ShellField> = call.arguments.iter().filter(|field| !field.text.starts_with('-')).collect();
    let written = |field: &&ShellField| interpreter.written_text(field, call.state).is_some();
    (call.program == "ls" && !files.is_empty() && files.iter().all(written))
        .then(|| files.iter().map(|field| format!("{}\n", field.text)).collect())
}

/// What `dirname` says.
fn parent(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
        None if path.starts_with('/') => "/".to_owned(),
        None => ".".to_owned(),
    }
}

/// Whether what a program prints can be told at all.
fn is_followed(program: &str) -> bool {
    const FOLLOWED: &[&str] = &[
        "base64",
        "cat",
        "cut",
        "dirname",
        "gbase64",
        "grealpath",
        "greadlink",
        "head",
        "ls",
        "pv",
        "readlink",
        "realpath",
        "rev",
        "sed",
        "sort",
        "sponge",
        "tac",
        "tail",
        "tee",
        "tr",
        "type",
        "uniq",
        "which",
        "xxd",
        "yes",
    ];
    FOLLOWED.contains(&program)
}

/// What a filter makes of a known input.
pub(super) fn filtered(interpreter: &Interpreter, call: &Invocation<'_>) -> Option<String> {
    if !is_followed(call.program) {
        return None;
    }
    if matches!(call.program, "which" | "type") {
        return program_path(call.arguments);
    }
    if call.program == "yes" {
        // One line stands for all of them.
        return texts(call.arguments)
            .map(|words| if words.is_empty() { "y\n".to_owned() } else { words.join(" ") + "\n" });
    }
    if let Some(names) = written_names(interpreter, call) {
        return Some(names);
    }
    if let Some(path) = path_output(call) {
        return Some(path);
    }
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: filter_values(call.program), long: &[] });
    let files = parsed.operands.as_slice();
    let input = match &call.context.stdin {
        _ if !files.is_empty() && !matches!(call.program, "tr" | "sed") => {
            let text = |file: &ShellField| {
                let written = interpreter.written_text(file, call.state);
                let program = file.known().filter(|path| path.starts_with('/'));
                written.or_else(|| program.and_then(super::written::program_as_script))
            };
            files.iter().map(text).collect::<Option<Vec<String>>>()?.concat()
        }
        Stdin::Text(text) => text.clone(),
        _ => return None,
    };
    let plain = parsed.options.is_empty();
    match call.program {
        "cat" | "tee" | "head" | "tail" | "sort" | "uniq" | "pv" | "sponge" if plain => Some(input),
        "cat" | "head" | "tail" | "sort" => Some(input),
        "rev" => Some(input.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect()),
        "tac" => Some(input.lines().rev().map(|line| format!("{line}\n")).collect()),
        "base64" | "gbase64" if parsed.has(&["-d", "-D", "--decode"]) => decode_base64(&input),
        "xxd" if parsed.has(&["-r"]) => decode_hex(&input),
        "tr" => translate(&input, &parsed),
        "cut" => cut_out(&input, &parsed),
        "sed" => substitute(&input, &parsed),
        _ => None,
    }
}

/// `cut -c N`, `cut -c N-M`, and `cut -d C -f N`.
fn cut_out(input: &str, parsed: &Arguments) -> Option<String> {
    let range = parsed.values(&["-c", "-b", "-f"]).next().and_then(ShellField::known)?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let first: usize = if first.is_empty() { 1 } else { first.parse().ok()? };
    let last: usize = if last.is_empty() { usize::MAX } else { last.parse().ok()? };
    let (skipped, count) = (first.checked_sub(1)?, last.checked_sub(first)?.saturating_add(1));
    let lines: Vec<String> = match parsed.has(&["-f"]) {
        false => input.lines().map(|line| line.chars().skip(skipped).take(count).collect()).collect(),
        true => {
            let mark = parsed.values(&["-d"]).next().map_or(Some("\t"), ShellField::known)?;
            let fields = |line: &str| line.split(mark).skip(skipped).take(count).collect::<Vec<_>>().join(mark);
            (!mark.is_empty()).then(|| input.lines().map(fields).collect())?
        }
    };
    Some(lines.into_iter().map(|line| line + "\n").collect())
}

/// `sed s/OLD/NEW/` with plain texts, once or for all.
fn substitute(input: &str, parsed: &Arguments) -> Option<String> {
    let script = match (parsed.options.as_slice(), parsed.operands.as_slice()) {
        ([], [script]) => script.known()?,
        ([only], []) if only.name == "-e" => only.value.as_ref()?.known()?,
        _ => return None,
    };
    let rest = script.strip_prefix('s')?;
    let mark = rest.chars().next()?;
    let mut parts = rest.get(mark.len_utf8()..)?.split(mark);
    let (old, new, flags) = (parts.next()?, parts.next()?, parts.next()?);
    let special = |text: &str| text.contains(['\\', '[', '*', '^', '$', '.', '&']);
    if parts.next().is_some() || old.is_empty() || special(old) || special(new) {
        return None;
    }
    let line = |line: &str| match flags {
        "" => Some(line.replacen(old, new, 1)),
        "g" => Some(line.replace(old, new)),
        _ => None,
    };
    input.lines().map(|text| line(text).map(|text| text + "\n")).collect()
}

fn filter_values(program: &str) -> &'static str {
    match program {
        "head" | "tail" => "nc",
        "sort" => "kt",
        "base64" => "w",
        "sed" => "e",
        "cut" => "bcdf",
        _ => "",
    }
}

fn decode_hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let bytes: Vec<u8> = digits.chunks_exact(2).filter_map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect();
    String::from_utf8(bytes).ok()
}

/// Decodes base64; nothing if the result is not text.
pub(super) fn decode_base64(text: &str) -> Option<String> {
    String::from_utf8(base64_bytes(text)?).ok()
}

/// The bytes of a base64 text; line ends and padding do not matter.
pub(super) fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for c in text.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'=') {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0x00ff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap_or_default());
        }
    }
    Some(bytes)
}

/// `tr SET SET` and `tr -d SET`, with ranges and the classes of letters.
fn translate(input: &str, parsed: &Arguments) -> Option<String> {
    let sets: Option<Vec<Vec<char>>> = parsed.operands.iter().map(|field| field.known().and_then(letters)).collect();
    let sets = sets?;
    let (first, second) = (sets.first()?, sets.get(1));
    if parsed.has(&["-d", "--delete"]) {
        return Some(input.chars().filter(|c| !first.contains(c)).collect());
    }
    let second = second?;
    let last = *second.last()?;
    let change = |c: char| match first.iter().rposition(|from| *from == c) {
        Some(at) => second.get(at).copied().unwrap_or(last),
        None => c,
    };
    parsed.options.is_empty().then(|| input.chars().map(change).collect())
}

fn letters(set: &str) -> Option<Vec<char>> {
    let set = set.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z");
    let set = ansi::decode(&set)?;
    let chars: Vec<char> = set.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(end)) if c <= end => {
                out.extend(*c..=*end);
                at += 3;
            }
            _ => {
                out.push(*c);
                at += 1;
            }
        }
    }
    (out.len() <= 512).then_some(out)
}
