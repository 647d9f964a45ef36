//! The scripted model server as a separate process: `scripted-model SCRIPT.json [LOG.jsonl]`.
//!
//! Prints its port as the first line and serves until it is killed. With a log file, each request is
//! appended to it as one line of JSON.
#![allow(clippy::print_stdout, clippy::expect_used, reason = "a tool for tests says its port, or why it cannot start")]

use dispatch_support::{Script, ScriptedModel};
use std::io::Write;
use std::time::Duration;

/// How long to wait for the next request before looking again.
const WAIT: Duration = Duration::from_secs(3600);

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let script = arguments.next().expect("usage: scripted-model SCRIPT.json [LOG.jsonl]");
    let text = std::fs::read_to_string(&script).expect("the script can be read");
    let script: Script = serde_json::from_str(&text).expect("the script is JSON of the known form");
    let log = arguments.next().map(|path| {
        let options = std::fs::OpenOptions::new().create(true).append(true).open(path);
        options.expect("the log can be written")
    });
    let model = ScriptedModel::start(script);
    println!("{}", model.port());
    std::io::stdout().flush().expect("the port can be told");
    let mut written = 0;
    loop {
        if !model.saw_requests_within(written + 1, WAIT) {
            continue;
        }
        for request in model.requests().into_iter().skip(written) {
            written += 1;
            if let Some(mut log) = log.as_ref() {
                let line = serde_json::to_string(&request).unwrap_or_default();
                let _ = log.write_all(format!("{line}\n").as_bytes());
            }
        }
    }
}
