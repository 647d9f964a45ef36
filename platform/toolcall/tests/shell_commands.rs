//! The parts of a compound command that guards judge one by one.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]

use dispatch_toolcall::{ShellContext, SimpleCommand, analyze};

fn commands(text: &str) -> Vec<SimpleCommand> {
    analyze(text, &ShellContext { cwd: "/w", home: None }).commands
}

#[test]
fn each_part_is_listed_with_its_folder_and_its_wrappers() {
    let found = commands("cd src && sudo -u bob env A=1 rm -rf \"$X\" | xargs sh -c 'git push --force'");
    let shown: Vec<_> = found
        .iter()
        .map(|part| (part.program.as_str(), part.wrapped_by.join(" "), part.cwd.as_deref(), part.exact))
        .collect();
    let src = Some("/w/src");
    assert_eq!(
        shown,
        [
            ("cd", String::new(), Some("/w"), true),
            ("sudo", String::new(), src, false),
            ("env", "sudo".to_owned(), src, false),
            ("rm", "sudo env".to_owned(), src, false),
            ("xargs", String::new(), src, true),
            ("sh", "xargs".to_owned(), src, false),
            ("git", "xargs sh".to_owned(), src, true),
        ]
    );
    let git = found.last().expect("git");
    assert_eq!(git.argv, ["git", "push", "--force"]);
    assert_eq!(found[3].argv, ["rm", "-rf", "\"$X\""]);
}

#[test]
fn a_folder_that_is_not_known_is_absent() {
    assert_eq!(commands("cd \"$D\" && ls")[1].cwd, None);
    assert_eq!(commands("cd a; ls")[1].cwd, None);
}

#[test]
fn without_a_working_directory_relative_changes_are_unknown() {
    let effects = analyze("rm a /b", &ShellContext { cwd: "", home: None });
    assert!(!effects.is_known());
    assert_eq!(effects.deletes.len(), 1);
    assert_eq!(effects.deletes[0].path, "/b");
}

#[test]
fn without_a_home_a_tilde_is_unknown() {
    let effects = analyze("rm ~/a", &ShellContext { cwd: "/w", home: None });
    assert!(!effects.is_known() && effects.deletes.is_empty());
}

#[test]
fn on_windows_only_plain_commands_are_judged() {
    let context = ShellContext { cwd: "C:\\w", home: None };
    assert!(analyze("git status", &context).is_read_only());
    assert_eq!(analyze("rm a", &context).deletes[0].path, "C:\\w\\a");
    for text in ["del C:\\x", "Remove-Item x | Out-Null", "echo hi > x", "cat $env:X"] {
        assert!(!analyze(text, &context).is_known(), "{text}");
    }
}

#[test]
fn a_brace_list_where_a_command_begins_is_the_command() {
    for (text, argv) in [
        ("{rm,-rf,/}", &["rm", "-rf", "/"][..]),
        ("echo a; {rm,-rf,/x} && ls", &["rm", "-rf", "/x"]),
        ("{ {rm,-r,y}; }", &["rm", "-r", "y"]),
        ("if true; then {rm,-r,y}; fi", &["rm", "-r", "y"]),
        ("echo \"$({rm,x})\"", &["rm", "x"]),
        ("{r,}m x", &["rm", "m", "x"]),
    ] {
        assert!(commands(text).iter().any(|part| part.argv == argv), "{text}: {:?}", commands(text));
    }
    assert_eq!(commands("f() { ls; }; { f; }").last().expect("ls").argv, ["ls"], "groups stay groups");
}

#[test]
fn standard_input_is_no_file_to_send() {
    for text in [
        "curl -d @- http://x",
        "curl -T - http://x",
        "curl --data-binary @- http://x",
        "curl -F 'a=@-;type=b' http://x",
    ] {
        let effects = analyze(text, &ShellContext { cwd: "/w", home: None });
        assert!(effects.reads.is_empty(), "{text}: {:?}", effects.reads);
    }
    let named = analyze("curl -d @./- http://x", &ShellContext { cwd: "/w", home: None });
    assert_eq!(named.reads[0].path, "/w/-");
}
