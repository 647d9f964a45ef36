//! What an edit leaves of a file.

use super::*;
use crate::intent::{IntentSpec, IntentStatus};
use crate::intent_file::parse;
use proptest::prelude::*;

const FILE: &str = "\
# Ours.
active_intents:
  # The first.
  - id: INT-001      # never reuse
    name: 'Weather'
    status: PLANNED  # soon
    owned_scope:
      - src/api/**   # the code
      # tests too
      - \"tests/**\"
    constraints: [small, \"fast\"]

  - { id: INT-002, name: Flow, status: BLOCKED, owned_scope: [docs/**] }

# The end.
";

fn changed(id: &str, changes: &[IntentEdit]) -> String {
    change(FILE, id, changes).unwrap()
}

#[test]
fn only_the_wanted_part_changes() {
    use IntentListField::{AcceptanceCriteria, Constraints, OwnedScope};
    use IntentTextField::{Kind, Name, Status, UpdatedAt};
    let text = str::to_owned;
    for (id, edit, old, new) in [
        ("INT-001", IntentEdit::Set(Status, text("IN_PROGRESS")), "PLANNED  # soon", "IN_PROGRESS  # soon"),
        ("INT-001", IntentEdit::Set(Name, text("it's")), "'Weather'", "'it''s'"),
        (
            "INT-001",
            IntentEdit::Set(UpdatedAt, text("2026-01-02")),
            "\"fast\"]\n",
            "\"fast\"]\n    updated_at: \"2026-01-02\"\n",
        ),
        ("INT-002", IntentEdit::Set(Kind, text("fix")), "[docs/**] }", "[docs/**], kind: fix }"),
        ("INT-001", IntentEdit::Add(OwnedScope, text("*.md")), "\"tests/**\"\n", "\"tests/**\"\n      - \"*.md\"\n"),
        ("INT-001", IntentEdit::Remove(OwnedScope, text("src/api/**")), "      - src/api/**   # the code\n", ""),
        ("INT-001", IntentEdit::Remove(Constraints, text("small")), "[small, \"fast\"]", "[\"fast\"]"),
        ("INT-001", IntentEdit::Remove(Constraints, text("fast")), "[small, \"fast\"]", "[small]"),
        ("INT-001", IntentEdit::Add(Constraints, text("a, b")), "\"fast\"]", "\"fast\", \"a, b\"]"),
        ("INT-002", IntentEdit::Remove(OwnedScope, text("docs/**")), "[docs/**]", "[]"),
        (
            "INT-002",
            IntentEdit::Add(AcceptanceCriteria, text("green")),
            "[docs/**] }",
            "[docs/**], acceptance_criteria: [green] }",
        ),
        (
            "INT-001",
            IntentEdit::Add(AcceptanceCriteria, text("green")),
            "\"fast\"]\n",
            "\"fast\"]\n    acceptance_criteria:\n      - green\n",
        ),
        ("INT-001", IntentEdit::Add(OwnedScope, text("tests/**")), "# Ours", "# Ours"),
    ] {
        let expected = FILE.replacen(old, new, 1);
        assert_eq!(changed(id, std::slice::from_ref(&edit)), expected, "{edit:?}");
        let windows = FILE.replace('\n', "\r\n");
        assert_eq!(
            change(&windows, id, std::slice::from_ref(&edit)).unwrap(),
            expected.replace('\n', "\r\n"),
            "{edit:?}"
        );
    }
}

#[test]
fn a_list_that_loses_its_last_line_stays_a_list() {
    let text = changed(
        "INT-001",
        &[
            IntentEdit::Remove(IntentListField::OwnedScope, "src/api/**".to_owned()),
            IntentEdit::Remove(IntentListField::OwnedScope, "tests/**".to_owned()),
        ],
    );
    assert!(text.contains("    owned_scope: []\n      # tests too\n    constraints:"), "{text}");
}

fn intent(id: &str) -> IntentSpec {
    IntentSpec {
        id: id.to_owned(),
        name: "New: one".to_owned(),
        status: IntentStatus::Planned,
        owned_scope: vec!["**/*.rs".to_owned()],
        constraints: vec![],
        acceptance_criteria: vec!["yes".to_owned()],
        created_at: "2026-01-02".to_owned(),
        updated_at: "2026-01-02".to_owned(),
        kind: None,
        claim: None,
        mode: None,
    }
}

