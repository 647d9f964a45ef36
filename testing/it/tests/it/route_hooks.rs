//! Events from outside through routing hooks, sessions and the outbox, with the real executable.

use crate::ext_outside::add;
use crate::route_workspace::{ALL, RouteWorkspace, is_settled, outcomes, states, text};
use dispatch_support::{Reply, Served};
use serde_json::{Value, json};

/// Everything that a request shows the model, as one text.
fn shown(request: &Value) -> String {
    request["messages"].to_string()
}

fn tools(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| text(&tool["function"]["name"])).collect()
}

#[test]
fn a_message_is_routed_answered_and_sent_back_once() {
    let workspace = RouteWorkspace::saying("Five.");
    workspace.hook("all", ALL);
    let posted = workspace.post("How many?", &["--from", "ann", "--id", "1"]);
    assert_eq!((&posted["event"], &posted["fresh"]), (&json!("cli:1"), &json!(true)), "{posted}");
    assert_eq!(posted["replies"][0]["content"], "Five.", "{posted}");
    let receipt = workspace.show("cli:1");
    assert_eq!(outcomes(&receipt), [("all".to_owned(), "fired".to_owned())], "{receipt:#}");
    let dispatch = &receipt["dispatches"][0];
    assert_eq!((&dispatch["session"], &dispatch["state"]), (&json!("cli:dm:ann"), &json!("done")), "{receipt:#}");
    assert_eq!((&dispatch["persona"], &dispatch["mode"]), (&json!("default"), &json!("followup")));
    assert!(dispatch["turn"].is_string() && dispatch["mergedInto"].is_null(), "{receipt:#}");
    assert_eq!((states(&receipt, "sends"), &receipt["sends"][0]["attempt"]), (vec!["sent".to_owned()], &json!(1)));

    let again = workspace.post("How many?", &["--from", "ann", "--id", "1"]);
    assert_eq!(again["fresh"], false);
    assert_eq!(workspace.asked().len(), 1, "one event, one turn");
    let asked = &workspace.asked()[0];
    assert!(shown(asked).contains("> How many?") && shown(asked).contains("who is unknown"), "{asked}");
    assert!(tools(asked).is_empty(), "an unknown sender has no tools: {:?}", tools(asked));

    let owner = workspace.post("List it.", &["--channel", "mail", "--from", "me@example.org"]);
    let receipt = workspace.show(&text(&owner["event"]));
    assert_eq!(receipt["dispatches"][0]["session"], "main", "{receipt:#}");
    assert!(tools(&workspace.asked()[1]).contains(&"run_shell".to_owned()));
    assert!(!shown(&workspace.asked()[1]).contains("> List it."), "the owner's words are no quotation");
}

