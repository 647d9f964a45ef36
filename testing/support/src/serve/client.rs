//! A plain HTTP client: bytes out, status, headers and body in. A connection that breaks is an answer too.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long an answer may take before the test has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one request waits for the end of a dispatch.
const WAIT_MS: u64 = 20_000;

/// Where a server is, and the token for it.
#[derive(Clone, Debug)]
pub struct Client {
    /// The address of the server.
    pub address: SocketAddr,
    /// Sent with every request, if there is one.
    pub token: Option<String>,
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The body as JSON; null if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl Client {
    /// A client of one server.
    #[must_use]
    pub fn new(address: SocketAddr, token: Option<String>) -> Self {
        Self { address, token }
    }

    /// `GET`.
    ///
    /// # Panics
    /// When the answer is not complete.
    #[must_use]
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// `POST` with JSON.
    ///
    /// # Panics
    /// When the answer is not complete.
    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.try_post(path, body).unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    /// The same against a server that may die.
    ///
    /// # Errors
    /// When the answer is not complete.
    pub fn try_post(&self, path: &str, body: &Value) -> io::Result<Answer> {
        self.ask("POST", path, &[("Content-Type", "application/json")], &body.to_string())
    }

    /// Puts a message into a session and gives its dispatch.
    ///
    /// # Panics
    /// When it is not taken.
    pub fn submit(&self, session: &str, message: &Value) -> String {
        let answer = self.post(&format!("/v1/sessions/{session}/messages"), message);
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["dispatch"].as_str().expect("an id").to_owned()
    }

    /// Waits for the end of a dispatch.
    ///
    /// # Panics
    /// When it does not end.
    #[must_use]
    pub fn ended(&self, dispatch: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let view = self.get(&format!("/v1/dispatches/{dispatch}?waitMs={WAIT_MS}")).json();
            if !matches!(view["state"].as_str(), Some("pending" | "running")) {
                return view;
            }
            assert!(Instant::now() < deadline, "{dispatch} does not end: {view}");
        }
    }

    /// Says something and waits for the end of the turn.
    ///
    /// # Panics
    /// When it is not taken or does not end.
    pub fn say(&self, session: &str, text: &str) -> Value {
        self.ended(&self.submit(session, &serde_json::json!({"text": text, "ask": "all"})))
    }

    /// One request, one answer.
    ///
    /// # Errors
    /// When the answer is not complete.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> io::Result<Answer> {
        let mut stream = self.send(method, path, headers, body)?;
        let (status, headers) = read_head(&mut stream)?;
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let mut bytes = Vec::new();
        if chunked {
            while let Some(chunk) = read_chunk(&mut stream)? {
                bytes.extend(chunk);
            }
        } else if let Some(length) = length.and_then(|(_, value)| value.parse().ok()) {
            bytes.resize(length, 0);
            stream.read_exact(&mut bytes)?;
        }
        Ok(Answer { status, headers, body: String::from_utf8_lossy(&bytes).into_owned() })
    }

    /// Sends a request and gives the stream that the answer comes on.
    ///
    /// # Errors
    /// When nothing listens there.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<BufReader<TcpStream>> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        if let Some(token) = &self.token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
        Ok(BufReader::new(stream))
    }
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the answer broke off")
}

fn read_head(stream: &mut BufReader<TcpStream>) -> io::Result<(u16, Vec<(String, String)>)> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(broken)?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok((status, headers))
}

fn read_chunk(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Vec<u8>>> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let length = usize::from_str_radix(line.trim(), 16).map_err(|_| broken())?;
    let mut chunk = vec![0; length + 2];
    stream.read_exact(&mut chunk)?;
    chunk.truncate(length);
    Ok((length > 0).then_some(chunk))
}
