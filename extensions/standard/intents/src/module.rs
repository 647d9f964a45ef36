//! The module of the hook pipeline: checks a call before it runs, records it afterwards, and reminds the agent of its
//! intent.

use std::collections::BTreeMap;

use dispatch_hook_module::{
    Context, Effects, EventName, HookAction, HookEvent, Module, ModuleError, ModuleSpec, RecordType, ToolOutcome,
    tool_outcome,
};
use dispatch_toolcall::ToolCall;
use serde_json::{Value, json};

use crate::call_recording::{CallRecording, MODEL_KEY, OpenCallSettlement, SettledCalls, model_of, share};
use crate::call_targets::{CallTargets, Reconciliation, is_select_tool, is_untraced, targets_of_call};
use crate::calls_in_flight::{self, CallInFlight, FileBeforeCall};
use crate::claims::{self, ClaimRequest, HeldClaim};
use crate::content_store;
use crate::declared_intents::{CacheAccess, DeclaredIntents, last_known, load};
use crate::free_paths::FreePaths;
use crate::gate::{APPROVAL, CLAIMED, CallTarget, GateDecision, GateInput, TargetCertainty, decide};
use crate::intent::{IntentFile, IntentMode, IntentSpec, looser_modes};
use crate::layout::{INTENTS_FILE, OrchestrationLayout};
use crate::ledger::Ledger;
use crate::ledger::archive::ADVISED_BYTES;
use crate::settings::{IntentSettings, OnEscape, ProjectMode, mode_in_toml};
use crate::working_tree;

/// The name of the module and of its section.
pub(crate) const NAME: &str = "intents";
const PRIORITY: i32 = 15;
/// The only host that does not report how a call went.
const WITHOUT_RESULTS: &str = "crush";
/// The most files of a call that are hashed before it runs; comparing the tree finds the others.
const MAX_FILES_BEFORE: usize = 500;
const MAX_TOLD: usize = 10;
/// Where a project sets the mode.
const PROJECT_CONFIG: &str = ".dispatch/dispatch.toml";
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;
/// Programs that leave a process behind.
const LEAVING: [&str; 7] = ["nohup", "setsid", "disown", "daemonize", "systemd-run", "tmux", "screen"];
/// A tool call that failed, for hosts that tell it apart from one that ended.
const FAILURE: &str = "PostToolUseFailure";
/// The end of a session, as hosts name it.
const SESSION_ENDS: [&str; 2] = ["SessionEnd", "session.deleted"];

/// Ties every change to an intent.
pub(crate) struct IntentsModule;

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

/// The change of a session's state that makes an intent active, or none.
#[must_use]
pub fn active_intent_patch(intent: Option<&str>) -> Value {
    json!({ NAME: { "active": intent } })
}

impl Module for IntentsModule {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let layout = OrchestrationLayout::new(&ctx.paths.repo_root);
        let caching = if may_write(ctx) { CacheAccess::Write } else { CacheAccess::ReadOnly };
        let file = match (load(&layout, caching), intents_at_its_beginning(ctx, &layout)) {
            (DeclaredIntents::Ready(file), _) | (_, Some(file)) => file,
            (DeclaredIntents::Absent, None) => return Ok(absent(ctx)),
            (DeclaredIntents::Broken(why), None) => return Ok(broken(ctx, &why)),
        };
        let (intents, ignored) = (&file.active_intents, &file.ignored);
        let scene = HookEventHandler { ctx, layout: &layout, intents, ignored, settings: ctx.settings() };
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

/// A call that began with intents is recorded with them, even if it removed or broke their file.
fn intents_at_its_beginning(ctx: &Context<'_>, layout: &OrchestrationLayout) -> Option<IntentFile> {
    let ends = ctx.event.name == EventName::PostToolUse || is_failure(&ctx.event.name);
    let key = calls_in_flight::key(&ctx.ids.session_id, ctx.event);
    (ends && calls_in_flight::is_in_flight(layout, &key)).then(|| last_known(layout)).flatten()
}

/// Without intents nothing is done, but their removal is reported.
fn absent(ctx: &Context<'_>) -> HookAction {
    if ctx.state.active_intent().is_none() {
        return HookAction::none();
    }
    let text = "the intent file of this workspace was removed, so changes are no longer checked or recorded";
    HookAction::none().with_warning(text).with_context("intent", text).with_state(active_intent_patch(None))
}

/// Reported once per session and cause; until the file is fixed nothing is checked or recorded.
fn broken(ctx: &Context<'_>, why: &str) -> HookAction {
    let why = dispatch_redact::Redactor::builtin().redact(why).into_owned();
    if ctx.state.text(NAME, "broken") == Some(why.as_str()) {
        return HookAction::none();
    }
    let text = format!("cannot use .orchestration/active_intents.yaml, so intents are off: {why}");
    HookAction::none().with_warning(text).with_state(json!({ NAME: { "broken": why } }))
}

struct HookEventHandler<'a> {
    ctx: &'a Context<'a>,
    layout: &'a OrchestrationLayout,
    intents: &'a [IntentSpec],
    /// Why declared intents are ignored, by their ids.
    ignored: &'a BTreeMap<String, String>,
    settings: IntentSettings,
}

