//! A home that outlives the servers in it, and what can be seen of them from outside.

pub(crate) mod conversation;

use dispatch_contracts::conversation::{Message, validate};
use dispatch_support::{Client, ScriptedModel, Served, TestContext};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long something may take before the test has failed.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct RunWorkspace {
    pub(crate) context: TestContext,
    pub(crate) model: ScriptedModel,
    settings: Vec<String>,
}

impl RunWorkspace {
    /// A world whose model is put in later, for scripts that name places in it.
    pub(crate) fn place(settings: &[&str]) -> Self {
        Self::new(ScriptedModel::playing([]), settings)
    }

    pub(crate) fn with(self, model: ScriptedModel) -> Self {
        Self { model, ..self }
    }

    pub(crate) fn new(model: ScriptedModel, settings: &[&str]) -> Self {
        let settings = settings.iter().flat_map(|setting| ["--set".to_owned(), (*setting).to_owned()]).collect();
        Self { context: TestContext::new(), model, settings }
    }

    pub(crate) fn start(&self) -> Served {
        self.start_with(&[])
    }

    /// The same with further variables.
    pub(crate) fn start_with(&self, more: &[(&str, &str)]) -> Served {
        let base_url = self.model.base_url();
        let variables: Vec<_> = variables(&base_url).into_iter().chain(more.iter().copied()).collect();
        Served::start(&self.context, &self.arguments(), &variables)
    }

    /// Starts a server and kills it a moment later, whether it listens by then or not.
    pub(crate) fn start_and_kill(&self, after: Duration) {
        let base_url = self.model.base_url();
        let mut child = Served::spawn(&self.context, &self.arguments(), &variables(&base_url));
        std::thread::sleep(after);
        let _ = child.kill();
        let _ = child.wait();
    }

    fn arguments(&self) -> Vec<&str> {
        self.settings.iter().map(String::as_str).collect()
    }

    /// The history as the model would get it; it must be one that every model takes.
    pub(crate) fn history(&self, client: &Client, session: &str) -> Vec<Message> {
        let answer = client.get(&format!("/v1/sessions/{session}/messages"));
        if answer.status == 404 {
            return Vec::new();
        }
        let messages = answer.json()["messages"].clone();
        let messages: Vec<Message> =
            serde_json::from_value(messages).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
        validate(&messages).unwrap_or_else(|error| panic!("{error:?}: {messages:#?}"));
        messages
    }

    /// Nothing that the model was asked would have been refused by a strict server.
    pub(crate) fn check_requests(&self) {
        assert_eq!(self.model.problems(), Vec::<String>::new());
    }
}

fn variables(base_url: &str) -> [(&str, &str); 2] {
    [("DISPATCH_BASE_URL", base_url), ("DISPATCH_MODEL", "scripted")]
}

#[track_caller]
pub(crate) fn wait_until(what: &str, reached: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !reached() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The command lines of living processes that hold a text.
pub(crate) fn alive(marker: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let command = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    };
    processes.filter_map(command).filter(|line| line.contains(marker)).collect()
}

/// Kills the server and, in the same moment, every child of its own that watches over others.
pub(crate) fn kill_with_own_children(served: &mut Served) {
    let children = Command::new("ps").args(["-o", "pid=", "--ppid", &served.id().to_string()]).output().expect("ps");
    let children = String::from_utf8_lossy(&children.stdout).into_owned();
    let ids: Vec<&str> = children.split_whitespace().collect();
    assert!(!ids.is_empty(), "a guardian stands between the server and its tools");
    let server = served.id().to_string();
    let status = Command::new("kill").arg("-9").args(&ids).arg(server).status().expect("kill");
    assert!(status.success(), "{children}");
    served.kill();
}
