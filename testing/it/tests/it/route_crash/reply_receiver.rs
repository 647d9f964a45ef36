//! Somebody outside who gets replies by webhook, and counts them.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// What the receiver does with a reply that it has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manners {
    /// It says that it has it.
    Answers,
    /// The first time it has it and says nothing.
    HangsUpFirst,
    /// It has it, stays there and says nothing.
    IsSilent,
}

/// One request that arrived whole.
#[derive(Clone, Debug)]
pub(super) struct ReceivedReply {
    pub(super) key: String,
    pub(super) event: String,
    pub(super) content: String,
    /// What it is signed with, and what is signed: the id, the time and the body.
    pub(super) signature: String,
    pub(super) signed: String,
}

pub(super) struct ReplyReceiver {
    port: u16,
    received: Arc<Mutex<Vec<ReceivedReply>>>,
}

impl ReplyReceiver {
    pub(super) fn start(manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::<Mutex<Vec<ReceivedReply>>>::default();
        let all = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = Arc::clone(&all);
                std::thread::spawn(move || serve(stream, &all, manners));
            }
        });
        Self { port, received }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/replies", self.port)
    }

    pub(super) fn received(&self) -> Vec<ReceivedReply> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(stream: TcpStream, all: &Mutex<Vec<ReceivedReply>>, manners: Manners) {
    let mut stream = BufReader::new(stream);
    // A sender that is killed leaves half a request, which nobody counts.
    while let Some(reply) = read(&mut stream) {
        let is_first = {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            let is_first = all.iter().all(|known| known.key != reply.key);
            all.push(reply);
            is_first
        };
        match manners {
            Manners::HangsUpFirst if is_first => return,
            // Until the sender is gone.
            Manners::IsSilent => return drop(stream.read(&mut [0])),
            Manners::HangsUpFirst | Manners::Answers => {}
        }
        if stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<ReceivedReply> {
    let (mut key, mut length, mut line) = (String::new(), 0, String::new());
    let (mut id, mut time, mut signature) = (String::new(), String::new(), String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "idempotency-key" => key = value.to_owned(),
            "webhook-id" => id = value.to_owned(),
            "webhook-timestamp" => time = value.to_owned(),
            "webhook-signature" => signature = value.to_owned(),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let signed = format!("{id}.{time}.{}", String::from_utf8_lossy(&body));
    let body: Value = serde_json::from_slice(&body).ok()?;
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    Some(ReceivedReply { key, event: text("replyToId"), content: text("content"), signature, signed })
}
