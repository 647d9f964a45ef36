//! Modules that rewrite, panic and hang.

use dispatch_hook_module::{Context, EventName, HookAction, Module, ModuleError, ModuleSpec};
use ext_hook_pipeline::contract::native_modules;
use serde_json::{Value, json};

/// A module whose answer is one function.
struct Scripted {
    name: &'static str,
    answer: fn(&Context<'_>) -> HookAction,
}

impl Module for Scripted {
    fn spec(&self) -> ModuleSpec<'_> {
        ModuleSpec {
            events: &[EventName::PreToolUse],
            priority: 50,
            hot_path_safe: true,
            ..ModuleSpec::named(self.name)
        }
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        Ok((self.answer)(ctx))
    }
}

fn rewrite(ctx: &Context<'_>) -> HookAction {
    let command = ctx.event.tool_input.get("command").and_then(Value::as_str).unwrap_or_default();
    let action =
        HookAction { updated_input: Some(json!({"command": format!("{command} --limit 5")})), ..HookAction::none() };
    action.with_context("rewriter", "The search was bounded.")
}

fn hang() -> HookAction {
    loop {
        std::thread::park();
    }
}

static REWRITER: Scripted = Scripted { name: "rewriter", answer: rewrite };
static PANICKING: Scripted = Scripted { name: "panicking", answer: |_| panic!("on purpose") };
static ASKING: Scripted = Scripted { name: "asking", answer: |_| HookAction::ask("A01", "May it?") };
static HANGING: Scripted = Scripted { name: "hanging", answer: |_| hang() };

fn with(module: &'static dyn Module) -> Vec<&'static dyn Module> {
    native_modules().into_iter().chain([module]).collect()
}

pub(crate) fn with_rewriter() -> Vec<&'static dyn Module> {
    with(&REWRITER)
}

pub(crate) fn with_panicking() -> Vec<&'static dyn Module> {
    with(&PANICKING)
}

pub(crate) fn with_asking() -> Vec<&'static dyn Module> {
    with(&ASKING)
}

pub(crate) fn with_hanging() -> Vec<&'static dyn Module> {
    with(&HANGING)
}
