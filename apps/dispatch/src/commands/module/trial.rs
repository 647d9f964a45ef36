//! Runs one script module on recorded payloads, apart from all others, and compares what it says with what is expected.

use crate::app::Status;
use crate::dry_run::{DryRunPipeline, known_host};
use crate::failure::Failure;
use crate::plain::lines;
use crate::printer::{Format, Printer};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_hook_dialects::dialect;
use dispatch_hook_module::{
    Clock, Context, Effects, HookAction, HookEvent, Ids, LogLine, MAIN_AGENT, Module, ModuleError, ModuleSpec, Paths,
    SystemClock, Timers, classify, hook_run_id, next_work_id, sid,
};
use dispatch_os::files::read_at_most;
use dispatch_trust::{Trust, read_content};
use ext_hook_pipeline::contract::{
    Config, DiskView, FoundScript, ModuleEnvironment, PipelineManifest, ScriptModules, Scripts, Slot, Stamps, fold,
    read_state,
};
use serde::Serialize;
use serde_json::Value;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest file with an event.
const EVENT_LIMIT_BYTES: u64 = 64 * 1024 * 1024;
/// Event files of one module that are run.
const MAX_EVENTS: usize = 200;
/// How long a script may take to load; compiling is not part of its budget here.
const LOAD_TIME: Duration = Duration::from_secs(5);
const SHOWN_LINES: usize = 200;

pub(super) struct ModuleTrialRequest<'a> {
    pub(super) name: &'a str,
    pub(super) events: &'a [PathBuf],
    pub(super) host: Option<&'a str>,
    pub(super) format: Format,
}

/// How one event went.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModuleTrial {
    event: String,
    ran: bool,
    action: Option<HookAction>,
    error: Option<String>,
    log: Vec<String>,
    warnings: Vec<String>,
    ms: f64,
    budget_ms: u64,
    /// What was expected and not found; nothing if the event file expects nothing.
    unmet: Option<Vec<String>>,
}

impl ModuleTrial {
    fn failed(&self) -> bool {
        self.error.is_some() || self.unmet.as_ref().is_some_and(|unmet| !unmet.is_empty())
    }
}

/// A payload with what is known about it.
#[derive(Debug, PartialEq)]
struct EventFile {
    host: Option<String>,
    payload: Vec<u8>,
    expect: Option<Value>,
}

pub(super) fn run(
    loaded: &Loaded,
    workspace: &Workspace,
    request: &ModuleTrialRequest<'_>,
    printer: &Printer,
) -> Result<Status, Failure> {
    known_host(request.host)?;
    let folder = workspace.paths("modules").module_source(request.name);
    let files = event_files(&folder, request.events)?;
    // To try a module is to approve it for this once: what it may do is bounded by the engine, not by trust.
    let scripts = Scripts::new(trust_in(&folder, workspace)?, None);
    let judging = DryRunPipeline::new(loaded);
    let mut trials = Vec::new();
    for file in &files {
        let bytes = read_at_most(file, EVENT_LIMIT_BYTES)
            .map_err(|error| Failure::of(Status::Usage, &error).hint("--event takes a file with a payload"))?;
        let event = EventFile::read(bytes, request.host);
        trials.push(attempt(workspace, request.name, &scripts, &judging, file, &event)?);
    }
    let approved = Trust::load(&loaded.trust_file);
    let waits = super::super::trust::script_files(&folder)
        .iter()
        .any(|file| read_content(file).is_ok_and(|content| !approved.is_approved(&content)));
    match request.format {
        Format::Json => {
            printer.json(&serde_json::json!({"module": request.name, "approved": !waits, "trials": trials}))?
        }
        Format::Text => {
            printer.out(&trials.iter().map(text).collect::<Vec<_>>().join("\n\n"));
            if waits {
                printer.out(&format!(
                    "\nit does not run in sessions until it is approved: dispatch trust {}",
                    request.name
                ));
            }
        }
    }
    Ok(if trials.iter().any(ModuleTrial::failed) { Status::No } else { Status::Done })
}

fn event_files(folder: &Path, named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let entries = dispatch_os::files::read_dir(folder);
    let mut found: Vec<PathBuf> = entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".event.json")));
    found.sort_unstable();
    found.truncate(MAX_EVENTS);
    if found.is_empty() {
        return Err(Failure::usage(format!("{} has no *.event.json to run the module on", folder.display()))
            .hint("--event FILE names one; `dispatch module new` makes a module with some"));
    }
    Ok(found)
}

