//! Runs the modules in order and makes one decision of their answers.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use dispatch_hook_module::digest::sha256_start;
use dispatch_hook_module::{
    Artifact, Context, Decision, Effects, EmittedRecord, EventName, HookAction, HookEvent, Ids, ModuleError, Notes,
    Paths, RecordType, SessionState, SessionView, Timers, Unattended, classify, milliseconds,
};
use dispatch_toolcall::ToolCall;
use serde_json::json;

use super::effective::effective;
use super::folded::{Folded, GuardFinding, ModuleRun, Said};
use super::rewrite::{STAMP_PREFIX, rewritten, stamped};
use super::select::Slot;
use crate::config::Config;
use crate::own_rules::{OWN_RULE_CODE, OWN_RULES, OwnRule, OwnRuleAnswer, OwnRules, RuledCall};

/// What is added to a reason when a question became a denial.
const CANNOT_ASK: &str = "Nobody can be asked here, so the call is refused; ask the user in words.";

/// Where stamps go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamps {
    /// Into the log only.
    Logged,
    /// Into the tool's input as well.
    InInput,
}

/// What is the same for every module of one invocation.
#[derive(Clone, Copy)]
pub(crate) struct ModuleEnvironment<'a> {
    /// The ids.
    pub ids: &'a Ids,
    /// Where everything is.
    pub paths: &'a Paths,
    /// The state when the invocation began.
    pub state: &'a SessionState,
    /// The configuration of all modules.
    pub config: &'a Config,
    /// How much time there is.
    pub timers: Timers<'a>,
    /// The user's home directory.
    pub home: Option<&'a str>,
    /// Whether modules may write files of their own.
    pub effects: Effects,
    /// What becomes of a question when nobody is there.
    pub unattended: Option<Unattended>,
    /// Bounded reads.
    pub session: &'a dyn SessionView,
    /// The one module whose rewrites count.
    pub rewrite_owner: &'a str,
    /// Where stamps go.
    pub stamps: Stamps,
    /// The user's and the project's rules without code.
    pub own_rules: &'a OwnRules,
}

/// Shows the event to each module in turn; `call` is what [`classify`] says of it. Same values in,
/// same result out, except for durations.
#[must_use]
pub(crate) fn fold(
    slots: &[Slot<'_>],
    event: &HookEvent,
    call: Option<&ToolCall>,
    environment: &ModuleEnvironment<'_>,
) -> Folded {
    let mut flow =
        Flow { environment, event: Cow::Borrowed(event), call: call.map(Cow::Borrowed), folded: Folded::default() };
    for (index, slot) in slots.iter().enumerate() {
        if flow.is_out_of_time() {
            flow.run_out_of_time(slot);
            break;
        }
        if flow.step(slot, slots.get(..index).unwrap_or_default()) == Next::Stop {
            break;
        }
    }
    flow.apply_own_rules();
    flow.finish(event)
}

#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

struct Flow<'a> {
    environment: &'a ModuleEnvironment<'a>,
    /// The event with the input in force.
    event: Cow<'a, HookEvent>,
    call: Option<Cow<'a, ToolCall>>,
    folded: Folded,
}

