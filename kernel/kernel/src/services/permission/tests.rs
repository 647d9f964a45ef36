//! Tables and properties of rule evaluation.

use super::*;
use proptest::prelude::*;

fn rule(permission: &str, target: &str, verdict: Verdict) -> PermissionRule {
    PermissionRule { permission: permission.to_owned(), target: target.to_owned(), verdict, reason: None }
}

fn request(permission: &str, target: &str) -> PermissionRequest {
    PermissionRequest { permission: permission.to_owned(), target: target.to_owned() }
}

#[test]
fn wildcards() {
    for (pattern, text, expected) in [
        ("", "", true),
        ("", "a", false),
        ("*", "", true),
        ("*", "anything\nat /all", true),
        ("**", "", true),
        ("?", "", false),
        ("?", "é", true),
        ("?", "ab", false),
        ("a?c", "abc", true),
        ("a*c", "ac", true),
        ("a*c", "abcbc", true),
        ("a*c", "abcb", false),
        ("git *", "git push", true),
        ("git *", "git", false),
        ("*.rs", "src/main.rs", true),
        ("*.rs", "src/main.rs.bak", false),
        ("src/*/mod.rs", "src/a/b/mod.rs", true),
        ("*a*b*c*", "xxaxxbxxcxx", true),
        ("*a*b*c*", "xxaxxcxxbxx", false),
        ("*ab", "aab", true),
        ("*?", "", false),
        ("?*", "a", true),
        ("Git", "git", false),
        ("a.c", "abc", false),
        ("[ab]", "a", false),
        ("[ab]", "[ab]", true),
        ("\\*", "\\anything", true),
        ("héllo*", "héllo wörld", true),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern:?} on {text:?}");
    }
}

#[test]
fn many_stars_end_quickly() {
    let pattern = format!("{}b", "*a".repeat(60));
    let text = "a".repeat(200_000);
    assert!(!matches(&pattern, &text));
    assert!(matches(&pattern, &format!("{text}b")));
}

#[test]
fn the_last_matching_rule_decides() {
    let rules = [
        rule("*", "*", Verdict::Ask),
        rule("shell", "git *", Verdict::Allow),
        rule("shell", "git push*", Verdict::Deny),
        rule("shell", "git push --dry-run*", Verdict::Allow),
        rule("write", "/etc/*", Verdict::Deny),
    ];
    for (permission, target, verdict, index) in [
        ("shell", "git status", Verdict::Allow, Some(1)),
        ("shell", "git push origin", Verdict::Deny, Some(2)),
        ("shell", "git push --dry-run", Verdict::Allow, Some(3)),
        ("shell", "cargo test", Verdict::Ask, Some(0)),
        ("write", "/etc/passwd", Verdict::Deny, Some(4)),
        ("write", "/home/me", Verdict::Ask, Some(0)),
        ("", "", Verdict::Ask, Some(0)),
    ] {
        let decision = evaluate(&rules, &request(permission, target));
        assert_eq!((decision.verdict, decision.rule), (verdict, index), "{permission} {target}");
    }
}

#[test]
fn without_a_matching_rule_a_person_decides() {
    for rules in [&[][..], &[rule("shell", "*", Verdict::Allow)]] {
        let decision = evaluate(rules, &request("network", "example.com"));
        assert_eq!((decision.verdict, decision.rule), (Verdict::Ask, None));
        assert_eq!(decision.reason, "no rule matches, so a person decides");
    }
}

#[test]
fn reasons_are_the_rules_own_or_made_of_it() {
    let mut stated = rule("shell", "rm *", Verdict::Deny);
    assert_eq!(
        evaluate(std::slice::from_ref(&stated), &request("shell", "rm x")).reason,
        "the rule for `shell` on `rm *` forbids it"
    );
    stated.reason = Some("use the bin".to_owned());
    assert_eq!(evaluate(&[stated], &request("shell", "rm x")).reason, "use the bin");
}

