//! The outermost edge of a simulated process: a model that thinks for a seeded time and now and then calls a tool, and
//! the extension that offers both to a real host.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::host::Host;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Clock, LogRecord, LogSink};
use dispatch_contracts::provider::{Finish, ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError};
use dispatch_contracts::settings::Settings;
use dispatch_contracts::tool::{Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_kernel::host::{Boot, Candidate, ExtensionHost, MemoryDisabledStore, Ports, boot};
use dispatch_sim::{SeededRandom, SimClock};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

const MANIFEST: &str = r#"{
    "id": "session-orchestrator", "name": "Session orchestrator", "description": "Runs turns with a seeded model.",
    "version": "0.1.0", "apiVersion": "^0.2", "tier": "core", "trust": "bundled",
    "contributes": {
        "hooks": ["session-orchestrator/context", "session-orchestrator/message.received"],
        "providers": ["seeded"], "tools": ["look"]
    },
    "capabilities": ["fs", "network", "spawn"]
}"#;

/// A model whose replies follow from a seed.
#[derive(Clone)]
pub(super) struct SeededModel {
    pub(super) clock: SimClock,
    pub(super) random: Arc<SeededRandom>,
    /// How long it thinks at most, per step.
    pub(super) pace_ms: u64,
}

impl Provider for SeededModel {
    fn stream(&self, _request: ModelRequest, _cancel: CancelToken) -> ModelStream {
        let (clock, thinks_ms, calls) =
            (self.clock.clone(), self.random.below(self.pace_ms), self.random.below(2) == 0);
        // The turn loop drops the stream of a turn that is cancelled.
        let reply = async move {
            clock.sleep_ms(thinks_ms).await;
            stream::iter(events(calls))
        };
        stream::once(reply).flatten().boxed()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        Box::pin(async { Ok(vec![ModelInfo { id: "seeded".to_owned(), context_tokens: None }]) })
    }
}

type ModelItem = Result<ModelEvent, ProviderError>;

fn events(calls: bool) -> Vec<ModelItem> {
    let text = ModelEvent::TextDelta { text: "a step".to_owned() };
    if !calls {
        return vec![Ok(text), Ok(ModelEvent::Finished { finish: Finish::Stop })];
    }
    let call = ModelEvent::ToolCall { id: String::new(), name: "look".to_owned(), arguments: "{}".to_owned() };
    vec![Ok(text), Ok(call), Ok(ModelEvent::Finished { finish: Finish::ToolCalls })]
}

/// A tool that looks at nothing.
struct LookTool(ToolSpec);

impl Tool for LookTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn effect(&self, _arguments: &Map<String, Value>) -> Effect {
        Effect::Looks
    }

    fn call<'a>(
        &'a self,
        _arguments: Map<String, Value>,
        _context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput { text: "nothing new".to_owned(), images: Vec::new() }) })
    }
}

struct SeededExtension {
    model: SeededModel,
    host: Mutex<Option<Host>>,
}

impl Extension for SeededExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(MANIFEST)
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            host.define_provider("seeded", Arc::new(self.model.clone())).map_err(ExtensionError::new)?;
            let spec = ToolSpec {
                name: "look".to_owned(),
                description: "Looks.".to_owned(),
                parameters: json!({ "type": "object" }),
                concurrency_safe: true,
            };
            host.define_tool(Arc::new(LookTool(spec))).map_err(ExtensionError::new)?;
            *self.host.lock().unwrap() = Some(host);
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async { Ok(()) })
    }
}

struct NoLog;

impl LogSink for NoLog {
    fn write(&self, _record: LogRecord) {}
}

/// The settings of a simulated process.
pub(super) fn settings() -> Settings {
    Settings::default().with("model.model", "seeded/seeded")
}

/// Boots a real host in which the model answers, and gives what its extension sees of it.
pub(super) async fn boot_host(model: SeededModel, ports: Ports, workspace: &str) -> (ExtensionHost, Host) {
    let extension = Arc::new(SeededExtension { model, host: Mutex::default() });
    let folder = Path::new("/simulated");
    let booted = boot(Boot {
        ports,
        extensions: vec![Candidate::bundled(Arc::clone(&extension) as Arc<dyn Extension>)],
        settings: settings(),
        folders: Folders {
            config: folder.join("config"),
            data: folder.join("data"),
            state: folder.join("state"),
            cache: folder.join("cache"),
            project: None,
            workdir: workspace.into(),
        },
        permissions: Arc::new(|_| PermissionDecision { verdict: Verdict::Ask, rule: None, reason: String::new() }),
        budget: FaultBudget::default(),
        disabled: Arc::new(MemoryDisabledStore::default()),
        grants: BTreeMap::new(),
    });
    let booted = booted.await.unwrap();
    let host = extension.host.lock().unwrap().take().unwrap();
    (booted, host)
}

/// Takes no log.
pub(super) fn no_log() -> Arc<dyn LogSink> {
    Arc::new(NoLog)
}
