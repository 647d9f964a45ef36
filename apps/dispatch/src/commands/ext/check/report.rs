//! What `dispatch ext test` tells, for people and as JSON.

use dispatch_contracts::manifest::Manifest;
use dispatch_extension_compliance::{CheckResult, Outcome};
use dispatch_script_extension::UnitTestResult;
use serde::Serialize;

/// The results of all tests and checks; scripts rely on the names.
#[derive(Serialize)]
pub(super) struct TestReport {
    id: String,
    version: String,
    pub(super) passed: bool,
    tests: Vec<UnitTestResult>,
    checks: Vec<CheckResult>,
}

impl TestReport {
    pub(super) fn new(manifest: &Manifest, tests: Vec<UnitTestResult>, checks: Vec<CheckResult>) -> Self {
        let fails = |check: &CheckResult| matches!(check.outcome, Outcome::Failed { .. });
        let passed = tests.iter().all(|test| test.failure.is_none()) && !checks.iter().any(fails);
        Self { id: manifest.id.to_string(), version: manifest.version.to_string(), passed, tests, checks }
    }

    /// One line for each test and check, then the sum.
    pub(super) fn text(&self) -> String {
        let tests = self.tests.iter().map(test_line);
        let lines: Vec<String> = tests.chain(self.checks.iter().map(check_line)).collect();
        format!("{}\n\n{}", lines.join("\n"), self.sum())
    }

    fn sum(&self) -> String {
        let failed_tests = self.tests.iter().filter(|test| test.failure.is_some()).count();
        let of = |wanted: fn(&Outcome) -> bool| self.checks.iter().filter(|check| wanted(&check.outcome)).count();
        let failed = failed_tests + of(|outcome| matches!(outcome, Outcome::Failed { .. }));
        let skipped = of(|outcome| matches!(outcome, Outcome::Skipped { .. }));
        let passed = self.tests.len() + self.checks.len() - failed - skipped;
        let word = if self.passed { "passes" } else { "FAILS" };
        format!("`{}` {}: {word} ({passed} passed, {failed} failed, {skipped} skipped)", self.id, self.version)
    }
}

fn test_line(test: &UnitTestResult) -> String {
    let UnitTestResult { file, name, failure, line } = test;
    match failure {
        None => format!("ok    {file}: {name}"),
        Some(failure) => {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("FAIL  {file}{line}: {name}\n      {failure}")
        }
    }
}

fn check_line(check: &CheckResult) -> String {
    let CheckResult { name, rule, outcome } = check;
    match outcome {
        Outcome::Passed => format!("ok    {name}: {rule}"),
        Outcome::Failed { reason } => format!("FAIL  {name}: {rule}\n      {reason}"),
        Outcome::Skipped { reason } => format!("skip  {name}: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcome: Outcome) -> CheckResult {
        CheckResult { name: "crash".to_owned(), rule: "it works again".to_owned(), outcome }
    }

    #[test]
    fn one_failure_of_either_kind_fails_the_extension() {
        let text = r#"{"id":"a","name":"A","version":"1.0.0","apiVersion":"*","tier":"external"}"#;
        let manifest = dispatch_kernel::host::manifest::parse(text).unwrap();
        let test = |failure: Option<&str>| UnitTestResult {
            file: "logic.test.ts".to_owned(),
            name: "adds".to_owned(),
            failure: failure.map(str::to_owned),
            line: Some(3),
        };
        let skipped = || check(Outcome::Skipped { reason: "compiled in".to_owned() });
        let good = TestReport::new(&manifest, vec![test(None)], vec![check(Outcome::Passed), skipped()]);
        assert!(good.text().ends_with("`a` 1.0.0: passes (2 passed, 0 failed, 1 skipped)"));
        let bad = TestReport::new(&manifest, vec![test(Some("expected 1, got 2"))], vec![]);
        assert!(!bad.passed && bad.text().starts_with("FAIL  logic.test.ts:3: adds\n      expected 1, got 2"));
        let broken = vec![check(Outcome::Failed { reason: "it hung".to_owned() })];
        assert!(!TestReport::new(&manifest, vec![], broken).passed);
    }
}
