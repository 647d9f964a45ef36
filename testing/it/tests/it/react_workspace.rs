//! A workspace with hooks, and the processes that serve it, as they are seen from outside.

use crate::run_workspace::wait_until;
use dispatch_support::{Output, TestContext};
use serde_json::{Value, json};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub(crate) const FILE: &str = ".akira/hooks.json";
/// The id of the user's own hook that [`Watch::wait_until_handled`] relies on.
const MARKER_HOOK: &str = "marker";

/// A project with a file of hooks.
pub(crate) struct Workspace {
    pub(crate) context: TestContext,
}

impl Workspace {
    /// With these hooks, approved.
    pub(crate) fn new(hooks: &Value) -> Self {
        let workspace = Self { context: TestContext::new() };
        workspace.set(hooks);
        workspace
    }

    /// Gives the user a hook of their own, which needs no approval and stays on whatever becomes of the workspace's
    /// hooks: see [`Watch::wait_until_handled`]. Its runs are left out of what is listed here.
    pub(crate) fn with_marker_hook(self) -> Self {
        let hook = json!({"id": MARKER_HOOK, "trigger": "onDidSaveTextDocument", "pattern": "*.marker",
            "command": ["true"], "debounceMs": 0});
        self.context.write_home("config/hooks.json", json!({ "hooks": [hook] }).to_string());
        self
    }

    /// Other hooks, approved.
    pub(crate) fn set(&self, hooks: &Value) {
        self.context.write(FILE, json!({ "hooks": hooks }).to_string());
        self.approve();
    }

    pub(crate) fn approve(&self) {
        let approved = self.context.dispatch(&["trust", FILE]);
        assert_eq!(approved.status, 0, "{approved:?}");
    }

    pub(crate) fn watch(&self) -> Watch {
        self.watch_with(&[])
    }

    /// Watches with further variables; from its return on nothing is missed.
    pub(crate) fn watch_with(&self, variables: &[(&str, &str)]) -> Watch {
        let mut command = self.context.command("dispatch");
        Watch::start(command.args(["watch", "--json"]).envs(variables.iter().copied()))
    }

    pub(crate) fn save(&self, path: &str, text: &str) {
        self.context.write(path, text);
    }

    /// What is in a file of the project; empty while there is none.
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.context.project().join(path)).unwrap_or_default()
    }

    pub(crate) fn wait_for_file(&self, path: &str) {
        wait_until(path, || self.context.project().join(path).exists());
    }

    /// Every run, the oldest first.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let listed = self.context.dispatch(&["runs", "list", "--json", "--limit", "1000"]);
        assert_eq!(listed.status, 0, "{listed:?}");
        let mut runs = listed.json().as_array().cloned().expect("a list");
        runs.retain(|run| !is_marker(run));
        runs.reverse();
        runs
    }

    pub(crate) fn show(&self, id: &str) -> Value {
        let shown = self.context.dispatch(&["runs", "show", id, "--json"]);
        assert_eq!(shown.status, 0, "{shown:?}");
        shown.json()
    }

    /// Starts a hook by hand and waits for its end.
    pub(crate) fn start(&self, hook: &str, more: &[&str]) -> Output {
        let arguments: Vec<&str> = ["runs", "start", hook, "--wait", "--json"].iter().chain(more).copied().collect();
        self.context.dispatch(&arguments)
    }

    /// Waits until there are so many runs and all of them are over.
    pub(crate) fn wait_for_runs(&self, count: usize) -> Vec<Value> {
        wait_until("the runs are over", || {
            let runs = self.runs();
            runs.len() >= count && runs.iter().all(is_over)
        });
        self.runs()
    }

    /// The lines of the log about a run, in order.
    pub(crate) fn log_of(&self, run: &Value) -> Vec<Value> {
        let text = self.read(".akira/logs/hooks.log");
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
        lines.filter(|line| line["runId"] == run["id"]).collect()
    }

    /// Each hook and why it does not run, if it does not.
    pub(crate) fn standing(&self) -> Vec<(String, Option<String>)> {
        let listed = self.context.dispatch(&["workspace-hooks", "list", "--json"]).json();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let hooks = listed["hooks"].as_array().cloned().unwrap_or_default();
        hooks.iter().map(|hook| (text(&hook["id"]).unwrap_or_default(), text(&hook["reason"]))).collect()
    }

    /// Runs git in the project as a person does.
    pub(crate) fn git(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(self.context.project()).env_clear().stdin(Stdio::null());
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "t");
        }
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.context.home()).env("DISPATCH_HOME", self.context.home());
        command.output().expect("git runs")
    }

    /// Makes the project a repository with everything in it committed.
    pub(crate) fn make_repository(&self) {
        let _ = std::fs::remove_dir_all(self.context.project().join(".git"));
        for arguments in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "first"]] {
            let output = self.git(arguments);
            assert!(output.status.success(), "{output:?}");
        }
    }
}