fn trust_in(folder: &Path, workspace: &Workspace) -> Result<Trust, Failure> {
    let mut trust = Trust::default();
    let shared = workspace.paths("modules").hooks_root.join("lib");
    for file in [folder, &shared].into_iter().flat_map(super::super::trust::script_files) {
        let content = read_content(&file)?;
        trust.approve(file, &content)?;
    }
    Ok(trust)
}

impl EventFile {
    /// A payload alone, or `{"host", "payload", "expect"}`.
    fn read(bytes: Vec<u8>, host: Option<&str>) -> Self {
        let host = host.map(str::to_owned);
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(Value::Object(mut fields)) if fields.get("payload").is_some_and(Value::is_object) => {
                let own = fields.get("host").and_then(Value::as_str).map(str::to_owned);
                let payload = fields.remove("payload").unwrap_or_default().to_string().into_bytes();
                Self { host: own.or(host), payload, expect: fields.remove("expect") }
            }
            _ => Self { host, payload: bytes, expect: None },
        }
    }
}

fn attempt(
    workspace: &Workspace,
    name: &str,
    scripts: &Scripts,
    judging: &DryRunPipeline,
    file: &Path,
    event_file: &EventFile,
) -> Result<ModuleTrial, Failure> {
    let parsed = dialect::parse(&event_file.payload, event_file.host.as_deref(), None, judging.hints())
        .map_err(|failure| Failure::usage(format!("{}: {}", file.display(), failure.cause)))?;
    let paths = workspace.paths(&sid(&parsed.event));
    let found = match scripts.find(name, &paths, LOAD_TIME) {
        FoundScript::Module(module) => module,
        FoundScript::Absent => {
            return Err(Failure::usage(format!("unknown script module `{name}`"))
                .hint(format!("`dispatch module new {name}` makes it")));
        }
        FoundScript::Refused(why) | FoundScript::Broken(why) => return Err(Failure::configuration(why)),
    };
    let shown = workspace.shown(file);
    Ok(play(&Recorder { inner: found, said: RefCell::new(None) }, &parsed.event, &paths, judging, shown, event_file))
}

