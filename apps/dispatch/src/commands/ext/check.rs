//! `dispatch ext test`: runs the unit tests of an extension, then the compliance suite in a host of its own.

mod report;

use super::info::unknown;
use super::scratch_folder::ScratchFolder;
use crate::app::Status;
use crate::compose;
use crate::failure::Failure;
use crate::ports::{RuntimeSpawner, SystemClock, UlidIds};
use crate::printer::{Format, Printer};
use crate::running::{Threads, runtime};
use crate::settings::{Loaded, settings_schema};
use dispatch_contracts::extension::Extension;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::manifest::{Manifest, Tier, Trust};
use dispatch_contracts::ports::{LogRecord, LogSink};
use dispatch_contracts::settings::Settings;
use dispatch_extension_compliance::{
    CheckResult, InjectedFault, MadeExtension, Subject, check_extension, folder_with_fault, with_fault,
};
use dispatch_kernel::host::Ports;
use dispatch_kernel::host::manifest::{parse, parse_from};
use dispatch_kernel::services::builtin::builtin_layer;
use dispatch_kernel::services::config::merge;
use dispatch_os::files;
use dispatch_script_extension::{ExtensionFolder, MANIFEST_FILE, ScriptExtension, run_unit_tests};
use dispatch_trust::Trust as Approvals;
use report::TestReport;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub(super) fn run(loaded: &Loaded, what: &Path, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let report = if files::is_dir(what) {
        let path = files::absolute(what).map_err(|error| Failure::usage(error.to_string()))?;
        check_folder(loaded, &path)?
    } else {
        let id = what.to_string_lossy();
        match loaded.externals.found.iter().find(|found| found.id == id) {
            Some(found) => check_folder(loaded, &found.path)?,
            None => check_bundled(loaded, &id)?,
        }
    };
    match format {
        Format::Json => printer.json(&report)?,
        Format::Text => printer.out(&report.text()),
    }
    Ok(if report.passed { Status::Done } else { Status::No })
}

/// An extension in a folder. Nobody has to approve TypeScript: it gets no capability, and its home is made for this run.
fn check_folder(loaded: &Loaded, path: &Path) -> Result<TestReport, Failure> {
    let folder = ExtensionFolder::read(path).map_err(|error| Failure::configuration(error.to_string()))?;
    let manifest = folder_manifest(&folder)?;
    require_approved_program(loaded, &folder, &manifest)?;
    let tests = run_unit_tests(&folder).map_err(Failure::internal)?;
    let make = |fault: Option<InjectedFault>| {
        let folder = match fault {
            None => Some(folder.clone()),
            Some(fault) => folder_with_fault(&folder, fault),
        };
        let Some(folder) = folder else { return Ok(None) };
        let extension = Arc::new(ScriptExtension::new(folder, &manifest)?);
        let workers = Arc::clone(&extension);
        let worker_ids: Arc<dyn Fn() -> Vec<u32> + Send + Sync> = Arc::new(move || workers.worker_ids());
        // Without workers its tools are not called with nonsense: those of a program may change files.
        let worker_ids = Some(worker_ids).filter(|_| manifest.program.is_empty());
        Ok(Some(MadeExtension { extension, worker_ids }))
    };
    let checks = checked(loaded, &manifest, Trust::External, &make)?;
    Ok(TestReport::new(&manifest, tests, checks))
}

/// A program runs with the user's rights, also in a test.
fn require_approved_program(loaded: &Loaded, folder: &ExtensionFolder, manifest: &Manifest) -> Result<(), Failure> {
    if manifest.program.is_empty() || Approvals::load(&loaded.trust_file).is_approved(&folder.content()) {
        return Ok(());
    }
    let (path, command) = (folder.path(), manifest.program.join(" "));
    let is_found = loaded.externals.found.iter().any(|found| found.path == path);
    let approve = if is_found { "trust" } else { "ext install" };
    let refused = format!("`{}` is a program with your rights (`{command}`), and it is not approved", manifest.id);
    Err(Failure::usage(refused).hint(format!("look at it, then run `dispatch {approve} {}`", path.display())))
}

