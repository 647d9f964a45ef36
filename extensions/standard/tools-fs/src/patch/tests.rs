//! Both patch forms, what they forgive and what they refuse.

use super::apply::apply;
use super::change::{ChangeKind, FileChange};
use super::parse::parse;
use crate::document::TextDocument;
use proptest::prelude::*;

/// Applies the one update of a patch to a text.
fn patched(file: &str, patch: &str) -> Result<String, String> {
    let changes = parse(patch)?;
    let [FileChange { change: ChangeKind::Update { hunks, .. }, .. }] = changes.as_slice() else {
        panic!("one update expected: {changes:?}");
    };
    apply(&TextDocument::read(file.as_bytes()).unwrap(), hunks)
}

fn begin(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n")
}

fn unified(body: &str) -> String {
    format!("--- a/f\n+++ b/f\n{body}\n")
}

#[test]
fn both_forms_change_what_they_say() {
    let file = "one\ntwo\nthree\nfour\n";
    for (patch, expected) in [
        (begin("@@\n one\n-two\n+2\n three"), "one\n2\nthree\nfour\n"),
        (begin("-two\n+2"), "one\n2\nthree\nfour\n"),
        (begin("@@\n-one\n+1\n@@\n-four\n+4"), "1\ntwo\nthree\n4\n"),
        (begin("@@ three\n+3.5"), "one\ntwo\nthree\n3.5\nfour\n"),
        (begin("+five"), "one\ntwo\nthree\nfour\nfive\n"),
        (begin(" four\n+five\n*** End of File"), "one\ntwo\nthree\nfour\nfive\n"),
        (unified("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"), "one\n2\nthree\nfour\n"),
        (unified("@@ -2 +2 @@ fn heading()\n-two\n+2"), "one\n2\nthree\nfour\n"),
        (unified("@@ -2,0 +3 @@\n+2.5"), "one\ntwo\n2.5\nthree\nfour\n"),
        (unified("@@ -0,0 +1 @@\n+zero"), "zero\none\ntwo\nthree\nfour\n"),
        (unified("@@ -1,9 +1,9 @@\n one\n-two\n+2"), "one\n2\nthree\nfour\n"),
        (unified("@@ -4 +4,2 @@\n-four\n+4\n+5\n\\ No newline at end of file"), "one\ntwo\nthree\n4\n5"),
        (unified("@@ ... @@\n-two\n+2"), "one\n2\nthree\nfour\n"),
    ] {
        assert_eq!(patched(file, &patch).as_deref(), Ok(expected), "{patch}");
    }
}

#[test]
fn offsets_and_white_space_are_forgiven_and_kept() {
    assert_eq!(
        patched("x\nx\none\ntwo\n", &unified("@@ -1,2 +1,2 @@\n one\n-two\n+2")).as_deref(),
        Ok("x\nx\none\n2\n")
    );
    assert_eq!(patched("  one  \n\ttwo\n", &begin(" one\n-two\n+2")).as_deref(), Ok("  one  \n2\n"));
    assert_eq!(patched("one\r\ntwo\r\n", &begin(" one\n-two\n+2\n+3")).as_deref(), Ok("one\r\n2\r\n3\r\n"));
    assert_eq!(patched("one\ntwo", &begin(" one\n-two\n+2")).as_deref(), Ok("one\n2"), "no line end came");
    assert_eq!(patched("one\ntwo", &begin(" two\n+3")).as_deref(), Ok("one\ntwo\n3"));
}

#[test]
fn the_expected_line_and_the_anchor_choose_among_equals() {
    let file = "a\nx\nb\nx\nc\nx\n";
    assert_eq!(patched(file, &unified("@@ -4 +4 @@\n-x\n+y")).as_deref(), Ok("a\nx\nb\ny\nc\nx\n"));
    assert_eq!(patched(file, &begin("@@ b\n-x\n+y")).as_deref(), Ok("a\nx\nb\ny\nc\nx\n"));
    assert_eq!(patched(file, &begin("-x\n+y\n*** End of File")).as_deref(), Ok("a\nx\nb\nx\nc\ny\n"));
    let shifted = unified("@@ -1,2 +1,2 @@\n b\n-x\n+y\n@@ -4 +4 @@\n-x\n+z");
    assert_eq!(patched(file, &shifted).as_deref(), Ok("a\nx\nb\ny\nc\nz\n"), "later hunks are shifted alike");
}