impl Flow<'_> {
    fn step(&mut self, slot: &Slot<'_>, earlier: &[Slot<'_>]) -> Next {
        let name = slot.spec.name.to_owned();
        let (result, notes, took) = self.ask(slot);
        let mut run = ModuleRun { name: name.clone(), decision: None, ms: milliseconds(took) };
        self.keep_notes(&name, &notes);
        let action = match result {
            Ok(action) => action,
            Err(error) => {
                self.folded.runs.push(run);
                return self.fail(slot, &name, &error);
            }
        };
        let action = self.lift(&name, action);
        let objection = self.objection(&name, &action);
        run.decision = Some(objection);
        self.folded.runs.push(run);
        if slot.spec.keeps_session {
            self.folded.session_keeper = Some(name.clone());
        }
        let update = self.keep(&name, action, objection);
        // Nothing is stronger than a denial. After a question the other guards still judge.
        if objection == Decision::Deny {
            return Next::Stop;
        }
        match update {
            Some(update) => self.rewrite(&name, &update, earlier),
            None => Next::GoOn,
        }
    }

    /// Calls the module; what it does wrong stays with it.
    fn ask(&self, slot: &Slot<'_>) -> (Result<HookAction, ModuleError>, Notes, Duration) {
        let environment = self.environment;
        let notes = Notes::default();
        let name = slot.spec.name;
        let context = Context {
            ids: environment.ids,
            event: &self.event,
            call: self.call.as_deref(),
            paths: environment.paths,
            state: environment.state,
            config: environment.config.section(name),
            folders: environment.paths.module_folders(name),
            cap: environment.state.capabilities(),
            timers: environment.timers,
            home: environment.home,
            effects: environment.effects,
            unattended: environment.unattended,
            session: environment.session,
            notes: &notes,
        };
        let before = environment.timers.elapsed();
        let result = catch_unwind(AssertUnwindSafe(|| slot.module.handle(&context)))
            .unwrap_or_else(|panic| Err(ModuleError::Panicked(panic_text(panic.as_ref()))));
        let took = environment.timers.elapsed().saturating_sub(before);
        (result, notes, took)
    }

    fn keep_notes(&mut self, name: &str, notes: &Notes) {
        let (lines, warnings, excused) = notes.take();
        Folded::say(&mut self.folded.log, name, lines);
        Folded::say(&mut self.folded.warnings, name, warnings);
        Folded::say(&mut self.folded.excused, name, excused);
    }

    fn ruled(&self) -> RuledCall<'_> {
        RuledCall {
            tool: self.event.tool_name.as_deref().unwrap_or_default(),
            call: self.call.as_deref(),
            root: &self.environment.paths.repo_root,
            home: self.environment.home,
        }
    }

    /// Takes an objection back that a rule of one's own lifts.
    fn lift(&mut self, name: &str, action: HookAction) -> HookAction {
        let wanted = action.decision.unwrap_or_default();
        if wanted == Decision::Allow || self.event.name != EventName::PreToolUse {
            return action;
        }
        let lifted = self.environment.own_rules.lifting(&self.ruled(), wanted, action.code.as_deref());
        let Some(because) = lifted.map(OwnRule::reason) else {
            return action;
        };
        let code = action.code.as_deref().unwrap_or("an objection");
        Folded::say(&mut self.folded.warnings, name, [format!("{code} was lifted by a rule in `rules`: {because}")]);
        HookAction { decision: None, code: None, deny_reason: None, ..action }
    }

    /// What a rule of one's own says about the call as it would run.
    fn apply_own_rules(&mut self) {
        if self.event.name != EventName::PreToolUse || self.environment.own_rules.is_empty() {
            return;
        }
        let strictest = self.environment.own_rules.strictest(&self.ruled());
        let Some((then, why)) = strictest.map(|(_, rule)| (rule.then, rule.reason())) else {
            return;
        };
        let wanted = match then {
            OwnRuleAnswer::Deny => Decision::Deny,
            OwnRuleAnswer::Ask => Decision::Ask,
            OwnRuleAnswer::Allow => return,
            OwnRuleAnswer::Grant => {
                self.folded.grant = true;
                return;
            }
        };
        let decision = effective(&self.event, wanted, self.environment.unattended).decision;
        if decision != Decision::Allow {
            let why = match (wanted, decision) {
                (Decision::Ask, Decision::Deny) => format!("{why}\n{CANNOT_ASK}"),
                _ => why,
            };
            let finding = GuardFinding { code: Some(OWN_RULE_CODE.to_owned()), decision, why: Some(why) };
            self.folded.object(OWN_RULES, finding);
        }
    }

    /// What the module's decision comes to at this event.
    fn objection(&mut self, name: &str, action: &HookAction) -> Decision {
        let wanted = action.decision.unwrap_or_default();
        let found = effective(&self.event, wanted, self.environment.unattended);
        if let Some(note) = found.note {
            let reason = action.deny_reason.as_deref().unwrap_or("no reason given");
            let code = action.code.as_deref().map_or_else(String::new, |code| format!("{code}: "));
            let warning =
                format!("`{}` came to `{}`: {note} ({code}{reason})", wanted.as_str(), found.decision.as_str());
            Folded::say(&mut self.folded.warnings, name, [warning]);
        }
        found.decision
    }

    /// Keeps what the module gave, and hands back a rewrite that counts.
    fn keep(&mut self, name: &str, action: HookAction, objection: Decision) -> Option<serde_json::Value> {
        let folded = &mut self.folded;
        // A refusal that this event cannot express still reaches the model as text.
        let unheard = objection == Decision::Allow && action.decision == Some(Decision::Deny);
        if objection != Decision::Allow {
            let mut reason = action.deny_reason.clone();
            if objection == Decision::Deny && action.decision == Some(Decision::Ask) {
                reason = Some(format!("{}\n{CANNOT_ASK}", reason.unwrap_or_default()));
            }
            folded.object(name, GuardFinding { code: action.code.clone(), decision: objection, why: reason });
        } else if unheard && !self.event.stop_hook_active {
            let value = action.deny_reason.clone().unwrap_or_default();
            folded.context.push(dispatch_hook_module::ContextNote { key: name.to_owned(), value });
        }
        folded.grant |= action.grant && action.decision.unwrap_or_default() == Decision::Allow;
        folded.context.extend(action.additional_context);
        folded.system_messages.extend(action.system_message);
        folded.halt = folded.halt.take().or(action.halt);
        if let Some(output) = action.updated_output {
            keep_output(folded, &self.event.name, name, output);
        }
        Folded::say(&mut folded.patches, name, action.state_patch);
        for record in action.emit_events {
            keep_record(folded, name, record);
        }
        let work_root = self.environment.paths.work_root.to_string_lossy();
        let (inside, outside) = action.register_artifacts.into_iter().partition(|artifact| {
            stays_inside(&artifact.path) || (artifact.path.starts_with(&*work_root) && !artifact.path.contains(".."))
        });
        let outside: Vec<Artifact> = outside;
        Folded::say(&mut folded.artifacts, name, inside);
        let refused = |artifact: Artifact| {
            format!("artifact `{}` is not registered: its path leaves the workspace", artifact.path)
        };
        Folded::say(&mut folded.warnings, name, outside.into_iter().map(refused));
        Folded::say(&mut folded.files, name, action.files);
        Folded::say(&mut folded.warnings, name, action.warnings);
        if let Some(metrics) = action.metrics {
            folded.metrics.insert(name.to_owned(), metrics.into());
        }
        if let Some(stamps) = action.input_metadata {
            keep_stamps(folded, name, stamps);
        }
        let update = action.updated_input.filter(|update| !update.is_null())?;
        self.rewrite_that_counts(name, update)
    }

    fn rewrite_that_counts(&mut self, name: &str, update: serde_json::Value) -> Option<serde_json::Value> {
        let refusal = if self.event.name != EventName::PreToolUse {
            "only a tool call's input can be rewritten"
        } else if name != self.environment.rewrite_owner {
            "it is not the rewrite owner"
        } else if self.folded.rewritten_by.is_some() {
            "the input was rewritten before"
        } else {
            return Some(update);
        };
        let warning = format!("a rewrite by `{name}` is ignored: {refusal}");
        Folded::say(&mut self.folded.warnings, name, [warning]);
        None
    }

    /// Puts the new input in force and lets everyone who judged the old one judge it again.
    fn rewrite(&mut self, name: &str, update: &serde_json::Value, earlier: &[Slot<'_>]) -> Next {
        let Some(input) = rewritten(&self.event.tool_input, update) else {
            return Next::GoOn;
        };
        self.folded.rewritten_by = Some(name.to_owned());
        self.event.to_mut().tool_input = input;
        self.call = classify(&self.event, self.environment.home).map(Cow::Owned);
        for slot in earlier {
            if self.judge_again(slot, name) == Next::Stop {
                return Next::Stop;
            }
        }
        Next::GoOn
    }

    /// Only the judgement of the second look counts; everything else was said at the first one.
    fn judge_again(&mut self, slot: &Slot<'_>, rewriter: &str) -> Next {
        let name = slot.spec.name.to_owned();
        match self.ask(slot).0 {
            Ok(action) => {
                let action = self.lift(&name, action);
                let objection = self.objection(&name, &action);
                if objection == Decision::Allow {
                    return Next::GoOn;
                }
                let reason = action.deny_reason.unwrap_or_else(|| "the rewritten call is not permitted".to_owned());
                let why = Some(format!("{reason} (after the rewrite by {rewriter})"));
                self.folded.object(&name, GuardFinding { code: action.code, decision: objection, why });
                if objection == Decision::Deny { Next::Stop } else { Next::GoOn }
            }
            Err(error) => self.fail(slot, &name, &error),
        }
    }

    fn fail(&mut self, slot: &Slot<'_>, name: &str, error: &ModuleError) -> Next {
        let text = error.to_string();
        let kind = if slot.spec.critical { RecordType::ErrorModuleCritical } else { RecordType::ErrorModule };
        let data = json!({"event": self.event.name.as_str(), "error": text, "stackHash": short_hash(name, &text)});
        Folded::say(&mut self.folded.records, name, [EmittedRecord { kind, data }]);
        if !slot.spec.critical {
            return Next::GoOn;
        }
        if self.event.name == EventName::PreToolUse {
            let why = Some(format!("The guard `{name}` failed, so nothing may run: {text}"));
            let code = Some("ERROR_MODULE_CRITICAL".to_owned());
            self.folded.object(name, GuardFinding { code, decision: Decision::Deny, why });
        }
        Next::Stop
    }

    fn is_out_of_time(&self) -> bool {
        self.environment.timers.spent() > Duration::from_millis(self.environment.timers.budget_ms)
    }

    fn run_out_of_time(&mut self, slot: &Slot<'_>) {
        let name = slot.spec.name;
        let data = json!({
            "before": name,
            "budgetMs": self.environment.timers.budget_ms,
            "elapsedMs": milliseconds(self.environment.timers.spent()),
        });
        let record = EmittedRecord { kind: RecordType::BudgetExceeded, data };
        Folded::say(&mut self.folded.records, "pipeline", [record]);
        self.folded.out_of_time_at = Some(name.to_owned());
    }

    fn finish(self, original: &HookEvent) -> Folded {
        let Self { environment, event, mut folded, .. } = self;
        let stamp = environment.stamps == Stamps::InInput && event.name == EventName::PreToolUse;
        let stamped = stamp.then(|| stamped(&event.tool_input, &folded.metadata)).flatten();
        let last = stamped.as_ref().unwrap_or(&event.tool_input);
        if *last != original.tool_input {
            folded.updated_input = Some(last.clone());
        }
        folded.grant &= folded.decision == Decision::Allow;
        folded
    }
}

