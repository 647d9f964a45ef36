//! No input makes the analysis panic, run away, or claim to know what it did not look at.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]

use dispatch_toolcall::{MAX_COMMAND_BYTES, ShellContext, UnknownReason, analyze};
use proptest::prelude::*;

const CONTEXT: ShellContext<'static> = ShellContext { cwd: "/w", home: Some("/home/dev") };

fn reasons(text: &str) -> Vec<UnknownReason> {
    analyze(text, &CONTEXT).unknown.into_iter().map(|unknown| unknown.reason).collect()
}

#[test]
fn a_command_over_the_limit_is_unknown() {
    let text = format!("echo {}", "a".repeat(MAX_COMMAND_BYTES));
    assert_eq!(reasons(&text), [UnknownReason::TooLong]);
}

/// Shapes that make naive parsers exponential, at a hundred kilobytes each.
#[test]
fn deep_and_long_shapes_end_and_are_never_read_only() {
    let size = 100_000;
    let shapes = [
        "(",
        "{ ",
        "$(",
        "`",
        "((",
        "${",
        "[[ ",
        "\"$(",
        "<(",
        "if ",
        "while ",
        "case x in x) ",
        "f() { ",
        "!",
        "! ",
        "{a,",
        "$((",
        "'",
        "\"",
        "\\",
        "&& ",
        "| ",
        "; ",
        "<<E\n",
        "a=(",
        "echo $(echo ",
        "rm {a,b}",
        "for i in a; do ",
        "x=$y;",
        "cd a; ",
        "sudo ",
        "env ",
        "bash -c '",
        "eval ",
        "$IFS",
        "${IFS}",
        "*",
        "[",
        "{1..9}",
        "time ",
    ];
    for shape in shapes {
        let text = shape.repeat(size / shape.len());
        let effects = analyze(&text, &CONTEXT);
        assert!(!effects.is_read_only(), "{shape:?} repeated");
    }
}

#[test]
fn balanced_nesting_beyond_the_limit_is_unknown() {
    for (open, close) in [("(", ")"), ("$(", ")"), ("{ ", "; }"), ("if true; then ", "; fi")] {
        let text = format!("{}rm a{}", open.repeat(400), close.repeat(400));
        assert!(!analyze(&text, &CONTEXT).is_known(), "{open}");
    }
}

#[test]
fn nested_loops_are_cut_instead_of_multiplied() {
    let open = "for i in 1 2 3 4 5 6 7 8 9; do ".repeat(20);
    let text = format!("{open} rm $i; {}", "done; ".repeat(20));
    assert!(reasons(&text).contains(&UnknownReason::TooMuchWork));
}

#[test]
fn loops_that_rotate_variables_end() {
    let rotate: String = (0..200).map(|n| format!("v{n}=$v{};", n + 1)).collect();
    let text = format!("v200=a; while read x; do {rotate} done; rm $v0");
    assert!(!analyze(&text, &CONTEXT).is_read_only());
}

#[test]
fn long_but_ordinary_commands_stay_known() {
    let text = (0..300).map(|n| format!("touch f{n}")).collect::<Vec<_>>().join(" && ");
    let effects = analyze(&text, &CONTEXT);
    assert!(effects.is_known());
    assert_eq!(effects.creates.len(), 300);
    let body = "x = 'it is $(not) run' \\ `either`\n".repeat(2_000);
    let text = format!("cat > f <<'EOF'\n{body}EOF\n");
    let effects = analyze(&text, &CONTEXT);
    assert!(effects.is_known() && effects.deletes.is_empty());
    assert_eq!(effects.writes.len(), 1);
}

/// The grammar's scanner would read outside of its tables.
#[test]
fn characters_outside_of_ascii_are_letters() {
    for text in
        ["echo {\u{1f4a5}", "rm {\u{10ffff}", "echo {1..\u{1f4a5}}", "x\u{e9}=1 ls", "cat <<\u{e9}\na\n\u{e9}\n"]
    {
        let _ = analyze(text, &CONTEXT);
    }
    let effects = analyze("rm '\u{1f4a5} \u{e9}' > \u{fc}", &CONTEXT);
    assert_eq!(effects.deletes[0].path, "/w/\u{1f4a5} \u{e9}");
    assert_eq!(effects.writes[0].path, "/w/\u{fc}");
    assert!(!analyze("\u{e9}=1", &CONTEXT).is_known());
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "rm", "ls", "cat", "echo", "cd", "src", "a", "-rf", "/", "~", "$x", "\"$x\"", "${x:-y}", "$(", ")", "`",
            "'", "\"", "{", "}", "(", ";", "&&", "||", "|", "&", ">", ">>", "<", "<<EOF", "\nEOF\n", "\n", "\\", "*",
            "{a,b}", "if", "then", "fi", "for", "in", "do", "done", "while", "case", "esac", "=", "x=", "[[", "]]",
            "[", "]", "((", "))", "!", "#", "sudo", "env", "xargs", "find", "-exec", "{}", "\\;", "+", "sh", "-c",
            "eval", "git", "--", "sed", "-i", "tar", "xf", "dd", "of=x", "f()", "\u{a0}", "\r", "\0", "é", "$'",
            "\\x41", "<(", "2>&1", "..",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}") {
        let _ = analyze(&text, &CONTEXT);
    }

    #[test]
    fn any_mix_of_shell_pieces_is_answered(
        pieces in prop::collection::vec(piece(), 0..40),
        separator in prop::sample::select(vec!["", " "]),
    ) {
        let text = pieces.join(separator);
        let first = analyze(&text, &CONTEXT);
        prop_assert_eq!(&first, &analyze(&text, &CONTEXT));
        prop_assert!(!(first.is_read_only() && first.changes_files()));
    }

    /// Quoting the parts of a program's name changes nothing.
    #[test]
    fn quoting_does_not_hide_a_program(cut in 0_usize..=2, style in 0_usize..4) {
        let (head, tail) = "rm".split_at(cut);
        let program = match style {
            0 => format!("{head}\"\"{tail}"),
            1 => format!("'{head}'{tail}"),
            2 => format!("{head}\"{tail}\""),
            _ => format!("{head}$'{tail}'"),
        };
        let effects = analyze(&format!("{program} a"), &CONTEXT);
        prop_assert_eq!(effects.deletes.len(), 1, "{}", program);
    }

    /// A literal word survives any quoting as the same path.
    #[test]
    fn quoted_names_resolve_to_themselves(name in "[a-zA-Z0-9 $`\"\\\\;&|<>*?{},~#!-]{1,12}") {
        prop_assume!(name.trim() == name);
        let quoted = format!("rm -- './{}'", name);
        let effects = analyze(&quoted, &CONTEXT);
        prop_assert!(effects.is_known(), "{}", quoted);
        prop_assert_eq!(&effects.deletes[0].path, &format!("/w/{name}"));
        prop_assert!(!effects.deletes[0].glob);
    }
}
