//! Tables of the chain.

use super::*;
use crate::intent::IntentStatus;

fn intent(id: &str, status: IntentStatus, scope: &[&str]) -> IntentSpec {
    IntentSpec {
        id: id.to_owned(),
        name: format!("name of {id}"),
        status,
        owned_scope: scope.iter().map(|&glob| glob.to_owned()).collect(),
        constraints: Vec::new(),
        acceptance_criteria: Vec::new(),
        created_at: String::new(),
        updated_at: String::new(),
        kind: None,
        claim: None,
        mode: None,
    }
}

fn declared() -> Vec<IntentSpec> {
    vec![
        intent("INT-001", IntentStatus::InProgress, &["src/core/hooks/**", "docs/*.md"]),
        intent("INT-002", IntentStatus::Planned, &["src/api/weather/**"]),
        intent("INT-003", IntentStatus::Completed, &["**"]),
        intent("INT-004", IntentStatus::Abandoned, &["**"]),
        intent("INT-005", IntentStatus::Blocked, &["{a,b", "lib/{one,two}/*.rs", "#x"]),
    ]
}

fn file(path: &str) -> CallTarget {
    CallTarget::Inside { path: path.to_owned(), extent: TargetExtent::File }
}

fn folder(path: &str) -> CallTarget {
    CallTarget::Inside { path: path.to_owned(), extent: TargetExtent::Folder }
}

fn ask(active: Option<&str>, targets: &[CallTarget], certainty: TargetCertainty) -> GateDecision {
    decide(&GateInput { intents: &declared(), active, targets, certainty })
}

#[test]
fn the_chain_stops_at_its_first_failure() {
    let hooks = file("src/core/hooks/engine.ts");
    let outside = CallTarget::Outside { path: "/etc/passwd".to_owned() };
    let pass = |scope| (None, Some(scope));
    let stop = |code| (Some(code), None);
    type ExpectedDecision = (Option<&'static str>, Option<ScopeValidation>);
    let table: Vec<(Option<&str>, Vec<CallTarget>, TargetCertainty, ExpectedDecision)> = vec![
        (None, vec![], TargetCertainty::Known, pass(ScopeValidation::Exempt)),
        (None, vec![], TargetCertainty::Unknown, stop(UNDETERMINED)),
        (None, vec![hooks.clone()], TargetCertainty::Known, stop(NO_INTENT)),
        (Some("INT-001"), vec![], TargetCertainty::Unknown, pass(ScopeValidation::Pass)),
        (Some("INT-001"), vec![hooks.clone()], TargetCertainty::Known, pass(ScopeValidation::Pass)),
        (
            Some("INT-001"),
            vec![hooks.clone(), file("docs/a.md")],
            TargetCertainty::Unknown,
            pass(ScopeValidation::Pass),
        ),
        (Some("INT-001"), vec![hooks.clone(), file("docs/x/a.md")], TargetCertainty::Known, stop(OUT_OF_SCOPE)),
        (Some("INT-002"), vec![hooks.clone()], TargetCertainty::Known, stop(OUT_OF_SCOPE)),
        (Some("INT-001"), vec![outside], TargetCertainty::Known, stop(OUT_OF_SCOPE)),
        (Some("INT-003"), vec![hooks.clone()], TargetCertainty::Known, stop(NOT_OPEN)),
        (Some("INT-004"), vec![], TargetCertainty::Unknown, stop(NOT_OPEN)),
        (Some("INT-999"), vec![hooks.clone()], TargetCertainty::Known, stop(NOT_OPEN)),
        (Some("INT-001"), vec![file("src/core/hooks/.env")], TargetCertainty::Known, pass(ScopeValidation::Pass)),
        (Some("INT-001"), vec![folder("src/core/hooks")], TargetCertainty::Known, pass(ScopeValidation::Pass)),
        (Some("INT-001"), vec![file("src/core/hooks")], TargetCertainty::Known, stop(OUT_OF_SCOPE)),
        (Some("INT-001"), vec![folder("src/core")], TargetCertainty::Known, stop(OUT_OF_SCOPE)),
        (Some("INT-001"), vec![file("SRC/core/hooks/a")], TargetCertainty::Known, stop(OUT_OF_SCOPE)),
        (Some("INT-005"), vec![file("lib/two/a.rs")], TargetCertainty::Known, pass(ScopeValidation::Pass)),
        (Some("INT-005"), vec![file("#x")], TargetCertainty::Known, stop(OUT_OF_SCOPE)),
    ];
    for (active, targets, certainty, expected) in table {
        let found = match ask(active, &targets, certainty) {
            GateDecision::Pass(scope) => (None, Some(scope)),
            GateDecision::Reject { code, .. } => (Some(code), None),
        };
        assert_eq!(found, expected, "{active:?} {targets:?} {certainty:?}");
    }
}

fn reason(active: Option<&str>, targets: &[CallTarget]) -> String {
    match ask(active, targets, TargetCertainty::Known) {
        GateDecision::Reject { reason, .. } => reason,
        GateDecision::Pass(_) => panic!("passed"),
    }
}

#[test]
fn a_rejection_says_what_is_possible_instead() {
    let hooks = [file("src/core/hooks/engine.ts")];
    let none = reason(None, &hooks);
    assert!(none.starts_with("No active intent. Call select_active_intent first."), "{none}");
    assert!(none.contains("INT-001 (name of INT-001) owns src/core/hooks/engine.ts"), "{none}");
    assert!(none.contains("`dispatch intent select INT-001`"), "{none}");
    let violation = reason(Some("INT-002"), &hooks);
    let expected = "Scope violation: src/core/hooks/engine.ts is not in INT-002's owned_scope";
    assert!(violation.starts_with(expected), "{violation}");
    assert!(violation.contains("INT-001"), "{violation}");
    let nobody = reason(Some("INT-002"), &[file("Cargo.toml")]);
    assert!(nobody.contains("No other open intent owns Cargo.toml"), "{nobody}");
    let outside = reason(Some("INT-001"), &[CallTarget::Outside { path: "/etc/hosts".to_owned() }]);
    assert!(outside.contains("outside the workspace"), "{outside}");
    assert!(reason(Some("INT-003"), &hooks).starts_with("Intent INT-003 is COMPLETED."));
}
