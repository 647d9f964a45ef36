//! Keys on a real disk and in a real extension host.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use dispatch_contracts::BoxFuture;
use dispatch_contracts::auth::{AuthScope, Credential};
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::host::SECRETS;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Clock, Ids, LogRecord, LogSink, Spawner};
use dispatch_contracts::secret::{Secret, SecretError};
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::{Boot, Candidate, ExtensionHost, MemoryDisabledStore, Ports, boot};
use ext_auth_apikey::contract::{Audience, KeyError, KeyLocation, KeyStore, NewKey};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const KEY: &str = "canary-0123456789-wxyz";

struct RuntimePorts;

impl Clock for RuntimePorts {
    fn now_ms(&self) -> u64 {
        0
    }

    fn monotonic_ms(&self) -> u64 {
        dispatch_os::time::monotonic_ms()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

impl Ids for RuntimePorts {
    fn next_id(&self) -> String {
        dispatch_os::ids::hex_id(16)
    }
}

impl Spawner for RuntimePorts {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }
}

impl LogSink for RuntimePorts {
    fn write(&self, _record: LogRecord) {}
}

async fn host(data: &Path) -> ExtensionHost {
    let port = Arc::new(RuntimePorts);
    boot(Boot {
        ports: Ports { clock: port.clone(), ids: port.clone(), spawner: port.clone(), log: port },
        extensions: vec![Candidate::bundled(ext_auth_apikey::extension())],
        settings: Settings::default(),
        folders: Folders { data: data.to_owned(), ..Folders::default() },
        permissions: Arc::new(|_| PermissionDecision { verdict: Verdict::Allow, rule: None, reason: String::new() }),
        budget: FaultBudget::default(),
        disabled: Arc::new(MemoryDisabledStore::default()),
        grants: BTreeMap::new(),
    })
    .await
    .unwrap()
}

async fn credential(host: &ExtensionHost, audience: &str) -> Result<Credential, SecretError> {
    let source = host.auth().into_iter().next().unwrap();
    assert_eq!(source.name, "apikey");
    source.item.credential(&AuthScope { provider: "openai-compat".into(), audience: audience.into() }).await
}

fn new_key(server: &str, key: &str) -> NewKey {
    NewKey {
        name: None,
        audience: Audience::parse(server).unwrap(),
        header: None,
        key: Secret::new(key),
        place: KeyLocation::File,
    }
}

#[tokio::test]
async fn a_key_is_given_for_its_own_server_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = KeyStore::open(folder.path());
    let host = host(folder.path()).await;
    assert!(matches!(credential(&host, "https://a.example").await, Err(SecretError::Missing { .. })));
    store.add(new_key("https://a.example/v1", KEY)).unwrap();
    assert_eq!(credential(&host, "https://a.example").await, Ok(Credential::Bearer(Secret::new(KEY))));
    for other in [
        "http://a.example",
        "https://a.example:8443",
        "https://b.example",
        "https://a.example.evil.example",
        "https://evil.example/https://a.example",
        "https://a.example@evil.example",
        "",
    ] {
        let found = credential(&host, other).await;
        assert!(matches!(found, Err(SecretError::Missing { .. })), "{other}: {found:?}");
    }
    store.add(NewKey { header: Some("api-key".into()), ..new_key("https://b.example", KEY) }).unwrap();
    let header = Credential::Header { name: "api-key".into(), value: Secret::new(KEY) };
    assert_eq!(credential(&host, "https://b.example").await, Ok(header));
}

#[tokio::test]
async fn a_server_on_this_machine_needs_no_key_but_gets_one_that_is_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let host = host(folder.path()).await;
    for server in ["http://127.0.0.1:11434", "http://localhost:1234", "http://[::1]:8080"] {
        assert_eq!(credential(&host, server).await, Ok(Credential::None), "{server}");
    }
    KeyStore::open(folder.path()).add(new_key("http://127.0.0.1:11434", KEY)).unwrap();
    assert_eq!(credential(&host, "http://127.0.0.1:11434").await, Ok(Credential::Bearer(Secret::new(KEY))));
    assert_eq!(credential(&host, "http://127.0.0.1:11435").await, Ok(Credential::None));
}