const BLOCK: &str = "  - id: INT-003
    name: \"New: one\"
    status: PLANNED
    owned_scope:
      - \"**/*.rs\"
    constraints: []
    acceptance_criteria:
      - \"yes\"
    created_at: \"2026-01-02\"
    updated_at: \"2026-01-02\"
";

#[test]
fn a_new_intent_goes_below_the_last_one() {
    let deeper: String = BLOCK.lines().map(|line| format!("    {}\n", &line[2..])).collect();
    for (text, expected) in [
        ("", format!("active_intents:\n{BLOCK}")),
        ("# only a comment", format!("# only a comment\nactive_intents:\n{BLOCK}")),
        ("active_intents:\n", format!("active_intents:\n{BLOCK}")),
        ("active_intents: [] # none\n# end\n", format!("active_intents: # none\n{BLOCK}# end\n")),
        (FILE, FILE.replacen("}\n", &format!("}}\n\n{BLOCK}"), 1)),
        ("active_intents:\n    - id: A", format!("active_intents:\n    - id: A\n{}", deeper.trim_end())),
        ("\u{feff}active_intents:\r\n", format!("\u{feff}active_intents:\n{BLOCK}").replace('\n', "\r\n")),
        ("active_intents:\n- id: A\n  name: |\n    long\n    text\n", {
            let flush: String = BLOCK.lines().map(|line| format!("{}\n", &line[2..])).collect();
            format!("active_intents:\n- id: A\n  name: |\n    long\n    text\n{flush}")
        }),
    ] {
        assert_eq!(add(text, &intent("INT-003")).unwrap(), expected, "{text:?}");
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    let set = |value: &str| [IntentEdit::Set(IntentTextField::Name, value.to_owned())];
    let missing = IntentEdit::Remove(IntentListField::OwnedScope, "x".to_owned());
    assert!(matches!(change(FILE, "INT-009", &set("x")), Err(IntentsError::UnknownIntent { .. })));
    assert!(matches!(change(FILE, "INT-001", &[missing]), Err(IntentsError::NotInList { .. })));
    assert!(matches!(add(FILE, &intent("INT-001")), Err(IntentsError::IdTaken { .. })));
    assert!(matches!(change("a: [", "x", &set("x")), Err(IntentsError::Syntax { .. })));
    let block = "active_intents:\n- id: A\n  name: |\n    long\n";
    assert!(matches!(change(block, "A", &set("x")), Err(IntentsError::NotEditable)));
    assert!(matches!(add("active_intents: [{id: A}]\n", &intent("B")), Err(IntentsError::NotEditable)));
    // One list for two intents: a change of the one would change the other.
    let shared = "active_intents:\n- id: A\n  owned_scope: &s [a]\n- id: B\n  owned_scope: *s\n";
    let more = [IntentEdit::Add(IntentListField::OwnedScope, "b".to_owned())];
    assert!(matches!(change(shared, "A", &more), Err(IntentsError::NotEditable)));
    assert!(matches!(change(shared, "B", &more), Err(IntentsError::NotEditable)));
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_back_and_comments_stay(texts in prop::collection::vec("\\PC{0,12}|[ -~]{0,12}", 1..5)) {
        let mut text = FILE.to_owned();
        let mut expected: Vec<String> = parse(FILE).intents[0].constraints.clone();
        for item in texts {
            let edit = IntentEdit::Add(IntentListField::Constraints, item.clone());
            text = change(&text, "INT-001", &[edit]).unwrap();
            if !expected.contains(&item) {
                expected.push(item);
            }
        }
        prop_assert_eq!(&parse(&text).intents[0].constraints, &expected);
        for comment in ["# Ours.", "# The first.", "# never reuse", "# soon", "# the code", "# tests too", "# The end."] {
            prop_assert!(text.contains(comment));
        }
    }
}
