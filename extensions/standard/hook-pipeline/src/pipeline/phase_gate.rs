//! The phase policy as a module, so that it shows up wherever modules do.

use std::path::Path;

use dispatch_hook_module::phase::{Phase, PhaseMode, PhasePolicy, kind_name};
use dispatch_hook_module::state::BlockedWork;
use dispatch_hook_module::{Context, EventName, HookAction, Module, ModuleError, ModuleSpec};
use dispatch_toolcall::{Access, PathAccess, ToolCall, ToolKind};

/// The name it runs under.
pub const PHASE_GATE: &str = "phase-policy";
/// The rule it denies by.
pub(crate) const PHASE_CODE: &str = "PHASE_POLICY";

/// Refuses tools that the present phase is not open to.
pub(crate) struct PhaseGate<'a> {
    policy: &'a PhasePolicy,
}

impl<'a> PhaseGate<'a> {
    /// Enforces this policy.
    #[must_use]
    pub(crate) fn new(policy: &'a PhasePolicy) -> Self {
        Self { policy }
    }
}

impl Module for PhaseGate<'_> {
    fn spec(&self) -> ModuleSpec<'_> {
        ModuleSpec {
            events: &[EventName::PreToolUse],
            priority: 1,
            hot_path_safe: true,
            ..ModuleSpec::named(PHASE_GATE)
        }
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let phase = ctx.phase();
        let (Some(call), Some(rule)) = (ctx.call, self.policy.get(&phase)) else {
            return Ok(HookAction::none());
        };
        let open = rule.mode == PhaseMode::Allow || rule.allow_tools.contains(&call.name, call.kind);
        if open || leads_on(ctx) || is_delivery(ctx, call) || writes_plan(ctx, call) {
            return Ok(HookAction::none());
        }
        let (tool, phase) = (&call.name, phase.as_str());
        let kind = kind_name(call.kind);
        let way_out = match BlockedWork::of(ctx.state) {
            Some(work) => format!("The work is blocked: {}. {}", work.why, work.way_out()),
            None => way_out(ctx.phase()).to_owned(),
        };
        let reason = format!("`{tool}` ({kind}) is not open in the phase {phase}. {way_out}");
        Ok(match rule.mode {
            PhaseMode::Deny if !ctx.is_excused(PHASE_CODE) => HookAction::deny(PHASE_CODE, reason),
            _ => HookAction::none().with_warning(reason.clone()).with_context(PHASE_GATE, reason),
        })
    }
}

/// What leads on from a phase.
fn way_out(phase: Phase) -> &'static str {
    match phase {
        Phase::Uninitialized => "A prompt of the user begins the planning.",
        Phase::Planning => {
            "Write the plan to .ai/plan/planGraph.json, which is open, and run `dispatch plan submit .ai/plan/planGraph.json`."
        }
        Phase::Executing => "Stay in the scope of the plan's open nodes; `dispatch plan show` lists them.",
        Phase::Blocked => "Ask the user: `dispatch phase set PHASE --reason TEXT` moves on.",
        Phase::Complete => "The work is complete; the next prompt begins new work.",
    }
}

/// Whether the call writes nothing but the plan, which is what planning is for.
fn writes_plan(ctx: &Context<'_>, call: &ToolCall) -> bool {
    let is_plan = |path: &PathAccess| {
        let place = ctx.paths.repo_relative(&ctx.session.real_path(Path::new(&path.path))).unwrap_or_default();
        place.starts_with(".ai/plan/") && !path.glob && path.access != Access::Delete
    };
    ctx.phase() == Phase::Planning
        && call.kind == ToolKind::Write
        && !call.paths.is_empty()
        && call.paths.iter().all(is_plan)
}

/// Whether the call writes nothing but what a subagent was told to deliver, which is what planning is for.
fn is_delivery(ctx: &Context<'_>, call: &ToolCall) -> bool {
    let agents = ctx.state.agents();
    let delivered = |path: &PathAccess| {
        let place = ctx.paths.rel_ref(&ctx.session.real_path(Path::new(&path.path))).unwrap_or_default();
        let parts: Vec<&str> = place.split('/').collect();
        matches!(parts[..], [_, "output", "sa", _, agent, _, ..] if agents.values().any(|known| *known == agent))
            && !path.glob
            && path.access != Access::Delete
    };
    call.kind == ToolKind::Write && !call.paths.is_empty() && call.paths.iter().all(delivered)
}

/// The handshakes that lead to the next phase are open in every phase.
fn leads_on(ctx: &Context<'_>) -> bool {
    let Some(call) = ctx.call else {
        return false;
    };
    match (&call.effects, call.kind) {
        (_, ToolKind::Mcp) => dispatch_hook_module::is_own_mcp_tool(ctx.event),
        (Some(effects), _) => dispatch_hook_module::is_handshake_only(effects),
        _ => false,
    }
}
