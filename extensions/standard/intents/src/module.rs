//! The module of the hook pipeline: gates a call before it runs, records it afterwards, and keeps the
//! active intent before the agent's eyes.

use dispatch_hook_module::{
    Context, Effects, EventName, HookAction, Module, ModuleError, ModuleSpec, RecordType, ToolOutcome, tool_outcome,
};
use dispatch_toolcall::ToolCall;
use serde_json::json;

use crate::calls::{self, Before, InFlight};
use crate::claims::{self, Asker, Held};
use crate::contents;
use crate::declared::{Caching, Declared, last_known, load};
use crate::gate::{CLAIMED, Certainty, Gate, Question, decide};
use crate::intent::{IntentFile, IntentSpec};
use crate::layout::Layout;
use crate::ledger::Ledger;
use crate::reach::{Reach, Reconcile, is_selection, is_untraced, reach};
use crate::record::{Recording, share};
use crate::settings::Settings;
use crate::tree;

/// The name of the module and of its section.
pub const NAME: &str = "intents";
const PRIORITY: i32 = 15;
/// The only host that never says how a call went.
const WITHOUT_RESULTS: &str = "crush";
/// More files of one call are not looked at before it runs; the tree tells of them afterwards.
const MAX_FILES_BEFORE: usize = 500;
const MAX_TOLD: usize = 10;
/// A tool call that failed, for hosts that tell it apart from one that ended.
const FAILURE: &str = "PostToolUseFailure";
/// The end of a session, as hosts name it.
const SESSION_ENDS: [&str; 2] = ["SessionEnd", "session.deleted"];

/// Ties every change to an intent.
pub struct Intents;

/// The given modules and this one, in the order they run.
#[must_use]
pub fn with_intents(mut modules: Vec<&'static dyn Module>) -> Vec<&'static dyn Module> {
    let at = modules.partition_point(|module| module.spec().priority <= PRIORITY);
    modules.insert(at, &Intents);
    modules
}

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[
        EventName::SessionStart,
        EventName::PreToolUse,
        EventName::PostToolUse,
        EventName::PreCompact,
        EventName::Stop,
    ],
    host_events: &[FAILURE, SESSION_ENDS[0], SESSION_ENDS[1]],
    priority: PRIORITY,
    hot_path_safe: true,
    on_by_default: true,
    ..ModuleSpec::named(NAME)
};

impl Module for Intents {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let layout = Layout::new(&ctx.paths.repo_root);
        let caching = if may_write(ctx) { Caching::Write } else { Caching::ReadOnly };
        let file = match (load(&layout, caching), intents_at_its_beginning(ctx, &layout)) {
            (Declared::Ready(file), _) | (_, Some(file)) => file,
            (Declared::Absent, None) => return Ok(absent(ctx)),
            (Declared::Broken(why), None) => return Ok(broken(ctx, &why)),
        };
        let scene = Scene { ctx, layout: &layout, intents: &file.active_intents, settings: ctx.settings() };
        Ok(match &ctx.event.name {
            EventName::PreToolUse => scene.before(),
            EventName::PostToolUse => scene.after(),
            name if is_failure(name) => scene.after(),
            EventName::SessionStart | EventName::PreCompact => scene.remind(),
            name => scene.rest(name),
        })
    }
}

fn is_failure(event: &EventName) -> bool {
    matches!(event, EventName::Other(name) if name.eq_ignore_ascii_case(FAILURE))
}

fn is_session_end(event: &EventName) -> bool {
    let EventName::Other(name) = event else {
        return false;
    };
    SESSION_ENDS.iter().any(|end| name.eq_ignore_ascii_case(end))
}

fn may_write(ctx: &Context<'_>) -> bool {
    ctx.effects == Effects::Commit
}

/// A call that began under intents ends under them, even if it removed or broke their file.
fn intents_at_its_beginning(ctx: &Context<'_>, layout: &Layout) -> Option<IntentFile> {
    let ends = ctx.event.name == EventName::PostToolUse || is_failure(&ctx.event.name);
    let key = calls::key(&ctx.ids.session_id, ctx.event);
    (ends && calls::is_in_flight(layout, &key)).then(|| last_known(layout)).flatten()
}

/// Without intents nothing is done, but their going away is not passed over.
fn absent(ctx: &Context<'_>) -> HookAction {
    if ctx.state.active_intent().is_none() {
        return HookAction::none();
    }
    let text = "the intents of this workspace are gone, so nothing is gated or recorded any more";
    HookAction::none().with_warning(text).with_context("intent", text).with_state(json!({ NAME: { "active": null } }))
}

