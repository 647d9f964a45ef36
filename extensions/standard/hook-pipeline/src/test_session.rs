//! Runs hook events of one session in a row, keeping files, records and state as the pipeline would.

use std::path::PathBuf;

use dispatch_hook_module::state::merge;
use dispatch_hook_module::testing::{MemoryView, NOW_MS, TestInvocation};
use dispatch_hook_module::{
    Decision, EmittedRecord, EventName, HookAction, Module, Record, RecordType, SessionState, WriteMode, hook_run_id,
};
use dispatch_redact::Redactor;
use serde_json::{Value, json};

/// What a record keeps of a prompt.
const EXCERPT_CHARS: usize = 400;

/// A session that goes on from event to event.
#[derive(Default)]
pub(crate) struct TestSession {
    pub(crate) view: MemoryView,
    pub(crate) state: SessionState,
    pub(crate) turn_id: u64,
    runs: i64,
}

impl TestSession {
    /// One event for each of the modules. What they write is there for the next event.
    pub(crate) fn step(&mut self, mut scene: TestInvocation, modules: &[&dyn Module]) -> Vec<HookAction> {
        if scene.event.name == EventName::UserPromptSubmit {
            self.turn_id += 1;
        }
        self.runs += 1;
        scene.ids.turn_id = self.turn_id;
        scene.ids.hook_run_id = hook_run_id(scene.event.name.as_str(), self.turn_id, self.runs);
        scene.view = self.view.clone();
        scene.state = self.state.clone();
        let mut actions: Vec<HookAction> = Vec::new();
        for module in modules {
            let action = scene.handle(*module);
            self.keep(&scene, module.spec().name, &action);
            let denied = action.decision == Some(Decision::Deny);
            actions.push(action);
            if denied {
                break;
            }
        }
        let last = actions.last();
        let decision = last.and_then(|action| action.decision).unwrap_or_default();
        let facts = json!({
            "decision": decision, "code": last.and_then(|action| action.code.clone()), "tool": scene.event.tool_name,
            "reason": last.and_then(|action| action.deny_reason.clone()), "toolUseId": scene.event.tool_use_id,
        });
        self.record(&scene, "pipeline", EmittedRecord { kind: RecordType::HookRun, data: facts });
        actions
    }

    /// A call of a tool from start to end.
    pub(crate) fn call(
        &mut self,
        tool: &str,
        input: Value,
        response: Value,
        modules: &[&dyn Module],
    ) -> Vec<HookAction> {
        let id = format!("call-{}", self.runs);
        let scene = |name: EventName| {
            TestInvocation::before_tool(tool, input.clone()).with(|scene| {
                scene.event.name = name;
                scene.event.tool_use_id = Some(id.clone());
            })
        };
        let hot: Vec<&dyn Module> = modules.iter().copied().filter(|module| module.spec().hot_path_safe).collect();
        self.step(scene(EventName::PreToolUse), &hot);
        self.step(scene(EventName::PostToolUse).with(|scene| scene.event.tool_response = response), modules)
    }

    /// A shell command that ends with this code and error.
    pub(crate) fn run(&mut self, command: &str, code: i64, error: &str, modules: &[&dyn Module]) -> Vec<HookAction> {
        self.call("Bash", json!({"command": command}), json!({"exit_code": code, "stderr": error}), modules)
    }

    /// A file below a module's output folder.
    pub(crate) fn file(&self, module: &str, path: &str) -> Option<String> {
        let bytes = self.view.files.get(&output(module).join(path))?;
        Some(String::from_utf8(bytes.clone()).expect("text"))
    }

    /// The names of the files below a module's output folder, sorted.
    pub(crate) fn names(&self, module: &str) -> Vec<String> {
        let root = output(module);
        let below = self.view.files.keys().filter_map(|file| file.strip_prefix(&root).ok());
        below.map(|path| path.to_string_lossy().into_owned()).collect()
    }

    fn keep(&mut self, scene: &TestInvocation, module: &str, action: &HookAction) {
        for record in &action.emit_events {
            self.record(scene, module, record.clone());
        }
        if let Some(patch) = &action.state_patch {
            let (state, problems) = merge(&self.state, patch);
            assert_eq!(problems, [], "{module}");
            self.state = state;
        }
        for file in &action.files {
            let redacted = Redactor::builtin().redact(&file.content).into_owned();
            let slot = self.view.files.entry(output(module).join(&file.path)).or_default();
            match file.mode {
                WriteMode::Replace => *slot = redacted.into_bytes(),
                WriteMode::Append => slot.extend(redacted.bytes()),
            }
        }
    }

    fn record(&mut self, scene: &TestInvocation, module: &str, mut record: EmittedRecord) {
        if let (RecordType::Prompt, Some(Value::String(text))) = (&record.kind, record.data.get_mut("text")) {
            self.view.prompts.push(json!({"hookRunId": scene.ids.hook_run_id, "text": text}));
            *text = text.chars().take(EXCERPT_CHARS).collect();
        }
        let id = format!("R{:04}", self.view.records.len() + 1);
        let ts = dispatch_os::time::rfc3339(NOW_MS);
        let event = scene.event.name.as_str();
        self.view.records.push(Record::new(id, ts, &scene.ids, event, record.kind, module, record.data));
    }
}

fn output(module: &str) -> PathBuf {
    TestInvocation::new(EventName::Stop).paths.module_output(module)
}
