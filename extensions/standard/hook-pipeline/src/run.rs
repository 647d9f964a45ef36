//! One invocation from the bytes a host sends to the bytes it gets back. Whatever fails on the way, it gets an answer.

mod account;
mod block_work;
mod database;
mod ids;
mod open;
mod other_roots;
mod refusal;
mod roots;
mod session_root;
mod setup;
mod subject;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use dispatch_hook_dialects::dialect::{self, Dialect, Hints, InputError};
use dispatch_hook_dialects::{Answer, Reply};
use dispatch_hook_module::state::merge;
use dispatch_hook_module::{
    Clock, Decision, Effects, EventName, HookEvent, Module, Paths, Record, SessionState, SessionView as _, Timers,
    classify, sid,
};
use dispatch_os::UserDirs;
use dispatch_toolcall::ToolCall;

use crate::delivery::{delivery_key, read_answer};
use crate::own_rules::{OWN_RULES, OwnRules, RuleOwner};
use crate::pipeline::{Folded, ModuleEnvironment, PhaseGate, Said, Slot, Stamps, fold, select};
use crate::report::DecisionReport;
use crate::rule_trust::RuleTrust;
use crate::session_files::{Journal, SessionFolder};
use crate::watch::Watch;
use account::{Account, PIPELINE};
use open::OpenSession;
use roots::{RuleLevel, RuleRoot};
use setup::{GivenRules, Setup};

pub(crate) use refusal::unjudged;
pub use subject::event_of;

/// Finds modules that are scripts in the workspace.
pub trait ScriptModules {
    /// The script module of this name, looked at within `time_left`.
    fn find<'s>(&'s self, name: &str, paths: &Paths, time_left: Duration) -> FoundScript<'s>;

    /// Whether a module that cannot run called itself critical when the user approved it.
    fn was_critical(&self, _name: &str, _paths: &Paths) -> bool {
        false
    }
}

/// What became of looking for a script module.
pub enum FoundScript<'s> {
    /// It can run.
    Module(Box<dyn Module + 's>),
    /// There is none of this name.
    Absent,
    /// There is one that the user has not approved; says what to do.
    Refused(String),
    /// There is one that cannot be loaded; says why.
    Broken(String),
}

/// Everything an invocation starts from.
#[derive(Clone, Copy)]
pub struct Invocation<'a> {
    /// `--host`, if given.
    pub host: Option<&'a str>,
    /// The event argument, if given.
    pub event: Option<&'a str>,
    /// What the host wrote.
    pub stdin: &'a [u8],
    /// What else is known about the process.
    pub hints: &'a Hints,
    /// The user's home directory.
    pub home: Option<&'a str>,
    /// The user's folders, where the user's own rules and what is known of sessions are.
    pub user: Option<&'a UserDirs>,
    /// Which rule files may weaken the built-in rules.
    pub trust: RuleTrust<'a>,
    /// The workspace, if it is not to be found from the event.
    pub root: Option<&'a Path>,
    /// In place of the workspace's manifest.
    pub manifest: Option<&'a [u8]>,
    /// In place of the workspace's configuration.
    pub config: Option<&'a [u8]>,
    /// The native modules.
    pub modules: &'a [&'a dyn Module],
    /// Script modules, where the build has them.
    pub scripts: Option<&'a dyn ScriptModules>,
    /// Time.
    pub clock: &'a dyn Clock,
    /// The last resort.
    pub watch: &'a dyn Watch,
    /// Whether anything is written.
    pub effects: Effects,
}

/// What an invocation comes to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// For the host.
    pub reply: Reply,
    /// For people, unless the payload could not be read or something broke.
    pub report: Option<DecisionReport>,
    /// What is wrong with configuration, scripts or files; for people.
    pub problems: Vec<String>,
    /// Text for the model that went with the answer.
    pub context: Vec<String>,
    /// The answer before it was spelled for the host.
    pub answer: Answer,
    /// The first module that was not asked because time had run out.
    pub out_of_time_at: Option<String>,
}

