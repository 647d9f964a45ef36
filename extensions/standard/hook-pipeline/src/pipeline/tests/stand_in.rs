//! A module that does what a test says, and a environment to run it on.

use std::cell::Cell;
use std::time::Duration;

use dispatch_hook_module::testing::{HOME, NOW_MS, TestInvocation};
use dispatch_hook_module::{
    Clock, Context, Effects, EventName, HookAction, HookEvent, Module, ModuleError, ModuleSpec, Timers, Unattended,
    classify,
};

use crate::config::Config;
use crate::pipeline::{Folded, ModuleEnvironment, Slot, Stamps, fold};

type Answer = Box<dyn Fn(&Context<'_>) -> Result<HookAction, ModuleError>>;

pub(super) struct StandIn {
    pub(super) name: &'static str,
    pub(super) events: Vec<EventName>,
    pub(super) priority: i32,
    pub(super) hot_path_safe: bool,
    pub(super) critical: bool,
    pub(super) answer: Answer,
    pub(super) asked: Cell<u32>,
}

pub(super) fn module(name: &'static str, answer: impl Fn(&Context<'_>) -> HookAction + 'static) -> StandIn {
    failing(name, move |ctx| Ok(answer(ctx)))
}

pub(super) fn failing(
    name: &'static str,
    answer: impl Fn(&Context<'_>) -> Result<HookAction, ModuleError> + 'static,
) -> StandIn {
    StandIn {
        name,
        events: EventName::KNOWN.to_vec(),
        priority: 0,
        hot_path_safe: true,
        critical: false,
        answer: Box::new(answer),
        asked: Cell::new(0),
    }
}

impl StandIn {
    pub(super) fn critical(mut self) -> Self {
        self.critical = true;
        self
    }
}

impl Module for StandIn {
    fn spec(&self) -> ModuleSpec<'_> {
        ModuleSpec {
            events: &self.events,
            priority: self.priority,
            hot_path_safe: self.hot_path_safe,
            critical: self.critical,
            keeps_session: self.name == "session",
            ..ModuleSpec::named(self.name)
        }
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        self.asked.set(self.asked.get() + 1);
        (self.answer)(ctx)
    }
}

/// A clock that moves on a little every time it is asked.
pub(super) struct TickingClock {
    pub(super) tick: Duration,
    pub(super) told: Cell<u32>,
}

impl TickingClock {
    pub(super) fn every(tick_ms: u64) -> Self {
        Self { tick: Duration::from_millis(tick_ms), told: Cell::new(0) }
    }
}

impl Clock for TickingClock {
    fn unix_ms(&self) -> i64 {
        NOW_MS
    }

    fn elapsed(&self) -> Duration {
        self.told.set(self.told.get() + 1);
        self.tick * self.told.get()
    }
}

#[derive(Default)]
pub(super) struct Options {
    pub(super) unattended: Option<Unattended>,
    pub(super) tick_ms: u64,
    pub(super) stamps: Option<Stamps>,
}

pub(super) fn fold_with(event: &HookEvent, modules: &[&StandIn], options: &Options) -> Folded {
    let scene = TestInvocation::new(event.name.clone());
    let clock = TickingClock::every(options.tick_ms);
    let config = Config::default();
    let environment = ModuleEnvironment {
        own_rules: &crate::own_rules::OwnRules::default(),
        ids: &scene.ids,
        paths: &scene.paths,
        state: &scene.state,
        config: &config,
        timers: Timers { start_ms: NOW_MS, budget_ms: 300, clock: &clock },
        home: Some(HOME),
        effects: Effects::Commit,
        unattended: options.unattended,
        session: &scene.view,
        rewrite_owner: "owner",
        stamps: options.stamps.unwrap_or(Stamps::Logged),
    };
    let slots: Vec<Slot<'_>> = modules.iter().map(|module| Slot::of(*module)).collect();
    let call = classify(event, Some(HOME));
    fold(&slots, event, call.as_ref(), &environment)
}

pub(super) fn fold_all(event: &HookEvent, modules: &[&StandIn]) -> Folded {
    fold_with(event, modules, &Options::default())
}

pub(super) fn before_tool() -> HookEvent {
    TestInvocation::command("ls").event
}

pub(super) fn event(name: EventName) -> HookEvent {
    TestInvocation::new(name).event
}
