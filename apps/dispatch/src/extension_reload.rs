//! Loads extensions and settings again while the program runs, when their files change or somebody asks for it.

mod request_files;
mod watched_files;

use crate::extension_choice::settings_schemas;
use crate::external_extensions::{absent, carried_over, grants, joined};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::running::{Running, candidates, shared_settings};
use crate::settings::Loaded;
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::{ChangeOutcome, ExtensionHost, RosterUpdate};
use dispatch_os::Ulid;
use dispatch_os::files::{Access, ReplaceOptions, create_dir_owner_only, read_at_most, replace_with};
use dispatch_script_extension::Discovered;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinHandle;
use watched_files::{WatchedFiles, WatchedPlaces};

/// By which other processes are asked to load extensions again, below the user's data.
const REQUEST_FILE: &str = "extensions-reload.json";
/// The largest request.
const LIMIT_BYTES: u64 = 16 * 1024;
/// How many changed settings one line names.
const NAMED_SETTINGS: usize = 5;

/// Hears what was loaded, and what was not and why.
pub(crate) type TellReload = Arc<dyn Fn(String) + Send + Sync>;

/// For a program that somebody else reads the output of.
pub(crate) fn told_on_stderr() -> TellReload {
    Arc::new(|line| Printer::new().note(&line))
}

/// A wish to load extensions again.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ReloadRequest {
    /// Tells one wish from the next.
    id: String,
    /// Loaded again although it did not change; with none, only what changed is.
    extension: Option<String>,
}

/// Asks every running process of this user.
pub(crate) fn request_reload(data: &Path, extension: Option<&str>) -> Result<(), Failure> {
    create_dir_owner_only(data)?;
    let request = ReloadRequest { id: Ulid::generate().to_string(), extension: extension.map(str::to_owned) };
    let text =
        serde_json::to_vec(&request).map_err(|error| Failure::internal("cannot write JSON").caused_by(&error))?;
    let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
    Ok(replace_with(&data.join(REQUEST_FILE), &text, options)?)
}

/// What keeps the extensions of one process up to date.
pub(crate) struct ExtensionReloader {
    host: ExtensionHost,
    loaded: Loaded,
    /// Settings that the command itself made.
    made: Vec<(String, Value)>,
    known: Mutex<KnownState>,
    tell: TellReload,
}

/// What was loaded last.
struct KnownState {
    externals: Discovered,
    settings: Settings,
    told: BTreeSet<String>,
    request: Option<ReloadRequest>,
}

impl ExtensionReloader {
    /// Begins to watch, for as long as the runtime lives. Where the system gives no watch, that is told.
    pub(crate) fn start(running: &Running, loaded: &Loaded, tell: TellReload) -> Option<JoinHandle<()>> {
        let reloader = Self::new(running, loaded, tell);
        match WatchedFiles::open(reloader.places(&loaded.externals)) {
            Ok(files) => Some(tokio::spawn(reloader.follow(files))),
            Err(error) => {
                let text =
                    format!("changes of extensions are not seen until the next start: cannot watch files: {error}");
                (reloader.tell)(text);
                None
            }
        }
    }

    fn new(running: &Running, loaded: &Loaded, tell: TellReload) -> Self {
        let made = running
            .settings()
            .iter()
            .filter(|(name, setting)| loaded.settings.get(name).is_none_or(|known| known.value != setting.value));
        let known = KnownState {
            externals: loaded.externals.clone(),
            settings: loaded.settings.clone(),
            told: absent(loaded).into_iter().collect(),
            request: read_request(&loaded.dirs.data),
        };
        Self {
            host: running.host().clone(),
            made: made.map(|(name, setting)| (name.to_owned(), setting.value.clone())).collect(),
            loaded: loaded.clone(),
            known: Mutex::new(known),
            tell,
        }
    }

    async fn follow(self, mut files: WatchedFiles) {
        while files.changed().await {
            loop {
                let externals = self.reload().await;
                if !files.watch(self.places(&externals)) {
                    break;
                }
            }
        }
    }

    fn places(&self, externals: &Discovered) -> WatchedPlaces {
        WatchedPlaces {
            project: self.loaded.project.as_ref().map(|root| root.path.clone()),
            config: self.loaded.dirs.config.clone(),
            data: self.loaded.dirs.data.clone(),
            requests: [
                file_name(&self.loaded.trust_file),
                file_name(&self.loaded.disabled_file),
                crate::development::FILE.to_owned(),
                REQUEST_FILE.to_owned(),
            ],
            extensions: externals.found.iter().map(|found| found.path.clone()).collect(),
        }
    }