/// A session as it was when an event was recorded.
#[derive(Debug, Clone, Copy)]
pub struct Past<'a> {
    /// The session.
    pub session_id: &'a str,
    /// Its state at that time.
    pub state: &'a SessionState,
}

/// Handles one hook event. Never fails and never panics.
#[must_use]
pub fn run(invocation: &Invocation<'_>) -> Outcome {
    let (dialect, event, unreadable) = read(invocation);
    let go_on = dialect.go_on(&event.name);
    invocation.watch.prepare(&go_on);
    match unjudged(dialect, &event) {
        Some(reply) => invocation.watch.prepare_unjudged(&reply),
        // The command line may have named no event, or another one.
        None => invocation.watch.judged(),
    }
    let decided = RefCell::new(None);
    // A call that was told already is judged once more, and leaves its traces once.
    let second = Invocation { effects: Effects::DryRun, ..*invocation };
    let invocation = if dialect.repeats_call(&event.host_event) { &second } else { invocation };
    let work = AssertUnwindSafe(|| handle(invocation, dialect, &event, None, unreadable.as_ref(), &decided));
    catch_unwind(work).unwrap_or_else(|_| Outcome {
        reply: decided.take().unwrap_or(go_on),
        report: None,
        problems: vec!["the pipeline failed; whatever was decided before stands".to_owned()],
        context: Vec::new(),
        answer: Answer::pass(),
        out_of_time_at: None,
    })
}

/// Judges an event that did not come from a host now, such as a recorded one, in the session as it is or was.
/// Writes nothing.
#[must_use]
pub fn judge(invocation: &Invocation<'_>, event: &HookEvent, past: Option<&Past<'_>>) -> Outcome {
    let dialect = dialect::by_name(event.host).unwrap_or_else(native);
    let dry = Invocation { effects: Effects::DryRun, ..*invocation };
    handle(&dry, dialect, event, past, None, &RefCell::new(None))
}

/// Handles an event of our own agent, which has no payload to be read, and keeps what it leads to.
/// Unlike [`run`] it lets a panic pass: a guard that breaks must not count as one without objection.
#[must_use]
#[cfg(feature = "extension")]
pub(crate) fn submit(invocation: &Invocation<'_>, event: &HookEvent) -> Outcome {
    let dialect = dialect::by_name(event.host).unwrap_or_else(native);
    handle(invocation, dialect, event, None, None, &RefCell::new(None))
}

fn native() -> &'static Dialect {
    dialect::by_name("native").unwrap_or(dialect::ALL[0])
}

/// The event, or as much of it as the command line tells, with what is wrong with the payload.
fn read(invocation: &Invocation<'_>) -> (&'static Dialect, HookEvent, Option<InputError>) {
    let parse = || dialect::parse(invocation.stdin, invocation.host, invocation.event, invocation.hints);
    match catch_unwind(AssertUnwindSafe(parse)) {
        Ok(Ok(parsed)) => (parsed.dialect, parsed.event, None),
        Ok(Err(failure)) => {
            let spelling = failure.name.as_str().to_owned();
            let event = HookEvent::new(failure.name, failure.dialect.id(), spelling, serde_json::Value::Null);
            (failure.dialect, event, Some(failure.cause))
        }
        Err(_) => {
            let dialect = invocation.host.and_then(dialect::by_name).unwrap_or_else(native);
            let spelling = invocation.event.unwrap_or_default();
            let name = dialect.event_name(spelling);
            let event = HookEvent::new(name, dialect.id(), spelling.to_owned(), serde_json::Value::Null);
            (dialect, event, Some(InputError::NotAnObject))
        }
    }
}

