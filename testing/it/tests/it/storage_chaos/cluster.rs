//! Three processes on one database, in one folder, and whoever sends them messages.

use crate::seeded_random::SeededRandom;
use dispatch_support::{Client, ScriptedModel, Served, TestContext};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a message may take to find somebody who takes it.
const PATIENCE: Duration = Duration::from_secs(240);
const BETWEEN_TRIES: Duration = Duration::from_millis(50);
/// How far the clock of the last process is ahead.
pub(crate) const CLOCK_OFF: &str = "+600s";

pub(crate) struct Cluster {
    contexts: Vec<TestContext>,
    urls: [String; 3],
    base_url: String,
    served: [Mutex<Option<Served>>; 3],
    clients: [Mutex<Option<Client>>; 3],
    delivered: AtomicU64,
}

impl Cluster {
    pub(crate) fn new(model: &ScriptedModel, urls: [String; 3]) -> Self {
        Self::prepared(model, urls, |_| {})
    }

    /// The same with something in each home before its process starts.
    pub(crate) fn prepared(model: &ScriptedModel, urls: [String; 3], prepare: impl Fn(&TestContext)) -> Self {
        let contexts: Vec<TestContext> = (0..3).map(|_| TestContext::new()).collect();
        contexts.iter().for_each(prepare);
        let cluster = Self {
            contexts,
            urls,
            base_url: model.base_url(),
            served: Default::default(),
            clients: Default::default(),
            delivered: AtomicU64::new(0),
        };
        cluster.restart_missing();
        cluster
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.contexts[0].project()
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    pub(crate) fn restart_missing(&self) {
        for at in 0..3 {
            let is_missing = lock(&self.served[at]).is_none();
            if is_missing {
                self.restart(at);
            }
        }
    }

    /// Kills a process if it runs, and starts it.
    pub(crate) fn restart(&self, at: usize) {
        let mut served = lock(&self.served[at]);
        *lock(&self.clients[at]) = None;
        drop(served.take());
        let context = &self.contexts[at];
        let mut command = context.command("dispatch");
        command.current_dir(self.project()).env("DISPATCH_BASE_URL", &self.base_url).env("DISPATCH_MODEL", "scripted");
        if at == 2 {
            command.env("LD_PRELOAD", faketime()).env("FAKETIME", CLOCK_OFF).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let url = format!("storage.url={}", self.urls[at]);
        command.args(["serve", "--listen", "127.0.0.1:0", "--set", &url]);
        let log = std::fs::File::options().create(true).append(true).open(context.home().join("serve.log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        // The database may be away at this moment; whoever misses the process starts it again.
        *served = Served::over(command.spawn().unwrap(), &context.home()).ok();
        *lock(&self.clients[at]) = served.as_ref().map(|served| served.client.clone());
    }

    /// Stops a process for a while; nobody kills it meanwhile. Says whether there was one.
    pub(crate) fn stop_for(&self, at: usize, time: Duration) -> bool {
        let served = lock(&self.served[at]);
        let Some(process) = served.as_ref().and_then(|served| Pid::from_raw(served.id().cast_signed())) else {
            return false;
        };
        // Whoever sends goes to the others meanwhile.
        let client = lock(&self.clients[at]).take();
        kill_process(process, Signal::STOP).expect("it runs");
        std::thread::sleep(time);
        kill_process(process, Signal::CONT).expect("it is stopped");
        *lock(&self.clients[at]) = client;
        true
    }

    /// A client of a process that runs.
    pub(crate) fn any_client(&self) -> Client {
        self.clients.iter().find_map(|client| lock(client).clone()).expect("one of them runs")
    }

    /// Sends every message of one sender's sessions, in order.
    pub(crate) fn send_all(&self, sender: u64, senders: u64, sessions: u64, messages: u64) {
        let mut random = SeededRandom(sender + 1);
        for number in (0..messages).filter(|number| number % sessions % senders == sender) {
            let path = format!("/v1/sessions/s{}/messages", number % sessions);
            let message = json!({"text": format!("append {number}"), "id": format!("m{number}"), "ask": "all"});
            self.deliver(&mut random, &path, &message);
            self.delivered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Gives a message to one process after the other until one has it.
    pub(crate) fn deliver(&self, random: &mut SeededRandom, path: &str, message: &Value) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "nobody takes {message}");
            let at = usize::try_from(random.below(3)).unwrap();
            let client = lock(&self.clients[at]).clone();
            let is_taken = |status: u16| matches!(status, 200 | 202);
            let taken = client.is_some_and(|client| client.try_post(path, message).is_ok_and(|it| is_taken(it.status)));
            if taken {
                return;
            }
            // Nobody else restarts what could not start while the database was away.
            let is_missing = self.served[at].try_lock().is_ok_and(|served| served.is_none());
            if is_missing {
                self.restart(at);
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where Debian keeps the library behind `faketime`.
fn faketime() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let files = folders.map(|folder| folder.path().join(Path::new("faketime/libfaketime.so.1")));
    files.into_iter().find(|file| file.is_file()).expect("`faketime` is installed; .ci/run does that")
}
