//! What `activate` of an extension registered, as its worker tells it.
//!
//! Pure.

use crate::limits::{
    MAX_JOB_MS, MAX_PRIORITY, MAX_RAW_BODY_BYTES, MAX_TOOL_MS, MIN_JOB_MS, MIN_PRIORITY, RAW_BODY_BYTES, TOOL,
};
use dispatch_contracts::contribution::RouteAccess;
use dispatch_contracts::hooks::{
    EXTENSION_DISABLED, EXTENSION_FAULTED, REQUEST_BEFORE, ROW_RECORDED, TOOL_AFTER, TOOL_BEFORE, TURN_SEALED,
    TURN_STARTED,
};
use dispatch_contracts::suggest::nearest;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The events of the kernel.
const EVENTS: [&str; 5] =
    [TURN_STARTED.id(), TURN_SEALED.id(), ROW_RECORDED.id(), EXTENSION_FAULTED.id(), EXTENSION_DISABLED.id()];
/// The filters of the kernel.
const FILTERS: [&str; 3] = [TOOL_BEFORE.id(), TOOL_AFTER.id(), REQUEST_BEFORE.id()];
/// What stands before the names of both.
const KERNEL: &str = "kernel/";

/// Everything that was registered. A program leaves out what has a default; the adapter of TypeScript leaves out nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Registered {
    pub(crate) tools: Vec<RegisteredTool>,
    pub(crate) commands: Vec<RegisteredCommand>,
    pub(crate) events: Vec<RegisteredEvent>,
    pub(crate) filters: Vec<RegisteredFilter>,
    pub(crate) providers: Vec<RegisteredName>,
    pub(crate) auth: Vec<RegisteredName>,
    pub(crate) routes: Vec<RegisteredRoute>,
    pub(crate) jobs: Vec<RegisteredJob>,
    pub(crate) services: Vec<RegisteredService>,
}