#[test]
fn a_mothers_message_with_a_code_is_one_turn_of_a_persona_with_both_contexts() {
    let workspace = RouteWorkspace::saying("I will help.");
    workspace.persona("atlas", "---\nmodel: scripted\n---\nYou are Atlas.\n");
    workspace.hook(
        "family",
        "export const hook = { id: 'family-routing', priority: 90, channels: ['imessage'] };\n\
         export default (event: { from: string }) => event.from === '+15559876543'\n\
           ? { fire: true, routing: { persona: 'atlas', session: 'family:mom' }, permissions: { level: 'restricted', tools: {} } }\n\
           : null;\n",
    );
    workspace.hook(
        "code",
        "export const hook = { id: '2fa-helper', priority: 85 };\n\
         export default (event: { content: string }) => {\n\
           const code = /\\d{6}/.exec(event.content)?.[0];\n\
           return code ? { fire: true, routing: { persona: 'atlas', session: 'family:mom' },\n\
             context: { extracted: { code } } } : null;\n\
         };\n",
    );
    let posted = workspace.post(
        "Can you help me with this Apple code? 123456",
        &["--channel", "imessage", "--from", "+15559876543", "--id", "abc123"],
    );
    assert_eq!(
        (&posted["event"], &posted["replies"][0]["content"]),
        (&json!("imessage:abc123"), &json!("I will help."))
    );
    let receipt = workspace.show("imessage:abc123");
    let [first, second] = receipt["dispatches"].as_array().unwrap().as_slice() else { panic!("{receipt:#}") };
    assert_eq!((&first["hook"], &second["hook"]), (&json!("family-routing"), &json!("2fa-helper")), "by priority");
    assert_eq!((&first["session"], &first["persona"]), (&json!("@atlas/family:mom"), &json!("atlas")));
    assert_eq!((&first["state"], &second["state"]), (&json!("done"), &json!("merged")), "{receipt:#}");
    assert_eq!((&second["mergedInto"], &second["turn"]), (&first["id"], &first["turn"]), "{receipt:#}");
    assert_eq!(workspace.asked().len(), 1, "one message, one answer");
    let asked = &workspace.asked()[0];
    for part in ["You are Atlas.", "## Extracted Context", "123456", "imessage:+15559876543"] {
        assert!(shown(asked).contains(part), "{part} is missing in {asked:#}");
    }
    assert!(!tools(asked).contains(&"read_file".to_owned()), "what an unknown sender gets, not what one hook gives");
    assert_eq!(
        states(&receipt, "sends"),
        ["failed"],
        "nothing here sends to this channel, and nobody says that it did"
    );
    let outbox = workspace.context.dispatch(&["outbox", "list", "--json"]).json();
    let reason = text(&outbox["outbox"][0]["reason"]);
    assert!(
        reason.contains("no adapter sends to the channel `imessage`") && reason.contains("channel list"),
        "{reason}"
    );
}

#[test]
fn two_hooks_with_two_targets_are_two_turns_and_two_replies() {
    let workspace = RouteWorkspace::saying("Yes.");
    for (name, delivery) in [("one", ""), ("two", ", deliveryContext: { channel: 'cli', peerId: 'bob' }")] {
        let source = format!("export default () => ({{ fire: true, routing: {{ session: 's' }}{delivery} }});\n");
        workspace.hook(name, &source);
    }
    let posted = workspace.post("hi", &["--from", "ann"]);
    let receipt = workspace.show(&text(&posted["event"]));
    assert_eq!(states(&receipt, "dispatches"), ["done", "done"], "{receipt:#}");
    assert_ne!(receipt["dispatches"][0]["turn"], receipt["dispatches"][1]["turn"]);
    assert_eq!(workspace.asked().len(), 2);
    let outbox = workspace.context.dispatch(&["outbox", "list", "--json"]).json();
    let mut peers: Vec<String> =
        outbox["outbox"].as_array().unwrap().iter().map(|reply| text(&reply["delivery"]["peerId"])).collect();
    peers.sort();
    assert_eq!(peers, ["ann", "bob"], "{outbox:#}");
}

#[test]
fn a_hook_that_came_with_a_clone_does_nothing_and_is_named() {
    let workspace = RouteWorkspace::saying("never");
    workspace.context.write_cloned(".dispatch/hooks/cloned.ts", ALL);
    let posted = workspace.post("hi", &["--from", "ann"]);
    let receipt = workspace.show(&text(&posted["event"]));
    assert_eq!(outcomes(&receipt), [("cloned".to_owned(), "untrusted".to_owned())], "{receipt:#}");
    assert_eq!((states(&receipt, "dispatches").len(), workspace.asked().len()), (0, 0));
    let listed = workspace.context.dispatch(&["route", "list", "--json"]).json();
    assert_eq!(listed["hooks"][0]["state"], "untrusted", "{listed}");
    let checked = workspace.context.dispatch(&["route", "check"]);
    assert!(checked.status == 1 && checked.stdout.contains("dispatch trust"), "{checked:?}");
}