fn play(
    module: &Recorder<'_>,
    event: &HookEvent,
    paths: &Paths,
    judging: &DryRunPipeline,
    shown: String,
    event_file: &EventFile,
) -> ModuleTrial {
    let (manifest, _) = PipelineManifest::load(&paths.manifest_file());
    let (config, _) = Config::load(&paths.config_file());
    let state = read_state(paths).unwrap_or_default();
    let clock = SystemClock::start();
    let budget_ms = manifest.budget_ms(&event.name);
    let ids = Ids {
        session_id: sid(event),
        work_id: state.work_id().map_or_else(|| next_work_id(None), str::to_owned),
        agent_id: MAIN_AGENT.to_owned(),
        turn_id: state.last_turn_id(),
        hook_run_id: hook_run_id(event.name.as_str(), state.last_turn_id(), clock.unix_ms()),
    };
    let environment = ModuleEnvironment {
        ids: &ids,
        paths,
        state: &state,
        config: &config,
        timers: Timers { start_ms: clock.unix_ms(), budget_ms, clock: &clock },
        home: judging.home(),
        effects: Effects::DryRun,
        unattended: manifest.unattended,
        session: &DiskView::new(paths),
        rewrite_owner: module.spec().name,
        stamps: Stamps::Logged,
    };
    let ran = module.spec().handles(&event.name);
    let slots = if ran { vec![Slot::of(module)] } else { Vec::new() };
    let call = classify(event, judging.home());
    let folded = fold(&slots, event, call.as_ref(), &environment);
    let (action, error) = match module.said.take() {
        Some(Ok(action)) => (Some(action), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let said = action.as_ref().map(|action| serde_json::to_value(action).unwrap_or_default());
    let log = |line: &LogLine| format!("{} {}", line.level.as_str(), line.message);
    ModuleTrial {
        event: shown,
        ran,
        unmet: event_file.expect.as_ref().map(|expect| unmet(expect, &said.unwrap_or_default())),
        action,
        error,
        log: folded.log.iter().map(|said| log(&said.what)).collect(),
        warnings: folded.warnings.iter().map(|said| said.what.clone()).collect(),
        ms: folded.runs.first().map_or(0.0, |run| run.ms),
        budget_ms,
    }
}

/// What is expected and not so: every key that is expected must be there with that value; `{}` expects no objection.
fn unmet(expect: &Value, said: &Value) -> Vec<String> {
    let Some(expected) = expect.as_object() else { return vec!["`expect` is not an object".to_owned()] };
    let mut problems = Vec::new();
    let decision = said.get("decision").and_then(Value::as_str).unwrap_or("allow");
    let wanted = expected.get("decision").and_then(Value::as_str).unwrap_or("allow");
    if decision != wanted {
        problems.push(format!("decision is {decision}, expected {wanted}"));
    }
    for (key, value) in expected.iter().filter(|(key, _)| *key != "decision") {
        let found = said.get(key).unwrap_or(&Value::Null);
        if found != value {
            problems.push(format!("{key} is {found}, expected {value}"));
        }
    }
    problems
}

fn text(trial: &ModuleTrial) -> String {
    let verdict = match (&trial.unmet, &trial.error) {
        (_, Some(_)) => "FAILED",
        (Some(unmet), None) if !unmet.is_empty() => "FAILED",
        (Some(_), None) => "ok",
        (None, None) => "ran",
    };
    let mut rows = vec![format!("{verdict}  {}  {:.2} ms of {} ms", trial.event, trial.ms, trial.budget_ms)];
    if !trial.ran {
        rows.push("  it does not support this event, so it was not asked".to_owned());
    }
    let action = trial.action.as_ref().and_then(|action| serde_json::to_string_pretty(action).ok());
    match action.as_deref() {
        Some("{}") => rows.push("  no opinion".to_owned()),
        Some(action) => rows.extend(lines(action, SHOWN_LINES).iter().map(|line| format!("  {line}"))),
        None => {}
    }
    rows.extend(trial.log.iter().flat_map(|line| lines(line, SHOWN_LINES)).map(|line| format!("  log: {line}")));
    rows.extend(
        trial.warnings.iter().flat_map(|line| lines(line, SHOWN_LINES)).map(|line| format!("  warning: {line}")),
    );
    let problems = trial.error.iter().chain(trial.unmet.iter().flatten());
    rows.extend(problems.flat_map(|problem| lines(problem, SHOWN_LINES)).map(|line| format!("  error: {line}")));
    rows.join("\n")
}

/// A module that remembers what it said.
struct Recorder<'m> {
    inner: Box<dyn Module + 'm>,
    said: RefCell<Option<Result<HookAction, ModuleError>>>,
}

impl Module for Recorder<'_> {
    fn spec(&self) -> ModuleSpec<'_> {
        self.inner.spec()
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let result = self.inner.handle(ctx);
        self.said.replace(Some(result.clone()));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_file_is_a_payload_or_says_more_about_one() {
        let bare = EventFile::read(b"{\"tool_name\": \"Bash\"}".to_vec(), Some("codex"));
        assert_eq!((bare.host.as_deref(), bare.expect), (Some("codex"), None));
        let wrapped = json!({"host": "cursor", "payload": {"a": 1}, "expect": {"decision": "deny"}}).to_string();
        let wrapped = EventFile::read(wrapped.into_bytes(), Some("codex"));
        assert_eq!(wrapped.host.as_deref(), Some("cursor"), "the file knows best");
        assert_eq!(wrapped.payload, b"{\"a\":1}");
        assert_eq!(wrapped.expect, Some(json!({"decision": "deny"})));
        assert_eq!(EventFile::read(b"\xff".to_vec(), None).payload, b"\xff");
    }

    #[test]
    fn what_is_expected_must_be_said() {
        let said = json!({"decision": "deny", "code": "A1"});
        assert!(unmet(&json!({"decision": "deny"}), &said).is_empty());
        assert_eq!(unmet(&json!({"decision": "deny", "code": "A2"}), &said), ["code is \"A1\", expected \"A2\""]);
        assert_eq!(unmet(&json!({}), &said), ["decision is deny, expected allow"]);
        assert!(unmet(&json!({}), &Value::Null).is_empty());
        assert_eq!(unmet(&json!([]), &said).len(), 1);
    }
}
