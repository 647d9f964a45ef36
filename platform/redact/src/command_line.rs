//! Passwords that stand on a command line as the argument of an option: `curl -u user:pw`, `sshpass -p pw`.
//!
//! Pure.

use crate::assignment::syntax::{self, ValueOpening};
use crate::edge;
use crate::rule::is_open_line;
use crate::span::{Span, SpanKind};
use crate::value;

/// Programs that take a password as an argument.
pub(crate) const PROGRAMS: &[&str] = &[
    "curl",
    "sshpass",
    "mysql",
    "mariadb",
    "mongo",
    "redis-cli",
    "smbclient",
    "docker",
    "podman",
    "sqlcmd",
    "ldap",
    "zip",
    "7z ",
];

const KIND: SpanKind = SpanKind::Format("command-password");
/// How much of a command line is looked at.
const LONGEST_COMMAND: usize = 2_048;

/// Which option of a program is followed by a password.
struct PasswordOption {
    /// The name of the program starts with this.
    program: &'static str,
    option: &'static str,
    joined: OptionJoin,
    holds: OptionValue,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionJoin {
    /// `-pVALUE`; a blank after the option means that it has no value.
    Attached,
    /// `-p VALUE`.
    Separate,
    /// Both; short options may stand together, as in `-su VALUE`.
    Either,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionValue {
    /// A user, this sign, a password.
    After(u8),
    /// The password, which a person would not take for a word of a sentence.
    MadeUp,
    /// The password, and behind it the program that it is for.
    BeforeProgram,
    /// The password, whatever it looks like.
    Anything,
}

const fn option(program: &'static str, option: &'static str, joined: OptionJoin, holds: OptionValue) -> PasswordOption {
    PasswordOption { program, option, joined, holds }
}

const OPTIONS: &[PasswordOption] = &[
    option("curl", "-u", OptionJoin::Either, OptionValue::After(b':')),
    option("curl", "--user", OptionJoin::Separate, OptionValue::After(b':')),
    option("curl", "-U", OptionJoin::Either, OptionValue::After(b':')),
    option("curl", "--proxy-user", OptionJoin::Separate, OptionValue::After(b':')),
    option("sshpass", "-p", OptionJoin::Either, OptionValue::BeforeProgram),
    option("mysql", "-p", OptionJoin::Attached, OptionValue::Anything),
    option("mariadb", "-p", OptionJoin::Attached, OptionValue::Anything),
    option("mongo", "-p", OptionJoin::Separate, OptionValue::MadeUp),
    option("redis-cli", "-a", OptionJoin::Separate, OptionValue::MadeUp),
    option("smbclient", "-U", OptionJoin::Separate, OptionValue::After(b'%')),
    option("docker", "-p", OptionJoin::Separate, OptionValue::MadeUp),
    option("podman", "-p", OptionJoin::Separate, OptionValue::MadeUp),
    option("sqlcmd", "-P", OptionJoin::Separate, OptionValue::MadeUp),
    option("ldap", "-w", OptionJoin::Separate, OptionValue::MadeUp),
    option("zip", "-P", OptionJoin::Separate, OptionValue::MadeUp),
    option("7z ", "-p", OptionJoin::Attached, OptionValue::MadeUp),
];

/// What `sshpass` is put before.
const REMOTE_PROGRAMS: [&[u8]; 6] = [b"ssh", b"scp", b"sftp", b"rsync", b"git", b"sudo"];

/// Reports the passwords on the command line of the program whose name stands at `at`.
pub(crate) fn search(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let Some((program, line)) = command_at(text, at) else {
        return at;
    };
    // `docker run -p 8080:80` is about ports.
    let is_login = |line: &[u8]| line.windows(6).any(|window| window == b"login ");
    if matches!(program, "docker" | "podman") && !is_login(line) {
        return at;
    }
    let options: Vec<&PasswordOption> = OPTIONS.iter().filter(|option| option.program == program).collect();
    let start = at + program.len();
    for place in words(line).map(|word| start + word).filter(|place| text.get(*place) == Some(&b'-')) {
        let found = options.iter().find_map(|option| password(text, place, option));
        if let Some(secret) = found.filter(|secret| secret.end <= start + line.len()) {
            spans.push(Span::new(KIND, at, secret));
        }
    }
    start + line.len()
}

/// Whether more text could put a password behind the program at `at`.
pub(crate) fn is_open(text: &[u8], at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    match command_at(text, at) {
        Some((program, line)) => line.len() + program.len() == rest.len() && is_open_line(rest),
        None => !rest.iter().any(u8::is_ascii_whitespace),
    }
}

/// The program and what stands behind it up to the end of the command.
fn command_at(text: &[u8], at: usize) -> Option<(&'static str, &[u8])> {
    let rest = text.get(at..)?;
    let program = PROGRAMS.iter().find(|program| rest.starts_with(program.as_bytes()))?;
    let is_unzip = *program == "zip" && text.get(..at)?.ends_with(b"un");
    if !edge::starts_word(text, at) && !is_unzip {
        return None;
    }
    let line = rest.get(program.len()..rest.len().min(LONGEST_COMMAND))?;
    // `mysqldump` and `ldapsearch` take the same options.
    let name = line.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let is_command = program.ends_with(' ') || matches!(line.get(name), Some(b' ' | b'\t'));
    let end = line.iter().position(|byte| matches!(byte, b'\n' | b'\r' | b'|' | b';')).unwrap_or(line.len());
    is_command.then_some((program, line.get(..end)?))
}

/// Where the words of a line begin.
fn words(line: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let begins = |pair: &[u8]| matches!(pair, [b' ' | b'\t', next] if !matches!(next, b' ' | b'\t'));
    line.windows(2).enumerate().filter(move |(_, pair)| begins(pair)).map(|(at, _)| at + 1)
}

fn password(text: &[u8], place: usize, option: &PasswordOption) -> Option<core::ops::Range<usize>> {
    let word = text.get(place..)?;
    let opening = opening(text, place, word, option)?;
    let rest = text.get(opening.start..)?;
    let found = rest.get(..opening.length(rest))?;
    let from = match option.holds {
        OptionValue::After(sign) => found.iter().position(|byte| *byte == sign)? + 1,
        _ => 0,
    };
    let secret = found.get(from..)?;
    let secret = secret.strip_suffix(b".").unwrap_or(secret);
    let fits = match option.holds {
        OptionValue::After(_) | OptionValue::Anything => true,
        OptionValue::MadeUp => opening.quote.is_some() || is_made_up(secret),
        OptionValue::BeforeProgram => {
            opening.quote.is_some() || is_made_up(secret) || is_before_program(rest.get(found.len()..)?)
        }
    };
    let start = opening.start + from;
    (fits && is_password(secret)).then(|| start..start + secret.len())
}

/// Where the value of the option begins, if the word is that option.
fn opening(text: &[u8], place: usize, word: &[u8], option: &PasswordOption) -> Option<ValueOpening> {
    let length = option.option.len();
    if option.option.starts_with("--") || option.joined != OptionJoin::Either {
        let rest = word.strip_prefix(option.option.as_bytes())?;
        let is_blank = matches!(rest.first(), Some(b' ' | b'\t'));
        return match option.joined {
            OptionJoin::Attached => (!is_blank).then(|| syntax::value_at(text, place + length)),
            _ if matches!(rest.first(), Some(b'=')) => Some(syntax::value_at(text, place + length + 1)),
            _ => is_blank.then(|| syntax::argument_after(text, place + length)).flatten(),
        };
    }
    // Short options without a value may stand before it: `-sSu user:pw`.
    let letter = *option.option.as_bytes().get(1)?;
    let letters = word.get(1..)?.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let flags = word.get(1..=letters)?;
    let at = flags.iter().position(|byte| *byte == letter)?;
    if at + 1 == flags.len() && matches!(word.get(1 + letters), Some(b' ' | b'\t')) {
        return syntax::argument_after(text, place + 1 + letters);
    }
    (at == 0).then(|| syntax::value_at(text, place + length))
}

fn is_password(secret: &[u8]) -> bool {
    secret.iter().any(u8::is_ascii_alphanumeric)
        && !matches!(secret.first(), Some(b'/' | b'-'))
        && !value::is_reference(secret)
        && !value::is_mask(secret)
}

/// Whether no sentence has a word like this.
fn is_made_up(secret: &[u8]) -> bool {
    secret.len() > 2 && secret.iter().any(|byte| !byte.is_ascii_lowercase() && !matches!(byte, b'-' | b'.' | b','))
}

fn is_before_program(rest: &[u8]) -> bool {
    let word = rest.strip_prefix(b" ").unwrap_or_default();
    let name = word.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    REMOTE_PROGRAMS.contains(&name)
}
