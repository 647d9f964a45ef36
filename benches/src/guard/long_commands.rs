//! Commands of 16 KiB, of the kinds that a model writes.

use std::fmt::Write as _;

/// How long each command is, at least.
const BYTES: usize = 16 * 1024;

/// Each kind by name.
pub(super) fn long_commands() -> Vec<(&'static str, String)> {
    vec![
        ("one word of 16 KiB", format!("echo {}", "x".repeat(BYTES))),
        ("16 KiB of commands", repeated(|text, number| write!(text, "git add src/part_{number}.rs && "), "true")),
        ("a script of 16 KiB", format!("cat > notes.py <<'END'\n{}\nEND", python())),
        ("one-liner of 16 KiB", format!("python3 -c '{}'", python().replace('\'', ""))),
        ("16 KiB of substitutions", repeated(|text, number| write!(text, "echo \"$(date +%s) {number}\"; "), "true")),
    ]
}

fn repeated(mut add: impl FnMut(&mut String, usize) -> std::fmt::Result, end: &str) -> String {
    let mut text = String::new();
    let mut number = 0;
    // Writing to a string cannot fail.
    while text.len() < BYTES && add(&mut text, number).is_ok() {
        number += 1;
    }
    text + end
}

fn python() -> String {
    repeated(|text, number| writeln!(text, "rows[{number}] = parse(line, sep=\",\")  # column {number}"), "print(rows)")
}
