//! Agents of others beside ours, where they are installed: how long until they answer, and their memory then.

use crate::process::{find, resident_kb};
use crate::row;
use crate::sample::Samples;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const STARTS: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at a port.
const LOOK: Duration = Duration::from_micros(500);
/// How long a process may settle before its memory is read.
const REST: Duration = Duration::from_millis(300);

/// When a process counts as ready.
enum Ready {
    /// When it answers this line on its standard input.
    Answer(Value),
    /// When it listens; the port stands in its last argument.
    Port,
}

struct Peer {
    label: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
    ready: Ready,
}

/// Ours first, then those that are installed.
pub(super) fn table(ours: &Path) -> Result<Vec<Vec<String>>> {
    let mut rows = vec![row!["program", "binary", "ready, best", "ready, median", "memory then"]];
    for peer in peers(ours) {
        rows.push(measured(&peer).with_context(|| peer.label.to_owned())?);
    }
    Ok(rows)
}

fn peers(ours: &Path) -> Vec<Peer> {
    let capabilities = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    let client = json!({ "clientInfo": { "name": "bench", "title": "bench", "version": "1" } });
    let hello = |parameters: &Value| {
        Ready::Answer(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters }))
    };
    let peer = |label, name, arguments, ready| find(name).map(|program| Peer { label, program, arguments, ready });
    let mine = |label, arguments, ready| Some(Peer { label, program: ours.to_owned(), arguments, ready });
    [
        mine("dispatch serve", &["serve", "--listen"], Ready::Port),
        peer("goose serve", "goose", &["serve", "--dangerously-unauthenticated", "--port"], Ready::Port),
        peer("opencode serve", "opencode", &["serve", "--port"], Ready::Port),
        mine("dispatch acp", &["acp"], hello(&capabilities)),
        peer("goose acp", "goose", &["acp"], hello(&capabilities)),
        peer("opencode acp", "opencode", &["acp"], hello(&capabilities)),
        peer("codex app-server", "codex", &["app-server"], hello(&client)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn measured(peer: &Peer) -> Result<Vec<String>> {
    let home = tempfile::tempdir()?;
    let (mut ready, mut memory_kb) = (Samples::default(), Vec::new());
    // The first start makes what later ones find.
    for number in 0..=STARTS {
        let (child, time) = started(peer, home.path())?;
        if number > 0 {
            ready.add(time);
            std::thread::sleep(REST);
            memory_kb.push(resident_kb(child.0.id())?);
        }
    }
    memory_kb.sort_unstable();
    let memory = memory_kb.get(memory_kb.len() / 2).context("a measurement")?;
    Ok(row![
        peer.label,
        super::size(&peer.program.canonicalize()?)?,
        format!("{:.1} ms", ready.best_us() / 1e3),
        format!("{:.1} ms", ready.median_us() / 1e3),
        format!("{:.1} MB", *memory as f64 / 1024.0),
    ])
}

/// Ends with the measurement.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn started(peer: &Peer, home: &Path) -> Result<(Running, Duration)> {
    let mut command = Command::new(&peer.program);
    command.args(peer.arguments).current_dir(home).env_clear();
    command.env("HOME", home).env("DISPATCH_HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    match &peer.ready {
        Ready::Answer(hello) => {
            let start = Instant::now();
            let mut child = Running(command.spawn()?);
            let input = child.0.stdin.as_mut().context("its input")?;
            input.write_all(format!("{hello}\n").as_bytes())?;
            let mut answer = String::new();
            BufReader::new(child.0.stdout.as_mut().context("its output")?).read_line(&mut answer)?;
            let time = start.elapsed();
            ensure!(answer.contains("\"result\""), "it answered {answer}");
            Ok((child, time))
        }
        Ready::Port => {
            let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
            let address = if peer.label.starts_with("dispatch") { free.to_string() } else { free.port().to_string() };
            let start = Instant::now();
            let child = Running(command.arg(address).spawn()?);
            while TcpStream::connect(free).is_err() {
                ensure!(start.elapsed() < PATIENCE, "it does not listen");
                std::thread::sleep(LOOK);
            }
            Ok((child, start.elapsed()))
        }
    }
}
