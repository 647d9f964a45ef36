//! A repository in which an agent and a person write.

use dispatch_support::{Output, TestContext};
use ext_intents::contract::testing::{added_lines, append_entries, content_hash, store_content};
use ext_intents::contract::{FileHashes, MutationClass, ScopeValidation, TraceEntry};
use std::path::PathBuf;
use std::process::Stdio;

pub(super) const INTENTS: &str = "\
active_intents:
  - id: INT-001
    name: Sources
    status: IN_PROGRESS
    owned_scope: ['src/**']
  - id: INT-002
    name: Documents
    status: COMPLETED
    owned_scope: ['docs/**']
";

pub(super) struct TraceRepository {
    pub(super) context: TestContext,
    number: std::cell::Cell<u64>,
}

impl TraceRepository {
    /// A repository with one commit, on the branch `main`.
    pub(super) fn new() -> Self {
        let context = TestContext::new();
        std::fs::remove_dir_all(context.project().join(".git")).expect("a file of the test");
        let repository = Self { context, number: std::cell::Cell::new(0) };
        repository.git(&["init", "-q", "-b", "main"]);
        repository.context.write(".orchestration/active_intents.yaml", INTENTS);
        repository.context.write("src/old.rs", "fn old() {\n    one();\n}\n");
        repository.commit_all("begin");
        repository
    }

    /// The folder of the intents and the ledger.
    pub(super) fn orchestration(&self) -> PathBuf {
        self.context.project().join(".orchestration")
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        let mut command = std::process::Command::new("git");
        command.current_dir(self.context.project()).env_clear().args(arguments).stdin(Stdio::null());
        for (name, value) in [
            ("HOME", self.context.home().to_str().expect("a file of the test")),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "A Person"),
            ("GIT_AUTHOR_EMAIL", "person@example.org"),
            ("GIT_COMMITTER_NAME", "A Person"),
            ("GIT_COMMITTER_EMAIL", "person@example.org"),
            ("GIT_EDITOR", "true"),
        ] {
            command.env(name, value);
        }
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        let output = command.output().expect("a file of the test");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "git {arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }

    pub(super) fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    pub(super) fn read(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.context.project().join(path)).ok()
    }

    /// An agent writes a file under an intent, and the ledger gets its entry.
    pub(super) fn agent(&self, intent: &str, path: &str, text: &str) {
        self.agent_with(path, Some(text.as_bytes()), |entry| entry.intent_id = intent.to_owned());
    }

    pub(super) fn agent_with(&self, path: &str, post: Option<&[u8]>, change: impl FnOnce(&mut TraceEntry)) {
        let pre = self.read(path);
        match post {
            Some(text) => self.context.write(path, text),
            None => std::fs::remove_file(self.context.project().join(path)).expect("a file of the test"),
        }
        let root = self.context.project();
        for content in [pre.as_deref(), post].into_iter().flatten() {
            store_content(&root, content);
        }
        let mut entry = self.entry(path, pre.as_deref(), post);
        change(&mut entry);
        append_entries(&root, vec![entry]).expect("a file of the test");
    }

    fn entry(&self, path: &str, pre: Option<&[u8]>, post: Option<&[u8]>) -> TraceEntry {
        let number = self.number.replace(self.number.get() + 1);
        TraceEntry {
            id: format!("{number:08x}-0000-4000-8000-000000000000"),
            timestamp: format!("2099-03-01T10:{:02}:00.000Z", number % 60),
            intent_id: "INT-001".to_owned(),
            session_id: "0a1b2c3d".to_owned(),
            tool_name: "Edit".to_owned(),
            mutation_class: match (pre, post) {
                (None, _) => MutationClass::FileCreation,
                (_, None) => MutationClass::FileDeletion,
                _ => MutationClass::IntentEvolution,
            },
            file: Some(FileHashes {
                relative_path: path.to_owned(),
                pre_hash: pre.map(content_hash),
                post_hash: post.map(content_hash),
            }),
            scope_validation: ScopeValidation::Pass,
            success: true,
            error: None,
            host: Some("claude-code".to_owned()),
            model: None,
            conversation: None,
            tool_use_id: None,
            added: added_lines(pre.unwrap_or_default(), post.unwrap_or_default()),
            removed: None,
            concurrent: Vec::new(),
            reverted: false,
            note: None,
            prev: String::new(),
        }
    }

    pub(super) fn trace(&self, arguments: &[&str]) -> Output {
        let arguments: Vec<&str> = ["trace"].into_iter().chain(arguments.iter().copied()).collect();
        self.context.dispatch(&arguments)
    }

    /// One word per line of the file: the intent, or who else wrote it.
    pub(super) fn blame(&self, path: &str) -> Vec<String> {
        let output = self.trace(&["blame", path, "--json"]);
        assert_eq!(output.status, 0, "{output:?}");
        let word = |line: &serde_json::Value| match line["by"].as_str().expect("a file of the test") {
            "agent" => line["intent"].as_str().unwrap_or("none").to_owned(),
            other => other.to_owned(),
        };
        output.json().as_array().expect("a file of the test").iter().map(word).collect()
    }

    /// Forgets what only this machine has, as a fresh clone would.
    pub(super) fn as_in_a_clone(&self) {
        std::fs::remove_dir_all(self.orchestration().join(".trace")).expect("a file of the test");
    }
}
