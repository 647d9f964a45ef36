//! A hook event made of plain values, for the tests of modules here and in other crates.

mod view;

use std::path::{Path, PathBuf};
use std::time::Duration;

use dispatch_toolcall::ToolCall;
use serde_json::{Value, json};

use crate::action::HookAction;
use crate::classify::classify;
use crate::clock::Clock;
use crate::context::{Context, Effects, Ids, Notes, Paths, RuleException, Timers, hook_run_id};
use crate::event::{EventName, HookEvent};
use crate::module::{Module, ModuleError};
use crate::record::{Record, RecordType};
use crate::state::SessionState;
use crate::unattended::Unattended;

pub use view::MemoryView;

/// The workspace of a scene.
pub const ROOT: &str = "/repo";
/// The home directory of a scene.
pub const HOME: &str = "/home/dev";
/// The wall time of a scene: 2026-01-02T03:04:05.678Z.
pub const NOW_MS: i64 = 1_767_323_045_678;

/// A clock that stands still.
#[derive(Debug, Clone, Copy, Default)]
pub struct StillClock {
    /// Time since the invocation began.
    pub elapsed: Duration,
}

impl Clock for StillClock {
    fn unix_ms(&self) -> i64 {
        NOW_MS
    }

    fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

/// One hook event and the world around it.
pub struct TestInvocation {
    /// The event.
    pub event: HookEvent,
    /// The state of the session.
    pub state: SessionState,
    /// The module's configuration.
    pub config: Value,
    /// The ids.
    pub ids: Ids,
    /// Where everything is.
    pub paths: Paths,
    /// What reads find.
    pub view: MemoryView,
    /// Whether the module may write.
    pub effects: Effects,
    /// Whether somebody is there.
    pub unattended: Option<Unattended>,
    /// What the module noted.
    pub notes: Notes,
}

impl TestInvocation {
    /// An event of Claude Code in `/repo`, turn 1, work `w001`, main agent, with nothing else known.
    #[must_use]
    pub fn new(name: EventName) -> Self {
        let mut event = HookEvent::new(name.clone(), "claude-code", name.as_str().to_owned(), Value::Null);
        event.session_id = Some("scene".to_owned());
        event.cwd = Some(ROOT.to_owned());
        let ids = Ids {
            session_id: "a3f0c812".to_owned(),
            work_id: "w001".to_owned(),
            agent_id: "u00".to_owned(),
            turn_id: 1,
            hook_run_id: hook_run_id(name.as_str(), 1, NOW_MS),
        };
        Self {
            event,
            state: SessionState::default(),
            config: Value::Null,
            paths: Paths::new(Path::new(ROOT), &ids.session_id),
            ids,
            view: MemoryView::default(),
            effects: Effects::Commit,
            unattended: None,
            notes: Notes::default(),
        }
    }

    /// A tool call of Claude Code that is about to run.
    #[must_use]
    pub fn before_tool(tool: &str, input: Value) -> Self {
        let mut scene = Self::new(EventName::PreToolUse);
        scene.event.tool_name = Some(tool.to_owned());
        scene.event.tool_input = input;
        scene.event.tool_use_id = Some("call-1".to_owned());
        scene
    }

    /// A shell command that is about to run.
    #[must_use]
    pub fn command(command: &str) -> Self {
        Self::before_tool("Bash", json!({ "command": command }))
    }

    /// A prompt.
    #[must_use]
    pub fn prompt(text: &str) -> Self {
        let mut scene = Self::new(EventName::UserPromptSubmit);
        scene.event.prompt = Some(text.to_owned());
        scene
    }

    /// With this configuration of the module.
    #[must_use]
    pub fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// With this state.
    #[must_use]
    pub fn state(mut self, state: Value) -> Self {
        self.state = SessionState::from_value(state);
        self
    }

    /// With this file, relative to the workspace.
    #[must_use]
    pub fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.view.files.insert(Path::new(ROOT).join(path), content.into());
        self
    }

    /// With a link at `path` that leads to `target`, both relative to the workspace.
    #[must_use]
    pub fn link(mut self, path: &str, target: &str) -> Self {
        self.view.links.insert(Path::new(ROOT).join(path), Path::new(ROOT).join(target));
        self
    }

    /// With an earlier record of this session and turn.
    #[must_use]
    pub fn record(mut self, kind: RecordType, data: Value) -> Self {
        let id = format!("R{:03}", self.view.records.len() + 1);
        let ts = dispatch_os::time::rfc3339(NOW_MS - 1_000);
        self.view.records.push(Record::new(id, ts, &self.ids, self.event.name.as_str(), kind, "test", data));
        self
    }

    /// With an exception that holds for another minute.
    #[must_use]
    pub fn excused(mut self, code: &str) -> Self {
        let reason = "the test says so".to_owned();
        self.view.exceptions.push(RuleException {
            id: String::new(),
            once: false,
            code: code.to_owned(),
            until: NOW_MS + 60_000,
            reason,
        });
        self
    }

    /// Changes anything else.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// What the tool call does.
    #[must_use]
    pub fn call(&self) -> Option<ToolCall> {
        classify(&self.event, Some(HOME))
    }

    /// Shows the event to a module.
    ///
    /// # Errors
    /// Those of the module.
    pub fn try_handle(&self, module: &dyn Module) -> Result<HookAction, ModuleError> {
        let call = self.call();
        let clock = StillClock::default();
        module.handle(&Context {
            ids: &self.ids,
            event: &self.event,
            call: call.as_ref(),
            paths: &self.paths,
            state: &self.state,
            config: &self.config,
            folders: self.paths.module_folders(module.spec().name),
            cap: self.state.capabilities(),
            timers: Timers { start_ms: NOW_MS, budget_ms: 300, clock: &clock },
            home: Some(HOME),
            effects: self.effects,
            unattended: self.unattended,
            session: &self.view,
            notes: &self.notes,
        })
    }

    /// Shows the event to a module that must not fail.
    ///
    /// # Panics
    /// When the module fails.
    #[must_use]
    pub fn handle(&self, module: &dyn Module) -> HookAction {
        match self.try_handle(module) {
            Ok(action) => action,
            Err(error) => panic!("{} failed: {error}", module.spec().name),
        }
    }
}

/// A path in the workspace of a scene.
#[must_use]
pub fn in_repo(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}
