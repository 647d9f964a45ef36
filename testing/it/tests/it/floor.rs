//! What is left when extensions are not there: the agent still starts and still answers.

use dispatch_support::{Output, TestContext};

/// No model server of the machine may answer in the rehearsal's place.
const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];

fn dispatch(context: &TestContext, arguments: &[&str], input: &str) -> Output {
    let all: Vec<&str> = REHEARSAL.iter().chain(arguments).copied().collect();
    context.run("dispatch", &all, input.as_bytes(), &[])
}

#[test]
fn the_minimal_distribution_holds_a_conversation_over_several_processes() {
    let context = TestContext::new();
    for (said, answer) in [
        ("my cat is called Ada", "You said: \"my cat is called Ada\""),
        ("what did I say before?", "Before this you said: \"my cat is called Ada\""),
    ] {
        let output = dispatch(&context, &["--minimal", "chat", said, "--session", "main"], "");
        assert_eq!(output.status, 0, "{output:?}");
        assert!(output.stdout.contains(answer), "{output:?}");
    }
    let listed = dispatch(&context, &["--minimal", "session", "list", "--json"], "").json();
    assert_eq!((&listed["sessions"][0]["label"], &listed["sessions"][0]["turns"]), (&"main".into(), &2.into()));
}

#[test]
fn without_storage_a_conversation_lives_as_long_as_the_program() {
    for disabled in
        [r#"["storage-sqlite"]"#, r#"["conversation-store"]"#, r#"["storage-sqlite", "conversation-store"]"#]
    {
        let context = TestContext::new();
        let off = format!("extensions.disabled={disabled}");
        let said = "my cat is called Ada\nwhat did I say before?\n";
        let output = dispatch(&context, &["--set", &off, "chat", "--session", "main"], said);
        assert_eq!(output.status, 0, "{disabled}: {output:?}");
        assert!(output.stdout.contains("Before this you said: \"my cat is called Ada\""), "{disabled}: {output:?}");
        let again = dispatch(&context, &["--set", &off, "chat", "what did I say before?", "--session", "main"], "");
        assert!(again.stdout.contains("You have not said anything before this."), "{disabled}: {again:?}");
        let sessions = dispatch(&context, &["--set", &off, "session", "list"], "");
        assert_eq!(sessions.status, 3, "{disabled}: {sessions:?}");
        assert!(sessions.stderr.contains("hint: `dispatch ext list`"), "{disabled}: {sessions:?}");
    }
}

#[test]
fn every_standard_extension_can_be_left_out() {
    let context = TestContext::new();
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    let all = listed.as_array().unwrap();
    let standard: Vec<&str> =
        all.iter().filter(|it| it["tier"] == "standard").map(|it| it["id"].as_str().unwrap()).collect();
    assert!(standard.contains(&"tools-fs") && standard.contains(&"hook-pipeline"), "{standard:?}");
    for id in standard {
        let off = format!("extensions.disabled=[\"{id}\"]");
        let output = dispatch(&context, &["--set", &off, "chat", "hello there"], "");
        assert_eq!(output.status, 0, "{id}: {output:?}");
        assert!(output.stdout.contains("You said: \"hello there\""), "{id}: {output:?}");
    }
}