fn handle(
    invocation: &Invocation<'_>,
    dialect: &'static Dialect,
    event: &HookEvent,
    past: Option<&Past<'_>>,
    unreadable: Option<&InputError>,
    decided: &RefCell<Option<Reply>>,
) -> Outcome {
    let session_id = past.map_or_else(|| sid(event), |past| past.session_id.to_owned());
    let roots = roots::find(invocation, event, &session_id);
    let Some(own) = &roots.own else {
        let call = classify(event, invocation.home);
        let folded = Folded::default();
        let report = unreadable.is_none().then(|| DecisionReport::new(event, &session_id, call.as_ref(), &folded));
        invocation.watch.judged();
        return Outcome {
            reply: dialect.go_on(&event.name),
            report,
            problems: Vec::new(),
            context: Vec::new(),
            answer: Answer::pass(),
            out_of_time_at: None,
        };
    };
    let mut setup =
        Setup::load(own, GivenRules { manifest: invocation.manifest, config: invocation.config }, invocation.trust);
    setup.problems.extend(unreadable.map(|cause| format!("the payload could not be read: {cause}")));
    setup.refusals.extend(unreadable.and_then(refusal::payload));
    setup.refusals.extend(refusal::deep_input(&event.tool_input));
    let budget_ms = setup.manifest.budget_ms(&event.name);
    invocation.watch.limit(Duration::from_millis(budget_ms));
    let others = if event.name == EventName::PreToolUse { roots.others.as_slice() } else { &[] };
    let user = others.iter().find(|root| root.level == RuleLevel::User);
    let user_rules = user.map_or_else(OwnRules::default, |root| {
        let (config, _) = crate::config::Config::load(&root.paths.config_file());
        OwnRules::of(config.section(OWN_RULES), RuleOwner::User)
    });
    let run = EventRun {
        invocation,
        dialect,
        event,
        paths: &own.paths,
        others,
        budget_ms,
        session_id: &session_id,
        past,
        level: own.level,
        user_rules: &user_rules,
    };
    run.execute(setup, decided)
}

/// One event in one workspace.
struct EventRun<'a> {
    invocation: &'a Invocation<'a>,
    dialect: &'static Dialect,
    event: &'a HookEvent,
    paths: &'a Paths,
    /// The other roots that judge the call.
    others: &'a [RuleRoot],
    budget_ms: u64,
    session_id: &'a str,
    past: Option<&'a Past<'a>>,
    /// Whose rules these are.
    level: RuleLevel,
    /// The user's own rules without code, which hold in every root.
    user_rules: &'a OwnRules,
}

