//! Commands that take our programs away or run them out of their sources.
//!
//! Pure.

use dispatch_hook_module::{OwnCommand, own_command};
use dispatch_toolcall::SimpleCommand;

/// Package managers with the words that remove, and whether they remove only with `-g`.
const REMOVERS: &[(&[&str], &[&str], bool)] = &[
    (&["npm", "pnpm", "yarn", "bun"], &["uninstall", "remove", "rm", "un", "unlink"], true),
    (
        &[
            "brew", "cargo", "apt", "apt-get", "dnf", "yum", "pip", "pip3", "pipx", "uv", "scoop", "choco", "winget",
            "snap", "mise", "nix", "port", "apk", "zypper",
        ],
        &["uninstall", "remove", "purge", "unlink", "erase", "del"],
        false,
    ),
    (&["pacman"], &["-R", "-Rs", "-Rns"], false),
    (&["dpkg"], &["-r", "-P", "--remove", "--purge"], false),
];
const PROGRAMS: &[&str] = &["dispatch", "dispatch-hook", "dispatch-cli"];

/// `brew uninstall dispatch`, `npm uninstall -g dispatch`.
pub(super) fn uninstalls(command: &SimpleCommand) -> bool {
    let words = command.argv.get(1..).unwrap_or_default();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let row = REMOVERS.iter().find(|(names, _, _)| names.contains(&command.program.as_str()));
    row.is_some_and(|(_, verbs, global)| has(verbs) && has(PROGRAMS) && (!global || has(&["-g", "--global", "global"])))
}

/// `cargo run -p dispatch -- trust --all`: what stands behind `--` is for our program.
pub(super) fn runs_from_sources(command: &SimpleCommand) -> bool {
    if command.program != "cargo" {
        return false;
    }
    let words = command.argv.as_slice();
    let ours = words
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "-p" | "--package" | "--bin") && PROGRAMS.contains(&pair[1].as_str()))
        || words.iter().any(|word| word == "--bin=dispatch" || word == "--package=dispatch");
    let at = words.iter().position(|word| word == "--");
    let (true, Some(rest)) = (ours, at.and_then(|at| words.get(at + 1..))) else {
        return false;
    };
    let argv = std::iter::once("dispatch".to_owned()).chain(rest.iter().cloned()).collect();
    let meant = SimpleCommand { program: "dispatch".to_owned(), argv, ..command.clone() };
    own_command(&meant) == OwnCommand::ChangesPolicy
}