fn folder_manifest(folder: &ExtensionFolder) -> Result<Manifest, Failure> {
    let file = folder.path().join(MANIFEST_FILE);
    let said = |reason: String| {
        Failure::configuration(format!("{}: {reason}", file.display()))
            .hint("the fields of a manifest are in `dispatch schema extension-manifest`")
    };
    let text = folder.manifest().ok_or_else(|| said("there is no such file, or it is not text in UTF-8".to_owned()))?;
    parse_from(text, Trust::External)
        .map_err(|problems| said(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))
}

/// An extension that ships with the program.
fn check_bundled(loaded: &Loaded, id: &str) -> Result<TestReport, Failure> {
    let bundled = || {
        compose::bundled().into_iter().find(|extension| manifest_of(extension).is_some_and(|it| it.id.as_str() == id))
    };
    let manifest = bundled().as_ref().and_then(manifest_of);
    let Some(manifest) = manifest else {
        let known = compose::bundled_ids();
        return Err(unknown(id, known.iter().map(String::as_str))
            .hint("`dispatch ext test` takes the folder of an extension or the id of one that is there"));
    };
    let make = |fault: Option<InjectedFault>| {
        let extension = bundled().ok_or("it is gone")?;
        let extension = match fault {
            None => Some(extension),
            Some(fault) => with_fault(extension, fault),
        };
        Ok(extension.map(|extension| MadeExtension { extension, worker_ids: None }))
    };
    let checks = checked(loaded, &manifest, Trust::Bundled, &make)?;
    Ok(TestReport::new(&manifest, Vec::new(), checks))
}

type Make<'a> = dyn Fn(Option<InjectedFault>) -> Result<Option<MadeExtension>, String> + 'a;

fn checked(loaded: &Loaded, manifest: &Manifest, trust: Trust, make: &Make<'_>) -> Result<Vec<CheckResult>, Failure> {
    let scratch = ScratchFolder::below(&loaded.dirs.cache, "ext-test")?;
    let folder = |name: &str| scratch.path().join(name);
    let folders = Folders {
        config: folder("config"),
        data: folder("data"),
        state: folder("state"),
        cache: folder("cache"),
        workdir: folder("project"),
        project: Some(folder("project")),
    };
    for path in [&folders.config, &folders.data, &folders.state, &folders.cache, &folders.workdir] {
        files::create_dir_all(path).map_err(|error| Failure::internal(error.to_string()))?;
    }
    let subject = Subject {
        id: manifest.id.to_string(),
        trust,
        make,
        others: &|| others(manifest),
        ports: Ports {
            clock: Arc::new(SystemClock::default()),
            ids: Arc::new(UlidIds),
            spawner: Arc::new(RuntimeSpawner),
            log: Arc::new(NoLog),
        },
        settings: settings(),
        folders,
    };
    Ok(runtime(Threads::Two)?.block_on(check_extension(&subject)))
}

/// The settings of a new home whose data lives in memory.
fn settings() -> Settings {
    let merged = merge(&[builtin_layer()], &settings_schema(), &BTreeMap::new()).unwrap_or_default();
    merged.with("storage.url", "memory:").with("model.provider", "rehearsal")
}

/// The core, and what the extension depends on.
fn others(manifest: &Manifest) -> Vec<Arc<dyn Extension>> {
    let bundled: Vec<(Manifest, Arc<dyn Extension>)> =
        compose::bundled().into_iter().filter_map(|it| Some((manifest_of(&it)?, it))).collect();
    let mut wanted: BTreeSet<String> = manifest.depends_on.iter().map(|needed| needed.id.to_string()).collect();
    loop {
        let before = wanted.len();
        for (other, _) in &bundled {
            if wanted.contains(other.id.as_str()) {
                wanted.extend(other.depends_on.iter().map(|needed| needed.id.to_string()));
            }
        }
        if wanted.len() == before {
            break;
        }
    }
    let is_wanted =
        |other: &Manifest| other.id != manifest.id && (other.tier == Tier::Core || wanted.contains(other.id.as_str()));
    bundled.into_iter().filter(|(other, _)| is_wanted(other)).map(|(_, extension)| extension).collect()
}

fn manifest_of(extension: &Arc<dyn Extension>) -> Option<Manifest> {
    parse(&extension.manifest()).ok()
}

/// What goes wrong is told by the checks.
struct NoLog;

impl LogSink for NoLog {
    fn write(&self, _record: LogRecord) {}
}
