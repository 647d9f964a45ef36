//! Boots a host with the providers and a credential source, and collects what a call streams.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::auth::{Auth, AuthScope, Credential};
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{Message, Role};
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::host::Host;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Clock, Ids, LogRecord, LogSink, Spawner};
use dispatch_contracts::provider::{ModelEvent, ModelRequest, Provider, ProviderError};
use dispatch_contracts::secret::{Secret, SecretError};
use dispatch_contracts::settings::{Origin, Setting, Settings};
use dispatch_kernel::host::{Boot, Candidate, ExtensionHost, MemoryDisabledStore, Ports, boot};
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The key that the credential source has, for one audience alone.
pub(crate) const KEY: &str = "canary-key-0123456789abcdef";

/// Waits longer than this are the deadlines of a healthy call and stay real.
const HURRIED_MS: u64 = 100_000;

/// Real time, but waiting for the next try takes none; the waits are written down.
#[derive(Default)]
pub(crate) struct SkippingClock {
    pub(crate) waits: Mutex<Vec<u64>>,
    hurries: AtomicBool,
}

impl Clock for SkippingClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(dispatch_os::time::unix_ms()).unwrap()
    }

    fn monotonic_ms(&self) -> u64 {
        dispatch_os::time::monotonic_ms()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        if self.hurries.load(Ordering::Acquire) && ms < HURRIED_MS {
            self.waits.lock().unwrap().push(ms);
            return Box::pin(tokio::task::yield_now());
        }
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

struct RandomIds;

impl Ids for RandomIds {
    fn next_id(&self) -> String {
        dispatch_os::ids::hex_id(16)
    }
}

struct OnRuntime;

impl Spawner for OnRuntime {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }
}

struct SilentLog;

impl LogSink for SilentLog {
    fn write(&self, _record: LogRecord) {}
}

/// An extension with one key for one audience.
struct OneKeyExtension {
    audience: String,
}

impl Extension for OneKeyExtension {
    fn manifest(&self) -> Cow<'_, str> {
        let manifest = json!({
            "id": "key-ring", "name": "Key ring", "version": "1.0.0", "apiVersion": "^0.2", "tier": "standard",
            "trust": "bundled", "contributes": { "auth": ["ring"] },
        });
        Cow::Owned(manifest.to_string())
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let auth = Arc::new(OneKeySource { audience: self.audience.clone() });
        Box::pin(async move { host.define_auth("ring", auth).map(|_| ()).map_err(ExtensionError::new) })
    }
}

struct OneKeySource {
    audience: String,
}

impl Auth for OneKeySource {
    fn credential<'a>(&'a self, scope: &'a AuthScope) -> BoxFuture<'a, Result<Credential, SecretError>> {
        let found = if scope.audience == self.audience {
            Ok(Credential::Bearer(Secret::new(KEY)))
        } else {
            Err(SecretError::Missing { name: scope.audience.clone() })
        };
        Box::pin(std::future::ready(found))
    }
}

/// The running host.
pub(crate) struct TestHost {
    pub(crate) host: ExtensionHost,
    pub(crate) clock: Arc<SkippingClock>,
}

/// How a host is set up.
#[derive(Default)]
pub(crate) struct TestHostSetup {
    pub(crate) settings: Vec<(String, Value)>,
    pub(crate) audience: String,
    pub(crate) real_time: bool,
}

impl TestHostSetup {
    pub(crate) fn at(base_url: &str) -> Self {
        Self { settings: vec![("model.base_url".to_owned(), json!(base_url))], ..Self::default() }
    }

    pub(crate) fn set(mut self, name: &str, value: Value) -> Self {
        self.settings.push((name.to_owned(), value));
        self
    }

    pub(crate) fn key_for(mut self, base_url: &str) -> Self {
        self.audience = base_url.trim_end_matches("/v1").to_owned();
        self
    }

    pub(crate) fn in_real_time(mut self) -> Self {
        self.real_time = true;
        self
    }

    pub(crate) async fn boot(self) -> TestHost {
        let clock = Arc::new(SkippingClock::default());
        let setting = |(name, value)| (name, Setting { value, origin: Origin::BuiltIn });
        let ring: Arc<dyn Extension> = Arc::new(OneKeyExtension { audience: self.audience });
        let host = boot(Boot {
            ports: Ports {
                clock: clock.clone(),
                ids: Arc::new(RandomIds),
                spawner: Arc::new(OnRuntime),
                log: Arc::new(SilentLog),
            },
            extensions: [ring, ext_provider_openai_compat::extension()].map(Candidate::bundled).into(),
            settings: Settings::new(self.settings.into_iter().map(setting).collect()),
            folders: Folders::default(),
            permissions: Arc::new(|_| PermissionDecision {
                verdict: Verdict::Allow,
                rule: None,
                reason: String::new(),
            }),
            budget: FaultBudget::default(),
            disabled: Arc::new(MemoryDisabledStore::default()),
            grants: BTreeMap::new(),
        })
        .await
        .unwrap();
        // The host's own deadlines at the start are real.
        clock.hurries.store(!self.real_time, Ordering::Release);
        TestHost { host, clock }
    }
}

impl TestHost {
    pub(crate) fn provider(&self, name: &str) -> Arc<dyn Provider> {
        let found = self.host.providers().into_iter().find(|provider| provider.name == name);
        found.unwrap().item
    }

    /// Everything that a call to the server streams.
    pub(crate) async fn ask(&self, request: ModelRequest) -> (Vec<ModelEvent>, Option<ProviderError>) {
        collect(self.provider("openai-compat").stream(request, CancelToken::new())).await
    }

    /// The same for a plain question, where an error is what is expected.
    pub(crate) async fn fail(&self) -> ProviderError {
        let (events, error) = self.ask(question("hi")).await;
        error.unwrap_or_else(|| panic!("no error but {events:?}"))
    }
}

pub(crate) async fn collect(
    mut stream: dispatch_contracts::provider::ModelStream,
) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let mut events = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the end");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

pub(crate) fn question(text: &str) -> ModelRequest {
    ModelRequest {
        model: "m".to_owned(),
        system: vec!["be kind".to_owned()],
        messages: vec![Message::text(Role::User, text)],
        tools: Vec::new(),
        options: Map::new(),
    }
}

pub(crate) fn text_of(events: &[ModelEvent]) -> String {
    let text = |event: &ModelEvent| match event {
        ModelEvent::TextDelta { text } => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}
