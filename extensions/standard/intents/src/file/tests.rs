//! What is said about files, good and bad.

use super::*;
use crate::intent::{Claim, IntentKind, IntentStatus};

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
    assert_eq!((loaded.state, &loaded.problems), (FileState::Read, &Vec::new()));
    let intent = loaded.intent("INT-001").unwrap();
    assert_eq!(
        (intent.status, intent.kind, intent.claim),
        (IntentStatus::InProgress, Some(IntentKind::Feature), Some(Claim::Exclusive))
    );
    assert_eq!(intent.owned_scope, ["src/api/**", "docs/*.md"]);
    assert_eq!((intent.created_at.as_str(), intent.constraints.len()), ("2026-02-20", 1));
    for variant in [format!("\u{feff}{GOOD}"), GOOD.replace('\n', "\r\n"), format!("%YAML 1.2\n---\n{GOOD}...\n")] {
        assert_eq!(parse(&variant).intents, loaded.intents, "{variant:?}");
    }
}

#[test]
fn every_problem_is_told_with_its_place() {
    for (line, instead, expected) in [
        ("    name: Weather\n", "", "2:5: the intent has no `name`"),
        ("name: Weather", "name: 12", "3:11: `name` must be text, and is a number (put it in quotes)"),
        ("name: Weather", "name: true", "3:11: `name` must be text, and is a truth value (put it in quotes)"),
        ("name: Weather", "name:", "3:9: `name` must be text, and is nothing"),
        ("name: Weather", "name: '  '", "3:11: `name` is empty"),
        ("name: Weather", "name: [a]", "3:11: `name` must be text, and is a list"),
        (
            "id: INT-001",
            "id: ../x",
            "2:9: `../x` cannot be an id (letters, digits, `-`, `_` and `.`, at most 64, such as INT-001)",
        ),
        ("IN_PROGRESS", "in progress", "4:13: `in progress` is no status (did you mean `IN_PROGRESS`?)"),
        (
            "IN_PROGRESS",
            "DONE",
            "4:13: `DONE` is no status (it is one of PLANNED, IN_PROGRESS, COMPLETED, BLOCKED, ABANDONED)",
        ),
        ("owned_scope: [", "owned_scop: [", "2:5: the intent has no `owned_scope`"),
        ("docs/*.md", "\"\"", "5:33: the glob `` matches nothing"),
        (
            "docs/*.md",
            "/etc/*",
            "5:33: the glob `/etc/*` leads out of the workspace (globs are relative to the workspace and go down only)",
        ),
        (
            "docs/*.md",
            "../x/**",
            "5:33: the glob `../x/**` leads out of the workspace (globs are relative to the workspace and go down only)",
        ),
        ("docs/*.md", "\"a/{b,../../c}/d\"", "5:33: the glob"),
        ("docs/*.md", "'#x'", "5:33: the glob `#x` matches nothing"),
        ("docs/*.md", "7", "5:33: `owned_scope` must be text, and is a number (put it in quotes)"),
        (
            "constraints:\n      - stays small",
            "constraints: stays small",
            "6:18: `constraints` must be a list, and is text (write `constraints:` and below it `- ` in front of each)",
        ),
        (
            "2026-02-20\n",
            "yesterday\n",
            "9:17: `created_at` is no date: `yesterday` (write it as 2026-02-20 or 2026-02-20T09:30:00Z)",
        ),
        ("2026-02-20\n", "2026-02-31\n", "9:17: `created_at` is no date"),
        ("kind: feature", "kind: fixes", "11:11: `fixes` is no kind"),
        ("claim: exclusive", "claim: mine", "12:12: `mine` is no claim (it is one of shared, exclusive)"),
        ("claim: exclusive", "name: again", "12:5: the key `name` is there twice; the first is in line 3"),
    ] {
        let told = with(line, instead);
        assert!(told.iter().any(|told| told.starts_with(expected)), "{instead}: {told:#?}");
    }
}

#[test]
fn odd_things_are_only_warned_of_and_count() {
    for (line, instead, expected) in [
        (
            "constraints:",
            "constrains:",
            "6:5: warning: nobody reads the key `constrains` (did you mean `constraints`?)",
        ),
        ("docs/*.md", "'!docs/**'", "5:33: warning: `!docs/**` owns every file that the rest of it does not match"),
        ("docs/*.md", "a\\b", "5:33: warning: in `a\\\\b` the `\\` makes the next character ordinary"),
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
    assert_eq!((loaded.state, loaded.intents.len(), loaded.has_errors()), (FileState::Read, 1, true));
    let told: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "13:5: the intent has no `status`",
            "13:5: the intent has no `owned_scope`",
            "15:5: an intent must be a mapping, and this is text",
            "16:9: the id `INT-001` is taken by the intent in line 2 (this one is left out)",
        ]
    );
}

#[test]
fn a_file_that_says_nothing_is_malformed() {
    for (text, place) in [
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
        assert_eq!(loaded.state, FileState::Malformed, "{text:?}");
        let place = Place { line: place.0, column: place.1 };
        assert!(loaded.problems.iter().any(|problem| problem.place == place), "{text:?}: {:?}", loaded.problems);
    }
    for empty in ["active_intents: []\n", "active_intents:\n", TEMPLATE] {
        assert_eq!(parse(empty), Loaded { state: FileState::Read, intents: vec![], problems: vec![] }, "{empty}");
    }
}

#[test]
fn bytes_that_are_no_text_are_found_where_they_are() {
    let loaded = parse_bytes(b"active_intents: []\n# \xc3\xa4\xff\n");
    assert_eq!(loaded.problems[0].place, Place { line: 2, column: 4 });
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
fn an_absent_file_is_no_problem_and_a_folder_in_its_place_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path());
    assert_eq!(load(&layout).state, FileState::Absent);
    std::fs::create_dir_all(layout.intents_file()).unwrap();
    assert_eq!(load(&layout).state, FileState::Malformed);
}

#[test]
fn many_writers_lose_nothing_and_a_stale_editor_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path());
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
    assert!(matches!(replace_checked(&layout, stale.as_deref(), GOOD), Err(StoreError::Changed)));
    let now = read_text(&layout).unwrap();
    assert!(matches!(replace_checked(&layout, now.as_deref(), "active_intents: 5"), Err(StoreError::Invalid(_))));
    replace_checked(&layout, now.as_deref(), GOOD).unwrap();
    assert_eq!(load(&layout).intents.len(), 1);
}
