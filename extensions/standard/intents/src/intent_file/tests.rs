//! The problems that are reported about good and bad files.

use super::*;
use crate::error::IntentsError;
use crate::intent::{ClaimMode, IntentKind, IntentSpec, IntentStatus};

const GOOD: &str = "\
active_intents:
  - id: INT-001
    name: Weather
    status: IN_PROGRESS
    owned_scope: [\"src/api/**\", docs/*.md]
    constraints:
      - stays small
    acceptance_criteria: []
    created_at: 2026-02-20
    updated_at: \"2026-02-20T09:30:00Z\"
    kind: feature
    claim: exclusive
";

/// The problems of one intent with a line in place of another, from line 2 on.
fn with(line: &str, instead: &str) -> Vec<String> {
    let text = GOOD.replace(line, instead);
    assert_ne!(text, GOOD, "{line}");
    parse(&text).problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_good_file_is_read_whole() {
    let loaded = parse(GOOD);
    assert_eq!((loaded.state, &loaded.problems), (IntentFileState::Read, &Vec::new()));
    let intent = loaded.intent("INT-001").unwrap();
    assert_eq!(
        (intent.status, intent.kind, intent.claim),
        (IntentStatus::InProgress, Some(IntentKind::Feature), Some(ClaimMode::Exclusive))
    );
    assert_eq!(intent.owned_scope, ["src/api/**", "docs/*.md"]);
    assert_eq!((intent.created_at.as_str(), intent.constraints.len()), ("2026-02-20", 1));
    for variant in [format!("\u{feff}{GOOD}"), GOOD.replace('\n', "\r\n"), format!("%YAML 1.2\n---\n{GOOD}...\n")] {
        assert_eq!(parse(&variant).intents, loaded.intents, "{variant:?}");
    }
}

#[test]
fn every_problem_is_reported_with_its_position() {
    for (line, instead, expected) in [
        ("    name: Weather\n", "", "2:5: missing field `name`"),
        ("name: Weather", "name: 12", "3:11: `name` must be text, not a number (put it in quotes)"),
        ("name: Weather", "name: true", "3:11: `name` must be text, not a boolean (put it in quotes)"),
        ("name: Weather", "name:", "3:9: `name` must be text, not null"),
        ("name: Weather", "name: '  '", "3:11: `name` is empty"),
        ("name: Weather", "name: [a]", "3:11: `name` must be text, not a list"),
        (
            "id: INT-001",
            "id: ../x",
            "2:9: invalid id `../x` (use letters, digits, `-`, `_` and `.`, at most 64, such as INT-001)",
        ),
        ("IN_PROGRESS", "in progress", "4:13: invalid status `in progress` (did you mean `IN_PROGRESS`?)"),
        (
            "IN_PROGRESS",
            "DONE",
            "4:13: invalid status `DONE` (expected one of PLANNED, IN_PROGRESS, COMPLETED, BLOCKED, ABANDONED)",
        ),
        ("owned_scope: [", "owned_scop: [", "2:5: missing field `owned_scope`"),
        ("docs/*.md", "\"\"", "5:33: glob `` matches nothing"),
        (
            "docs/*.md",
            "/etc/*",
            "5:33: glob `/etc/*` leads out of the workspace (globs are relative to the workspace root and cannot leave it)",
        ),
        (
            "docs/*.md",
            "../x/**",
            "5:33: glob `../x/**` leads out of the workspace (globs are relative to the workspace root and cannot leave it)",
        ),
        ("docs/*.md", "\"a/{b,../../c}/d\"", "5:33: glob"),
        ("docs/*.md", "'#x'", "5:33: glob `#x` matches nothing"),
        ("docs/*.md", "7", "5:33: `owned_scope` must be text, not a number (put it in quotes)"),
        (
            "constraints:\n      - stays small",
            "constraints: stays small",
            "6:18: `constraints` must be a list, not text (write `constraints:` and start each item below it with `- `)",
        ),
        (
            "2026-02-20\n",
            "yesterday\n",
            "9:17: invalid date `yesterday` in `created_at` (write it as 2026-02-20 or 2026-02-20T09:30:00Z)",
        ),
        ("2026-02-20\n", "2026-02-31\n", "9:17: invalid date `2026-02-31` in `created_at`"),
        ("kind: feature", "kind: fixes", "11:11: invalid kind `fixes`"),
        ("claim: exclusive", "claim: mine", "12:12: invalid claim `mine` (expected one of shared, exclusive)"),
        ("claim: exclusive", "name: again", "12:5: duplicate key `name`; first used in line 3"),
    ] {
        let told = with(line, instead);
        assert!(told.iter().any(|told| told.starts_with(expected)), "{instead}: {told:#?}");
    }
}

#[test]
fn odd_things_are_only_warned_of_and_count() {
    for (line, instead, expected) in [
        ("constraints:", "constrains:", "6:5: warning: unknown key `constrains` (did you mean `constraints`?)"),
        ("docs/*.md", "a\\b", "5:33: warning: `\\` in `a\\\\b` escapes the next character"),
    ] {
        let told = with(line, instead);
        assert!(told.len() == 1 && told[0].starts_with(expected), "{told:#?}");
        assert_eq!(parse(&GOOD.replace(line, instead)).intents.len(), 1);
    }
}

#[test]
fn one_bad_intent_does_not_take_the_others_with_it() {
    let text = format!("{GOOD}  - id: INT-002\n    name: x\n  - just text\n{}", GOOD.split_once('\n').unwrap().1);
    let loaded = parse(&text);
    assert_eq!((loaded.state, loaded.intents.len(), loaded.has_errors()), (IntentFileState::Read, 1, true));
    let told: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "13:5: missing field `status`",
            "13:5: missing field `owned_scope`",
            "15:5: an intent must be a mapping, not text",
            "16:9: duplicate id `INT-001`; first used in line 2 (this intent is ignored)",
        ]
    );
}

