//! A workspace on disk and a host that fires events at it.

use std::path::{Path, PathBuf};

use dispatch_hook_dialects::dialect::Hints;
use dispatch_hook_module::{
    Clock, Context, Effects, EventName, HookAction, Module, ModuleError, ModuleSpec, Record, RecordType, SystemClock,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::modules::native_modules;
use crate::rule_trust::RuleTrust;
use crate::run::{Invocation, Outcome, run};
use crate::watch::Unwatched;

pub(super) struct Workspace {
    pub(super) folder: TempDir,
}

/// A guard that denies what a test wants denied.
pub(super) struct Guard;

impl Module for Guard {
    fn spec(&self) -> ModuleSpec<'_> {
        ModuleSpec { events: &EventName::KNOWN, priority: 10, hot_path_safe: true, ..ModuleSpec::named("guard") }
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let command = ctx.event.tool_input.get("command").and_then(Value::as_str).unwrap_or_default();
        Ok(match command {
            "deny me" if !ctx.is_excused("G01") => HookAction::deny("G01", "the test says no"),
            "rewrite me" => HookAction { updated_input: Some(json!({"command": "ls"})), ..HookAction::none() },
            "fail" => return Err(ModuleError::failed("token ghp_0123456789abcdefghijABCDEFGHIJ456789 is wrong")),
            "write a file" => HookAction::none()
                .with_file(dispatch_hook_module::FileWrite::replace("sub/a.txt", "one"))
                .with_file(dispatch_hook_module::FileWrite::replace("../../../escape.txt", "no")),
            _ => HookAction::none(),
        })
    }
}

impl Workspace {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join(".ai/hooks")).expect("hooks");
        let workspace = Self { folder };
        workspace.manifest(&json!({"modules": ["session", "self-guard", "guard"], "rewriteOwner": "guard"}));
        workspace
    }

    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the manifest, with budgets that a busy machine does not exceed.
    pub(super) fn manifest(&self, manifest: &Value) {
        let mut manifest = manifest.clone();
        let budgets = EventName::KNOWN.iter().map(|event| (event.as_str().to_owned(), json!(60_000)));
        manifest["budgets"] = Value::Object(budgets.collect());
        self.write(".ai/hooks/dispatch.manifest.json", &manifest.to_string());
    }

    pub(super) fn write(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, content).expect("writable");
    }

    pub(super) fn payload(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": "abc",
            "transcript_path": "/home/dev/.claude/x.jsonl",
            "cwd": self.root(),
            "hook_event_name": event,
        });
        payload.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        payload
    }

    pub(super) fn fire(&self, event: &str, more: Value) -> Outcome {
        self.send(self.payload(event, more).to_string().as_bytes())
    }

    pub(super) fn command(&self, command: &str, id: &str) -> Outcome {
        self.fire("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id}))
    }

    pub(super) fn send(&self, stdin: &[u8]) -> Outcome {
        self.invoke(stdin, Effects::Commit)
    }

    pub(super) fn invoke(&self, stdin: &[u8], effects: Effects) -> Outcome {
        self.invoke_at(stdin, effects, &SystemClock::start())
    }

    pub(super) fn invoke_trusting(&self, stdin: &[u8], effects: Effects, trust: RuleTrust<'_>) -> Outcome {
        self.invoke_with(stdin, effects, &SystemClock::start(), trust)
    }

    pub(super) fn invoke_at(&self, stdin: &[u8], effects: Effects, clock: &dyn Clock) -> Outcome {
        self.invoke_with(stdin, effects, clock, RuleTrust::Everything)
    }

    fn invoke_with(&self, stdin: &[u8], effects: Effects, clock: &dyn Clock, trust: RuleTrust<'_>) -> Outcome {
        let hints = Hints::default().with_process_cwd(self.root().to_string_lossy());
        let mut modules = native_modules();
        modules.push(&Guard);
        run(&Invocation {
            host: Some("claude-code"),
            event: None,
            stdin,
            hints: &hints,
            home: Some("/home/dev"),
            user: None,
            trust,
            root: None,
            manifest: None,
            config: None,
            modules: &modules,
            scripts: None,
            clock,
            watch: &Unwatched,
            effects,
        })
    }

    /// The folder of the session `abc`.
    pub(super) fn session(&self) -> PathBuf {
        self.root().join(".ai/tmp/ba7816bf")
    }

    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.session().join("events.jsonl")).unwrap_or_default()
    }

    pub(super) fn records(&self) -> Vec<Record> {
        self.log().lines().map(|line| Record::parse(line.as_bytes()).expect("a whole record")).collect()
    }

    pub(super) fn of_type(&self, kind: RecordType) -> Vec<Record> {
        self.records().into_iter().filter(|record| record.kind == kind).collect()
    }

    pub(super) fn state(&self) -> Value {
        let text = std::fs::read_to_string(self.session().join("state.json")).expect("a state");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Every file below `.ai/tmp`, relative to it.
    pub(super) fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, base: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    walk(&path, base, found);
                } else if let Ok(relative) = path.strip_prefix(base) {
                    found.push(relative.to_string_lossy().into_owned());
                }
            }
        }
        let base = self.root().join(".ai/tmp");
        let mut found = Vec::new();
        walk(&base, &base, &mut found);
        found.sort();
        found
    }
}
