//! Runs one script module on a recorded payload, apart from all others, and compares what it says with what is expected.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use dispatch_hook_dialects::dialect::{self, Hints, InputError};
use dispatch_hook_module::{
    Clock as _, Context, Effects, HookAction, HookEvent, Ids, LogLine, MAIN_AGENT, Module, ModuleError, ModuleSpec,
    Paths, SystemClock, Timers, classify, hook_run_id, next_work_id, sid,
};
use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::manifest::PipelineManifest;
use crate::pipeline::{ModuleEnvironment, Slot, Stamps, fold};
use crate::run::{FoundScript, ScriptModules as _};
use crate::script_module::Scripts;
use crate::session_files::{DiskView, read_state};

/// How long a script may take to load; compiling is not part of its budget here.
const LOAD_TIME: Duration = Duration::from_secs(5);

/// The module that is tried, and where.
#[derive(Clone, Copy)]
pub struct ModuleTrialSetup<'a> {
    /// The name of the script module.
    pub module: &'a str,
    /// Where it is looked up.
    pub scripts: &'a Scripts,
    /// The workspace.
    pub root: &'a Path,
    /// What is known about the process.
    pub hints: &'a Hints,
    /// The user's home directory.
    pub home: Option<&'a str>,
}

/// How one event went.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModuleTrial {
    /// Whether the module supports the event.
    pub ran: bool,
    /// What it answered.
    pub action: Option<HookAction>,
    /// Why it did not answer.
    pub error: Option<String>,
    /// What it logged, each line after its level.
    pub log: Vec<String>,
    /// What is wrong with its answer.
    pub warnings: Vec<String>,
    /// How long it took.
    pub ms: f64,
    /// How long all modules may take at this event.
    pub budget_ms: u64,
    /// What was expected and not found; nothing if the event file expects nothing.
    pub unmet: Option<Vec<String>>,
}

impl ModuleTrial {
    /// Whether the module broke or did not say what was expected.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.error.is_some() || self.unmet.as_ref().is_some_and(|unmet| !unmet.is_empty())
    }
}

/// Why a module was not tried.
#[derive(Debug, thiserror::Error)]
pub enum ModuleTrialError {
    /// The payload is not an event.
    #[error(transparent)]
    Payload(InputError),
    /// There is no script module of this name.
    #[error("unknown script module `{0}`")]
    UnknownModule(String),
    /// The module cannot be loaded; says why.
    #[error("{0}")]
    NotLoaded(String),
}

/// Runs the module on the event in a file: a payload alone, or `{"host", "payload", "expect"}`. Writes nothing.
/// `host` counts if the file names none.
///
/// # Errors
/// When the payload is not an event, or the module is missing or cannot be loaded.
pub fn try_module(
    setup: &ModuleTrialSetup<'_>,
    event_file: Vec<u8>,
    host: Option<&str>,
) -> Result<ModuleTrial, ModuleTrialError> {
    let file = EventFile::read(event_file, host);
    let parsed = dialect::parse(&file.payload, file.host.as_deref(), None, setup.hints)
        .map_err(|failure| ModuleTrialError::Payload(failure.cause))?;
    let paths = Paths::new(setup.root, &sid(&parsed.event));
    let found = match setup.scripts.find(setup.module, &paths, LOAD_TIME) {
        FoundScript::Module(module) => module,
        FoundScript::Absent => return Err(ModuleTrialError::UnknownModule(setup.module.to_owned())),
        FoundScript::Refused(why) | FoundScript::Broken(why) => return Err(ModuleTrialError::NotLoaded(why)),
    };
    let module = AnswerRecorder { inner: found, answer: RefCell::new(None) };
    Ok(run_alone(&module, &parsed.event, &paths, setup.home, file.expect.as_ref()))
}

/// A payload with what is known about it.
#[derive(Debug, PartialEq)]
struct EventFile {
    host: Option<String>,
    payload: Vec<u8>,
    expect: Option<Value>,
}

impl EventFile {
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

fn run_alone(
    module: &AnswerRecorder<'_>,
    event: &HookEvent,
    paths: &Paths,
    home: Option<&str>,
    expect: Option<&Value>,
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
        own_rules: &crate::own_rules::OwnRules::default(),
        ids: &ids,
        paths,
        state: &state,
        config: &config,
        timers: Timers { start_ms: clock.unix_ms(), budget_ms, clock: &clock },
        home,
        effects: Effects::DryRun,
        unattended: manifest.unattended,
        session: &DiskView::new(paths),
        rewrite_owner: module.spec().name,
        stamps: Stamps::Logged,
    };
    let ran = module.spec().handles(&event.name);
    let slots = if ran { vec![Slot::of(module)] } else { Vec::new() };
    let call = classify(event, home);
    let folded = fold(&slots, event, call.as_ref(), &environment);
    let (action, error) = match module.answer.take() {
        Some(Ok(action)) => (Some(action), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let said = action.as_ref().map(|action| serde_json::to_value(action).unwrap_or_default());
    let log = |line: &LogLine| format!("{} {}", line.level.as_str(), line.message);
    ModuleTrial {
        ran,
        unmet: expect.map(|expect| unmet(expect, &said.unwrap_or_default())),
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

/// A module that keeps its answer.
struct AnswerRecorder<'m> {
    inner: Box<dyn Module + 'm>,
    answer: RefCell<Option<Result<HookAction, ModuleError>>>,
}

impl Module for AnswerRecorder<'_> {
    fn spec(&self) -> ModuleSpec<'_> {
        self.inner.spec()
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let result = self.inner.handle(ctx);
        self.answer.replace(Some(result.clone()));
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
