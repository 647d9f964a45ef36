//! Lets a turn's calls run: by the rules where they are clear, by a person where they are not.

use super::TurnJob;
use super::TurnRunner;
use crate::approval_service::ApprovalService;
use crate::contract::{Answer, ApprovalId, ApprovalRequest, Submission};
use crate::permission::{CODE, CallDecision, CallRights, decide};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::hooks::Denial;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::permission::PermissionRule;
use dispatch_contracts::ports::{Clock, Ids};
use dispatch_contracts::tool::targets;
use dispatch_contracts::turn::{Approver, Proposal};
use std::path::PathBuf;
use std::sync::Arc;

/// The gate of one turn.
pub(super) struct PermissionGate {
    approvals: Arc<ApprovalService>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    rules: Vec<PermissionRule>,
    submission: Submission,
    session: String,
    turn: TurnId,
    workdir: PathBuf,
}

impl PermissionGate {
    pub(super) fn new(agent: &TurnRunner, job: &TurnJob, submission: &Submission) -> Self {
        Self {
            approvals: Arc::clone(&agent.approvals),
            clock: agent.host.clock(),
            ids: agent.host.ids(),
            rules: agent.settings.rules.clone(),
            submission: submission.clone(),
            session: job.lease.label.clone(),
            turn: job.begun.turn.clone(),
            workdir: agent.workdir(submission),
        }
    }

    async fn judge(&self, proposal: Proposal) -> Option<Denial> {
        let remembered = self.approvals.remembered(&self.session);
        let rights = CallRights {
            configured: &self.rules,
            sender: &self.submission.rules,
            ask: self.submission.ask,
            remembered: &remembered,
            workdir: &self.workdir,
        };
        let questions = match decide(&proposal, &rights) {
            CallDecision::Run => return None,
            CallDecision::Refuse(denial) => return Some(denial),
            CallDecision::Ask(questions) => questions,
        };
        let request = ApprovalRequest {
            id: ApprovalId(self.ids.next_id()),
            session: self.session.clone(),
            turn: self.turn.clone(),
            targets: targets(&proposal.call.arguments, &self.workdir),
            call: proposal.call,
            questions,
            at_ms: self.clock.now_ms(),
        };
        match self.approvals.ask(request).await {
            Answer::Once | Answer::Session => None,
            Answer::Deny { reason } => {
                let reason = reason.unwrap_or_else(|| "The user said no.".to_owned());
                Some(Denial { code: CODE.to_owned(), reason })
            }
        }
    }
}

impl Approver for PermissionGate {
    fn refuse(&self, proposal: Proposal) -> BoxFuture<'_, Option<Denial>> {
        Box::pin(self.judge(proposal))
    }
}
