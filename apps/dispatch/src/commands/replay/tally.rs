//! Counts what came out the same and what did not, with a few examples of each difference.

use crate::plain::one_line;
use dispatch_hook_module::Decision;
use ext_hook_pipeline::contract::DecisionReport;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// What is shown of a reason.
const REASON_CHARS: usize = 160;

/// A decision and its rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct ReplayedDecision {
    pub(super) decision: Decision,
    pub(super) code: Option<String>,
}

impl ReplayedDecision {
    pub(super) fn of(report: &DecisionReport) -> Self {
        Self { decision: report.decision, code: report.code.clone() }
    }
}

impl fmt::Display for ReplayedDecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.decision.as_str())?;
        match &self.code {
            Some(code) => write!(formatter, " {}", one_line(code, 40)),
            None => Ok(()),
        }
    }
}

/// Why a record was not judged again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SkippedCall {
    NotAToolCall,
    DeliveredAgain,
    InputNotWhole,
    NotKept,
    NoDecision,
    NotJudged,
    Unreadable,
}

impl SkippedCall {
    fn why(self) -> &'static str {
        match self {
            Self::NotAToolCall => "events other than tool calls about to run; their prompts and results are not kept",
            Self::DeliveredAgain => "second deliveries, which get the first answer",
            Self::InputNotWhole => "the input was too long to store, or a secret was removed from it",
            Self::NotKept => "the record does not keep the event",
            Self::NoDecision => "the record does not keep the decision",
            Self::NotJudged => "the pipeline gave no answer",
            Self::Unreadable => "lines that are not records",
        }
    }
}

/// One event that would be decided differently.
#[derive(Debug, Clone, Serialize)]
pub(super) struct DifferenceExample {
    #[serde(rename = "hookRunId")]
    pub(super) id: String,
    pub(super) session: String,
    pub(super) ts: String,
    pub(super) about: String,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Default)]
struct DecisionDifference {
    count: u64,
    examples: Vec<DifferenceExample>,
}

/// The result of a replay.
#[derive(Debug)]
pub(super) struct ReplayTally {
    max_examples: usize,
    same: u64,
    differences: BTreeMap<(ReplayedDecision, ReplayedDecision), DecisionDifference>,
    left_out: BTreeMap<SkippedCall, u64>,
}

impl ReplayTally {
    pub(super) fn new(max_examples: usize) -> Self {
        Self { max_examples, same: 0, differences: BTreeMap::new(), left_out: BTreeMap::new() }
    }

    pub(super) fn count(
        &mut self,
        before: ReplayedDecision,
        after: ReplayedDecision,
        example: impl FnOnce() -> DifferenceExample,
    ) {
        if before == after {
            self.same += 1;
            return;
        }
        let difference = self.differences.entry((before, after)).or_default();
        difference.count += 1;
        if difference.examples.len() < self.max_examples {
            difference.examples.push(example());
        }
    }

    pub(super) fn leave_out(&mut self, why: SkippedCall) {
        *self.left_out.entry(why).or_default() += 1;
    }

    pub(super) fn differs(&self) -> bool {
        !self.differences.is_empty()
    }

    fn changed(&self) -> u64 {
        self.differences.values().map(|difference| difference.count).sum()
    }

    pub(super) fn to_json(&self) -> Value {
        let difference = |((before, after), found): (&(ReplayedDecision, ReplayedDecision), &DecisionDifference)| json!({"from": before, "to": after, "count": found.count, "examples": found.examples});
        let left_out = |(why, count): (&SkippedCall, &u64)| json!({"why": why.why(), "count": count});
        json!({
            "replayed": self.same + self.changed(),
            "same": self.same,
            "changed": self.changed(),
            "differences": self.differences.iter().map(difference).collect::<Vec<_>>(),
            "leftOut": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
        })
    }

    pub(super) fn to_text(&self) -> String {
        let replayed = self.same + self.changed();
        let calls = if replayed == 1 { "tool call" } else { "tool calls" };
        let mut lines = vec![match (replayed, self.changed()) {
            (0, _) => "no recorded tool call could be judged again".to_owned(),
            (_, 0) => format!("{replayed} {calls} judged again: all as before"),
            (_, changed) => format!("{replayed} {calls} judged again: {changed} would be decided differently"),
        }];
        for ((before, after), found) in &self.differences {
            lines.push(format!("\n{before} -> {after}: {}", found.count));
            for example in &found.examples {
                lines.push(format!("  {}  {}  {}", example.id, example.session, example.about));
                if let Some(reason) = &example.reason {
                    lines.push(format!("      {}", one_line(reason, REASON_CHARS)));
                }
            }
        }
        if !self.left_out.is_empty() {
            lines.push("\nnot judged again:".to_owned());
            lines.extend(self.left_out.iter().map(|(why, count)| format!("  {count:>6}  {}", why.why())));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(decision: Decision, code: Option<&str>) -> ReplayedDecision {
        ReplayedDecision { decision, code: code.map(str::to_owned) }
    }

    fn example(id: &str) -> DifferenceExample {
        let text = |text: &str| text.to_owned();
        DifferenceExample {
            id: text(id),
            session: text("a3f0c812"),
            ts: text("t"),
            about: text("Bash: ls"),
            reason: None,
        }
    }

    #[test]
    fn differences_are_counted_by_ruling_with_few_examples() {
        let mut tally = ReplayTally::new(1);
        let (allow, deny) = (ruling(Decision::Allow, None), ruling(Decision::Deny, Some("UB01")));
        tally.count(allow.clone(), allow.clone(), || unreachable!("what is the same needs no example"));
        assert!(!tally.differs());
        tally.count(allow.clone(), deny.clone(), || example("one"));
        tally.count(allow.clone(), deny.clone(), || unreachable!("one example is enough"));
        tally.count(deny, allow, || example("two"));
        tally.leave_out(SkippedCall::NotAToolCall);
        let json = tally.to_json();
        assert_eq!((&json["replayed"], &json["same"], &json["changed"]), (&json!(4), &json!(1), &json!(3)));
        let text = tally.to_text();
        assert!(text.starts_with("4 tool calls judged again: 3 would be decided differently"), "{text}");
        assert!(text.contains("\nallow -> deny UB01: 2\n  one  a3f0c812  Bash: ls\n"), "{text}");
        assert!(text.contains("not judged again:\n       1  events other"), "{text}");
    }

    #[test]
    fn a_rule_under_another_name_is_a_difference() {
        let mut tally = ReplayTally::new(3);
        tally.count(ruling(Decision::Ask, Some("A1")), ruling(Decision::Ask, Some("A2")), || example("one"));
        assert!(tally.differs());
    }
}
