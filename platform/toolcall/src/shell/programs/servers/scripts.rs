//! Scripts of a project that serve or watch, by the name that people give them.
//!
//! Pure.

/// Programs that run a project's scripts by name.
const RUNNERS: &[&str] = &["npm", "pnpm", "yarn", "bun", "turbo", "lerna", "nx", "deno"];
/// Options of those that take the next word.
const VALUES: &[&str] =
    &["--prefix", "-w", "--workspace", "-C", "--filter", "-F", "--dir", "--cwd", "--scope", "--parallel", "--config"];
/// Words before the name of a script.
const LEADING: &[&str] = &["run", "run-script", "run-many", "task", "exec", "foreach", "workspaces", "workspace"];
/// Names, and the first or last part of names, of scripts that go on.
const SERVING: &[&str] = &["dev", "start", "serve", "watch", "preview", "develop", "storybook", "server"];
/// Parts of names that say a script ends.
const ENDING: &[&str] = &[
    "build",
    "test",
    "once",
    "ci",
    "check",
    "lint",
    "stop",
    "db",
    "install",
    "setup",
    "deps",
    "clean",
    "reset",
    "ps",
    "down",
    "types",
    "typecheck",
    "docker",
    "seed",
    "migrate",
    "all",
    "and",
    "prod-build",
    "report",
    "generate",
];

/// Whether the words of a script runner name a script that goes on.
pub(super) fn starts_server(program: &str, words: &[&str]) -> bool {
    if !RUNNERS.contains(&program) {
        return false;
    }
    let mut operands = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if *word == "--" {
            break;
        }
        if VALUES.contains(word) {
            rest.next();
        } else if !word.starts_with('-') {
            operands.push(*word);
        }
    }
    let by_verb = matches!(program, "turbo" | "lerna" | "deno" | "nx") || operands.first() == Some(&"run");
    match (operands.as_slice(), by_verb) {
        (["run" | "run-script" | "task" | "run-many", name, ..], _) => is_serving(name),
        (["workspace", _, "run", name, ..] | ["workspace", _, name, ..], false) => is_serving(name),
        (["serve" | "dev", ..], true) if program == "nx" => true,
        ([name, ..], false) => !LEADING.contains(name) && is_serving(name) && is_direct(program, name),
        _ => false,
    }
}

/// `npm` itself knows only `start` without `run`; the others take any name.
fn is_direct(program: &str, name: &str) -> bool {
    program != "npm" || name == "start"
}

fn is_serving(name: &str) -> bool {
    let name = name.rsplit('#').next().unwrap_or(name);
    let parts: Vec<&str> = name.split([':', '-', '_', '.']).collect();
    let named = parts.first().is_some_and(|part| SERVING.contains(part))
        || parts.last().is_some_and(|part| SERVING.contains(part) && *part != "dev");
    named && !parts.iter().any(|part| ENDING.contains(part))
}
