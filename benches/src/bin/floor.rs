//! The least a hook can do in Rust: read standard input and append one line. The yardstick for ours.

use std::io::{Read, Write};

fn main() -> std::io::Result<()> {
    let mut payload = Vec::new();
    std::io::stdin().lock().read_to_end(&mut payload)?;
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "/dev/null".into());
    let line = format!("{{\"bytes\":{}}}\n", payload.len());
    std::fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(line.as_bytes())?;
    std::io::stdout().write_all(b"{}\n")
}
