//! Senders that keep their connection and send the next event when the one before it is acknowledged.

use anyhow::{Context as _, Result, ensure};
use dispatch_support::Client;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What an event says: as long as what `durable_rate` writes.
const CONTENT_BYTES: usize = 500;
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection to a server.
pub(super) struct Sender {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Sender {
    pub(super) fn connect(client: &Client) -> Result<Self> {
        let stream = TcpStream::connect(client.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let token = client.token.as_deref().unwrap_or_default();
        let head = format!("Host: {}\r\nAuthorization: Bearer {token}\r\n", client.address);
        Ok(Self { stream: BufReader::new(stream), head })
    }

    /// Posts JSON and gives the answer.
    pub(super) fn post(&mut self, path: &str, body: &Value) -> Result<(u16, Value)> {
        let body = body.to_string();
        let kind = "Content-Type: application/json\r\n";
        self.ask(&format!("POST {path} HTTP/1.1\r\n{kind}Content-Length: {}\r\n", body.len()), &body)
    }

    pub(super) fn get(&mut self, path: &str) -> Result<Value> {
        Ok(self.ask(&format!("GET {path} HTTP/1.1\r\n"), "")?.1)
    }

    fn ask(&mut self, first: &str, body: &str) -> Result<(u16, Value)> {
        let request = format!("{first}{}\r\n{body}", self.head);
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).context("a status")?;
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok((status, serde_json::from_slice(&bytes)?))
    }
}

/// An event of a peer.
pub(super) fn event(peer: &str, id: &str, content: &str) -> Value {
    json!({ "channel": "web", "from": peer, "peerId": peer, "id": id, "content": content })
}

/// Events acknowledged per second. The ids begin with `label`.
pub(super) fn events_per_second(client: &Client, label: &str, senders: usize, sending: Duration) -> Result<f64> {
    let counts: Result<Vec<u64>> = std::thread::scope(|scope| {
        let start = |sender: usize| scope.spawn(move || send(client, &format!("{label}-{sender}"), sending));
        let threads: Vec<_> = (0..senders).map(start).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow::anyhow!("a sender failed"))?).collect()
    });
    Ok(counts?.iter().sum::<u64>() as f64 / sending.as_secs_f64())
}

fn send(client: &Client, peer: &str, sending: Duration) -> Result<u64> {
    let content = "x ".repeat(CONTENT_BYTES / 2);
    let mut sender = Sender::connect(client)?;
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < sending {
        let (status, answer) = sender.post("/v1/events", &event(peer, &format!("{peer}-{count}"), &content))?;
        ensure!(status == 202, "an event was not taken: {answer}");
        count += 1;
    }
    Ok(count)
}
