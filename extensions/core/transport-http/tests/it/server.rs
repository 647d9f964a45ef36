//! Boots the core extensions in front of a scripted model, with a tool and a route for tests.

use crate::client::TestClient;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::{Command, RawRequest, RawResponse, RawRoute, Route, RouteAccess};
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::host::Host;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Clock, Ids, LogRecord, LogSink, Spawner};
use dispatch_contracts::settings::{Origin, Setting, Settings};
use dispatch_contracts::tool::{OutputStream, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_kernel::host::{Boot, Candidate, ExtensionHost, MemoryDisabledStore, Ports, boot};
use dispatch_support::{Reply, Script, ScriptedModel};
use ext_transport_http::contract::{BoundServer, Reach, TRANSPORT, Transport};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longer than anything healthy takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

struct RealClock;

impl Clock for RealClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(dispatch_os::time::unix_ms()).unwrap()
    }

    fn monotonic_ms(&self) -> u64 {
        dispatch_os::time::monotonic_ms()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

struct RandomIds;

impl Ids for RandomIds {
    fn next_id(&self) -> String {
        dispatch_os::Ulid::generate().to_string()
    }
}

struct OnRuntime;

impl Spawner for OnRuntime {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }
}

/// What was logged.
#[derive(Clone, Default)]
pub(crate) struct CapturedLog(Arc<Mutex<Vec<LogRecord>>>);

impl CapturedLog {
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().iter().map(|record| format!("{record:?}\n")).collect()
    }
}

impl LogSink for CapturedLog {
    fn write(&self, record: LogRecord) {
        self.0.lock().unwrap().push(record);
    }
}

/// A tool that changes something, so that it is asked about, and a route.
struct TestExtension;

impl Extension for TestExtension {
    fn manifest(&self) -> Cow<'_, str> {
        let manifest = json!({
            "id": "test-extension", "name": "Test extension", "version": "1.0.0", "apiVersion": "^0.2", "tier": "standard",
            "contributes": {
                "tools": ["write_file"],
                "commands": ["echo"],
                "routes": ["POST /v1/notes/{id}", "GET /v1/broken", "POST /v1/raw/{id}", "POST /v1/known-raw"],
            },
        });
        Cow::Owned(manifest.to_string())
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            host.define_tool(Arc::new(WriteFileTool::new())).map_err(ExtensionError::new)?;
            let echo = Route {
                method: "POST".into(),
                path: "/v1/notes/{id}".into(),
                summary: "Gives back what it is given.".into(),
                respond: Arc::new(|asked| Box::pin(std::future::ready(Ok(asked)))),
            };
            host.define_route(echo).map_err(ExtensionError::new)?;
            let broken = Route {
                method: "GET".into(),
                path: "/v1/broken".into(),
                summary: "Fails.".into(),
                respond: Arc::new(|_| Box::pin(std::future::ready(Err(HandlerError("inner secret".to_owned()))))),
            };
            let respond = Arc::new(|asked| -> BoxFuture<'static, _> { Box::pin(std::future::ready(Ok(asked))) });
            let command = Command { name: "echo".to_owned(), summary: "Gives back.".to_owned(), respond };
            host.define_command(command).map_err(ExtensionError::new)?;
            host.define_route(broken).map_err(ExtensionError::new)?;
            for (path, access) in [("/v1/raw/{id}", RouteAccess::Own), ("/v1/known-raw", RouteAccess::Token)] {
                host.define_raw_route(raw_echo(path, access)).map_err(ExtensionError::new)?;
            }
            Ok(())
        })
    }
}

/// Answers with a status of its own and with the bytes that it got.
fn raw_echo(path: &'static str, access: RouteAccess) -> RawRoute {
    let respond = |asked: RawRequest| {
        let mut body = asked.path.get("id").cloned().unwrap_or_default().into_bytes();
        body.extend(asked.header("x-mine").unwrap_or_default().as_bytes());
        body.extend(asked.body);
        let headers = vec![("x-answer".to_owned(), asked.query.get("a").cloned().unwrap_or_default())];
        Ok(RawResponse { status: 218, headers, body, is_authentic: false })
    };
    RawRoute {
        method: "POST".into(),
        path: path.into(),
        summary: "Gives back the bytes that it is given.".into(),
        access,
        max_body_bytes: 64,
        respond: Arc::new(move |asked| Box::pin(std::future::ready(respond(asked)))),
    }
}

struct WriteFileTool {
    spec: ToolSpec,
}

impl WriteFileTool {
    fn new() -> Self {
        let spec = ToolSpec {
            name: "write_file".to_owned(),
            description: "Writes a file.".to_owned(),
            parameters: json!({"type": "object"}),
            concurrency_safe: false,
        };
        Self { spec }
    }
}

