//! Remembered answers: which rule stands for a call that a person allowed for good, and which calls it covers.
//!
//! Pure.

use dispatch_contracts::permission::{PermissionRequest, PermissionRule};
use dispatch_kernel::services::permission::matches;
use dispatch_toolcall::SimpleCommand;

/// Programs whose second word says what they do: `git status` and `git push` are two things.
const WITH_SUBCOMMAND: [&str; 24] = [
    "apt", "brew", "bun", "cargo", "dart", "deno", "docker", "dotnet", "flutter", "gh", "git", "go", "gradle", "helm",
    "jj", "kubectl", "make", "mvn", "npm", "pip", "pnpm", "poetry", "uv", "yarn",
];
/// Programs that run what their words say, or whose words decide what is lost: only the same words again are the same.
const EXACT: [&str; 44] = [
    "awk", "bash", "chmod", "chown", "cp", "curl", "dash", "dd", "deno", "dispatch", "doas", "env", "eval", "exec",
    "expect", "find", "fish", "ksh", "ln", "lua", "mv", "nc", "node", "nohup", "perl", "php", "python", "python3",
    "rm", "rsync", "ruby", "sed", "sh", "shred", "source", "ssh", "sudo", "tee", "timeout", "truncate", "tsx", "wget",
    "xargs", "zsh",
];

/// The form of a command that stands for others of its kind; `None` if no rule can say it.
pub(crate) fn command_form(command: &SimpleCommand) -> Option<String> {
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let whole = words.join(" ");
    let (first, rest) = words.split_first()?;
    let exact = || (!whole.contains(['*', '?'])).then(|| whole.clone());
    // A program in a folder is another one than the program of that name.
    let plain = *first == command.program && command.wrapped_by.is_empty();
    if !plain || EXACT.contains(first) {
        return exact();
    }
    let form = match rest.first() {
        Some(word) if WITH_SUBCOMMAND.contains(first) => {
            if !word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') || word.starts_with('-') {
                return exact();
            }
            format!("{first} {word} *")
        }
        None if WITH_SUBCOMMAND.contains(first) => return exact(),
        _ => format!("{first} *"),
    };
    (!form.trim_end_matches('*').contains(['*', '?'])).then_some(form)
}

/// The form of a target that is not a command: itself; `None` if its text would stand for more than that.
pub(crate) fn target_form(target: String) -> Option<String> {
    (!target.contains(['*', '?'])).then_some(target)
}

/// Whether a remembered rule covers what is asked. `git status *` covers `git status` too.
pub(crate) fn covers(rule: &PermissionRule, request: &PermissionRequest) -> bool {
    let bare = rule.target.strip_suffix(" *");
    rule.permission == request.permission
        && (matches(&rule.target, &request.target) || bare == Some(request.target.as_str()))
}

#[cfg(test)]
mod tests;
