//! One connection: reads requests, sends replies, breaks off where the script says so.

use super::ServerState;
use super::reply::{Reply, Step};
use serde::Serialize;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The largest request that is read.
const MAX_REQUEST_BYTES: usize = 256 * 1024 * 1024;

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Recorded {
    /// A header by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// Whether the connection can take another request.
#[derive(PartialEq, Eq)]
enum AfterReply {
    Request,
    Nothing,
}

pub(super) fn serve(shared: &ServerState, stream: TcpStream) {
    let Ok(reading) = stream.try_clone() else { return };
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(reading);
    // A connection that breaks is what some scripts are for.
    while let Ok(Some(request)) = read_request(&mut reader) {
        let reply = shared.answer(request);
        match send_reply(shared, &stream, &reply) {
            Ok(AfterReply::Request) => {}
            Ok(AfterReply::Nothing) | Err(_) => return,
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Recorded>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0_usize).min(MAX_REQUEST_BYTES);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Recorded { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() }))
}

fn send_reply(shared: &ServerState, mut stream: &TcpStream, reply: &Reply) -> io::Result<AfterReply> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\nTransfer-Encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    for step in &reply.body {
        match step {
            Step::Text(text) => chunk(stream, text.as_bytes())?,
            Step::Bytes(bytes) => chunk(stream, bytes)?,
            Step::ByteByByte(text) => text.as_bytes().chunks(1).try_for_each(|byte| chunk(stream, byte))?,
            Step::Repeat { text, times } => (0..*times).try_for_each(|_| chunk(stream, text.as_bytes()))?,
            Step::SleepMs(ms) => std::thread::sleep(Duration::from_millis(*ms)),
            Step::UntilClosedMs(ms) => {
                if is_closed_within(stream, Duration::from_millis(*ms)) {
                    shared.closed();
                    return Ok(AfterReply::Nothing);
                }
            }
            Step::Reset => {
                reset(stream);
                return Ok(AfterReply::Nothing);
            }
            Step::Cut => return Ok(AfterReply::Nothing),
        }
    }
    stream.write_all(b"0\r\n\r\n")?;
    Ok(AfterReply::Request)
}

fn chunk(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        // An empty chunk would end the body.
        return Ok(());
    }
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    stream.write_all(&framed)
}

fn is_closed_within(mut stream: &TcpStream, wait: Duration) -> bool {
    let until = Instant::now() + wait;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let _ = stream.set_read_timeout(Some(left.max(Duration::from_millis(1))));
        match stream.read(&mut [0]) {
            Ok(count) => return count == 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        }
    }
}

/// Makes closing the connection a reset instead of an orderly end.
fn reset(stream: &TcpStream) {
    #[cfg(unix)]
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
    #[cfg(not(unix))]
    let _ = stream.shutdown(std::net::Shutdown::Both);
}