impl Tool for WriteFileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            context.output(OutputStream::Stdout, b"writing\n");
            let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            std::fs::write(context.workdir.join(text("path")), text("content"))
                .map_err(|error| ToolError(error.to_string()))?;
            Ok(ToolOutput::text("written"))
        })
    }
}

/// A running server.
pub(crate) struct TestServer {
    runtime: Option<tokio::runtime::Runtime>,
    pub(crate) host: ExtensionHost,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) bound: BoundServer,
    pub(crate) token: String,
    pub(crate) model: ScriptedModel,
    pub(crate) log: CapturedLog,
    folder: Option<tempfile::TempDir>,
}

impl TestServer {
    /// A server in front of a model that plays these replies.
    pub(crate) fn playing(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(ScriptedModel::playing(replies), &[])
    }

    pub(crate) fn script(script: Script) -> Self {
        Self::with(ScriptedModel::start(script), &[])
    }

    pub(crate) fn with(model: ScriptedModel, settings: &[(&str, Value)]) -> Self {
        Self::start(tempfile::tempdir().unwrap(), model, settings)
    }

    fn start(folder: tempfile::TempDir, model: ScriptedModel, settings: &[(&str, Value)]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let log = CapturedLog::default();
        let host = runtime.block_on(boot(boot_input(folder.path(), &model, settings, &log))).unwrap();
        let faults: Vec<_> = host.status().into_iter().filter(|status| status.last_fault.is_some()).collect();
        assert!(faults.is_empty(), "{faults:?}");
        let transport = host.service(&TRANSPORT).expect("the transport is active");
        let bound = runtime.block_on(transport.listen("127.0.0.1:0".parse().unwrap(), Reach::Loopback)).unwrap();
        let token = std::fs::read_to_string(&bound.token_file).unwrap().trim().to_owned();
        Self { runtime: Some(runtime), host, transport, bound, token, model, log, folder: Some(folder) }
    }

    pub(crate) fn block_on<F: Future>(&self, work: F) -> F::Output {
        self.runtime.as_ref().unwrap().block_on(work)
    }

    pub(crate) fn workdir(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    /// A client with the token.
    pub(crate) fn client(&self) -> TestClient {
        TestClient { addr: self.bound.addr, token: Some(self.token.clone()) }
    }

    /// A client of a person: it may answer questions.
    pub(crate) fn person(&self) -> TestClient {
        let token = std::fs::read_to_string(&self.bound.approval_token_file).unwrap();
        TestClient { addr: self.bound.addr, token: Some(token.trim().to_owned()) }
    }

    /// Submits and waits for the end; the dispatch.
    pub(crate) fn say(&self, session: &str, text: &str) -> Value {
        let path = format!("/v1/sessions/{session}/messages");
        let receipt = self.client().post(&path, &json!({"text": text, "ask": "all"})).expect(202).json();
        self.ended(receipt["dispatch"].as_str().unwrap())
    }

    pub(crate) fn ended(&self, dispatch: &str) -> Value {
        let view = self.client().get(&format!("/v1/dispatches/{dispatch}?waitMs=60000")).expect(200).json();
        assert!(!["pending", "running"].contains(&view["state"].as_str().unwrap()), "{view}");
        view
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(self.host.shutdown());
            runtime.shutdown_background();
        }
    }
}

fn boot_input(folder: &Path, model: &ScriptedModel, settings: &[(&str, Value)], log: &CapturedLog) -> Boot {
    let mut values: BTreeMap<String, Setting> = BTreeMap::new();
    let defaults = [
        ("model.provider", json!("openai-compat")),
        ("model.base_url", json!(model.base_url())),
        ("model.model", json!("scripted")),
    ];
    for (name, value) in defaults.iter().chain(settings) {
        values.insert((*name).to_owned(), Setting { value: value.clone(), origin: Origin::BuiltIn });
    }
    let extensions: Vec<Arc<dyn Extension>> = vec![
        ext_storage_sqlite::extension(),
        ext_conversation_store::extension(),
        ext_provider_openai_compat::extension(),
        ext_session_orchestrator::extension(),
        ext_transport_http::extension(),
        Arc::new(TestExtension),
    ];
    Boot {
        ports: Ports {
            clock: Arc::new(RealClock),
            ids: Arc::new(RandomIds),
            spawner: Arc::new(OnRuntime),
            log: Arc::new(log.clone()),
        },
        extensions: extensions.into_iter().map(Candidate::bundled).collect(),
        settings: Settings::new(values),
        folders: Folders {
            config: folder.join("config"),
            data: folder.join("data"),
            state: folder.join("state"),
            cache: folder.join("cache"),
            project: None,
            workdir: folder.to_owned(),
        },
        permissions: Arc::new(|_| PermissionDecision { verdict: Verdict::Ask, rule: None, reason: String::new() }),
        budget: FaultBudget::default(),
        disabled: Arc::new(MemoryDisabledStore::default()),
        grants: BTreeMap::new(),
    }
}
