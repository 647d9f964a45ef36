//! A kernel in this process, with extensions of both kinds in it.

use super::written::WrittenExtension;
use anyhow::{Context as _, Result, anyhow};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::manifest::Trust;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Clock, Ids, LogRecord, LogSink, Spawner};
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::manifest::parse;
use dispatch_kernel::host::{Boot, Candidate, ExtensionHost, ExtensionState, MemoryDisabledStore, Ports, boot};
use dispatch_script_extension::{ExtensionFolder, ScriptExtension};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How an extension's worker is started: as this program with this argument.
pub(crate) const WORKER_COMMAND: &str = "script-worker";

/// Serves as the worker of an extension until its parent is gone.
pub(crate) fn serve_scripts() -> Result<()> {
    Ok(dispatch_script::worker_main(std::io::stdin(), std::io::stdout())?)
}

/// Starts these extensions; all of them must run.
pub(super) async fn start(
    compiled: Arc<dyn Extension>,
    written: &[WrittenExtension],
    folder: &Path,
) -> Result<ExtensionHost> {
    let mut extensions = vec![Candidate::bundled(compiled)];
    for extension in written {
        extensions.push(candidate(extension, folder)?);
    }
    let ports = Arc::new(RuntimePorts { started: Instant::now(), ids: AtomicU64::default() });
    let allowed = |_: &_| PermissionDecision { verdict: Verdict::Allow, rule: None, reason: String::new() };
    let host = boot(Boot {
        ports: Ports {
            clock: Arc::clone(&ports) as _,
            ids: Arc::clone(&ports) as _,
            spawner: Arc::clone(&ports) as _,
            log: ports,
        },
        extensions,
        settings: Settings::default(),
        folders: Folders { cache: folder.join("cache"), workdir: folder.to_path_buf(), ..Folders::default() },
        permissions: Arc::new(allowed),
        budget: FaultBudget::default(),
        disabled: Arc::new(MemoryDisabledStore::default()),
        grants: BTreeMap::new(),
    });
    let host = host.await?;
    match host.status().into_iter().find(|status| status.state != ExtensionState::Active) {
        Some(idle) => Err(anyhow!("the extension `{}` does not run: {:?}", idle.id, idle.state)),
        None => Ok(host),
    }
}

fn candidate(written: &WrittenExtension, below: &Path) -> Result<Candidate> {
    let folder = below.join(&written.id);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("manifest.json"), written.manifest.to_string())?;
    std::fs::write(folder.join("index.ts"), &written.code)?;
    let manifest = parse(&written.manifest.to_string()).map_err(|problems| anyhow!("{problems:?}"))?;
    let read = ExtensionFolder::read(&folder).context("the extension's files")?;
    let extension = ScriptExtension::new(read, &manifest).map_err(|reason| anyhow!(reason))?;
    let origin = folder.display().to_string();
    Ok(Candidate { extension: Arc::new(extension), trust: Trust::Local, origin, fresh: None })
}

/// The world, as far as a kernel wants one here.
struct RuntimePorts {
    started: Instant,
    ids: AtomicU64,
}

impl Clock for RuntimePorts {
    fn now_ms(&self) -> u64 {
        self.monotonic_ms()
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

impl Ids for RuntimePorts {
    fn next_id(&self) -> String {
        self.ids.fetch_add(1, Ordering::Relaxed).to_string()
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