/// What is known by its name alone.
#[derive(Debug, Deserialize)]
pub(crate) struct RegisteredName {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisteredRoute {
    /// `METHOD /path`.
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) description: String,
    /// Whether it reads headers and bytes itself.
    #[serde(default)]
    pub(crate) raw: bool,
    #[serde(default = "token_access")]
    access: Value,
    max_body_bytes: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisteredJob {
    pub(crate) name: String,
    every_ms: Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RegisteredService {
    /// `owner/name`.
    pub(crate) name: String,
    pub(crate) methods: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisteredTool {
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(default = "no_parameters")]
    pub(crate) parameters: Value,
    #[serde(default)]
    pub(crate) concurrency_safe: bool,
    /// Whether a program says that the tool changes nothing; of TypeScript the host knows it.
    #[serde(default)]
    pub(crate) read_only: bool,
    timeout_ms: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RegisteredCommand {
    pub(crate) name: String,
    pub(crate) description: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RegisteredEvent {
    id: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RegisteredFilter {
    id: String,
    #[serde(default = "middle_priority")]
    priority: Value,
}

fn token_access() -> Value {
    "token".into()
}

fn no_parameters() -> Value {
    json!({ "type": "object", "properties": {} })
}

fn middle_priority() -> Value {
    0.into()
}

impl RegisteredTool {
    /// How long a call may take.
    pub(crate) fn time(&self) -> Result<Duration, String> {
        let Some(given) = &self.timeout_ms else { return Ok(TOOL) };
        let ms = given.as_u64().filter(|ms| (1..=MAX_TOOL_MS).contains(ms));
        ms.map(Duration::from_millis).ok_or_else(|| {
            format!("`timeoutMs` of the tool `{}` is {given}, not a number from 1 to {MAX_TOOL_MS}", self.name)
        })
    }
}

impl RegisteredRoute {
    /// Whether method and path can be served.
    pub(crate) fn check(&self) -> Result<(), String> {
        const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
        if !METHODS.contains(&self.method.as_str()) {
            return Err(format!("invalid method `{}` of a route: use one of {}", self.method, METHODS.join(", ")));
        }
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'%' | b'*');
        if !self.path.starts_with('/') || self.path.contains("//") || !self.path.bytes().all(is_plain) {
            return Err(format!("invalid path `{}` of a route: write it like `/v1/notes/{{id}}`", self.path));
        }
        Ok(())
    }

    /// Who may call a raw route.
    pub(crate) fn access(&self) -> Result<RouteAccess, String> {
        match self.access.as_str() {
            Some("token") => Ok(RouteAccess::Token),
            Some("own") => Ok(RouteAccess::Own),
            _ => Err(format!("`access` of the route `{}` is {}, not `token` or `own`", self.name, self.access)),
        }
    }

    /// The largest body of a raw route.
    pub(crate) fn max_body_bytes(&self) -> Result<usize, String> {
        let Some(given) = &self.max_body_bytes else { return Ok(RAW_BODY_BYTES) };
        let bytes = given.as_u64().and_then(|bytes| usize::try_from(bytes).ok());
        bytes.filter(|bytes| (1..=MAX_RAW_BODY_BYTES).contains(bytes)).ok_or_else(|| {
            format!(
                "`maxBodyBytes` of the route `{}` is {given}, not a number from 1 to {MAX_RAW_BODY_BYTES}",
                self.name
            )
        })
    }
}

impl RegisteredJob {
    /// How long it waits between two runs.
    pub(crate) fn every_ms(&self) -> Result<u64, String> {
        let ms = self.every_ms.as_u64().filter(|ms| (MIN_JOB_MS..=MAX_JOB_MS).contains(ms));
        ms.ok_or_else(|| {
            format!(
                "`everyMs` of the job `{}` is {}, not a number from {MIN_JOB_MS} to {MAX_JOB_MS}",
                self.name, self.every_ms
            )
        })
    }
}

impl RegisteredEvent {
    /// The id of the event.
    pub(crate) fn id(&self) -> Result<String, String> {
        full_id(&self.id, "event", &EVENTS)
    }
}

impl RegisteredFilter {
    /// The id of the filter.
    pub(crate) fn id(&self) -> Result<String, String> {
        full_id(&self.id, "filter", &FILTERS)
    }

    /// Where it stands among the handlers of the filter.
    pub(crate) fn priority(&self) -> Result<i32, String> {
        let given = self.priority.as_i64().filter(|priority| (MIN_PRIORITY..=MAX_PRIORITY).contains(priority));
        given.and_then(|priority| i32::try_from(priority).ok()).ok_or_else(|| {
            format!(
                "the priority of the filter `{}` is {}, not a whole number from {MIN_PRIORITY} to {MAX_PRIORITY}",
                self.id, self.priority
            )
        })
    }
}

/// A hook's id in full: `turn.sealed` is one of the kernel's.
fn full_id(id: &str, kind: &str, known: &[&'static str]) -> Result<String, String> {
    let full = if id.contains('/') { id.to_owned() } else { format!("{KERNEL}{id}") };
    if !full.starts_with(KERNEL) || known.contains(&full.as_str()) {
        return Ok(full);
    }
    let short = known.iter().map(|known| known.strip_prefix(KERNEL).unwrap_or(known));
    let meant = nearest(id, short.clone()).map(|meant| format!("; did you mean `{meant}`?"));
    let listed = || format!("; there are {}", short.collect::<Vec<_>>().join(", "));
    Err(format!("there is no {kind} `{id}`{}", meant.unwrap_or_else(listed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_of_the_kernel_goes_by_its_short_name_and_a_misspelt_one_is_refused() {
        let event = |id: &str| RegisteredEvent { id: id.to_owned() }.id();
        assert_eq!(event("turn.sealed").as_deref(), Ok("kernel/turn.sealed"));
        assert_eq!(event("kernel/turn.sealed").as_deref(), Ok("kernel/turn.sealed"));
        assert_eq!(event("other/thing").as_deref(), Ok("other/thing"));
        assert_eq!(event("turn.seled").unwrap_err(), "there is no event `turn.seled`; did you mean `turn.sealed`?");
        assert!(event("tool.before").unwrap_err().starts_with("there is no event `tool.before`; "));
        assert!(event("kernel/zzz").is_err());
    }

    #[test]
    fn guards_of_the_program_stay_behind_every_filter() {
        let filter = |priority: Value| RegisteredFilter { id: "tool.before".to_owned(), priority }.priority();
        assert_eq!(filter(json!(-99)), Ok(-99));
        for wrong in [json!(-100), json!(1001), json!(1.5), json!("first"), json!(null)] {
            assert!(filter(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_route_has_a_method_and_a_path_that_can_be_served() {
        let route = |method: &str, path: &str, access: Value| {
            let (name, description) = (format!("{method} {path}"), String::new());
            let (method, path) = (method.to_owned(), path.to_owned());
            let route = RegisteredRoute { name, method, path, description, raw: true, access, max_body_bytes: None };
            (route.check(), route.access())
        };
        assert_eq!(route("GET", "/v1/notes/{id}", json!("own")), (Ok(()), Ok(RouteAccess::Own)));
        for (method, path) in
            [("GRAB", "/x"), ("GET", "x"), ("GET", "/a//b"), ("GET", "/a?b"), ("GET", "/ä"), ("GET", "")]
        {
            assert!(route(method, path, json!("token")).0.is_err(), "{method} {path}");
        }
        assert!(route("GET", "/x", json!("everybody")).1.is_err());
    }

    #[test]
    fn a_job_runs_at_intervals_that_make_sense() {
        let every = |every_ms: Value| RegisteredJob { name: "sweep".to_owned(), every_ms }.every_ms();
        assert_eq!(every(json!(60_000)), Ok(60_000));
        for wrong in [json!(null), json!(0), json!(999), json!(1.5e3), json!("1h"), json!(u64::MAX)] {
            assert!(every(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_tool_has_a_deadline() {
        let tool = |timeout_ms: Option<Value>| {
            let (name, parameters) = ("a".to_owned(), json!({}));
            let description = String::new();
            RegisteredTool { name, description, parameters, concurrency_safe: false, read_only: false, timeout_ms }
                .time()
        };
        assert_eq!(tool(None), Ok(TOOL));
        assert_eq!(tool(Some(json!(250))), Ok(Duration::from_millis(250)));
        for wrong in [json!(0), json!(-1), json!(600_001), json!("1s")] {
            assert!(tool(Some(wrong.clone())).is_err(), "{wrong}");
        }
    }
}
