//! Our own agent: the real session queue and turn loop, a model that follows a script, tools that really write.

use super::runner_host::{CANARY, RunnerHost, WallClock, failure, run};
use crate::contract::{Action, RunPlace, Runner, SessionScope, Usage};
use crate::run_executor::{RetryAdvice, RunEnd};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::host::Host;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Ids, LogRecord, LogSink, Spawner};
use dispatch_contracts::provider::{
    Finish, ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError, ProviderErrorKind,
    Usage as ModelUsage,
};
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::{Boot, Candidate, ExtensionHost, MemoryDisabledStore, Ports, boot};
use ext_session_orchestrator::contract::{SESSIONS, Sessions};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CLIENT: &str = r#"{
    "id": "client", "name": "ScriptedExtension", "description": "Hands the session queue and a model to a test.",
    "version": "0.1.0", "apiVersion": "^0.2", "tier": "standard", "trust": "bundled",
    "dependsOn": [{ "id": "session-orchestrator" }], "contributes": { "providers": ["scripted"] },
    "capabilities": ["network"]
}"#;

/// What the model does in one step; nothing makes it wait for ever.
type ScriptedStep = Option<Result<Vec<ModelEvent>, ProviderError>>;

#[derive(Clone, Default)]
struct ScriptedModel {
    steps: Arc<Mutex<VecDeque<ScriptedStep>>>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    begun: Arc<tokio::sync::Notify>,
}

impl Provider for ScriptedModel {
    fn stream(&self, request: ModelRequest, _cancel: CancelToken) -> ModelStream {
        self.requests.lock().unwrap().push(request);
        self.begun.notify_one();
        match self.steps.lock().unwrap().pop_front() {
            Some(Some(Ok(events))) => Box::pin(futures_util::stream::iter(events.into_iter().map(Ok))),
            Some(Some(Err(error))) => Box::pin(futures_util::stream::iter([Err(error)])),
            Some(None) | None => Box::pin(futures_util::stream::pending()),
        }
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[derive(Clone, Default)]
struct ScriptedExtension {
    model: ScriptedModel,
    sessions: Arc<Mutex<Option<Arc<dyn Sessions>>>>,
}

impl Extension for ScriptedExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(CLIENT)
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            host.define_provider("scripted", Arc::new(self.model.clone())).map_err(ExtensionError::new)?;
            *self.sessions.lock().unwrap() = Some(host.service(&SESSIONS).map_err(ExtensionError::new)?);
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async { Ok(()) })
    }
}

struct TokioSpawner;

impl Spawner for TokioSpawner {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }
}

#[derive(Default)]
struct CountedIds(AtomicU64);

impl Ids for CountedIds {
    fn next_id(&self) -> String {
        format!("id-{:06}", self.0.fetch_add(1, Ordering::SeqCst))
    }
}

struct NoLog;

impl LogSink for NoLog {
    fn write(&self, _record: LogRecord) {}
}

struct AgentHost {
    host: RunnerHost,
    model: ScriptedModel,
    _extensions: ExtensionHost,
}

impl AgentHost {
    async fn new(prompt: &str, scope: SessionScope, steps: Vec<ScriptedStep>) -> Self {
        let mut host = RunnerHost::new();
        host.hook.action = Action::Prompt(prompt.to_owned());
        host.hook.runner = Runner::Agent { session: scope };
        host.about("src/a.rs");
        let client = ScriptedExtension::default();
        *client.model.steps.lock().unwrap() = steps.into();
        let extensions = start(host.folder.path(), &client).await;
        host.sessions = client.sessions.lock().unwrap().clone();
        Self { host, model: client.model, _extensions: extensions }
    }

    fn asked(&self, index: usize) -> String {
        let requests = self.model.requests.lock().unwrap();
        serde_json::to_string(&requests[index].messages).unwrap()
    }
}

