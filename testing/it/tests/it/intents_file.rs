//! The intent file and its commands: declared, changed with comments kept, bound to a session, matched and judged.

use crate::intents_host::{Host, workspace};
use dispatch_support::TestContext;
use serde_json::{Value, json};

const FILE: &str = ".orchestration/active_intents.yaml";
/// The answers of minimatch 11 with `{dot: true}`, one bit per path.
const MINIMATCH: &str = include_str!("../../../../platform/glob/tests/minimatch.txt");

fn text(context: &TestContext) -> String {
    std::fs::read_to_string(context.project().join(FILE)).expect("the intent file")
}

#[test]
fn an_intent_lives_from_declared_to_reopened() {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["intent", "list"]).status, 2);
    let run = |arguments: &[&str]| {
        let output = context.dispatch(arguments);
        assert_eq!(output.status, 0, "{arguments:?}: {output:?}");
        output.stdout
    };
    run(&["intent", "new", "Weather", "--scope", "src/api/**", "--scope", "*.md", "--criterion", "it: works"]);
    assert!(text(&context).starts_with("# Declared intents"));
    let made =
        run(&["intent", "new", "Docs", "--scope", "docs/**", "--kind", "docs", "--claim", "exclusive", "--json"]);
    let made: Value = serde_json::from_str(&made).expect("JSON");
    assert_eq!((&made["created"]["id"], &made["created"]["claim"]), (&json!("INT-002"), &json!("exclusive")));
    assert_eq!(run(&["intent", "start", "INT-001"]), "INT-001: PLANNED -> IN_PROGRESS\n");
    let early = context.dispatch(&["intent", "complete", "INT-002"]);
    assert!(early.status == 1 && early.stderr.contains("IN_PROGRESS, BLOCKED, ABANDONED"), "{early:?}");
    run(&["intent", "complete", "INT-001"]);
    for verb in ["start", "block", "abandon"] {
        assert_eq!(context.dispatch(&["intent", verb, "INT-001"]).status, 1, "{verb}");
    }
    let listed: Value = serde_json::from_str(&run(&["intent", "list", "--json"])).expect("JSON");
    assert_eq!(listed["intents"].as_array().map(Vec::len), Some(1));
    run(&["intent", "start", "INT-001", "--reopen"]);
    run(&["intent", "edit", "INT-001", "--name", "Sun", "--add-scope", "src/{a,b}/**", "--remove-scope", "*.md"]);
    let shown: Value = serde_json::from_str(&run(&["intent", "show", "INT-001", "--json"])).expect("JSON");
    assert_eq!(shown["intent"]["owned_scope"], json!(["src/api/**", "src/{a,b}/**"]));
    assert!(shown["context"]["text"].as_str().is_some_and(|text| text.starts_with("# Active intent INT-001: Sun")));
    assert!(shown["context"]["tokens"].as_u64().is_some_and(|tokens| (10..4000).contains(&tokens)));
    assert!(run(&["intent", "check"]).contains("2 intents, no problems"));
}

#[test]
fn comments_order_and_quotes_survive_every_command() {
    let context = TestContext::new();
    let before = "# team file\nactive_intents:\n  - id: A-1 # keep\n    name: 'One'\n    status: PLANNED   # soon\n    \
                  owned_scope: [src/**] # all\n    x-owner: us\n    updated_at: '2026-01-01'\n# end\n";
    context.write(FILE, before);
    assert_eq!(context.dispatch(&["intent", "start", "A-1"]).status, 0);
    let after = text(&context);
    let date = after.lines().find(|line| line.contains("updated_at")).expect("the date").to_owned();
    assert!(date.starts_with("    updated_at: '20") && !date.contains("2026-01-01'"), "{date}");
    let expected = before.replace("PLANNED ", "IN_PROGRESS ").replace("    updated_at: '2026-01-01'", &date);
    assert_eq!(after, expected);
    let wrong = context.dispatch(&["intent", "edit", "A-1", "--add-scope", "/etc/**"]);
    assert!(wrong.status == 2 && wrong.stderr.contains("leads out of the workspace"), "{wrong:?}");
    assert_eq!(text(&context), after);
}