/// Told once per session and cause; until the file is mended nothing is gated or recorded.
fn broken(ctx: &Context<'_>, why: &str) -> HookAction {
    let why = dispatch_redact::Redactor::builtin().redact(why).into_owned();
    if ctx.state.text(NAME, "broken") == Some(why.as_str()) {
        return HookAction::none();
    }
    let text = format!(".orchestration/active_intents.yaml cannot be used, so intents are off: {why}");
    HookAction::none().with_warning(text).with_state(json!({ NAME: { "broken": why } }))
}

struct Scene<'a> {
    ctx: &'a Context<'a>,
    layout: &'a Layout,
    intents: &'a [IntentSpec],
    settings: Settings,
}

impl Scene<'_> {
    fn before(&self) -> HookAction {
        let Some(call) = self.ctx.call else {
            return HookAction::none();
        };
        if is_selection(&call.name) {
            return if self.ctx.event.host == WITHOUT_RESULTS { self.select() } else { HookAction::none() };
        }
        let reach = reach(&self.ctx.paths.repo_root, self.ctx.event, call);
        let active = self.ctx.state.active_intent();
        let question = Question { intents: self.intents, active, targets: &reach.targets, certainty: reach.certainty };
        if let Gate::Reject { code, reason } = decide(&question)
            && !self.ctx.is_excused(code)
        {
            return HookAction::deny(code, reason);
        }
        if let Some(held) = self.claim(&reach)
            && !self.ctx.is_excused(CLAIMED)
        {
            return HookAction::deny(CLAIMED, self.wording_of_claim(&held));
        }
        if may_write(self.ctx) {
            self.begin(&reach);
        }
        HookAction::none()
    }

    /// The claim of another session in the way. Claims that cannot be read or written bind nobody.
    fn claim(&self, reach: &Reach) -> Option<Held> {
        let changes = !reach.targets.is_empty() || reach.certainty == Certainty::Unknown;
        let active = self.ctx.state.active_intent().filter(|_| changes)?;
        let active = self.intents.iter().find(|intent| intent.id == active)?;
        let work_root = &self.ctx.paths.work_root;
        let last_event = |session: &str| {
            let log = work_root.join(dispatch_os::paths::safe_file_name(session)).join("events.jsonl");
            self.ctx.session.modified_ms(&log)
        };
        let asker = Asker {
            session: &self.ctx.ids.session_id,
            host: self.ctx.event.host,
            now_ms: self.ctx.timers.now_ms(),
            lifetime_ms: self.settings.claim_ms(),
            last_event_ms: &last_event,
        };
        if !may_write(self.ctx) {
            return claims::in_the_way(self.layout, self.intents, active, &reach.targets, &asker);
        }
        claims::take(self.layout, self.intents, active, &reach.targets, &asker).unwrap_or_else(|error| {
            self.ctx.warn(format!("claims could not be looked at: {error}"));
            None
        })
    }

    fn wording_of_claim(&self, held: &Held) -> String {
        let age_ms = (self.ctx.timers.now_ms() - held.since_ms).max(0);
        format!(
            "{} is claimed by session {} ({}) since {} s. Wait until that session is done, or ask the user; the claim \
             ends {} min after its session's last event. Files of other intents can be changed meanwhile.",
            held.intent,
            held.session,
            held.host,
            age_ms / 1000,
            self.settings.claim_minutes
        )
    }

    /// Keeps what is on disk now, for the comparison when the call has ended.
    fn begin(&self, reach: &Reach) {
        let compares_tree = reach.reconcile == Reconcile::Tree;
        let paths: Vec<&str> = reach.paths().filter(|path| !is_untraced(path)).take(MAX_FILES_BEFORE).collect();
        if paths.is_empty() && !compares_tree {
            return;
        }
        let files = paths.into_iter().map(|path| self.keep_before(path)).collect();
        let snapshot = compares_tree.then(|| tree::snapshot(self.layout, share(self.ctx)));
        let now_ms = self.ctx.timers.now_ms();
        let call = InFlight {
            session: self.ctx.ids.session_id.clone(),
            started_ms: now_ms,
            ledger_bytes: Ledger::open(self.layout).bytes(),
            intent: self.ctx.state.active_intent().map(str::to_owned),
            files,
            compares_tree,
        };
        let key = calls::key(&self.ctx.ids.session_id, self.ctx.event);
        if let Err(error) = calls::begin(self.layout, &key, &call, snapshot.as_ref(), now_ms) {
            self.ctx.warn(format!("the beginning of the call could not be kept: {error}"));
        }
    }

    fn keep_before(&self, path: &str) -> Before {
        let look = contents::look(&self.layout.root.join(path));
        contents::keep(self.layout, &look);
        if let Some(problem) = &look.problem {
            self.ctx.warn(format!("{path} has no hash: {problem}"));
        }
        Before { path: path.to_owned(), hash: look.hash, problem: look.problem }
    }

    fn after(&self) -> HookAction {
        let Some(call) = self.ctx.call else {
            return HookAction::none();
        };
        if is_selection(&call.name) {
            let outcome = tool_outcome(&self.ctx.event.tool_response, self.ctx.event.error.as_deref());
            return if outcome == ToolOutcome::Ok { self.select() } else { HookAction::none() };
        }
        if !may_write(self.ctx) {
            return HookAction::none();
        }
        self.record(call)
    }

    fn record(&self, call: &ToolCall) -> HookAction {
        let reach = reach(&self.ctx.paths.repo_root, self.ctx.event, call);
        let key = calls::key(&self.ctx.ids.session_id, self.ctx.event);
        let ended = calls::end(self.layout, &key);
        let recording = Recording {
            ctx: self.ctx,
            layout: self.layout,
            intents: self.intents,
            call,
            reach: &reach,
            ended: ended.as_ref(),
            key: &key,
            on_escape: self.settings.on_escape,
        };
        let recorded = recording.write();
        for problem in recorded.problems {
            self.ctx.warn(problem);
        }
        let action = HookAction::none();
        if recorded.escapes.is_empty() {
            return action;
        }
        action.with_context("intent-escape", self.wording_of_escapes(&recorded.escapes))
    }

    fn wording_of_escapes(&self, escapes: &[(String, bool)]) -> String {
        let told: Vec<String> = escapes
            .iter()
            .take(MAX_TOLD)
            .map(|(path, reverted)| if *reverted { format!("{path} (put back)") } else { path.clone() })
            .collect();
        let more = escapes.len().saturating_sub(MAX_TOLD);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let whose = match self.ctx.state.active_intent() {
            Some(id) => format!("outside {id}'s owned_scope"),
            None => "with no active intent".to_owned(),
        };
        format!(
            "This call changed files {whose}: {}{more}. The ledger has them as FAIL. Undo what was not put back, or \
             select the intent that owns it before changing it again.",
            told.join(", ")
        )
    }

    fn select(&self) -> HookAction {
        let asked = self.ctx.event.tool_input.get("intent_id").and_then(|id| id.as_str()).unwrap_or_default();
        let Some(intent) = self.intents.iter().find(|intent| intent.id == asked && intent.status.is_open()) else {
            return HookAction::none();
        };
        HookAction::none()
            .with_state(json!({ NAME: { "active": intent.id } }))
            .with_record(RecordType::IntentSelected, json!({ "intent": intent.id }))
    }

    /// The active intent in a few lines, or how to make one active.
    fn remind(&self) -> HookAction {
        let active = self.ctx.state.active_intent();
        let active = active.and_then(|id| self.intents.iter().find(|intent| intent.id == id));
        let text = match active.filter(|intent| intent.status.is_open()) {
            Some(intent) => {
                let lines = |title: &str, items: &[String]| match items {
                    [] => String::new(),
                    items => format!("\n{title}: {}", items.join("; ")),
                };
                format!(
                    "Active intent {} ({}). Change only files in its scope: {}.{}{}",
                    intent.id,
                    intent.name,
                    intent.owned_scope.join(", "),
                    lines("Constraints", &intent.constraints),
                    lines("Done when", &intent.acceptance_criteria)
                )
            }
            None => {
                let open = self.intents.iter().filter(|intent| intent.status.is_open()).take(MAX_TOLD);
                let open: Vec<String> = open.map(|intent| format!("{} ({})", intent.id, intent.name)).collect();
                format!(
                    "Every change in this workspace belongs to a declared intent. Before changing files, call \
                     select_active_intent with one of: {}.",
                    if open.is_empty() { "none is open, ask the user".to_owned() } else { open.join(", ") }
                )
            }
        };
        HookAction::none().with_context("intent", text)
    }

    /// At the end of a turn no call is in flight; at the end of a session nothing is claimed.
    fn rest(&self, event: &EventName) -> HookAction {
        if may_write(self.ctx) {
            calls::forget(self.layout, &self.ctx.ids.session_id, self.ctx.timers.now_ms());
            if is_session_end(event) {
                claims::release(self.layout, &self.ctx.ids.session_id);
            }
        }
        HookAction::none()
    }
}