async fn start(folder: &Path, client: &ScriptedExtension) -> ExtensionHost {
    let extensions: Vec<Arc<dyn Extension>> =
        vec![ext_session_orchestrator::extension(), ext_tools_fs::extension(), Arc::new(client.clone())];
    let rules = json!([{ "permission": "write_file", "verdict": "allow" }]);
    boot(Boot {
        ports: Ports {
            clock: Arc::new(WallClock),
            ids: Arc::new(CountedIds::default()),
            spawner: Arc::new(TokioSpawner),
            log: Arc::new(NoLog),
        },
        extensions: extensions.into_iter().map(Candidate::bundled).collect(),
        settings: Settings::default().with("model.model", "scripted/m").with("permissions.rules", rules),
        folders: Folders {
            config: folder.join("config"),
            data: folder.join("data"),
            state: folder.join("host-state"),
            cache: folder.join("cache"),
            project: None,
            workdir: folder.join("work"),
        },
        permissions: Arc::new(|_| PermissionDecision { verdict: Verdict::Ask, rule: None, reason: String::new() }),
        budget: FaultBudget::default(),
        disabled: Arc::new(MemoryDisabledStore::default()),
        grants: BTreeMap::new(),
    })
    .await
    .unwrap()
}

fn says(text: &str, output_tokens: u64) -> ScriptedStep {
    let usage = ModelUsage { input_tokens: 100, output_tokens, ..ModelUsage::default() };
    Some(Ok(vec![
        ModelEvent::TextDelta { text: text.to_owned() },
        ModelEvent::Usage(usage),
        ModelEvent::Finished { finish: Finish::Stop },
    ]))
}

fn calls(name: &str, arguments: &Value) -> ScriptedStep {
    Some(Ok(vec![
        ModelEvent::TextDelta { text: "let me see".to_owned() },
        ModelEvent::ToolCall { id: "c".to_owned(), name: name.to_owned(), arguments: arguments.to_string() },
        ModelEvent::Finished { finish: Finish::ToolCalls },
    ]))
}

#[test]
fn a_prompt_becomes_a_turn_that_works_in_the_workspace() {
    run(async {
        let write = json!({"path": "src/new.rs", "content": "fn main() {}\n"});
        let steps = vec![calls("write_file", &write), says("I wrote it.", 7)];
        let agent = AgentHost::new(&format!("mend {{file}} with {CANARY}"), SessionScope::Hook, steps).await;
        let result = agent.host.execute().await;
        assert_eq!(result.end, RunEnd::Success, "{}", result.output);
        assert_eq!((result.output.as_str(), result.session.as_deref()), ("I wrote it.", Some("hook:check")));
        assert_eq!(result.usage, Usage { tokens: 107, micro_usd: 0 });
        assert_eq!(result.wrote, ["src/new.rs"]);
        assert!(agent.host.workspace().join("src/new.rs").exists());
        assert!(agent.asked(0).contains("mend src/a.rs with [REDACTED]"), "{}", agent.asked(0));
    });
}

#[test]
fn nobody_is_asked_so_what_needs_a_word_is_refused() {
    run(async {
        let patch = json!({"patch": "*** Begin Patch\n*** Add File: x\n+x\n*** End Patch"});
        let agent = AgentHost::new("go", SessionScope::Hook, vec![calls("apply_patch", &patch), says("No.", 1)]).await;
        let result = agent.host.execute().await;
        let RunEnd::Refused { reason } = result.end else { panic!("{:?}", result.end) };
        assert!(reason.starts_with("every tool call was refused: apply_patch"), "{reason}");
        assert_eq!(result.wrote.len(), 0);
        assert!(!agent.host.workspace().join("x").exists());
    });
}

#[test]
fn the_same_attempt_again_is_the_same_input() {
    run(async {
        let agent = AgentHost::new("go", SessionScope::Hook, vec![says("once", 1), says("twice", 1)]).await;
        assert_eq!(agent.host.execute().await.output, "once");
        assert_eq!(agent.host.execute().await.output, "once", "the same turn is found again");
        let again = crate::run_executor::RunJob { attempt: 2, ..agent.host.job() };
        assert_eq!(agent.host.executor().execute(again).await.output, "twice");
        assert_eq!(agent.model.requests.lock().unwrap().len(), 2);
        assert!(agent.asked(1).contains("once"), "one conversation for the hook");
    });
}

#[test]
fn sessions_are_named_by_hook_file_or_run() {
    run(async {
        for (scope, label) in [(SessionScope::File, "hook:check:src/a.rs"), (SessionScope::Run, "hook:check:run-1")] {
            let agent = AgentHost::new("go", scope, vec![says("ok", 1)]).await;
            assert_eq!(agent.host.execute().await.session.as_deref(), Some(label));
        }
        let mut agent = AgentHost::new("go", SessionScope::File, vec![says("ok", 1)]).await;
        agent.host.files.clear();
        agent.host.about(&format!("a b/{CANARY}.rs"));
        let result = agent.host.execute().await;
        assert_eq!(result.end, RunEnd::Success);
        assert!(!format!("{result:?}").contains(CANARY), "{result:?}");
    });
}