fn is_marker(run: &Value) -> bool {
    run["hookId"] == MARKER_HOOK
}

pub(crate) fn is_over(run: &Value) -> bool {
    !matches!(run["status"].as_str(), Some("queued" | "running"))
}

/// Which hooks these runs are of, in alphabetical order.
pub(crate) fn hooks_of(runs: &[Value]) -> Vec<&str> {
    let mut hooks: Vec<&str> = runs.iter().filter_map(|run| run["hookId"].as_str()).collect();
    hooks.sort_unstable();
    hooks
}

/// A program of the shell as the command of a hook.
pub(crate) fn sh(script: &str) -> Value {
    json!(["sh", "-c", script])
}

/// A `dispatch watch` that runs, ended with the test.
pub(crate) struct Watch {
    child: Child,
    out: PipeText,
    err: PipeText,
}

impl Watch {
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let out = PipeText::gather(child.stdout.take().expect("a pipe"));
        let err = PipeText::gather(child.stderr.take().expect("a pipe"));
        let watch = Self { child, out, err };
        let watches = || watch.out().split_once('\n').is_some_and(|(first, _)| first.contains("\"watching\""));
        wait_until("it watches", || watches() || watch.has_ended());
        assert!(watches(), "{}", watch.err());
        watch
    }

    fn has_ended(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))
            .map_or(true, |text| text.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
    }

    pub(crate) fn out(&self) -> String {
        self.out.so_far()
    }

    pub(crate) fn err(&self) -> String {
        self.err.so_far()
    }

    /// What it said first: how many hooks are on, how many folders are watched.
    pub(crate) fn first(&self) -> Value {
        self.out().lines().next().and_then(|line| serde_json::from_str(line).ok()).expect("a line of JSON")
    }

    /// The runs that it told the end of.
    pub(crate) fn ended(&self) -> Vec<Value> {
        self.told().into_iter().filter(|run| !is_marker(run)).collect()
    }

    fn told(&self) -> Vec<Value> {
        let text = self.out();
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        whole.lines().skip(1).map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Returns when every save before this call has met the hooks that are on now. A save reaches the watcher some time
    /// after it was made; whoever changes the hooks in between changes what it starts. The watcher takes saves in the
    /// order they were made, so when it has run the marker hook for a later save, it has taken all earlier ones.
    #[track_caller]
    pub(crate) fn wait_until_handled(&self, workspace: &Workspace) {
        let markers = || self.told().iter().filter(|run| is_marker(run)).count();
        let before = markers();
        workspace.save(&format!("{before}.marker"), &before.to_string());
        wait_until("the marker hook has run", || markers() > before);
    }

    /// How many times something was said.
    pub(crate) fn count_words(&self, words: &str) -> usize {
        self.err().matches(words).count()
    }

    #[track_caller]
    pub(crate) fn wait_for_ended(&self, count: usize) -> Vec<Value> {
        wait_until("runs end", || self.ended().len() >= count);
        self.ended()
    }

    #[track_caller]
    pub(crate) fn wait_for_words(&self, words: &str) {
        wait_until(words, || self.err().contains(words));
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> String {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().expect("kill");
        assert!(asked.success());
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}: {}", self.err());
        self.out.whole() + &self.err.whole()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What comes out of a pipe, as it comes.
pub(crate) struct PipeText {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl PipeText {
    pub(crate) fn gather(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let gathered = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                gathered.lock().unwrap().extend_from_slice(&chunk[..count]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    /// What has come so far.
    pub(crate) fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    /// Everything, when the other end is closed.
    pub(crate) fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("it reads to the end");
        }
        self.so_far()
    }
}