#[test]
fn a_place_that_is_not_certain_is_refused() {
    let file = "a\nx\nb\nx\n";
    for (patch, reason) in [
        (begin("-x\n+y"), "more than once (at lines 2, 4)"),
        (unified("@@ -9 +9 @@\n-x\n+y"), "more than once"),
        (begin("-missing\n+y"), "are not in the file"),
        (begin("@@ nowhere\n-x\n+y"), "`nowhere`"),
        (begin("-b\n+B\n@@\n-a\n+A"), "are not in the file"),
        (unified("@@ -7,0 +8 @@\n+y"), "the file has 4 lines"),
    ] {
        let error = patched(file, &patch).unwrap_err();
        assert!(error.contains(reason), "{patch}: {error}");
    }
}

#[test]
fn what_is_no_patch_is_told() {
    for (patch, reason) in [
        ("", "names no file"),
        ("hello", "names no file"),
        ("*** Begin Patch\n*** Update File: f\n-x\n+y\n", "does not end"),
        ("*** Begin Patch\nfoo\n*** End Patch", "expected `*** Add File:`"),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch", "no changes"),
        ("*** Begin Patch\n*** Update File: f\n@@\nbad\n*** End Patch", "starts with a space"),
        ("*** Begin Patch\n*** Add File: f\nbad\n*** End Patch", "starts with `+`"),
        ("*** Begin Patch\n*** Frobnicate: f\n*** End Patch", "is not a header"),
        ("*** Begin Patch\n*** Update File: \n*** End Patch", "is not a header"),
        ("--- a/f\n+++ b/f\n", "no changes"),
        ("@@ -1 +1 @@\n-x\n+y\n", "before the `---`"),
        ("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n", "the names differ"),
        ("--- \"a/\\303\"\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n", "quoted"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\nbad\n", "starts with a space"),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "not supported"),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n-x\n", "only lines that start with `+`"),
    ] {
        let error = parse(patch).map(|changes| format!("{changes:?}")).unwrap_err();
        assert!(error.contains(reason), "{patch:?}: {error}");
    }
}

#[test]
fn several_files_in_one_diff_are_told_apart() {
    let patch = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n\n\
                 diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n\
                 --- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\
                 diff --git a/p b/q\nsimilarity index 90%\nrename from p\nrename to q\n--- a/p\n+++ b/q\n@@ -1 +1 @@\n-1\n+2\n";
    let changes = parse(patch).unwrap();
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["x", "n", "o", "p"]);
    let text = |file, change: &ChangeKind| match change {
        ChangeKind::Update { hunks, .. } => apply(&TextDocument::read(file).unwrap(), hunks),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(b"-- old\nsame\n", &changes[0].change).as_deref(), Ok("++ new\nsame\n"));
    assert_eq!(changes[1].change, ChangeKind::Add { text: "a\nb\n".to_owned() });
    assert!(
        matches!(&changes[3].change, ChangeKind::Update { move_to: Some(to), hunks } if to == "q" && hunks.len() == 1)
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "([-+ @*\\\\]{0,3}[a-c]{0,2}\n|\\*\\*\\* (Begin Patch|End Patch|Update File: f|Add File: g|Move to: h|End of File)\n|--- a/f\n|\\+\\+\\+ b/f\n|@@ -[0-9],[0-9] \\+[0-9] @@\n){0,12}", file in "[abc\n]{0,12}") {
        if let Ok(changes) = parse(&text) {
            for change in changes {
                if let ChangeKind::Update { hunks, .. } | ChangeKind::Delete { hunks } = change.change {
                    let _ = apply(&TextDocument::read(file.as_bytes()).unwrap(), &hunks);
                }
            }
        }
    }

    #[test]
    fn a_replaced_line_is_all_that_changes(before in proptest::collection::vec("[a-z]{1,3}", 0..6), after in proptest::collection::vec("[a-z]{1,3}", 0..6)) {
        let join = |middle: &str| {
            let lines = before.iter().map(String::as_str).chain([middle]).chain(after.iter().map(String::as_str));
            lines.map(|line| format!("{line}\n")).collect::<String>()
        };
        let patch = begin("-OLD\n+NEW");
        prop_assert_eq!(patched(&join("OLD"), &patch), Ok(join("NEW")));
    }
}
