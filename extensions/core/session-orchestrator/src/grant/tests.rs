//! Which rule stands for which command, and what it covers.

use super::*;
use dispatch_contracts::permission::Verdict;
use dispatch_toolcall::{ShellContext, analyze};

fn form(command: &str) -> String {
    let effects = analyze(command, &ShellContext { cwd: "/w", home: None });
    let forms = effects.commands.iter().map(|part| command_form(part).unwrap_or_else(|| "none".to_owned()));
    forms.collect::<Vec<_>>().join(" | ")
}

#[test]
fn a_rule_has_the_shape_of_the_command() {
    for (command, expected) in [
        ("git status", "git status *"),
        ("git status -s src", "git status *"),
        ("git -C /etc status", "git -C /etc status"),
        ("git", "git"),
        ("cargo test -p x", "cargo test *"),
        ("ls -l", "ls *"),
        ("rm -r build", "rm -r build"),
        ("rm -r 'b*'", "none"),
        ("python3 -c 'print(1)'", "python3 -c print(1)"),
    ] {
        assert_eq!(form(command), expected, "{command}");
    }
    assert!(!form("env git status").contains('*'), "{}", form("env git status"));
    assert!(!form("bash -c 'ls -l'").contains("bash *"), "{}", form("bash -c 'ls -l'"));
}

#[test]
fn a_rule_covers_its_own_kind_only() {
    let rule = PermissionRule {
        permission: "run_shell".to_owned(),
        target: "git status *".to_owned(),
        verdict: Verdict::Allow,
        reason: None,
    };
    let request = |permission: &str, target: &str| PermissionRequest {
        permission: permission.to_owned(),
        target: target.to_owned(),
    };
    for (target, expected) in
        [("git status", true), ("git status -s", true), ("git statusx", false), ("git push", false), ("git", false)]
    {
        assert_eq!(covers(&rule, &request("run_shell", target)), expected, "{target}");
    }
    assert!(!covers(&rule, &request("write_file", "git status")));
    assert_eq!(target_form("a.txt".to_owned()).as_deref(), Some("a.txt"));
    assert_eq!(target_form("*".to_owned()), None, "it would stand for every file");
}
