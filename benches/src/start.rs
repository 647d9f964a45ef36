//! What it costs to start: our executables against `/bin/true`, Node and the least Rust can do.

use crate::process::{Program, build, find, instructions, time_all};
use crate::{row, table};
use anyhow::Result;
use std::path::Path;

/// Rounds over all programs.
const ROUNDS: u32 = 120;

/// A tool call as a host sends it.
const PAYLOAD: &str = r#"{"session_id":"5f1c","transcript_path":"/tmp/t.jsonl","cwd":"/tmp","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"cargo test --workspace","description":"Run the tests"},"tool_use_id":"toolu_01"}"#;

pub(crate) fn run() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("floor.jsonl").display().to_string();
    let floor = build("dispatch-benches", "floor", "release")?;
    let mut programs = vec![
        Program::new("/bin/true", Path::new("/bin/true"), &[]),
        Program::new("bare Rust: read stdin, append a line", &floor, &[&log]),
        Program::new(
            "dispatch-hook (hook profile)",
            &build("dispatch-hook", "dispatch-hook", "hook")?,
            &["PreToolUse"],
        ),
        Program::new("dispatch --version (release)", &build("dispatch", "dispatch", "release")?, &["--version"]),
    ];
    programs.extend(find("node").map(|path| Program::new("node -e 0", &path, &["-e", "0"])));

    let samples = time_all(&programs, &|_| PAYLOAD.as_bytes().to_vec(), ROUNDS)?;
    let best = |label: &str| {
        programs
            .iter()
            .zip(&samples)
            .find(|(program, _)| program.label.starts_with(label))
            .map(|(_, found)| found.best_us())
    };
    let ratio = |us: f64, label: &str| best(label).map_or("-".to_owned(), |base| format!("{:.2}", us / base));
    let mut rows = vec![row!["program", "best ms", "median ms", "x true", "x bare Rust", "x node", "instructions"]];
    for (program, found) in programs.iter().zip(&samples) {
        let us = found.best_us();
        rows.push(row![
            program.label,
            format!("{:.2}", us / 1e3),
            format!("{:.2}", found.median_us() / 1e3),
            ratio(us, "/bin/true"),
            ratio(us, "bare Rust"),
            ratio(us, "node"),
            instructions(program, PAYLOAD.as_bytes())
                .map_or("-".to_owned(), |count| format!("{:.3} M", count as f64 / 1e6)),
        ]);
    }
    table::print(&rows);
    Ok(())
}
