//! Lets a turn's calls run: by the rules where they are clear, by a person where they are not.

use super::TurnJob;
use super::TurnRunner;
use crate::approval_service::ApprovalService;
use crate::contract::{ApprovalId, ApprovalRequest, Approvals, DispatchId, Submission};
use crate::permission::{CODE, CallDecision, CallRights, decide, forms_to_remember};
use crate::redaction::{clean, clean_call};
use crate::scope::DispatchScope;
use crate::tool_bounds::leaves;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::hooks::{Denial, Question};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::permission::{PermissionRule, Verdict};
use dispatch_contracts::ports::Ids;
use dispatch_contracts::tool::targets;
use dispatch_contracts::turn::{Approver, Proposal};
use dispatch_redact::Redactor;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// The longest line that stands for a call.
const SUMMARY_CHARS: usize = 200;

/// The gate of one turn.
pub(super) struct PermissionGate {
    approvals: Arc<ApprovalService>,
    ids: Arc<dyn Ids>,
    redactor: Arc<Redactor>,
    rules: Vec<PermissionRule>,
    /// Where the message belongs, with the rules that it was sent under.
    scope: DispatchScope,
    submission: Submission,
    /// Tools that the message may not use because of the secrets behind them.
    withheld: BTreeSet<String>,
    dispatch: DispatchId,
    session: SessionId,
    label: String,
    turn: TurnId,
    workdir: PathBuf,
    timeout_ms: u64,
}

impl PermissionGate {
    pub(super) fn new(
        agent: &TurnRunner,
        job: &TurnJob,
        submission: &Submission,
        withheld: BTreeSet<String>,
        redactor: Arc<Redactor>,
    ) -> Self {
        let first = job.begun.inputs.first();
        Self {
            approvals: Arc::clone(&agent.approvals),
            ids: agent.host.ids(),
            redactor,
            rules: agent.settings.rules.clone(),
            scope: first.and_then(|input| input.scope.clone()).unwrap_or_default(),
            submission: submission.clone(),
            withheld,
            dispatch: first.map_or_else(|| DispatchId::new(""), |input| input.id.clone()),
            session: job.lease.session.clone(),
            label: job.lease.label.clone(),
            turn: job.begun.turn.clone(),
            workdir: agent.workdir(submission),
            timeout_ms: agent.settings.approval_timeout_ms,
        }
    }

    fn rights<'a>(&'a self, remembered: &'a [PermissionRule]) -> CallRights<'a> {
        CallRights {
            configured: &self.rules,
            sent_under: &self.scope.rules,
            sender: &self.submission.rules,
            ask: self.submission.ask,
            remembered,
            workdir: &self.workdir,
            workspace: &self.scope.workspace,
        }
    }

    /// What people allowed for good; without storage nothing is remembered.
    async fn remembered(&self) -> Vec<PermissionRule> {
        let grants = self.approvals.grants(Some(&self.scope.workspace)).await.unwrap_or_default();
        let rule = |grant: crate::contract::PermissionGrant| PermissionRule {
            permission: grant.permission,
            target: grant.target,
            verdict: Verdict::Allow,
            reason: None,
        };
        grants.into_iter().map(rule).collect()
    }

    /// Why the message may not use a tool. The model was not shown such a tool; whoever changed the call since must not
    /// bring it in.
    fn lacks(&self, tool: &str) -> Option<String> {
        if !leaves(self.submission.tools.as_ref(), tool) {
            return Some(format!("the rights of this message do not include the tool `{tool}`"));
        }
        let is_withheld = self.withheld.contains(tool);
        is_withheld
            .then(|| format!("the rights of this message do not include the secrets that the tool `{tool}` can read"))
    }

    async fn judge(&self, proposal: Proposal) -> Option<Denial> {
        if let Some(reason) = self.lacks(&proposal.call.name) {
            return Some(Denial { code: CODE.to_owned(), reason });
        }
        // Most calls need nothing that was remembered.
        let decision = match decide(&proposal, &self.rights(&[])) {
            CallDecision::Run => CallDecision::Run,
            _ => decide(&proposal, &self.rights(&self.remembered().await)),
        };
        let questions = match decision {
            CallDecision::Run => return None,
            CallDecision::Refuse(denial) => return Some(denial),
            CallDecision::Ask(questions) => questions,
        };
        let asked = self.approvals.ask(&self.session, self.request(proposal, questions)).await;
        asked.err().map(|reason| Denial { code: CODE.to_owned(), reason })
    }

    /// The question as it is stored and shown: without secrets.
    fn request(&self, proposal: Proposal, questions: Vec<Question>) -> ApprovalRequest {
        let remember = forms_to_remember(&proposal.call, &self.rights(&[]));
        let mut call = proposal.call;
        clean_call(&self.redactor, &mut call);
        let is_clean = |form: &String| {
            let mut redacted = form.clone();
            clean(&self.redactor, &mut redacted);
            redacted == *form
        };
        let at_ms = self.approvals.now_ms();
        let targets = targets(&call.arguments, &self.workdir);
        ApprovalRequest {
            id: ApprovalId(self.ids.next_id()),
            session: self.label.clone(),
            dispatch: self.dispatch.clone(),
            turn: self.turn.clone(),
            summary: one_line(&format!("{} {}", call.name, targets.join(", "))),
            targets,
            folder: self.workdir.clone(),
            workspace: self.scope.workspace.clone(),
            // A form with a secret in it would keep the secret.
            remember: if remember.iter().all(is_clean) { remember } else { Vec::new() },
            call,
            questions,
            at_ms,
            expires_at_ms: at_ms.saturating_add(self.timeout_ms),
        }
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(|letter: char| letter.is_whitespace() || letter.is_control()).collect();
    words.join(" ").chars().take(SUMMARY_CHARS).collect()
}

impl Approver for PermissionGate {
    fn refuse(&self, proposal: Proposal) -> BoxFuture<'_, Option<Denial>> {
        Box::pin(self.judge(proposal))
    }
}
