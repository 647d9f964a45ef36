//! A model server on the loopback address that follows a script and remembers what it was asked.

mod exchange;
mod reply;
mod strict;

pub use exchange::Recorded;
pub use reply::{After, Reply, Script, Step};
pub use strict::strict_problem;

use serde_json::json;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The running server. Dropping it stops taking connections.
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<ServerState>,
}

/// Makes up a reply to a request.
type Answering = Box<dyn Fn(&Recorded) -> Reply + Send + Sync>;

/// What the connections share.
struct ServerState {
    script: Script,
    /// Answers in the place of the script.
    answering: Option<Answering>,
    log: Mutex<ExchangeLog>,
    changed: Condvar,
    stopped: AtomicBool,
}

#[derive(Default)]
struct ExchangeLog {
    requests: Vec<Recorded>,
    /// Replies handed out.
    replied: usize,
    /// Connections that the client closed while a reply waited for that.
    closes: usize,
}

impl ScriptedModel {
    /// Starts a server on a free port.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn start(script: Script) -> Self {
        Self::open(script, None)
    }

    /// A server whose replies depend on what it is asked. It refuses what a strict server would.
    #[must_use]
    pub fn answering(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        let strict = move |request: &Recorded| match strict_problem(&request.json()) {
            Some(problem) => Reply::json(400, &json!({ "error": { "message": problem } })),
            None => answer(request),
        };
        Self::open(Script::default(), Some(Box::new(strict)))
    }

    fn open(script: Script, answering: Option<Answering>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("the address of the server");
        let shared = Arc::new(ServerState {
            script,
            answering,
            log: Mutex::default(),
            changed: Condvar::new(),
            stopped: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || accepting.accept(&listener));
        Self { address, shared }
    }

    /// A server that gives these replies and then fails.
    #[must_use]
    pub fn playing(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start(Script { replies: replies.into_iter().collect(), ..Script::default() })
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What `model.base_url` is set to.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Everything that was asked so far, in the order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().requests.clone()
    }

    /// What a strict server would have refused, of all that was asked for a reply.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let asked = self.requests().into_iter().filter(|request| request.method == "POST");
        asked.filter_map(|request| strict_problem(&request.json())).collect()
    }

    /// Waits until a client has closed its connection in the middle of a reply; `false` if none did in time.
    #[must_use]
    pub fn saw_close_within(&self, wait: Duration) -> bool {
        self.wait_for(wait, |log| log.closes > 0)
    }

    /// Waits until so many requests have come; `false` if they did not in time.
    #[must_use]
    pub fn saw_requests_within(&self, count: usize, wait: Duration) -> bool {
        self.wait_for(wait, |log| log.requests.len() >= count)
    }

    fn wait_for(&self, wait: Duration, reached: impl Fn(&ExchangeLog) -> bool) -> bool {
        let log = self.shared.lock();
        let waited = self.shared.changed.wait_timeout_while(log, wait, |log| !reached(log));
        let (log, _) = waited.unwrap_or_else(PoisonError::into_inner);
        reached(&log)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

impl ServerState {
    fn lock(&self) -> MutexGuard<'_, ExchangeLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for connection in listener.incoming() {
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            let Ok(stream) = connection else { continue };
            let shared = Arc::clone(self);
            std::thread::spawn(move || exchange::serve(&shared, stream));
        }
    }

    /// Remembers a request and says what it gets.
    fn answer(&self, request: Recorded) -> Reply {
        let mut log = self.lock();
        let is_list = request.method == "GET" && request.path.ends_with("/models");
        let made_up = self.answering.as_ref().filter(|_| !is_list).map(|answer| answer(&request));
        if log.requests.len() >= self.script.keep {
            log.requests.remove(0);
        }
        log.requests.push(request);
        let at = log.replied;
        log.replied += usize::from(!is_list);
        drop(log);
        self.changed.notify_all();
        match made_up {
            Some(reply) => reply,
            None if is_list => self.script.models.clone(),
            None => self.script.reply(at),
        }
    }

    fn closed(&self) {
        self.lock().closes += 1;
        self.changed.notify_all();
    }
}