#[test]
fn every_problem_is_reported_with_its_position() {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["intent", "check"]).status, 0);
    context.write(FILE, "active_intents:\n  - id: A\n    nmae: x\n    status: doing\n    owned_scope: ['../x', ok]\n");
    let output = context.dispatch(&["intent", "check"]);
    let file = context.project().join(FILE);
    assert_eq!(output.status, 1);
    for line in [
        "2:5: missing field `name`",
        "3:5: warning: unknown key `nmae`",
        "4:13: invalid status `doing`",
        "5:19: glob `../x`",
    ] {
        assert!(output.stdout.contains(line), "{line}: {output:?}");
    }
    assert!(output.stdout.contains("active_intents.yaml:2:5:"), "{output:?} {}", file.display());
    context.write(FILE, b"active_intents: \xff");
    let output = context.dispatch(&["intent", "check", "--json"]);
    assert_eq!((output.status, &output.json()["problems"][0]["column"]), (1, &json!(17)));
    assert_eq!(context.dispatch(&["intent", "list"]).status, 3);
}

#[test]
fn a_session_is_bound_by_the_host_id_or_the_newest_is() {
    let context = workspace(&["session", "intents"]);
    let none = context.dispatch(&["intent", "select", "INT-001"]);
    assert!(none.status == 2 && none.stderr.contains("hint:"), "{none:?}");
    let host = Host::claude(&context, "one");
    assert!(host.write("1", "src/hooks/a.ts", "x").is_some(), "no intent yet");
    for wrong in ["INT-009", "INT-003"] {
        let output = context.dispatch(&["intent", "select", wrong]);
        assert!(output.status != 0 && output.stderr.contains("INT-001 (Hooks)"), "{output:?}");
    }
    assert_eq!(context.dispatch(&["intent", "select", "INT-001"]).status, 0);
    assert_eq!(host.write("2", "src/hooks/a.ts", "x"), None);
    // A session that has not begun is bound by the host's own id.
    assert_eq!(context.dispatch(&["intent", "select", "INT-002", "--session", "later"]).status, 0);
    assert_eq!(Host::claude(&context, "later").write("1", "src/weather/a.ts", "x"), None);
    let records = Host::claude(&context, "later").records();
    let selected = records.iter().find(|record| record["type"] == "INTENT_SELECTED").expect("the record");
    assert_eq!(selected["data"]["intent"], "INT-002", "{selected}");
    let cleared = context.dispatch(&["intent", "clear", "--session", "one", "--json"]);
    assert_eq!(cleared.json()["cleared"], "INT-001");
    assert!(host.write("3", "src/hooks/a.ts", "x").is_some(), "cleared");
    assert_eq!(host.write("4", "src/hooks/a.ts", "x").map(|reason| reason.contains("No active intent")), Some(true));
}

#[test]
fn match_answers_as_minimatch_does() {
    let (paths, patterns) = MINIMATCH
        .strip_prefix("# paths\n")
        .and_then(|rest| rest.split_once("# patterns: one bit per path, in the order above\n"))
        .expect("two parts");
    let paths: Vec<&str> = paths.trim_end_matches('\n').split('\n').collect();
    let usable: Vec<usize> =
        (0..paths.len()).filter(|at| !paths[*at].contains(['\r', '\n']) && !paths[*at].is_empty()).collect();
    let input: String = usable.iter().map(|at| format!("{}\n", paths[*at])).collect();
    let context = TestContext::new();
    type IsOfKind = fn(&str) -> bool;
    let kinds: [(&str, IsOfKind); 5] = [
        ("brace", |pattern| pattern.contains('{')),
        ("**", |pattern| pattern.contains("**")),
        ("negation", |pattern| pattern.starts_with('!') && !pattern.starts_with("!(")),
        ("class", |pattern| pattern.contains('[')),
        ("extglob", |pattern| ["@(", "+(", "?(", "*(", "!("].iter().any(|start| pattern.contains(start))),
    ];
    let (mut cases, mut yes) = (0, 0);
    for (name, wanted) in kinds {
        let chosen: Vec<&str> = patterns
            .lines()
            .filter(|line| line.split_once(' ').is_some_and(|(_, pattern)| wanted(pattern)))
            .take(4)
            .collect();
        assert_eq!(chosen.len(), 4, "{name}");
        for line in chosen {
            let (bits, pattern) = line.split_once(' ').expect("bits and a pattern");
            let expected: String = usable
                .iter()
                .filter(|at| bits.as_bytes()[**at] == b'1')
                .map(|at| format!("{}\n", paths[*at]))
                .collect();
            let output = context.run("dispatch", &["intent", "match", "--", pattern], input.as_bytes(), &[]);
            assert_eq!((output.status, output.stdout.as_str()), (0, expected.as_str()), "{pattern}");
            cases += usable.len();
            yes += expected.lines().count();
        }
    }
    assert!(cases >= 1000 && yes > 100, "{cases} {yes}");
}
