//! `dispatch route`: the routing hooks, and what they would do with an event.

mod metrics_view;
mod template;

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::running::Running;
use crate::settings::Loaded;
use crate::time_span::TimeSpan;
use dispatch_contracts::extension::Extension;
use dispatch_os::files::{absolute, read_text_at_most};
use dispatch_os::time;
use ext_broker::contract::{
    BacktestReport, HookListing, HookState, HookTrial, ROUTES, RouteDecision, Routes, RoutesError,
};
use ext_event_ledger::contract::{EVENT_LEDGER, Event, EventLedger};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest file with an event.
const MAX_EVENT_BYTES: u64 = 8 * 1024 * 1024;
/// What is shown of a reason.
const REASON_CHARS: usize = 120;
/// How far back a back-test looks, and metrics count.
const SINCE: &str = "30d";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum RouteCommand {
    /// List the routing hooks and where each stands
    List {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Check that every routing hook is approved, loads and has an id of its own
    #[command(after_help = "Exit status: 0 all is well, 1 a hook cannot run.")]
    Check {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Count what hooks decided, how long they took, and what came in and left per channel
    Metrics {
        /// Only this time until now
        #[arg(long, value_name = "TIME", default_value = SINCE)]
        since: TimeSpan,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Switch a hook on
    Enable {
        /// The hook's id
        id: String,
    },
    /// Switch a hook off
    Disable {
        /// The hook's id
        id: String,
    },
    /// Make a routing hook that works, to begin with
    New {
        /// Its name
        name: String,
    },
    /// Run a hook on an event and print what it would do; nothing is sent
    Test {
        /// The hook's file
        file: PathBuf,
        /// The event's id, or @FILE with an event as JSON
        #[arg(long, value_name = "ID|@FILE")]
        event: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Run a hook over recorded events and print what would go elsewhere; nothing is sent
    #[command(after_help = "Exit status: 0 nothing changes, 1 something does.")]
    Backtest {
        /// The hook's file
        file: PathBuf,
        /// Only events of this time until now
        #[arg(long, value_name = "TIME", default_value = SINCE)]
        since: TimeSpan,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &RouteCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    if let RouteCommand::New { name } = command {
        return template::make(loaded, name, printer);
    }
    if matches!(command, RouteCommand::Enable { .. }) {
        crate::policy_change::confirm(loaded, "switch a routing hook on", printer)?;
    }
    let running = Running::look_at_events(loaded, extensions)?;
    let outcome = running.service(&ROUTES).and_then(|routes| {
        let ledger = running.service(&EVENT_LEDGER)?;
        running.block_on(obey(routes.as_ref(), ledger.as_ref(), command, printer))
    });
    running.shutdown();
    outcome
}

async fn obey(
    routes: &dyn Routes,
    ledger: &dyn EventLedger,
    command: &RouteCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    match command {
        RouteCommand::List { json } => {
            let hooks = routes.list().await?;
            match Format::from(*json) {
                Format::Json => printer.json(&json!({ "hooks": hooks }))?,
                Format::Text => printer.out(&listed(&hooks)),
            }
            Ok(Status::Done)
        }
        RouteCommand::Check { json } => check(&routes.list().await?, (*json).into(), printer),
        RouteCommand::Metrics { since, json } => {
            let metrics = routes.metrics(before_now(*since)).await?;
            match Format::from(*json) {
                Format::Json => printer.json(&metrics)?,
                Format::Text => printer.out(&metrics_view::shown(&metrics)),
            }
            Ok(Status::Done)
        }
        RouteCommand::Enable { id } => switched(&routes.enable(id).await?, printer),
        RouteCommand::Disable { id } => switched(&routes.disable(id).await?, printer),
        RouteCommand::New { .. } => Ok(Status::Done),
        RouteCommand::Test { file, event, json } => {
            let event = wanted_event(ledger, event).await?;
            let trial = routes.test(&full(file)?, event).await?;
            match Format::from(*json) {
                Format::Json => printer.json(&trial)?,
                Format::Text => printer.out(&tried(&trial)),
            }
            Ok(Status::Done)
        }
        RouteCommand::Backtest { file, since, json } => {
            let report = routes.backtest(&full(file)?, before_now(*since)).await?;
            match Format::from(*json) {
                Format::Json => printer.json(&report)?,
                Format::Text => printer.out(&compared(&report)),
            }
            Ok(if report.changed.is_empty() { Status::Done } else { Status::No })
        }
    }
}

/// So long ago, in Unix milliseconds.
fn before_now(span: TimeSpan) -> u64 {
    u64::try_from(time::unix_ms().saturating_sub(span.ms())).unwrap_or_default()
}

fn full(file: &Path) -> Result<PathBuf, Failure> {
    absolute(file).map_err(|error| Failure::of(Status::Usage, &error))
}

async fn wanted_event(ledger: &dyn EventLedger, named: &str) -> Result<Event, Failure> {
    let Some(file) = named.strip_prefix('@') else {
        let found = ledger.get(named).await?;
        return found.ok_or_else(|| {
            Failure::usage(format!("no event has the id `{named}`")).hint("`dispatch event list` lists the events")
        });
    };
    let text = read_text_at_most(Path::new(file), MAX_EVENT_BYTES)?;
    event_of(&text).map_err(|error| {
        Failure::usage(format!("{file} is not an event: {error}"))
            .hint("`dispatch event show ID --json` prints events as they are expected here, under `event`")
    })
}

/// An event as JSON; what only the ledger knows may be missing.
fn event_of(text: &str) -> Result<Event, serde_json::Error> {
    let mut value: Value = serde_json::from_str(text)?;
    if let Some(inner) = value.get("event").filter(|inner| inner.is_object()) {
        value = inner.clone();
    }
    if let Some(fields) = value.as_object_mut() {
        let now = json!(u64::try_from(time::unix_ms()).unwrap_or_default());
        let from = fields.get("from").cloned().unwrap_or_default();
        for (name, default) in [
            ("id", json!("file:1")),
            ("sequence", json!(i64::MAX)),
            ("channel", json!("cli")),
            ("accountId", json!("default")),
            ("peerKind", json!("dm")),
            ("peerId", from),
            ("content", json!("")),
            ("contentType", json!("text")),
            ("timestamp", now.clone()),
            ("receivedAt", now),
        ] {
            fields.entry(name).or_insert(default);
        }
    }
    serde_json::from_value(value)
}

fn listed(hooks: &[HookListing]) -> String {
    if hooks.is_empty() {
        return "no routing hooks; `dispatch route new NAME` makes one".to_owned();
    }
    let row = |hook: &HookListing| {
        vec![
            hook.id.clone(),
            word(hook.state).to_owned(),
            hook.origin.clone(),
            format!("priority {}", hook.priority),
            hook.channels.as_ref().map_or_else(|| "all channels".to_owned(), |channels| channels.join(", ")),
            hook.path.display().to_string(),
            one_line(hook.reason.as_deref().unwrap_or_default(), REASON_CHARS),
        ]
    };
    table(&hooks.iter().map(row).collect::<Vec<_>>())
}

const fn word(state: HookState) -> &'static str {
    match state {
        HookState::Enabled => "enabled",
        HookState::Disabled => "disabled",
        HookState::Untrusted => "untrusted",
        HookState::Broken => "broken",
    }
}

fn check(hooks: &[HookListing], format: Format, printer: &Printer) -> Result<Status, Failure> {
    let is_wrong = |hook: &&HookListing| matches!(hook.state, HookState::Untrusted | HookState::Broken);
    let wrong: Vec<&HookListing> = hooks.iter().filter(is_wrong).collect();
    match format {
        Format::Json => printer.json(&json!({ "checked": hooks.len(), "problems": wrong }))?,
        Format::Text if wrong.is_empty() => printer.out(&all_well(hooks.len())),
        Format::Text => {
            for hook in &wrong {
                let reason = hook.reason.as_deref().unwrap_or_default();
                printer.out(&format!("{}: {}: {reason}", hook.path.display(), word(hook.state)));
            }
        }
    }
    Ok(if wrong.is_empty() { Status::Done } else { Status::No })
}

fn all_well(count: usize) -> String {
    match count {
        0 => "no routing hooks; `dispatch route new NAME` makes one".to_owned(),
        1 => "one routing hook, it can run".to_owned(),
        more => format!("{more} routing hooks, all can run"),
    }
}

fn switched(hook: &HookListing, printer: &Printer) -> Result<Status, Failure> {
    printer.out(&format!("{} is {}", hook.id, word(hook.state)));
    Ok(Status::Done)
}

fn tried(trial: &HookTrial) -> String {
    let mut lines = vec![format!("{} {} in {} ms", trial.hook, trial.outcome, trial.ms)];
    lines.extend(trial.reason.iter().map(|reason| format!("  {reason}")));
    if let Some(route) = &trial.dispatch {
        lines.push(format!("  session {} of {} ({})", route.session, route.persona, route.mode));
        lines.push(format!("  permissions {}", route.permissions));
        lines.push(format!("  reply to {}", route.delivery));
    }
    lines.extend(trial.log.iter().map(|line| format!("  console: {line}")));
    lines.join("\n")
}

fn compared(report: &BacktestReport) -> String {
    let mut lines = vec![format!("events {}, same {}, changed {}", report.events, report.same, report.changed.len())];
    let shown = |decision: &Option<RouteDecision>| match decision {
        None => "not asked".to_owned(),
        Some(RouteDecision { outcome, route: None }) => outcome.clone(),
        Some(RouteDecision { outcome, route: Some(route) }) => format!("{outcome} to {}", route.session),
    };
    let changed = report.changed.iter();
    lines.extend(changed.map(|it| format!("  {}: {} -> {}", it.event, shown(&it.before), shown(&it.after))));
    lines.join("\n")
}

impl From<RoutesError> for Failure {
    fn from(error: RoutesError) -> Self {
        match error {
            RoutesError::NoHook { .. } => {
                Self::usage(error.to_string()).hint("`dispatch route list` lists the routing hooks")
            }
            RoutesError::File(_) => {
                Self::usage(error.to_string()).hint("`dispatch route new NAME` makes a hook that works")
            }
            RoutesError::Ledger(error) => error.into(),
            RoutesError::Storage(_) => Self::internal(error.to_string()),
        }
    }
}
