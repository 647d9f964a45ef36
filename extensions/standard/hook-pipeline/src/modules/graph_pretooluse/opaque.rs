//! `UB09`: what the analysis could not follow, and why that matters here.
//!
//! Pure.

use dispatch_toolcall::{SimpleCommand, UnboundedKind, UnknownReason, destroyed_words};

use super::rules::{RuleFindings, UB01, UB09};
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
    "/srv",
    "/sbin",
    "/lib64",
    "C:",
    "c:",
    "C:\\Users",
    "C:\\Windows",
    "%USERPROFILE%",
    "%SystemDrive%",
    "%SystemRoot%",
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
    let home = shell.workspace.home();
    if effects.possible_code.iter().any(|code| may_destroy_root(code, home)) {
        findings.push(&UB09, "a text that may run and that removes the root, a home or a disk");
    }
    if effects.unbounded.iter().any(|fact| fact.what == UnboundedKind::RecursiveDelete && prints_root(&fact.target)) {
        findings.push(&UB09, "a computed folder that may be the root or the home folder");
    }
    if removes_what_is_listed(&effects.commands, home) {
        findings.push(&UB01, "what a list of the root or the home folder names");
    }
    let broken = effects.unknown.iter().any(|unknown| unknown.reason == UnknownReason::Syntax);
    if broken && removes_root(shell.text) {
        findings.push(&UB09, "not a command that the parser understands");
    }
}

/// Whether a command inside a text removes the root, a system folder, a home or a disk.
fn may_destroy_root(code: &str, home: Option<&str>) -> bool {
    const WALKS: &[&str] = &["rglob", "walk", "glob", "readdirSync", "readdir"];
    let mut computed = false;
    let mut removes = false;
    for found in destroyed_words(code).into_iter().filter(|found| found.destroys) {
        removes = true;
        let word = found.word.trim_end_matches("\\n").trim_end_matches("\\r").trim_end_matches(['}', ':']);
        if is_root(word) || is_home(word, home) || names_home(found.word) || is_disk(word) {
            return true;
        }
        computed |= found.word == "as" || found.word.contains(['$', '{', '#', '%']) || word.is_empty();
    }
    (computed || (removes && WALKS.iter().any(|walk| code.contains(walk))))
        && (names_root(code) || names_whole_home(code) || code.contains("chr(47)"))
}

/// `$(python3 -c 'print("/")')`: a word that is all substitution, and names the root or the home folder inside.
fn prints_root(target: &str) -> bool {
    let bare = target.trim_matches('"').trim_end_matches(['/', '*']);
    let inner = bare.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let Some(inner) = inner.or_else(|| bare.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))) else {
        return false;
    };
    // A separator is a slash too.
    let separates = flow::mentions(inner, &["cut", "tr", "awk", "sed", "IFS"]) && !inner.contains("BEGIN");
    let home = flow::mentions(inner, &["os.homedir", "homedir", "HOME"]) && !inner.contains("HOME/");
    home || inner.contains("expanduser(\"~\")") || (!separates && !inner.contains("$(") && names_root(inner))
}

/// Whether a text as written names something that removes, and the root, a system folder or a home.
pub(super) fn removes_root(text: &str) -> bool {
    flow::mentions(text, REMOVES) && names_root(text)
}

/// A call that gives the home folder, with nothing behind it.
fn names_whole_home(code: &str) -> bool {
    ["homedir()", "NSHomeDirectory()"].iter().any(|call| {
        code.match_indices(call).any(|(at, _)| {
            let rest = code.get(at + call.len()..).unwrap_or_default().trim_start_matches('}');
            rest.is_empty() || rest.starts_with(['`', '"', '\'', ')', ',', ';'])
        })
    })
}

/// `$HOME`, `$ENV{HOME}`, `${process.env.HOME}`, `ENVIRON["HOME"]`.
fn names_home(word: &str) -> bool {
    let word = word.trim_end_matches(['}', '/', '*']);
    word.ends_with("HOME") && (word == "HOME" || word.contains(['$', '{', '.']))
}

/// The home folder after `~` was expanded.
fn is_home(word: &str, home: Option<&str>) -> bool {
    home.is_some_and(|home| word.trim_end_matches(['/', '*', '.']) == home.trim_end_matches('/'))
}

fn is_disk(word: &str) -> bool {
    let disks = ["/dev/sd", "/dev/hd", "/dev/nvme", "/dev/vd", "/dev/xvd", "/dev/mmcblk", "/dev/disk", "/dev/rdisk"];
    disks.iter().any(|disk| word.starts_with(disk))
}

/// `ls / | ... | xargs rm -rf`.
fn removes_what_is_listed(commands: &[SimpleCommand], home: Option<&str>) -> bool {
    const LISTS: &[&str] = &["ls", "find", "fd", "fdfind", "tree", "du"];
    const REMOVES: &[&str] = &["rm", "shred", "unlink", "rmdir", "chmod", "chown", "trash"];
    let from_list = |command: &SimpleCommand| {
        REMOVES.contains(&command.program.as_str())
            && command.wrapped_by.iter().any(|by| matches!(by.as_str(), "xargs" | "parallel"))
            && !command.exact
    };
    let of_root = |command: &SimpleCommand| {
        lists_everything_tracked(command)
            || LISTS.contains(&command.program.as_str())
                && command.argv.get(1..).unwrap_or_default().iter().any(|word| is_root(word) || is_home(word, home))
    };
    commands.iter().any(from_list) && commands.iter().any(of_root)
}

/// `git ls-files` with neither a path nor a kind of file.
fn lists_everything_tracked(command: &SimpleCommand) -> bool {
    let words = command.argv.get(1..).unwrap_or_default();
    command.program == "git"
        && words.first().is_some_and(|word| word == "ls-files")
        && words.iter().skip(1).all(|word| matches!(word.as_str(), "-z" | "-c" | "--cached"))
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
    let bare = word.trim_end_matches(['*', '.', '/', '\\']);
    let bare = if bare.is_empty() && word.starts_with(['/', '\\']) { "/" } else { bare };
    ROOTS.contains(&bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_folders_are_roots() {
        for word in ["/", "/*", "//", "~", "~/", "~/*", "$HOME", "/etc/", "C:\\", "/.", "'/'", "/**/*", "/home/*/"] {
            assert!(is_root(word), "{word}");
        }
        for word in ["", ".", "..", "*", "/etc/hosts", "~/x", "/home/dev", "a/", "./", "/tmp", "C:\\x"] {
            assert!(!is_root(word), "{word}");
        }
    }
}