#[tokio::test]
async fn the_newest_key_of_a_server_counts_and_a_name_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = KeyStore::open(folder.path());
    let host = host(folder.path()).await;
    store.add(new_key("https://a.example", "first-key")).unwrap();
    store.add(new_key("https://a.example", "second-key")).unwrap();
    assert_eq!(store.list().unwrap().len(), 1, "the name is made from the server");
    assert_eq!(credential(&host, "https://a.example").await, Ok(Credential::Bearer(Secret::new("second-key"))));
}

#[tokio::test]
async fn vaults_are_apart_and_survive() {
    let folder = tempfile::tempdir().unwrap();
    let backend = host(folder.path()).await.service(&SECRETS).unwrap();
    let (one, two) = (backend.open("one"), backend.open("two"));
    one.put("token", Secret::new(KEY)).await.unwrap();
    assert!(matches!(two.get("token").await, Err(SecretError::Missing { .. })));
    let again = host(folder.path()).await.service(&SECRETS).unwrap();
    assert_eq!(again.open("one").get("token").await, Ok(Secret::new(KEY)));
    two.remove("token").await.unwrap();
    assert!(one.get("token").await.is_ok());
    one.remove("token").await.unwrap();
    one.remove("token").await.unwrap();
    assert!(matches!(one.get("token").await, Err(SecretError::Missing { .. })));
    let huge = one.put("token", Secret::new("x".repeat(1024 * 1024))).await;
    assert!(matches!(huge, Err(SecretError::Store { .. })));
}

#[test]
fn a_key_is_in_no_debug_no_list_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = KeyStore::open(folder.path());
    let new = new_key("https://a.example", KEY);
    assert!(!format!("{new:?}").contains("canary"));
    let added = store.add(new).unwrap();
    assert_eq!(added.ends_with, "wxyz");
    let short = store.add(new_key("https://b.example", "canary")).unwrap();
    assert_eq!(short.ends_with, "", "the end of a short key is most of it");
    for shown in [format!("{added:?} {short:?} {store:?}"), format!("{:?}", store.list().unwrap())] {
        assert!(!shown.contains("canary"), "{shown}");
    }
    for bad in ["", " \n", "canary key", "canary\u{e9}", "canary\u{0}", &"canary".repeat(10_000)] {
        let error = store.add(new_key("https://c.example", bad)).unwrap_err();
        assert!(
            matches!(error, KeyError::InvalidKey { .. }) && !format!("{error} {error:?}").contains("canary"),
            "{error}"
        );
    }
}

#[test]
fn a_damaged_file_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let store = KeyStore::open(folder.path());
    store.add(new_key("https://a.example", KEY)).unwrap();
    let path = folder.path().join("keys.json");
    let whole = std::fs::read_to_string(&path).unwrap();
    for damaged in [
        whole[..whole.len() - 5].to_owned(),
        String::new(),
        "[]".to_owned(),
        "{}".to_owned(),
        "null".to_owned(),
        whole.replace("\"audience\"", "\"audiense\""),
        whole.replace("https://a.example", "nonsense canary"),
        whole.replace("\"version\": 1", "\"version\": 99"),
    ] {
        std::fs::write(&path, &damaged).unwrap();
        for error in [
            store.add(new_key("https://b.example", KEY)).unwrap_err(),
            store.remove("a.example").unwrap_err(),
            store.list().unwrap_err(),
        ] {
            assert!(matches!(error, KeyError::Damaged { .. } | KeyError::TooNew { .. }), "{damaged}: {error}");
            assert!(error.hint().is_some() && !format!("{error} {error:?}").contains("canary"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
    }
}

#[test]
fn concurrent_adds_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let store = KeyStore::open(folder.path());
            scope.spawn(move || store.add(new_key(&format!("https://host{number}.example"), KEY)).unwrap());
        }
    });
    assert_eq!(KeyStore::open(folder.path()).list().unwrap().len(), 16);
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_for_the_owner_alone_and_a_wider_one_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let store = KeyStore::open(&data);
    store.add(new_key("https://a.example", KEY)).unwrap();
    let path = data.join("keys.json");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&data)), (0o600, 0o700));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = store.add(new_key("https://b.example", KEY)).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("chmod 600")), "{error}");
    let found = credential(&host(&data).await, "https://a.example").await;
    let Err(SecretError::Store { cause }) = found else { panic!("{found:?}") };
    assert!(cause.contains("644") && cause.contains("chmod 600"), "{cause}");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(store.list().unwrap().len(), 1, "nothing was lost");
}