#[test]
fn a_file_that_says_nothing_is_malformed() {
    for (text, position) in [
        ("", (1, 1)),
        ("# only\n", (1, 1)),
        ("[]", (1, 1)),
        ("hello\n", (1, 1)),
        ("intents: []\n", (1, 1)),
        ("active_intents: 5\n", (1, 17)),
        ("active_intents:\n  id: x\n", (2, 3)),
        ("active_intents: [\n", (1, 17)),
        ("active_intents:\n\t- x\n", (2, 2)),
        ("a: *b\n", (1, 4)),
    ] {
        let loaded = parse(text);
        assert_eq!(loaded.state, IntentFileState::Malformed, "{text:?}");
        let position = TextPosition { line: position.0, column: position.1 };
        assert!(loaded.problems.iter().any(|problem| problem.position == position), "{text:?}: {:?}", loaded.problems);
    }
    for empty in ["active_intents: []\n", "active_intents:\n", TEMPLATE] {
        assert_eq!(
            parse(empty),
            LoadedIntents { state: IntentFileState::Read, intents: vec![], problems: vec![] },
            "{empty}"
        );
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_found_where_they_are() {
    let loaded = parse_bytes(b"active_intents: []\n# \xc3\xa4\xff\n");
    assert_eq!(loaded.problems[0].position, TextPosition { line: 2, column: 4 });
    let large = vec![b' '; usize::try_from(LIMIT_BYTES).unwrap() + 1];
    assert!(parse_bytes(&large).problems[0].message.contains("bytes"));
}

#[test]
fn a_template_with_its_example_uncommented_is_good() {
    let mut lines: Vec<String> =
        TEMPLATE.lines().filter(|line| line.starts_with("#   ")).map(|line| line[2..].to_owned()).collect();
    lines.insert(0, "active_intents:".to_owned());
    let loaded = parse(&lines.join("\n"));
    assert_eq!((loaded.intents.len(), loaded.problems), (1, vec![]));
}

#[test]
fn an_absent_file_is_fine_and_a_folder_in_its_place_is_malformed() {
    let folder = tempfile::tempdir().unwrap();
    let layout = OrchestrationLayout::new(folder.path());
    assert_eq!(load(&layout).state, IntentFileState::Absent);
    std::fs::create_dir_all(layout.intents_file()).unwrap();
    assert_eq!(load(&layout).state, IntentFileState::Malformed);
}

#[test]
fn many_writers_lose_nothing_and_a_stale_editor_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let layout = OrchestrationLayout::new(folder.path());
    assert!(create(&layout).unwrap() && !create(&layout).unwrap());
    let stale = read_text(&layout).unwrap();
    let intent = |id: String| IntentSpec { id, ..parse(GOOD).intents.remove(0) };
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let layout = &layout;
            scope.spawn(move || {
                for number in 0..5 {
                    update(layout, |text| add(text, &intent(format!("W{writer}-{number}")))).unwrap();
                }
            });
        }
    });
    let loaded = load(&layout);
    assert_eq!((loaded.intents.len(), loaded.problems), (20, vec![]));
    assert!(read_text(&layout).unwrap().unwrap().starts_with("# Declared intents"));
    assert!(matches!(replace_checked(&layout, stale.as_deref(), GOOD), Err(IntentsError::Changed)));
    let now = read_text(&layout).unwrap();
    assert!(matches!(replace_checked(&layout, now.as_deref(), "active_intents: 5"), Err(IntentsError::Invalid(_))));
    replace_checked(&layout, now.as_deref(), GOOD).unwrap();
    assert_eq!(load(&layout).intents.len(), 1);
}

#[test]
fn the_next_id_is_above_all_others() {
    let with = |ids: &[&str]| {
        let one = |id: &&str| format!("  - {{id: {id}, name: x, status: PLANNED, owned_scope: [a]}}\n");
        parse(&format!("active_intents:\n{}", ids.iter().map(one).collect::<String>())).next_free_id()
    };
    assert_eq!(with(&[]), "INT-001");
    assert_eq!(with(&["INT-003", "INT-1", "X-9", "INT-x"]), "INT-004");
    assert_eq!(with(&["INT-1200"]), "INT-1201");
}