    /// Reads everything again and makes the running extensions those that it says.
    async fn reload(&self) -> Discovered {
        let mut schemas = settings_schemas(&self.loaded.own);
        let read = Loaded::read(&self.loaded.common, &mut schemas, self.loaded.own.clone());
        let (mut loaded, before) = match read.and_then(|loaded| loaded.require_valid().map(|()| loaded)) {
            Ok(loaded) => (loaded, self.known().externals.clone()),
            Err(failure) => {
                self.tell_once(vec![format!("nothing is loaded again: {}", failure.messages.join("; "))]);
                return self.known().externals.clone();
            }
        };
        let forced = self.forced(&loaded);
        let (externals, kept) = carried_over(loaded.externals, &before, forced.as_deref());
        loaded.externals = externals;
        let settings =
            self.made.iter().fold(loaded.settings.clone(), |all, (name, value)| all.with(name, value.clone()));
        let (extensions, _) = joined(loaded.own.clone(), &loaded.externals);
        let update = RosterUpdate {
            settings: shared_settings(settings, &extensions),
            grants: grants(&loaded.settings),
            extensions: candidates(&loaded, extensions),
        };
        let changes = match self.host.update(update).await {
            Ok(changes) => changes,
            Err(error) => {
                self.tell_once(vec![format!("nothing is loaded again: {error}")]);
                return before;
            }
        };
        for change in &changes {
            (self.tell)(match &change.outcome {
                ChangeOutcome::Stopped { reason } if reason.contains("ext enable") => reason.clone(),
                _ => change.to_string(),
            });
        }
        self.tell_once(kept.into_iter().chain(absent(&loaded)).collect());
        self.tell_settings(&loaded);
        let mut known = self.known();
        known.externals = loaded.externals.clone();
        known.settings = loaded.settings;
        loaded.externals
    }

    /// The extension that somebody wants loaded again, if that is a new wish.
    fn forced(&self, loaded: &Loaded) -> Option<String> {
        let request = read_request(&loaded.dirs.data);
        let mut known = self.known();
        if known.request == request {
            return None;
        }
        let extension = request.as_ref().and_then(|request| request.extension.clone());
        known.request = request;
        extension
    }

    /// Settings that only a new start brings into force.
    fn tell_settings(&self, loaded: &Loaded) {
        let names: BTreeSet<&str> = {
            let all = loaded.settings.iter().map(|(name, _)| name);
            all.filter(|name| !self.is_live(name, &loaded.externals)).collect()
        };
        let before = self.known().settings.clone();
        let value = |settings: &Settings, name: &str| settings.get(name).map(|setting| setting.value.clone());
        let changed: Vec<&str> =
            names.into_iter().filter(|name| value(&before, name) != value(&loaded.settings, name)).collect();
        if let Some(first) = changed.get(..changed.len().min(NAMED_SETTINGS)).filter(|first| !first.is_empty()) {
            let named: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
            let more = if changed.len() > first.len() { " and others" } else { "" };
            (self.tell)(format!("changed with the next start of the program: {}{more}", named.join(", ")));
        }
    }

    /// Whether a setting is in force at once: those of extensions from outside, and grants.
    fn is_live(&self, name: &str, externals: &Discovered) -> bool {
        let of_external =
            |id: &str| name.strip_prefix("extensions.").is_some_and(|rest| rest.starts_with(&format!("{id}.")));
        name.starts_with("grants.")
            || name == "extensions.disabled"
            || externals.all_running().any(|found| of_external(&found.id))
    }

    /// Tells what was not told before.
    fn tell_once(&self, lines: Vec<String>) {
        let new: Vec<String> = {
            let mut known = self.known();
            let new = lines.iter().filter(|line| !known.told.contains(*line)).cloned().collect();
            known.told = lines.into_iter().collect();
            new
        };
        new.into_iter().for_each(|line| (self.tell)(line));
    }

    fn known(&self) -> std::sync::MutexGuard<'_, KnownState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_request(data: &Path) -> Option<ReloadRequest> {
    let bytes = read_at_most(&data.join(REQUEST_FILE), LIMIT_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
