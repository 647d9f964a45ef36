//! The other side of Bolt, on loopback: it checks what it is sent as a real server does, or misbehaves by script.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::neo4j::packstream::Message;
use crate::neo4j::wire::framed;

/// How the server behaves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// As a database of this version of Bolt and with this password.
    Healthy { major: u8, minor: u8, password: &'static str },
    /// Healthy, but its name holds whatever password it was sent.
    Echoing,
    /// Sends these bytes to whoever connects, then closes.
    Answers(&'static [u8]),
    /// Healthy until it has got so many messages.
    ClosesAfter { messages: usize },
    /// Healthy, but it thinks that one is this number.
    Counts(i64),
    /// Takes connections and says nothing.
    Silent,
    /// One byte of the handshake, then a byte of a message now and then.
    Drips,
    /// Agrees on a version, then sends empty chunks for ever.
    KeepsAlive,
    /// Agrees on a version, then sends a message without an end.
    Floods,
}

/// A server; its threads end with the connections and with the test process.
pub(crate) struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
    messages: Arc<AtomicUsize>,
}

/// A port where nobody listens.
pub(crate) fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (connections, messages) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let server = Self { port, connections: Arc::clone(&connections), messages: Arc::clone(&messages) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let messages = Arc::clone(&messages);
                std::thread::spawn(move || {
                    let mut guest = Guest { stream, manner, messages, version: (0, 0), ready: false };
                    // The other side may be gone; that is its business.
                    let _ = guest.serve();
                });
            }
        });
        server
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn messages(&self) -> usize {
        self.messages.load(Ordering::SeqCst)
    }
}

struct Guest {
    stream: TcpStream,
    manner: Manner,
    messages: Arc<AtomicUsize>,
    version: (u8, u8),
    ready: bool,
}

impl Guest {
    fn serve(&mut self) -> std::io::Result<()> {
        match self.manner {
            Manner::Answers(bytes) => {
                self.stream.write_all(bytes)?;
                self.stream.shutdown(std::net::Shutdown::Write)?;
                // Read to the end, so that closing does not reset what was just sent.
                self.stream.read_to_end(&mut Vec::new()).map(drop)
            }
            Manner::Silent => self.stream.read_to_end(&mut Vec::new()).map(drop),
            Manner::Drips => self.repeat(&[0, 0, 4, 5, 0, 200], &[0xB1], Duration::from_millis(10)),
            Manner::KeepsAlive => self.repeat(&[0, 0, 4, 5], &[0, 0], Duration::from_millis(1)),
            Manner::Floods => self.repeat(&[0, 0, 4, 5], &[vec![0x10, 0], vec![0xB1; 0x1000]].concat(), Duration::ZERO),
            _ => self.converse(),
        }
    }

    fn repeat(&mut self, first: &[u8], then: &[u8], pause: Duration) -> std::io::Result<()> {
        self.stream.write_all(first)?;
        loop {
            self.stream.write_all(then)?;
            std::thread::sleep(pause);
        }
    }

    fn converse(&mut self) -> std::io::Result<()> {
        self.version = match self.manner {
            Manner::Healthy { major, minor, .. } => (major, minor),
            _ => (5, 4),
        };
        let mut handshake = [0; 20];
        self.stream.read_exact(&mut handshake)?;
        assert_eq!(handshake[..4], [0x60, 0x60, 0xB0, 0x17]);
        let offered = handshake[4..]
            .chunks(4)
            .any(|offer| offer[3] == self.version.0 && (offer[2] - offer[1]..=offer[2]).contains(&self.version.1));
        let (major, minor) = if offered { self.version } else { (0, 0) };
        self.stream.write_all(&[0, 0, minor, major])?;
        loop {
            let message = self.receive()?;
            let count = self.messages.fetch_add(1, Ordering::SeqCst) + 1;
            if matches!(self.manner, Manner::ClosesAfter { messages } if count >= messages) || message.tag == 0x02 {
                return Ok(());
            }
            // An empty chunk between answers keeps a connection alive; a client must pass over it.
            self.stream.write_all(&[0, 0])?;
            for answer in self.answers(&message) {
                self.send(&answer)?;
            }
        }
    }

    fn answers(&mut self, message: &Message) -> Vec<Message> {
        let first = &message.fields[0];
        let success = |fields: Value| Message { tag: 0x70, fields: vec![fields] };
        let failure = |code: &str| {
            let told = json!({"code": code, "message": format!("not so: {first}")});
            vec![Message { tag: 0x7F, fields: vec![told] }]
        };
        match message.tag {
            0x01 => {
                assert!(first["user_agent"].as_str().unwrap().starts_with("dispatch/"));
                assert_eq!(first.get("bolt_agent").is_some(), self.version >= (5, 3));
                let in_hello = self.version < (5, 1);
                assert_eq!(first.get("credentials").is_some(), in_hello);
                if in_hello && !self.knows(first) {
                    return failure("Neo.ClientError.Security.Unauthorized");
                }
                self.ready = in_hello;
                let name = match self.manner {
                    Manner::Echoing => "Neo4j/canary-pass-word".to_owned(),
                    _ => format!("Neo4j/{}.{}.0", self.version.0, self.version.1),
                };
                vec![success(json!({"server": name, "connection_id": "bolt-1", "hints": {}}))]
            }
            0x6A if self.version >= (5, 1) && self.knows(first) => {
                self.ready = true;
                vec![success(json!({}))]
            }
            0x6A => failure("Neo.ClientError.Security.Unauthorized"),
            0x10 if self.ready && message.fields == [json!("RETURN 1"), json!({}), json!({})] => {
                vec![success(json!({"t_first": 1, "fields": ["1"], "qid": 0}))]
            }
            0x3F if self.ready => {
                let number = if let Manner::Counts(number) = self.manner { number } else { 1 };
                let record = Message { tag: 0x71, fields: vec![json!([number])] };
                vec![record, success(json!({"type": "r", "t_last": 0, "db": "neo4j"}))]
            }
            _ => failure("Neo.ClientError.Request.Invalid"),
        }
    }

    fn knows(&self, login: &Value) -> bool {
        let password = match self.manner {
            Manner::Healthy { password, .. } => password,
            _ => "canary-pass-word",
        };
        login["scheme"] == "basic" && login["principal"] == "neo4j" && login["credentials"] == password
    }

    fn receive(&mut self) -> std::io::Result<Message> {
        let mut bytes = Vec::new();
        loop {
            let mut size = [0; 2];
            self.stream.read_exact(&mut size)?;
            let size = usize::from(u16::from_be_bytes(size));
            if size == 0 && !bytes.is_empty() {
                return Ok(Message::decode(&bytes).unwrap());
            }
            let start = bytes.len();
            bytes.resize(start + size, 0);
            self.stream.read_exact(&mut bytes[start..])?;
        }
    }

    fn send(&mut self, message: &Message) -> std::io::Result<()> {
        // Cut in two chunks on purpose: a client must put them together.
        let bytes = message.encode();
        let (head, tail) = bytes.split_at(bytes.len() / 2);
        let mut whole = framed(head);
        whole.truncate(whole.len() - 2);
        whole.extend(framed(tail));
        self.stream.write_all(&whole)
    }
}