impl EventRun<'_> {
    fn execute(&self, mut setup: Setup, decided: &RefCell<Option<Reply>>) -> Outcome {
        let folder = match self.invocation.effects {
            Effects::DryRun => None,
            Effects::Commit => {
                SessionFolder::check(self.paths).map_err(|error| setup.problems.push(error.to_string())).ok()
            }
        };
        let key = delivery_key(self.event, self.session_id, &setup.fingerprint);
        let wait = Duration::from_millis(self.budget_ms / 2);
        // Held to the end, so that a second delivery under way waits for the answer to the first.
        let _delivering = folder.as_ref().zip(key.as_deref()).and_then(|(folder, key)| folder.deliver(key, wait));
        let session = OpenSession::open(self, folder, &setup, key.as_deref(), wait);
        let account = Account { run: self, session: &session, setup: &setup };
        account.prepare_record(Decision::Allow);
        if self.event.name == EventName::PreToolUse {
            account.prepare_unjudged_record();
        }
        let key_seen = key.as_deref().filter(|_| session.log.may_hold_delivery);
        let earlier = key_seen.and_then(|key| session.view.raw_tail().delivery(key));

        let stored = earlier.as_ref().and_then(stored_answer);
        if let (Some(record), Some(answer)) = (&earlier, &stored)
            && record.decision == Some(Decision::Allow)
        {
            return self.repeat(&session, &setup, record, answer, decided);
        }

        let call = classify(self.event, self.invocation.home);
        let mut folded = self.fold(&session, &mut setup, call.as_ref());
        self.ask_other_roots(&session, &mut setup, call.as_ref(), &mut folded);
        self.block_work(&session, &setup, &mut folded);
        let same = |record: &&Record| {
            let code = record.data.get("code").and_then(serde_json::Value::as_str);
            record.decision == Some(folded.decision) && code == folded.code.as_deref()
        };
        if let Some(record) = earlier.as_ref().filter(same) {
            let answer = stored.unwrap_or_else(|| folded.answer());
            return self.repeat(&session, &setup, record, &answer, decided);
        }
        self.conclude(&session, setup, call.as_ref(), folded, key, decided)
    }

    fn fold(&self, session: &OpenSession<'_>, setup: &mut Setup, call: Option<&ToolCall>) -> Folded {
        let found = database::refresh(self, session, setup);
        let state = found.as_ref().map(|patch| merge(&session.state, patch).0);
        let scripts = self.scripts(setup);
        let mut available: Vec<&dyn Module> = self.invocation.modules.to_vec();
        available.extend(scripts.iter().map(AsRef::as_ref));
        let mut selection = select(&setup.manifest, &available, &self.event.name);
        let gate = PhaseGate::new(&setup.manifest.phase_policy);
        if setup.manifest.enforce_phases && self.event.name == EventName::PreToolUse {
            let at = selection.slots.partition_point(|slot| slot.spec.priority < gate.spec().priority);
            selection.slots.insert(at, Slot::of(&gate));
        }
        let own_rules = self.own_rules(setup);
        let environment = ModuleEnvironment {
            own_rules: &own_rules,
            ids: &session.ids,
            paths: self.paths,
            state: state.as_ref().unwrap_or(&session.state),
            config: &setup.config,
            timers: Timers { start_ms: session.start_ms, budget_ms: self.budget_ms, clock: self.invocation.clock },
            home: self.invocation.home,
            effects: self.invocation.effects,
            unattended: self.unattended(&setup.manifest),
            session: &session.view,
            rewrite_owner: &setup.manifest.rewrite_owner,
            stamps: if setup.config.session().stamp_input { Stamps::InInput } else { Stamps::Logged },
        };
        let mut folded = match self.refused(setup) {
            Some(refused) => refused,
            None => fold(&selection.slots, self.event, call, &environment),
        };
        folded.patches.extend(found.map(|what| Said { module: PIPELINE.to_owned(), what }));
        setup.absent.extend(selection.missing);
        folded
    }

    /// Blocks the work where phases are enforced and what was decided calls for it.
    fn block_work(&self, session: &OpenSession<'_>, setup: &Setup, folded: &mut Folded) {
        if !setup.manifest.enforce_phases || self.invocation.effects == Effects::DryRun {
            return;
        }
        let turn = || session.view.turn(session.ids.turn_id);
        let from = session.state.phase();
        let found = block_work::blocked_by(&setup.manifest.block_on(), &self.event.name, from, folded, turn);
        if let Some(work) = found {
            block_work::apply(&work, session.start_ms, folded, PIPELINE);
        }
    }

    /// The rules without code that hold here.
    fn own_rules(&self, setup: &Setup) -> OwnRules {
        let owner = match self.level {
            RuleLevel::User => RuleOwner::User,
            RuleLevel::Project => RuleOwner::Project,
        };
        OwnRules::of(setup.config.section(OWN_RULES), owner).and(self.user_rules)
    }

    fn time_left(&self) -> Duration {
        Duration::from_millis(self.budget_ms).saturating_sub(self.invocation.clock.spent())
    }

    /// The script modules that the manifest names and no native module answers to.
    fn scripts(&self, setup: &mut Setup) -> Vec<Box<dyn Module + '_>> {
        let Some(source) = self.invocation.scripts else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for entry in setup.manifest.modules.iter().filter(|entry| entry.enabled) {
            if self.invocation.modules.iter().any(|module| module.spec().name == entry.name) {
                continue;
            }
            let why = match source.find(&entry.name, self.paths, self.time_left()) {
                FoundScript::Module(module) => {
                    found.push(module);
                    continue;
                }
                FoundScript::Absent => "it does not exist".to_owned(),
                FoundScript::Refused(why) => {
                    setup.notes.push(format!("module `{}` does not run: {why}", entry.name));
                    why
                }
                FoundScript::Broken(why) => {
                    setup.problems.push(format!("module `{}` is broken: {why}", entry.name));
                    why
                }
            };
            if entry.critical.unwrap_or_else(|| source.was_critical(&entry.name, self.paths)) {
                setup.refusals.push(refusal::critical_module(&entry.name, &why));
            }
        }
        found
    }

    /// Answers, then writes what is to be kept.
    fn conclude(
        &self,
        session: &OpenSession<'_>,
        mut setup: Setup,
        call: Option<&ToolCall>,
        folded: Folded,
        key: Option<String>,
        decided: &RefCell<Option<Reply>>,
    ) -> Outcome {
        let answer = folded.answer();
        let reply = self.decide(&answer, decided);
        let report = DecisionReport::new(self.event, self.session_id, call, &folded);
        let out_of_time_at = folded.out_of_time_at.clone();
        let account = Account { run: self, session, setup: &setup };
        if folded.decision != Decision::Allow {
            account.prepare_record(folded.decision);
        }
        let batch = account.batch(folded, call, key, &answer);
        let failures = self.commit(session, &setup, batch);
        setup.problems.extend(failures);
        let (report, problems, context) = (Some(report), setup.all_problems(), answer.context.clone());
        Outcome { reply, report, problems, context, answer, out_of_time_at }
    }

    /// Gives the answer of the first delivery again; the only trace is that it was asked for.
    fn repeat(
        &self,
        session: &OpenSession<'_>,
        setup: &Setup,
        record: &Record,
        answer: &Answer,
        decided: &RefCell<Option<Reply>>,
    ) -> Outcome {
        let reply = self.decide(answer, decided);
        let account = Account { run: self, session, setup };
        let mut problems = setup.all_problems();
        problems.extend(self.commit(session, setup, account.repetition(record, answer)));
        let report = DecisionReport::from_record(record);
        let (context, answer) = (answer.context.clone(), answer.clone());
        Outcome { reply, report, problems, context, answer, out_of_time_at: None }
    }

    fn decide(&self, answer: &Answer, decided: &RefCell<Option<Reply>>) -> Reply {
        let reply = self.dialect.render(self.event, answer);
        self.invocation.watch.prepare(&reply);
        self.invocation.watch.judged();
        decided.replace(Some(reply.clone()));
        reply
    }

    fn commit(&self, session: &OpenSession<'_>, setup: &Setup, batch: crate::session_files::Batch) -> Vec<String> {
        let Some(folder) = session.folder else {
            return Vec::new();
        };
        let redactor = setup.config.redactor();
        let journal = Journal { folder, redactor: &redactor };
        let stamp = format!("{} {}", session.ts, session.ids.hook_run_id);
        let line = self.trace_line(&stamp, setup, &batch);
        let logged = || self.invocation.watch.recorded();
        let failures = journal.commit_and_tell(batch, session.state_lock.as_ref(), &stamp, &logged);
        let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
        journal.trace(&format!(
            "{line}{}",
            failures.iter().map(|failure| format!(" FAILED {failure}")).collect::<String>()
        ));
        failures
    }

    fn trace_line(&self, stamp: &str, setup: &Setup, batch: &crate::session_files::Batch) -> String {
        let run = batch.records.last();
        let decision = run.and_then(|record| record.decision).map_or("?", Decision::as_str);
        let ms = run.and_then(|record| record.ms).unwrap_or_default();
        let tool = self.event.tool_name.as_deref().unwrap_or("-");
        let mut line = format!("{stamp} {} {tool} {decision} {ms}ms", self.event.host);
        for name in &setup.absent {
            line.push_str(&format!(" absent={name}"));
        }
        for note in &setup.notes {
            line.push_str(&format!(" note=\"{note}\""));
        }
        line
    }
}

fn stored_answer(record: &Record) -> Option<Answer> {
    read_answer(record.data.get("answer")?)
}
