//! Both extensions in a real host: what the manifests declare is what they do.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dispatch_contracts::BoxFuture;
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::host::STORAGE;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Clock, Ids, LogRecord, LogSink, Spawner};
use dispatch_contracts::settings::{Origin, Setting, Settings};
use dispatch_kernel::host::{Boot, BootError, Candidate, ExtensionHost, MemoryDisabledStore, Ports, boot};
use ext_conversation_store::contract::{CONVERSATIONS, NAMESPACE};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

struct TestPorts;

impl Clock for TestPorts {
    fn now_ms(&self) -> u64 {
        1_000
    }

    fn monotonic_ms(&self) -> u64 {
        1_000
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

impl Ids for TestPorts {
    fn next_id(&self) -> String {
        "the-only-id".to_owned()
    }
}

impl Spawner for TestPorts {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        drop(tokio::spawn(future));
    }
}

impl LogSink for TestPorts {
    fn write(&self, _: LogRecord) {}
}

async fn start(data: &Path, url: Option<&str>) -> Result<ExtensionHost, BootError> {
    let setting = |url: &str| Setting { value: url.into(), origin: Origin::BuiltIn };
    let settings = url.map(|url| ("storage.url".to_owned(), setting(url))).into_iter().collect();
    boot(Boot {
        ports: Ports {
            clock: Arc::new(TestPorts),
            ids: Arc::new(TestPorts),
            spawner: Arc::new(TestPorts),
            log: Arc::new(TestPorts),
        },
        extensions: vec![
            Candidate::bundled(ext_conversation_store::extension()),
            Candidate::bundled(ext_storage_sqlite::extension()),
        ],
        settings: Settings::new(settings),
        folders: Folders { data: data.to_owned(), ..Folders::default() },
        permissions: Arc::new(|_| PermissionDecision { verdict: Verdict::Allow, rule: None, reason: String::new() }),
        budget: FaultBudget::default(),
        disabled: Arc::new(MemoryDisabledStore::default()),
        grants: BTreeMap::new(),
    })
    .await
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

#[test]
fn a_conversation_outlives_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    run(async {
        let host = start(&data, None).await.unwrap();
        let conversations = host.service(&CONVERSATIONS).unwrap();
        conversations.create("main", "coder").await.unwrap();
        host.shutdown().await;
        assert!(conversations.session("main").await.is_err(), "the storage is closed");
    });
    assert!(data.join("dispatch.db").exists());
    run(async {
        let host = start(&data, None).await.unwrap();
        let conversations = host.service(&CONVERSATIONS).unwrap();
        assert_eq!(conversations.session("main").await.unwrap().unwrap().persona, "coder");
        let joined = host.service(&STORAGE).unwrap().open_joined("session-orchestrator", &[NAMESPACE]);
        let found = joined.query(dispatch_contracts::statement!("SELECT label FROM agent_sessions")).await.unwrap();
        assert_eq!(found.len(), 1);
        host.shutdown().await;
    });
}

#[test]
fn a_storage_that_cannot_be_had_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        start(folder.path(), Some("memory:")).await.unwrap().shutdown().await;
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "memory leaves no file");
        let refused = start(folder.path(), Some("mysql://user:secret@host/x")).await.map(drop).unwrap_err().to_string();
        assert!(refused.contains("write `sqlite:PATH`") && !refused.contains("secret"), "{refused}");
        std::fs::write(folder.path().join("dispatch.db"), "no database at all, but long enough to be one".repeat(50))
            .unwrap();
        let refused = start(folder.path(), None).await.map(drop).unwrap_err().to_string();
        assert!(refused.contains("damaged"), "{refused}");
    });
}