#[test]
fn several_questions_get_the_strictest_answer() {
    let rules = [rule("shell", "ls*", Verdict::Allow), rule("shell", "rm*", Verdict::Deny)];
    let ask = |targets: &[&str]| {
        let requests: Vec<_> = targets.iter().map(|target| request("shell", target)).collect();
        let decision = evaluate_all(&rules, &requests);
        (decision.verdict, decision.rule)
    };
    assert_eq!(ask(&["ls", "ls -l"]), (Verdict::Allow, Some(0)));
    assert_eq!(ask(&["ls", "make"]), (Verdict::Ask, None));
    assert_eq!(ask(&["make", "rm x", "ls"]), (Verdict::Deny, Some(1)));
    assert_eq!(ask(&[]), (Verdict::Ask, None));
}

#[test]
fn an_explanation_names_the_part_of_every_rule() {
    let rules = [
        rule("*", "*", Verdict::Ask),
        rule("write", "*", Verdict::Deny),
        rule("shell", "ls", Verdict::Deny),
        rule("shell", "git *", Verdict::Allow),
    ];
    let explanation = explain(&rules, &request("shell", "git log"));
    assert_eq!(
        explanation.outcomes,
        [RuleOutcome::Overruled, RuleOutcome::OtherPermission, RuleOutcome::OtherTarget, RuleOutcome::Decided]
    );
    assert_eq!(explanation.decision, evaluate(&rules, &request("shell", "git log")));
}

/// The definition itself, exponential and plainly right.
fn reference(pattern: &[char], text: &[char]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => (0..=text.len()).any(|skipped| reference(rest, &text[skipped..])),
        (Some(('?', rest)), Some((_, text))) => reference(rest, text),
        (Some((wanted, rest)), Some((found, text))) => wanted == found && reference(rest, text),
        _ => false,
    }
}

fn verdicts() -> impl Strategy<Value = Verdict> {
    prop::sample::select(vec![Verdict::Allow, Verdict::Ask, Verdict::Deny])
}

fn rules() -> impl Strategy<Value = Vec<PermissionRule>> {
    prop::collection::vec(("[ab*?]{0,3}", "[ab*?]{0,3}", verdicts()), 0..6).prop_map(|rules| {
        rules.into_iter().map(|(permission, target, verdict)| rule(&permission, &target, verdict)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn wildcards_agree_with_their_definition(pattern in "[abé*?]{0,7}", text in "[abé]{0,9}") {
        let (pattern_chars, text_chars): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
        prop_assert_eq!(matches(&pattern, &text), reference(&pattern_chars, &text_chars));
    }

    #[test]
    fn a_star_rule_at_the_end_decides_everything(rules in rules(), verdict in verdicts(), text in ".{0,8}") {
        let mut rules = rules;
        rules.push(rule("*", "*", verdict));
        let decision = evaluate(&rules, &request(&text, &text));
        prop_assert_eq!((decision.verdict, decision.rule), (verdict, Some(rules.len() - 1)));
    }

    #[test]
    fn a_rule_that_does_not_match_changes_nothing(rules in rules(), target in "[ab]{0,3}", verdict in verdicts()) {
        let asked = request("a", &target);
        let before = evaluate(&rules, &asked);
        let mut more = rules.clone();
        more.push(rule("other", "*", verdict));
        prop_assert_eq!(evaluate(&more, &asked), before);
    }

    #[test]
    fn an_explanation_is_the_evaluation(rules in rules(), permission in "[ab]{0,3}", target in "[ab]{0,3}") {
        let asked = request(&permission, &target);
        let explanation = explain(&rules, &asked);
        let decided = explanation.outcomes.iter().position(|outcome| *outcome == RuleOutcome::Decided);
        prop_assert_eq!(decided, evaluate(&rules, &asked).rule);
        prop_assert_eq!(explanation.outcomes.len(), rules.len());
    }

    #[test]
    fn several_are_never_laxer_than_one(rules in rules(), targets in prop::collection::vec("[ab]{0,3}", 1..5)) {
        let requests: Vec<_> = targets.iter().map(|target| request("a", target)).collect();
        let all = strictness(evaluate_all(&rules, &requests).verdict);
        let each = requests.iter().map(|asked| strictness(evaluate(&rules, asked).verdict)).max();
        prop_assert_eq!(Some(all), each);
    }
}