impl HookEventHandler<'_> {
    fn before(&self) -> HookAction {
        let Some(call) = self.ctx.call else {
            return HookAction::none();
        };
        if is_select_tool(&call.name) {
            return if self.ctx.event.host == WITHOUT_RESULTS { self.select() } else { HookAction::none() };
        }
        let targets = targets_of_call(&self.ctx.paths.repo_root, self.ctx.event, call);
        let active = self.ctx.state.active_intent();
        let mut action = HookAction::none();
        if let Some((code, reason)) = self.objection(active, &targets) {
            match self.mode() {
                IntentMode::Enforce => return HookAction::deny(code, reason + &self.withheld_mode()),
                IntentMode::Warn => action = action.with_context("intent", format!("{code}: {reason}")),
                IntentMode::Observe => {}
            }
        }
        if may_write(self.ctx) {
            action = self.settle(action, false);
            self.begin(&targets);
        }
        action
    }

    /// Why a call may not run. Free files are looked for only if there is an objection: that asks git.
    fn objection(&self, active: Option<&str>, targets: &CallTargets) -> Option<(&'static str, String)> {
        if approves(self.ctx.event) && !self.ctx.is_excused(APPROVAL) {
            let reason =
                "Only a person approves a commit with Intent-Approved-By. Leave the trailer out, and ask the user.";
            return Some((APPROVAL, reason.to_owned()));
        }
        let judge = |paths: &[CallTarget]| {
            decide(&GateInput { intents: self.intents, active, targets: paths, certainty: targets.certainty })
        };
        if let GateDecision::Reject { .. } = judge(&targets.targets)
            && let GateDecision::Reject { code, reason } = judge(&self.free().without(&targets.targets))
            && !self.ctx.is_excused(code)
        {
            let wrong = active.and_then(|id| Some((id, self.ignored.get(id)?)));
            let wrong = wrong
                .map(|(id, why)| format!("Intent {id} is ignored: active_intents.yaml:{why}. Ask the user to fix it."));
            return Some((code, wrong.unwrap_or(reason)));
        }
        let held = self.claim(targets).filter(|_| !self.ctx.is_excused(CLAIMED))?;
        Some((CLAIMED, self.wording_of_claim(&held)))
    }

    fn free(&self) -> FreePaths<'_> {
        FreePaths { layout: self.layout, globs: &self.settings.free, time: share(self.ctx) }
    }

    /// The mode of the active intent, else of the workspace. An intent loosens only if the user approved it.
    fn mode(&self) -> IntentMode {
        let workspace = self.workspace_mode();
        let own = self.own_mode().unwrap_or(workspace);
        if own < workspace && !self.are_looser_modes_approved() { workspace } else { own }
    }

    /// The mode that the active intent asks for.
    fn own_mode(&self) -> Option<IntentMode> {
        let active = self.ctx.state.active_intent()?;
        self.intents.iter().find(|intent| intent.id == active)?.mode
    }

    fn workspace_mode(&self) -> IntentMode {
        self.settings.mode.unwrap_or_else(|| self.project_mode().in_force())
    }

    fn are_looser_modes_approved(&self) -> bool {
        self.ctx.session.is_approved(&self.layout.intents_file(), looser_modes(self.intents).as_bytes())
    }

    /// The mode that the project's settings ask for.
    fn project_mode(&self) -> ProjectMode {
        let file = self.layout.root.join(PROJECT_CONFIG);
        let Ok(text) = dispatch_os::files::read_text_at_most(&file, MAX_CONFIG_BYTES) else {
            return ProjectMode::default();
        };
        let asked = mode_in_toml(&text);
        let is_looser = asked.is_some_and(|mode| mode != IntentMode::Enforce);
        ProjectMode { asked, is_approved: is_looser && self.ctx.session.is_approved(&file, text.as_bytes()) }
    }

    /// What is said about a mode that nobody approved.
    fn withheld_mode(&self) -> String {
        let project = self.project_mode();
        let file = if self.own_mode().is_some_and(|own| own < IntentMode::Enforce) {
            INTENTS_FILE
        } else if project.asked.is_some_and(|asked| asked != project.in_force()) {
            PROJECT_CONFIG
        } else {
            return String::new();
        };
        format!(" {file} asks for another mode, which is not approved; the user can approve it with `dispatch trust`.")
    }

    /// Looks at the calls whose end no event reported, and at what calls left in the background.
    fn settle(&self, action: HookAction, session_rests: bool) -> HookAction {
        let settlement = OpenCallSettlement {
            ctx: self.ctx,
            layout: self.layout,
            intents: self.intents,
            free: &self.free(),
            key: &calls_in_flight::key(&self.ctx.ids.session_id, self.ctx.event),
            session_rests,
            session_ends: is_session_end(&self.ctx.event.name),
        };
        let SettledCalls { escapes, problems } = settlement.run();
        for problem in problems {
            self.ctx.warn(problem);
        }
        if escapes.is_empty() || self.mode() == IntentMode::Observe {
            return action;
        }
        let told: Vec<String> =
            escapes.iter().take(MAX_TOLD).map(|(path, session)| format!("{path} (session {session})")).collect();
        action.with_context(
            "intent-escape",
            format!(
                "A call whose end was not reported changed files outside its intent: {}. The ledger records them as FAIL.",
                told.join(", ")
            ),
        )
    }

    /// The claim of another session that blocks the call. A claim that cannot be read or written is ignored.
    fn claim(&self, targets: &CallTargets) -> Option<HeldClaim> {
        let changes = !targets.targets.is_empty() || targets.certainty == TargetCertainty::Unknown;
        let active = self.ctx.state.active_intent().filter(|_| changes)?;
        let active = self.intents.iter().find(|intent| intent.id == active)?;
        let last_event =
            |session: &str| self.ctx.session.modified_ms(&self.ctx.paths.of_session(session).events_file());
        let asker = ClaimRequest {
            session: &self.ctx.ids.session_id,
            host: self.ctx.event.host,
            now_ms: self.ctx.timers.now_ms(),
            lifetime_ms: self.settings.claim_ms(),
            last_event_ms: &last_event,
        };
        if !may_write(self.ctx) {
            return claims::blocking_claim(self.layout, self.intents, active, &targets.targets, &asker);
        }
        claims::take(self.layout, self.intents, active, &targets.targets, &asker).unwrap_or_else(|error| {
            self.ctx.warn(format!("cannot check the claims: {error}"));
            None
        })
    }

    fn wording_of_claim(&self, held: &HeldClaim) -> String {
        let age_ms = (self.ctx.timers.now_ms() - held.since_ms).max(0);
        format!(
            "{} has been claimed by session {} ({}) for {} s. Wait until that session is done, or ask the user; the claim \
             ends {} min after the last event of its session. Files of other intents can be changed meanwhile.",
            held.intent,
            held.session,
            held.host,
            age_ms / 1000,
            self.settings.claim_minutes
        )
    }

    /// Records the files on disk, to compare them when the call has ended.
    fn begin(&self, targets: &CallTargets) {
        let compares_tree = targets.reconcile == Reconciliation::Tree;
        let paths: Vec<&str> = targets.paths().filter(|path| !is_untraced(path)).take(MAX_FILES_BEFORE).collect();
        if paths.is_empty() && !compares_tree {
            return;
        }
        let files = paths.into_iter().map(|path| self.keep_before(path)).collect();
        let snapshot = compares_tree.then(|| working_tree::snapshot(self.layout, share(self.ctx)));
        let now_ms = self.ctx.timers.now_ms();
        let call = CallInFlight {
            session: self.ctx.ids.session_id.clone(),
            started_ms: now_ms,
            ledger_bytes: Ledger::open(self.layout).bytes(),
            intent: self.ctx.state.active_intent().map(str::to_owned),
            files,
            compares_tree,
            tool: self.ctx.call.map(|call| call.name.clone()).unwrap_or_default(),
            host: self.ctx.event.host.to_owned(),
            tool_use_id: self.ctx.event.tool_use_id.clone(),
            background: false,
        };
        let key = calls_in_flight::key(&self.ctx.ids.session_id, self.ctx.event);
        if let Err(error) = calls_in_flight::begin(self.layout, &key, &call, snapshot.as_ref(), now_ms) {
            self.ctx.warn(format!("cannot record the beginning of the call: {error}"));
        }
    }

    fn keep_before(&self, path: &str) -> FileBeforeCall {
        let observed = content_store::observe(&self.layout.root.join(path));
        content_store::store(self.layout, path, &observed);
        if let Some(problem) = &observed.problem {
            self.ctx.warn(format!("cannot hash {path}: {problem}"));
        }
        FileBeforeCall { path: path.to_owned(), hash: observed.hash, problem: observed.problem }
    }

    fn after(&self) -> HookAction {
        let Some(call) = self.ctx.call else {
            return HookAction::none();
        };
        if is_select_tool(&call.name) {
            let outcome = tool_outcome(&self.ctx.event.tool_response, self.ctx.event.error.as_deref());
            return if outcome == ToolOutcome::Ok { self.select() } else { HookAction::none() };
        }
        if !may_write(self.ctx) {
            return HookAction::none();
        }
        self.record(call)
    }

    fn record(&self, call: &ToolCall) -> HookAction {
        let targets = targets_of_call(&self.ctx.paths.repo_root, self.ctx.event, call);
        let key = calls_in_flight::key(&self.ctx.ids.session_id, self.ctx.event);
        let ended = calls_in_flight::end(self.layout, &key);
        let recording = CallRecording {
            ctx: self.ctx,
            layout: self.layout,
            intents: self.intents,
            call,
            targets: &targets,
            ended: ended.as_ref(),
            key: &key,
            on_escape: if self.mode() == IntentMode::Enforce { self.settings.on_escape } else { OnEscape::Record },
            free: &self.free(),
        };
        let recorded = recording.write();
        if let Some(ended) = ended.as_ref().filter(|_| leaves_process(self.ctx.event, call)) {
            self.watch(&key, &ended.call);
        }
        for problem in recorded.problems {
            self.ctx.warn(problem);
        }
        let action = self.settle(HookAction::none(), false);
        if recorded.escapes.is_empty() || self.mode() == IntentMode::Observe {
            return action;
        }
        action.with_context("intent-escape", self.wording_of_escapes(&recorded.escapes))
    }

    /// Keeps a call open whose processes may go on writing.
    fn watch(&self, key: &str, call: &CallInFlight) {
        let snapshot = working_tree::snapshot(self.layout, share(self.ctx));
        let call = CallInFlight {
            background: true,
            compares_tree: true,
            files: Vec::new(),
            ledger_bytes: Ledger::open(self.layout).bytes(),
            ..call.clone()
        };
        if let Err(error) = calls_in_flight::open(self.layout, &format!("{key}-left"), &call, &snapshot) {
            self.ctx.warn(format!("cannot watch what the call left in the background: {error}"));
        }
    }

    fn wording_of_escapes(&self, escapes: &[(String, bool)]) -> String {
        let told: Vec<String> = escapes
            .iter()
            .take(MAX_TOLD)
            .map(|(path, reverted)| if *reverted { format!("{path} (reverted)") } else { path.clone() })
            .collect();
        let more = escapes.len().saturating_sub(MAX_TOLD);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let whose = match self.ctx.state.active_intent() {
            Some(id) => format!("outside {id}'s owned_scope"),
            None => "with no active intent".to_owned(),
        };
        format!(
            "This call changed files {whose}: {}{more}. The ledger records them as FAIL. Undo what was not reverted, or \
             select the intent that owns the file before changing it again.",
            told.join(", ")
        )
    }

    fn select(&self) -> HookAction {
        let asked = self.ctx.event.tool_input.get("intent_id").and_then(|id| id.as_str()).unwrap_or_default();
        let Some(intent) = self.intents.iter().find(|intent| intent.id == asked && intent.status.is_open()) else {
            return HookAction::none();
        };
        HookAction::none()
            .with_state(active_intent_patch(Some(&intent.id)))
            .with_record(RecordType::IntentSelected, json!({ "intent": intent.id }))
    }

    /// The active intent in a few lines, or how to select one.
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
                    if open.is_empty() { "(no intent is open, ask the user)".to_owned() } else { open.join(", ") }
                )
            }
        };
        let action = HookAction::none().with_context("intent", text);
        let action = match Ledger::open(self.layout).bytes() {
            bytes if bytes > ADVISED_BYTES && self.ctx.event.name == EventName::SessionStart => {
                action.with_warning(format!(
                    "the ledger has {} MB; `dispatch trace archive` moves the entries of ended sessions out of it",
                    bytes / 1_000_000
                ))
            }
            _ => action,
        };
        match model_of(self.ctx.event).filter(|_| self.ctx.event.name == EventName::SessionStart) {
            // Hosts name the model when a session starts, and not with each call.
            Some(model) => action.with_state(json!({ NAME: { MODEL_KEY: model } })),
            None => action,
        }
    }

    /// The end of a turn records the open calls, the end of a session releases its claims.
    fn rest(&self, event: &EventName) -> HookAction {
        if !may_write(self.ctx) {
            return HookAction::none();
        }
        if is_session_end(event) {
            claims::release(self.layout, &self.ctx.ids.session_id);
            content_store::remove_oldest(self.layout, content_store::MAX_TOTAL_BYTES);
        }
        self.settle(HookAction::none(), true)
    }
}

