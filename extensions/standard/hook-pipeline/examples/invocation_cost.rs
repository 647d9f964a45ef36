//! Prints what one invocation costs inside the process, with a short and with a long log.

#![allow(clippy::disallowed_methods, reason = "an example measures the real thing")]
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::path::Path;
use std::time::{Duration, Instant};

use dispatch_hook_dialects::dialect::Hints;
use dispatch_hook_module::{Effects, SystemClock};

use ext_hook_pipeline::contract::{Invocation, Unwatched, native_modules, run};

const ROUNDS: u32 = 400;
const LONG_LOG_BYTES: u64 = 1024 * 1024 * 1024;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir_all(folder.path().join(".ai/hooks"))?;
    println!("short log: {:?}", median(folder.path()));
    let log = folder.path().join(".ai/tmp/ba7816bf/events.jsonl");
    let lines = std::fs::read(&log)?;
    let last = lines.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()).unwrap_or_default();
    if let Some(record) = dispatch_hook_module::Record::parse(last) {
        println!("of one of them: {:?} ms, {}", record.ms, record.data["modules"]);
    }
    // A sparse middle stands for a long history; the end is a real one.
    let file = std::fs::OpenOptions::new().append(true).open(&log)?;
    file.set_len(LONG_LOG_BYTES)?;
    drop(file);
    let mut tail = vec![b'\n'];
    tail.extend_from_slice(&lines);
    std::io::Write::write_all(&mut std::fs::OpenOptions::new().append(true).open(&log)?, &tail)?;
    println!("1 GiB log: {:?}", median(folder.path()));
    Ok(())
}

fn median(root: &Path) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|round| once(root, round)).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn once(root: &Path, round: u32) -> Duration {
    let started = Instant::now();
    let id = format!("{round}-{}", dispatch_os::time::unix_ms());
    let payload = format!(
        r#"{{"session_id":"abc","cwd":{root:?},"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"cargo test -p x && git status"}},"tool_use_id":"{id}"}}"#
    );
    let outcome = run(&Invocation {
        host: Some("claude-code"),
        event: None,
        stdin: payload.as_bytes(),
        hints: &Hints::default(),
        home: Some("/home/dev"),
        user: None,
        trust: ext_hook_pipeline::contract::RuleTrust::Everything,
        root: None,
        manifest: None,
        config: None,
        modules: &native_modules(),
        scripts: None,
        clock: &SystemClock::start(),
        watch: &Unwatched,
        effects: Effects::Commit,
    });
    assert_eq!(outcome.reply.exit_code, 0);
    started.elapsed()
}
