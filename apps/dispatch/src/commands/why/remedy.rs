//! What would have to change for the answer to be another one.

use crate::compose;
use dispatch_hook_module::Decision;

use ext_hook_pipeline::contract::{DecisionReport, PHASE_GATE};

/// Ways out, the narrowest first; empty if no module objected.
pub(super) fn remedies(report: &DecisionReport, decided_by: Option<&str>) -> Vec<String> {
    if report.decision == Decision::Allow {
        return Vec::new();
    }
    let mut ways = Vec::new();
    let Some(module) = decided_by else { return ways };
    if report.modules.iter().any(|run| run.name == module && run.decision == "error") {
        ways.push(format!(
            "`{module}` failed, and it is critical, so the call was refused; its note says why it failed"
        ));
        ways.push(format!(
            "`critical: false` for `{module}` in .ai/hooks/dispatch.manifest.json lets its failures pass"
        ));
        return ways;
    }
    ways.extend(narrow(module));
    if let Some(code) = &report.code {
        ways.push(format!("`dispatch allow-once {code}` lets one call pass within 10 minutes"));
    }
    ways.extend(lasting(module, report.code.as_deref(), report.decision));
    ways
}

/// What the module is waiting for.
fn narrow(module: &str) -> Option<String> {
    let way = match module {
        PHASE_GATE => {
            "`dispatch phase set EXECUTING --reason TEXT` opens the next phase; `dispatch phase show` prints the current one"
        }
        "planGraph-exec" => {
            "`dispatch plan show` prints the open nodes and their scope; `dispatch plan submit FILE` changes the plan"
        }
        "plan-subagent-contract" => "the subagent writes the files that the reason lists, then stops again",
        "intents" => "`dispatch intent select ID` chooses the intent that owns these files",
        "rlm-work" => "a subagent of the type that the reason names does this work first",
        "self-guard" => "do it yourself in a terminal: an agent may not change its own rules",
        _ => return None,
    };
    Some(way.to_owned())
}

/// What makes another answer the rule.
fn lasting(module: &str, code: Option<&str>, decision: Decision) -> Option<String> {
    let softer = if decision == Decision::Deny { "\"ask\" or \"off\"" } else { "\"off\"" };
    let way = match (module, code) {
        ("graph-pretooluse", Some(code)) => {
            format!(
                "`\"graph-pretooluse\": {{\"rules\": {{\"{code}\": {softer}}}}}` in .ai/hooks/config.json changes the rule"
            )
        }
        (PHASE_GATE, _) => {
            "`phasePolicy` in .ai/hooks/dispatch.manifest.json lists the tools that each phase allows".to_owned()
        }
        ("planGraph-exec", _) => {
            "`\"planGraph-exec\": {\"mode\": \"warn\"}` in .ai/hooks/config.json only notes calls outside the plan"
                .to_owned()
        }
        ("rlm-work", _) => "the rules are in .ai/hooks/rlm-policy.json".to_owned(),
        ("intents", _) => "the intents and their files are in .orchestration/active_intents.yaml".to_owned(),
        (name, _) if compose::guard_names().contains(&name) => {
            format!("`enabled: false` for `{name}` in .ai/hooks/dispatch.manifest.json switches the module off")
        }
        (name, _) => format!("the rule is in the script .ai/hooks/features/{name}"),
    };
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(decision: &str, code: Option<&str>, module_decision: &str) -> DecisionReport {
        serde_json::from_value(json!({
            "host": "codex", "event": "PreToolUse", "session": "a", "tool": null, "decision": decision, "reason": null,
            "code": code, "modules": [{"name": "graph-pretooluse", "decision": module_decision, "ms": 0.1}],
        }))
        .unwrap()
    }

    #[test]
    fn a_rule_can_be_excused_or_changed() {
        let ways = remedies(&report("deny", Some("UB01"), "deny"), Some("graph-pretooluse"));
        assert_eq!(ways.len(), 2);
        assert!(ways[0].contains("dispatch allow-once UB01"));
        assert!(ways[1].contains("\"ask\" or \"off\""));
        let ways = remedies(&report("ask", Some("UB01"), "ask"), Some("graph-pretooluse"));
        assert!(!ways[1].contains("\"ask\""), "what asks already need not be told to: {ways:?}");
    }

    #[test]
    fn nothing_is_advised_where_nobody_objected_and_a_failure_is_called_one() {
        assert!(remedies(&report("allow", None, "allow"), None).is_empty());
        assert!(remedies(&report("deny", None, "error"), Some("graph-pretooluse"))[0].contains("failed"));
        let own = remedies(&report("deny", Some("NP01"), "deny"), Some("no-push"));
        assert!(own[1].contains(".ai/hooks/features/no-push"), "{own:?}");
    }
}