/// The first replacement of a tool's result counts.
fn keep_output(folded: &mut Folded, event: &EventName, name: &str, output: serde_json::Value) {
    let refusal = if *event != EventName::PostToolUse {
        "only the result of a tool can be replaced"
    } else if folded.updated_output.is_some() {
        "the result was replaced before"
    } else {
        folded.updated_output = Some(output);
        return;
    };
    Folded::say(&mut folded.warnings, name, [format!("a new result by `{name}` is ignored: {refusal}")]);
}

/// The run's own record is the pipeline's to write.
fn keep_record(folded: &mut Folded, name: &str, record: EmittedRecord) {
    if record.kind == RecordType::HookRun {
        let warning = format!("`{name}` may not write {} records", record.kind);
        Folded::say(&mut folded.warnings, name, [warning]);
    } else {
        folded.records.push(Said { module: name.to_owned(), what: record });
    }
}

fn keep_stamps(folded: &mut Folded, name: &str, stamps: serde_json::Map<String, serde_json::Value>) {
    if folded.session_keeper.as_deref() != Some(name) {
        let warning = format!("stamps of `{name}` are ignored: it does not keep the session");
        Folded::say(&mut folded.warnings, name, [warning]);
        return;
    }
    folded.metadata.extend(stamps.into_iter().filter(|(key, _)| key.starts_with(STAMP_PREFIX)));
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

fn short_hash(name: &str, text: &str) -> String {
    sha256_start(format!("{name}\n{text}").as_bytes(), 16)
}

/// Whether a path below the session's folder or the repository stays there.
fn stays_inside(path: &str) -> bool {
    let parts = || path.split(['/', '\\']);
    !path.starts_with(['/', '\\', '~']) && !path.contains(':') && parts().all(|part| part != "..")
}

#[cfg(test)]
mod tests {
    use super::stays_inside;

    #[test]
    fn a_registered_path_does_not_leave_its_folder() {
        for good in ["a.json", "planGraph-exec/output/planGraph.json", "a..b/c"] {
            assert!(stays_inside(good), "{good}");
        }
        for bad in ["../../../etc/passwd", "/etc/passwd", "a/../../b", "~/x", "..\\x", "C:\\x"] {
            assert!(!stays_inside(bad), "{bad}");
        }
    }
}