/// Whether a command contains the trailer with which a person approves a commit.
fn approves(event: &HookEvent) -> bool {
    let text = ["command", "cmd", "script"].iter().find_map(|name| event.tool_input.get(*name)?.as_str());
    text.is_some_and(|text| text.to_ascii_lowercase().contains("intent-approved-by"))
}

/// Whether a command may leave a process that goes on when the call has ended.
fn leaves_process(event: &HookEvent, call: &ToolCall) -> bool {
    let stated =
        ["run_in_background", "background", "is_background"].iter().any(|name| event.tool_input[*name] == true);
    let programs = call.effects.iter().flat_map(|effects| &effects.commands);
    let leaving = programs.flat_map(|command| command.wrapped_by.iter().chain([&command.program]));
    stated || has_background_mark(event) || leaving.into_iter().any(|program| LEAVING.contains(&program.as_str()))
}

/// Whether the text of a command has a `&` that ends a command.
fn has_background_mark(event: &HookEvent) -> bool {
    let text = ["command", "cmd", "script"].iter().find_map(|name| event.tool_input.get(*name)?.as_str());
    let text = text.unwrap_or_default().as_bytes();
    let is_alone = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let after = text.get(at + 1);
        !matches!(before, Some(b'&' | b'>' | b'<' | b'\\')) && !matches!(after, Some(b'&' | b'>'))
    };
    memchr::memchr_iter(b'&', text).any(is_alone)
}