#[test]
fn a_model_that_fails_is_a_failure_with_its_reason() {
    run(async {
        for (kind, again) in
            [(ProviderErrorKind::Auth, RetryAdvice::Useless), (ProviderErrorKind::Unavailable, RetryAdvice::Worthwhile)]
        {
            let error = ProviderError::new(kind, format!("refused {CANARY}"));
            let agent = AgentHost::new("go", SessionScope::Hook, vec![Some(Err(error))]).await;
            let result = agent.host.execute().await;
            assert_eq!(failure(&result), ("refused [REDACTED]", again));
        }
        let mut host = RunnerHost::new();
        host.hook.action = Action::Prompt("go".to_owned());
        let result = host.execute().await;
        assert!(failure(&result).0.contains("session-orchestrator"));
    });
}

#[test]
fn time_and_cancel_stop_the_turn_and_wait_for_it() {
    run(async {
        let mut agent = AgentHost::new("go", SessionScope::Hook, vec![None, says("after", 1)]).await;
        agent.host.hook.timeout_ms = 500;
        assert_eq!(agent.host.execute().await.end, RunEnd::Timeout);
        let sessions = agent.host.sessions.clone().unwrap();
        assert!(sessions.queue(None).await.unwrap().is_empty(), "nothing goes on");
        let agent = AgentHost::new("go", SessionScope::Hook, vec![None]).await;
        let (cancel, begun) = (agent.host.cancel.clone(), Arc::clone(&agent.model.begun));
        tokio::spawn(async move {
            begun.notified().await;
            cancel.cancel();
        });
        assert_eq!(agent.host.execute().await.end, RunEnd::Canceled);
    });
}

#[test]
fn after_a_crash_the_end_is_found_or_the_input_taken_back() {
    run(async {
        let agent = AgentHost::new("go", SessionScope::Hook, vec![says("done anyway", 3)]).await;
        agent.host.execute().await;
        let settled = agent.host.settle("run-1", 1).await.unwrap();
        assert_eq!((settled.end, settled.output.as_str()), (RunEnd::Success, "done anyway"));
        assert_eq!((settled.usage.tokens, settled.session.as_deref()), (103, Some("hook:check")));

        let agent = AgentHost::new("go", SessionScope::Hook, vec![None]).await;
        let executor = agent.host.executor();
        let work = executor.execute(agent.host.job());
        let begun = Box::pin(agent.model.begun.notified());
        assert!(matches!(futures_util::future::select(work, begun).await, futures_util::future::Either::Right(_)));
        // The future is gone as if the process were; the turn is not.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let settled = agent.host.settle("run-1", 1).await;
        assert_eq!(settled, None, "it has not ended, so it is begun again");
        let sessions = agent.host.sessions.clone().unwrap();
        assert!(sessions.queue(None).await.unwrap().is_empty(), "and cannot end beside its repetition");
    });
}

#[test]
fn in_patch_mode_the_turn_works_in_the_worktree() {
    run(async {
        let write = json!({"path": "new.rs", "content": "x\n"});
        let mut agent =
            AgentHost::new("go", SessionScope::Hook, vec![calls("write_file", &write), says("ok", 1)]).await;
        agent.host.hook.place = RunPlace::Patch;
        agent.host.write("a.txt", "a\n");
        for words in [
            &["init", "-q"][..],
            &["add", "-A"],
            &["-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-qm", "a"],
        ] {
            let done = std::process::Command::new("git").args(words).current_dir(agent.host.workspace()).status();
            assert!(done.unwrap().success());
        }
        let result = agent.host.execute().await;
        assert_eq!((&result.end, result.wrote.len()), (&RunEnd::Success, 0), "{}", result.output);
        assert!(!agent.host.workspace().join("new.rs").exists());
        let patch = std::fs::read_to_string(result.patch.unwrap()).unwrap();
        assert!(patch.contains("b/new.rs"), "{patch}");
    });
}
