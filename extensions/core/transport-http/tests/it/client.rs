//! A plain HTTP client: bytes out, status, headers and body in.

use crate::server::PATIENCE;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

#[derive(Clone)]
pub(crate) struct TestClient {
    pub(crate) addr: SocketAddr,
    pub(crate) token: Option<String>,
}

#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl HttpAnswer {
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The code of a refusal.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

impl TestClient {
    pub(crate) fn stranger(&self) -> Self {
        Self { token: None, ..self.clone() }
    }

    pub(crate) fn get(&self, path: &str) -> HttpAnswer {
        self.request("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.request("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpAnswer {
        let mut stream = self.send(method, path, headers, body);
        let answer = read_head(&mut stream);
        let body = if method == "HEAD" { String::new() } else { rest(&mut stream, &answer) };
        HttpAnswer { body, ..answer }
    }

    /// Sends a request and gives the stream that the answer comes on.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> BufReader<TcpStream> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.addr));
        }
        if let Some(token) = &self.token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() || method == "POST" {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(self.addr).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses by the head alone may close before the body is through.
        let _ = stream.write_all(body);
        BufReader::new(stream)
    }
}

/// The status and the headers.
pub(crate) fn read_head(stream: &mut BufReader<TcpStream>) -> HttpAnswer {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{line:?}"));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    HttpAnswer { status, headers, body: String::new() }
}

fn rest(stream: &mut BufReader<TcpStream>, head: &HttpAnswer) -> String {
    if head.header("transfer-encoding") == Some("chunked") {
        let mut body = String::new();
        while let Some(chunk) = read_chunk(stream) {
            body.push_str(&chunk);
        }
        return body;
    }
    let mut body = String::new();
    stream.read_to_string(&mut body).unwrap();
    body
}

/// One chunk of a chunked body; `None` at its end, or when the connection is gone.
pub(crate) fn read_chunk(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim(), 16).ok()?;
    let mut chunk = vec![0; length + 2];
    stream.read_exact(&mut chunk).ok()?;
    chunk.truncate(length);
    (length > 0).then(|| String::from_utf8(chunk).unwrap())
}

/// One server-sent event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ServerSentEvent {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: String,
}

impl ServerSentEvent {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// Reads server-sent events as they come.
pub(crate) struct EventReader {
    stream: BufReader<TcpStream>,
    held: String,
}

impl EventReader {
    pub(crate) fn open(client: &TestClient, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut stream = client.send("GET", path, headers, b"");
        let head = read_head(&mut stream).expect(200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        Self { stream, held: String::new() }
    }
}

impl Iterator for EventReader {
    type Item = ServerSentEvent;

    fn next(&mut self) -> Option<ServerSentEvent> {
        loop {
            if let Some((block, rest)) = self.held.split_once("\n\n") {
                let mut sent = ServerSentEvent::default();
                for line in block.lines() {
                    match line.split_once(": ") {
                        Some(("id", id)) => sent.id = Some(id.parse().unwrap()),
                        Some(("event", name)) => sent.event = name.to_owned(),
                        Some(("data", data)) => sent.data = data.to_owned(),
                        _ => {}
                    }
                }
                self.held = rest.to_owned();
                if sent != ServerSentEvent::default() {
                    return Some(sent);
                }
                continue;
            }
            self.held.push_str(&read_chunk(&mut self.stream)?);
        }
    }
}