#[test]
fn hooks_that_throw_hang_or_return_nonsense_keep_no_other_from_deciding() {
    let workspace = RouteWorkspace::answering(|_| Reply::say("Yes."), "[extensions.broker]\nhook_timeout_ms = 1500\n");
    workspace.hook("good", ALL);
    workspace.hook("hangs", "export default () => { while (true) {} };\n");
    workspace.hook("throws", "export default () => { throw new Error('no'); };\n");
    workspace.hook("nonsense", "export default () => ({ fire: true, routing: { queueMode: 'later' } });\n");
    workspace.hook("silent", "export default () => null;\n");
    workspace
        .hook("other-channel", "export const hook = { channels: ['mail'] };\nexport default () => ({ fire: true });\n");
    let posted = workspace.post("hi", &["--from", "ann"]);
    let receipt = workspace.show(&text(&posted["event"]));
    let found = outcomes(&receipt);
    let expected =
        [("good", "fired"), ("hangs", "timeout"), ("nonsense", "invalid"), ("silent", "passed"), ("throws", "failed")];
    let expected: Vec<_> = expected.iter().map(|(hook, outcome)| (hook.to_string(), outcome.to_string())).collect();
    assert_eq!(found, expected, "{receipt:#}");
    let invalid = receipt["hooks"].as_array().unwrap().iter().find(|hook| hook["hook"] == "nonsense").unwrap();
    assert!(text(&invalid["reason"]).starts_with("routing.queueMode: "), "{invalid}");
    assert_eq!(states(&receipt, "dispatches"), ["done"]);
}

#[test]
fn two_strangers_never_share_a_history() {
    let workspace = RouteWorkspace::saying("Noted.");
    workspace.hook("all", ALL);
    // A peer that both name is not what tells them apart.
    for (from, said) in [("+1", "my pin is plum"), ("+2", "what did I say?"), ("+1", "and me?")] {
        let posted = workspace.post(said, &["--channel", "sms", "--from", from, "--peer", "our-number"]);
        let receipt = workspace.show(&text(&posted["event"]));
        assert_eq!(receipt["dispatches"][0]["session"], format!("sms:dm:.-2b{}", &from[1..]), "{receipt:#}");
    }
    let asked = workspace.asked();
    assert!(!shown(&asked[1]).contains("plum"), "{:#}", asked[1]);
    assert!(shown(&asked[2]).contains("plum"), "one's own history is there: {:#}", asked[2]);
}

/// A tool whose extension can read a secret, and one beside it that can read none.
const WEATHER: &str = r#"export function activate(host) {
    host.defineTool({ name: "weather", description: "x", async execute() { return `key ${await host.secrets.get("key")}`; } });
}"#;
const DICE: &str = r#"export function activate(host) {
    host.defineTool({ name: "dice", description: "x", async execute() { return "four"; } });
}"#;

