//! Follows data through the commands of one call: what may feed a pipe, a substitution, a variable.
//!
//! The analysis lists program calls in the order they run: the parts of a pipe from left to right,
//! what is substituted into a word before the program that gets the word. So what feeds a call
//! stands before it, with nothing between them but programs that hand on what they get.
//!
//! Pure.

use dispatch_toolcall::{SimpleCommand, resolve};

/// Programs that hand on what they read, and wrappers, which stand before what they start.
const HANDS_ON: &[&str] = &[
    "cat", "tac", "tee", "head", "tail", "grep", "egrep", "fgrep", "sed", "awk", "gawk", "cut", "tr", "sort", "uniq",
    "jq", "yq", "echo", "printf", "base64", "base32", "basenc", "gbase64", "openssl", "xxd", "od", "hexdump", "rev",
    "gzip", "gunzip", "zcat", "bzip2", "bzcat", "xz", "xzcat", "zstd", "zstdcat", "lz4", "tar", "zip", "gpg", "iconv",
    "uudecode", "uuencode", "fold", "paste", "dd", "pv", "sponge", "column", "env", "printenv", "sudo", "doas",
    "nohup", "setsid", "timeout", "gtimeout", "nice", "ionice", "stdbuf", "time", "xargs", "command", "exec",
    "busybox", "toybox", "unbuffer", "strace", "flock", "sh", "bash",
];

/// The calls that may feed the one at `index`, the nearest first; the last one does not hand on.
pub(super) fn feeding(commands: &[SimpleCommand], index: usize) -> impl Iterator<Item = &SimpleCommand> {
    let mut ended = false;
    commands.get(..index).unwrap_or_default().iter().rev().take_while(move |command| {
        let wanted = !ended;
        ended = !HANDS_ON.contains(&command.program.as_str());
        wanted
    })
}

/// Whether a word as written holds a substitution.
pub(super) fn substitutes(word: &str) -> bool {
    word.contains("$(") || word.contains('`') || word.contains("<(")
}

/// What the variables of a word are set to, as written in the command.
pub(super) fn assigned<'t>(text: &'t str, word: &str) -> Vec<&'t str> {
    let names = word.split('$').skip(1).map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next().unwrap_or_default()
    });
    names.filter(|name| !name.is_empty()).filter_map(|name| value_of(text, name)).collect()
}

fn value_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = text;
    loop {
        let at = rest.find(name)?;
        let starts = rest
            .get(..at)?
            .chars()
            .next_back()
            .is_none_or(|c| c != '_' && c != '$' && c != '{' && !c.is_ascii_alphanumeric());
        let after = rest.get(at + name.len()..)?;
        match after.strip_prefix('=').filter(|_| starts) {
            Some(value) => return Some(balanced(value)),
            None => rest = after,
        }
    }
}

/// The text up to the end of its statement, as far as parentheses tell.
fn balanced(value: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in value.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ';' | '\n' | '&' if depth == 0 => return value.get(..at).unwrap_or(value),
            _ => {}
        }
    }
    value
}

/// Whether a text as written names one of these programs.
pub(super) fn mentions(text: &str, programs: &[&str]) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).any(|word| programs.contains(&word))
}

/// Whether a call has a word that names a path of this kind.
pub(super) fn names_path(command: &SimpleCommand, home: Option<&str>, kind: fn(&str) -> bool) -> bool {
    let cwd = command.cwd.as_deref().unwrap_or_default();
    command.argv.iter().skip(1).any(|word| kind(&resolve(word, cwd, home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_variable_is_found_as_written() {
        assert_eq!(assigned("X=$(curl a; ls); eval \"$X\"", "\"$X\""), ["$(curl a; ls)"]);
        assert_eq!(assigned("XY=1; Y=2 && z", "${Y}"), ["2 "]);
        assert_eq!(assigned("echo $X", "$X"), Vec::<&str>::new());
        assert_eq!(assigned("", "$"), Vec::<&str>::new());
    }

    #[test]
    fn a_program_is_mentioned_only_as_a_whole_word() {
        assert!(mentions("$(curl x)", &["curl"]));
        assert!(!mentions("$(curly x)", &["curl"]));
    }
}
