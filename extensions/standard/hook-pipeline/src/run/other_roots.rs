//! The other roots that judge a tool call: the strictest answer of all wins, so a nested root can only tighten.

use std::path::Path;

use dispatch_hook_dialects::dialect::AskHandling;
use dispatch_hook_module::{Decision, EventName, Timers, Unattended};
use dispatch_toolcall::ToolCall;

use super::account::PIPELINE;
use super::open::OpenSession;
use super::roots::RuleRoot;
use super::setup::{GivenRules, Setup};
use super::{Effects, EventRun};
use crate::manifest::PipelineManifest;
use crate::pipeline::{Folded, GuardFinding, ModuleEnvironment, Stamps, fold, select};
use crate::session_files::{DiskView, read_state};

/// The largest registration that is looked at.
const REGISTRATION_LIMIT_BYTES: u64 = 1024 * 1024;

impl EventRun<'_> {
    /// What the pipeline refuses by itself, where that is so.
    pub(super) fn refused(&self, setup: &Setup) -> Option<Folded> {
        if self.event.name != EventName::PreToolUse || setup.refusals.is_empty() {
            return None;
        }
        let mut folded = Folded::default();
        for finding in &setup.refusals {
            folded.object(PIPELINE, finding.clone());
        }
        Some(folded)
    }

    /// What becomes of a question here: where the host does not stop for one, nobody answers it.
    pub(super) fn unattended(&self, manifest: &PipelineManifest) -> Option<Unattended> {
        if self.event.name != EventName::PreToolUse {
            return manifest.unattended;
        }
        let lost = match self.dialect.ask_handling(self.event) {
            AskHandling::Holds => false,
            AskHandling::Lost => true,
            // Not here: the other event asks. Where that is not registered, nobody would.
            AskHandling::AskedAt { event, file } if self.is_registered(event, file) => {
                return manifest.unattended.or(Some(Unattended::Allow));
            }
            AskHandling::AskedAt { .. } => true,
            AskHandling::NeedsTerminal { program, headless } => {
                self.invocation.effects == Effects::Commit && !dispatch_os::process::is_at_terminal(program, headless)
            }
        };
        manifest.unattended.or(lost.then_some(Unattended::Deny))
    }

    /// Whether an event is registered with us in a file of the workspace or the home.
    fn is_registered(&self, event: &str, file: &str) -> bool {
        let folders = [Some(self.paths.repo_root.as_path()), self.invocation.home.map(Path::new)];
        folders.into_iter().flatten().any(|folder| {
            let text =
                dispatch_os::files::read_at_most(&folder.join(file), REGISTRATION_LIMIT_BYTES).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(&format!("dispatch-hook {event} --host"))
        })
    }

    /// Shows the call, as it would run, to the guards of every other root.
    pub(super) fn ask_other_roots(
        &self,
        session: &OpenSession<'_>,
        setup: &mut Setup,
        call: Option<&ToolCall>,
        folded: &mut Folded,
    ) {
        for root in self.others {
            if folded.decision == Decision::Deny {
                return;
            }
            let other = Setup::load(root, GivenRules::default(), self.invocation.trust);
            setup.notes.extend(other.notes.iter().cloned());
            for finding in self.judge_by(root, other, session, call, folded) {
                let why = finding.why.map(|why| format!("{why} (rules in {})", root.paths.hooks_root.display()));
                folded.object(PIPELINE, GuardFinding { why, ..finding });
            }
        }
        folded.grant &= folded.decision == Decision::Allow;
    }

    /// What the guards of another root object to; nothing is written there.
    fn judge_by(
        &self,
        root: &RuleRoot,
        mut setup: Setup,
        session: &OpenSession<'_>,
        call: Option<&ToolCall>,
        folded: &Folded,
    ) -> Vec<GuardFinding> {
        let mut event = std::borrow::Cow::Borrowed(self.event);
        if let Some(input) = &folded.updated_input {
            event.to_mut().tool_input.clone_from(input);
        }
        let reclassified =
            folded.updated_input.as_ref().and_then(|_| dispatch_hook_module::classify(&event, self.invocation.home));
        let call = reclassified.as_ref().or(call);
        let run = EventRun { event: &event, paths: &root.paths, others: &[], level: root.level, ..*self };
        let scripts = run.scripts(&mut setup);
        if let Some(refused) = run.refused(&setup) {
            return refused.findings.into_iter().map(|said| said.what).collect();
        }
        let mut available: Vec<&dyn dispatch_hook_module::Module> = self.invocation.modules.to_vec();
        available.extend(scripts.iter().map(AsRef::as_ref));
        let mut selection = select(&setup.manifest, &available, &event.name);
        selection.slots.retain(|slot| !slot.spec.keeps_session);
        let state = read_state(&root.paths).unwrap_or_default();
        let own_rules = run.own_rules(&setup);
        let environment = ModuleEnvironment {
            own_rules: &own_rules,
            ids: &session.ids,
            paths: &root.paths,
            state: &state,
            config: &setup.config,
            timers: Timers { start_ms: session.start_ms, budget_ms: self.budget_ms, clock: self.invocation.clock },
            home: self.invocation.home,
            effects: Effects::DryRun,
            unattended: run.unattended(&setup.manifest),
            session: &DiskView::new(&root.paths).trusting(self.invocation.trust),
            rewrite_owner: "",
            stamps: Stamps::Logged,
        };
        let judged = fold(&selection.slots, &event, call, &environment);
        judged.findings.into_iter().map(|said| said.what).collect()
    }
}
