//! Work that is blocked: from which phase, by what, and who takes it up again.

use serde_json::{Value, json};

use super::SessionState;
use crate::phase::Phase;

/// What blocks work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockTrigger {
    /// The agent did what the policy refuses.
    PolicyViolation,
    /// A check failed, or what had to be delivered is not valid.
    ValidationFailure,
    /// A call passed because the budget was used up.
    BudgetCap,
}

impl BlockTrigger {
    const ALL: [Self; 3] = [Self::PolicyViolation, Self::ValidationFailure, Self::BudgetCap];

    /// The words in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PolicyViolation => "policy violation",
            Self::ValidationFailure => "validation failure",
            Self::BudgetCap => "budget cap",
        }
    }
}

/// Why work is blocked, and where it stood before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedWork {
    /// The phase that it goes back to.
    pub from: Phase,
    /// What blocked it.
    pub trigger: BlockTrigger,
    /// A sentence without its full stop.
    pub why: String,
}

impl BlockedWork {
    /// What the state says; nothing for work that is not blocked, or was blocked by hand.
    #[must_use]
    pub fn of(state: &SessionState) -> Option<Self> {
        let from = state.text("core", "blockedFrom").and_then(Phase::named)?;
        let trigger = state.text("core", "blockedBy")?;
        let trigger = BlockTrigger::ALL.into_iter().find(|known| known.as_str() == trigger)?;
        let why = state.text("core", "blockedWhy").unwrap_or_default().to_owned();
        (state.phase() == Phase::Blocked).then_some(Self { from, trigger, why })
    }

    /// The section `core` of a patch that blocks the work.
    #[must_use]
    pub fn core_patch(&self, now_ms: i64) -> Value {
        json!({
            "phase": Phase::Blocked.as_str(),
            "phaseTs": now_ms,
            "blockedFrom": self.from.as_str(),
            "blockedBy": self.trigger.as_str(),
            "blockedWhy": self.why,
        })
    }

    /// The section `core` of a patch that moves the work on to a phase.
    #[must_use]
    pub fn lifted_patch(phase: Phase, now_ms: i64) -> Value {
        json!({
            "phase": phase.as_str(),
            "phaseTs": now_ms,
            "blockedFrom": null,
            "blockedBy": null,
            "blockedWhy": null,
        })
    }

    /// The facts of the record of the change.
    #[must_use]
    pub fn record(&self) -> Value {
        json!({
            "from": self.from.as_str(),
            "to": Phase::Blocked.as_str(),
            "trigger": self.trigger.as_str(),
            "reason": self.why,
        })
    }

    /// Whether an agent cannot end it, not by a new plan either.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.trigger != BlockTrigger::ValidationFailure
    }

    /// How it ends.
    #[must_use]
    pub fn way_out(&self) -> String {
        format!(
            "Only reading is open until a person runs `dispatch phase set {} --reason TEXT` at a terminal.",
            self.from.as_str()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::merge;

    #[test]
    fn blocked_work_says_why_and_leads_back_to_where_it_stood() {
        let blocked = BlockedWork {
            from: Phase::Executing,
            trigger: BlockTrigger::PolicyViolation,
            why: "a call was refused by SG01".to_owned(),
        };
        let executing = SessionState::from_value(json!({"core": {"phase": "EXECUTING", "phaseTs": 5}}));
        assert_eq!(BlockedWork::of(&executing), None);
        let state = merge(&executing, &json!({"core": blocked.core_patch(5)})).0;
        assert_eq!((state.phase(), BlockedWork::of(&state)), (Phase::Blocked, Some(blocked.clone())));
        assert!(blocked.way_out().contains("dispatch phase set EXECUTING --reason"), "{}", blocked.way_out());
        let back = merge(&state, &json!({"core": BlockedWork::lifted_patch(Phase::Executing, 6)})).0;
        assert_eq!(back.to_value(), json!({"core": {"phase": "EXECUTING", "phaseTs": 6}}));
        let by_hand = SessionState::from_value(json!({"core": {"phase": "BLOCKED"}}));
        assert_eq!(BlockedWork::of(&by_hand), None);
    }

    #[test]
    fn only_a_failed_validation_can_be_mended_by_the_agent() {
        let needs = |trigger| BlockedWork { from: Phase::Planning, trigger, why: String::new() }.needs_person();
        let expected = [true, false, true];
        assert_eq!(BlockTrigger::ALL.map(needs), expected);
    }
}