#[test]
fn a_message_uses_the_secrets_of_the_extensions_that_its_hook_names_and_of_no_other() {
    let workspace =
        RouteWorkspace::answering(|_| Reply::say("Sunny."), "[grants.weather]\ncapabilities = [\"secrets\"]\n");
    add(&workspace.context, "weather", r#","contributes":{"tools":["weather"]},"capabilities":["secrets"]"#, WEATHER);
    add(&workspace.context, "dice", r#","contributes":{"tools":["dice"]}"#, DICE);
    for (name, credentials) in
        [("none", ""), ("other", ", credentials: ['mail']"), ("own", ", credentials: ['weather']")]
    {
        let source = format!(
            "export default (event: {{ peerId: string }}) => event.peerId !== '{name}' ? null : {{\n\
               fire: true, permissions: {{ level: 'minimal', tools: {{ allow: ['*'] }}{credentials} }} }};\n"
        );
        workspace.hook(name, &source);
        workspace.post("What is the weather?", &["--from", name]);
    }
    workspace.post("What is the weather?", &["--channel", "mail", "--from", "me@example.org", "--peer", "own"]);
    let offered: Vec<[bool; 2]> = workspace
        .asked()
        .iter()
        .map(|request| ["weather", "dice"].map(|name| tools(request).contains(&name.to_owned())))
        .collect();
    assert_eq!(offered, [[false, true], [false, true], [true, true], [true, true]]);
}

#[test]
fn a_hook_that_disables_itself_fires_for_one_event_of_many() {
    let workspace = RouteWorkspace::saying("Reminded.");
    workspace.hook("once", "export default () => ({ fire: true, disableHook: true });\n");
    let events: Vec<String> = (0..6)
        .map(|n| {
            let posted = workspace.try_post("hi", &["--from", &format!("p{n}")]);
            text(&posted.json()["event"])
        })
        .collect();
    let _server: Served = workspace.serve();
    let decided = |receipt: &Value| !receipt["hooks"].as_array().unwrap().is_empty();
    let is_over = |receipt: &Value| receipt["dispatches"].as_array().unwrap().iter().all(|it| it["state"] == "done");
    let mut fired = 0;
    for event in &events {
        // An event that came after the hook was off has no line of it, and is routed all the same.
        let routed = workspace.post("again", &["--from", "last", "--id", event]);
        assert!(routed["event"].is_string());
        let receipt = workspace.wait_for(event, is_over);
        if decided(&receipt) && receipt["hooks"][0]["outcome"] == "fired" {
            fired += 1;
        }
    }
    assert_eq!(fired, 1);
    assert_eq!(workspace.asked().len(), 1);
    let listed = workspace.context.dispatch(&["route", "list", "--json"]).json();
    assert_eq!(
        (&listed["hooks"][0]["state"], &listed["hooks"][0]["reason"]),
        (&json!("disabled"), &json!("it disabled itself"))
    );
    assert_eq!(workspace.context.dispatch(&["route", "enable", "once"]).stdout, "once is enabled\n");
    workspace.post("hi", &["--from", "new"]);
    assert_eq!(workspace.asked().len(), 2);
}

#[test]
fn what_is_stored_survives_kills_and_nothing_is_answered_twice() {
    let workspace = RouteWorkspace::saying("Yes.");
    workspace.hook("all", ALL);
    let post = |n: u32| text(&workspace.try_post("hi", &["--from", &format!("p{n}")]).json()["event"]);
    let mut events = Vec::new();
    for round in 0..5_u32 {
        events.extend((0..3).map(|n| post(round * 10 + n)));
        let mut server = workspace.serve();
        let wanted = workspace.asked().len() + usize::try_from(round % 3).unwrap();
        let _ = workspace.model.saw_requests_within(wanted, std::time::Duration::from_secs(20));
        server.kill();
    }
    let _server = workspace.serve();
    for event in &events {
        let receipt = workspace.wait_for(event, is_settled);
        assert_eq!(
            (states(&receipt, "dispatches").len(), receipt["hooks"].as_array().unwrap().len()),
            (1, 1),
            "{receipt:#}"
        );
        let interrupted = text(&receipt["dispatches"][0]["reason"]).contains("interrupted");
        let sends = states(&receipt, "sends");
        assert_eq!(sends.len(), usize::from(!interrupted), "{receipt:#}");
    }
    let outbox = workspace.context.dispatch(&["outbox", "list", "--json"]).json();
    let mut answered: Vec<String> =
        outbox["outbox"].as_array().unwrap().iter().map(|reply| text(&reply["dispatch"])).collect();
    let replies = answered.len();
    answered.sort();
    answered.dedup();
    assert_eq!(answered.len(), replies, "no dispatch has two replies");
}

#[test]
fn a_changed_hook_is_compared_with_what_was_decided() {
    let workspace = RouteWorkspace::saying("Yes.");
    workspace.hook("all", ALL);
    for n in 0..3 {
        workspace.post(if n == 0 { "urgent" } else { "hi" }, &["--from", "ann", "--id", &n.to_string()]);
    }
    let backtest = |file: &str| workspace.context.dispatch(&["route", "backtest", file, "--json"]);
    let same = backtest(".dispatch/hooks/all.ts");
    assert_eq!((same.status, same.json()), (0, json!({"events": 3, "same": 3, "changed": []})));
    workspace.context.write(
        "changed.ts",
        "export const hook = { id: 'all' };\n\
         export default (event: { content: string }) => ({ fire: true, routing: { session: event.content === 'urgent' ? 'now' : undefined } });\n",
    );
    let changed = backtest("changed.ts");
    let report = changed.json();
    assert_eq!((changed.status, &report["events"], &report["same"]), (1, &json!(3), &json!(2)), "{report:#}");
    let one = &report["changed"][0];
    assert_eq!(one["event"], "cli:0");
    assert_eq!(
        (&one["before"]["route"]["session"], &one["after"]["route"]["session"]),
        (&json!("cli:dm:ann"), &json!("now"))
    );
    assert_eq!(workspace.asked().len(), 3, "a back-test asks no model");

    workspace.context.write("event.json", r#"{"channel": "mail", "from": "me@example.org", "content": "urgent"}"#);
    let tried = workspace.context.dispatch(&["route", "test", "changed.ts", "--event", "@event.json", "--json"]).json();
    assert_eq!((&tried["outcome"], &tried["dispatch"]["session"]), (&json!("fired"), &json!("now")), "{tried:#}");
    assert_eq!(tried["dispatch"]["permissions"]["level"], "full");
}

#[test]
fn an_unknown_persona_is_refused_with_a_suggestion() {
    let workspace = RouteWorkspace::saying("Yes.");
    workspace.persona("atlas", "You are Atlas.\n");
    let server = workspace.serve();
    let refused = server.client.post("/v1/sessions/s/messages", &json!({"text": "hi", "persona": "altas"}));
    assert!((400..500).contains(&refused.status) && refused.body.contains("did you mean `atlas`?"), "{refused:?}");
    let taken = server.client.submit("s", &json!({"text": "hi", "persona": "atlas"}));
    let answered = server.client.get(&format!("/v1/dispatches/{taken}?waitMs=60000"));
    assert_eq!(answered.json()["state"], "done", "{answered:?}");
    assert!(shown(&workspace.asked()[0]).contains("You are Atlas."));
    drop(server);
    workspace.hook("wrong", "export default () => ({ fire: true, routing: { persona: 'altas' } });\n");
    let posted = workspace.post("hi", &["--from", "ann"]);
    let receipt = workspace.show(&text(&posted["event"]));
    assert_eq!(states(&receipt, "dispatches"), ["refused"], "{receipt:#}");
    assert!(text(&receipt["dispatches"][0]["reason"]).contains("did you mean `atlas`?"), "{receipt:#}");
}

#[test]
fn secrets_reach_no_table_log_or_receipt() {
    let secret = |mark: &str| format!("ghp_{}{mark}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7".get(..34).unwrap());
    let (body, made, said) = (secret("x1"), secret("y2"), secret("z3"));
    let reply = format!("The key is {said}.");
    let workspace = RouteWorkspace::answering(move |_| Reply::say(&reply), "");
    let (start, end) = made.split_at(10);
    workspace.hook(
        "leaks",
        &format!(
            "export default (event: {{ content: string }}) => {{\n  const made = '{start}' + '{end}';\n  console.log(made);\n  \
             return {{ fire: true, context: {{ systemPrompt: made, extracted: {{ made, content: event.content }} }} }};\n}};\n"
        ),
    );
    let posted = workspace.post(&format!("my key is {body}"), &["--from", "ann"]);
    let receipt = workspace.context.dispatch(&["event", "show", &text(&posted["event"])]);
    let outbox = workspace.context.dispatch(&["outbox", "list", "--json"]);
    let mut seen = format!("{posted}{}{}{}", receipt.stdout, receipt.stderr, outbox.stdout).into_bytes();
    let mut folders = vec![workspace.context.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => seen.extend(std::fs::read(path).unwrap_or_default()),
            }
        }
    }
    for (name, secret) in [("body", body), ("hook", made), ("reply", said)] {
        let found = seen.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "the secret of the {name} was stored or shown");
    }
    let request = shown(&workspace.asked()[0]);
    assert!(request.contains("my key is") && !request.contains("ghp_"), "{request}");
}
