//! `UB09`: what the analysis could not follow, and why that matters here.
//!
//! Pure.

use dispatch_toolcall::{SimpleCommand, UnknownReason};

use super::rules::{RuleFindings, UB09};
use super::{JudgedCommand, flow};

/// Folders of which everything hangs, without what may stand behind them.
const ROOTS: &[&str] = &[
    "/",
    "~",
    "$HOME",
    "${HOME}",
    "/etc",
    "/usr",
    "/var",
    "/home",
    "/root",
    "/bin",
    "/lib",
    "/boot",
    "/dev",
    "/opt",
    "/Users",
    "/System",
    "/Library",
    "C:",
    "c:",
    "%USERPROFILE%",
    "%SystemDrive%",
    "$env:USERPROFILE",
    "$env:SystemDrive",
    "$env:HOME",
];
/// Words that say a text removes something.
const REMOVES: &[&str] =
    &["rm", "rmdir", "shred", "unlink", "rmtree", "mkfs", "wipefs", "del", "Remove-Item", "dd", "chmod", "chown"];

/// Judges what stayed opaque.
pub(super) fn judge(shell: &JudgedCommand<'_>, findings: &mut RuleFindings) {
    let effects = shell.effects;
    let limit = effects.unknown.iter().find_map(|unknown| match unknown.reason {
        UnknownReason::TooLong => Some("longer than the limit"),
        UnknownReason::TooDeep => Some("nested too deep"),
        UnknownReason::TooMuchWork => Some("more parts than the limit"),
        _ => None,
    });
    if let Some(limit) = limit {
        findings.push(&UB09, limit);
    }
    for command in effects.commands.iter().filter(|command| command.program.is_empty()) {
        if is_hidden_program(shell, command) {
            findings.push(&UB09, command.argv.first().map_or("", String::as_str));
        }
    }
    if effects.opaque_code.iter().any(|code| names_root(code)) {
        findings.push(&UB09, "code that names the root or the home folder");
    }
    let broken = effects.unknown.iter().any(|unknown| unknown.reason == UnknownReason::Syntax);
    if broken && flow::mentions(shell.text, REMOVES) && names_root(shell.text) {
        findings.push(&UB09, "not a command that the parser understands");
    }
}

/// A program whose name is computed here, or that gets the root or a home for an argument.
fn is_hidden_program(shell: &JudgedCommand<'_>, command: &SimpleCommand) -> bool {
    let Some(first) = command.argv.first().filter(|first| first.contains(['$', '`'])) else {
        return false;
    };
    let named = first.trim_matches('"').rsplit('/').next().is_some_and(|name| {
        first.contains('/') && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    });
    let computed = flow::substitutes(first) || !flow::assigned(shell.text, first).is_empty();
    let at_root = command.argv.iter().skip(1).any(|word| is_root(word));
    (computed && !named) || at_root
}

/// Whether one of the words of a text is the root, a system folder or the home folder as a whole.
fn names_root(text: &str) -> bool {
    let mark = |c: char| c.is_whitespace() || "'\"`(),;|&<>=[]{}".contains(c);
    let home = text.contains("${HOME}");
    home || text.split(mark).any(is_root)
}

fn is_root(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'']);
    let bare = word.trim_end_matches(['*', '.']).trim_end_matches(['/', '\\']);
    let bare = if bare.is_empty() && word.starts_with(['/', '\\']) { "/" } else { bare };
    ROOTS.contains(&bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_folders_are_roots() {
        for word in ["/", "/*", "//", "~", "~/", "~/*", "$HOME", "/etc/", "C:\\", "/.", "'/'"] {
            assert!(is_root(word), "{word}");
        }
        for word in ["", ".", "..", "*", "/etc/hosts", "~/x", "/home/dev", "a/", "./", "/tmp", "C:\\x"] {
            assert!(!is_root(word), "{word}");
        }
    }
}
