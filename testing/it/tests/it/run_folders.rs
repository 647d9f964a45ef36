//! A message runs in the folder and with the extensions that it was sent for, whoever is there after a kill.

use crate::run_workspace::{RunWorkspace, wait_until};
use crate::seeded_random::SeededRandom;
use dispatch_support::{Client, Output, Recorded, Reply, ScriptedModel, Served, Step, slow_lane};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

const ROUNDS: u64 = 50;
const SLOW_ROUNDS: u64 = 300;
/// What one message writes about the folder that it ran in.
const WHERE: &str = "where.txt";

/// Two projects with one home: the context's own and this one.
fn other_project(workspace: &RunWorkspace) -> PathBuf {
    let folder = workspace.context.home().parent().expect("a folder of the test").join("p2");
    std::fs::create_dir_all(folder.join(".git")).expect("another project");
    folder
}

/// `<<TAG>>` in the last message decides: `pwd-N` notes the folder once, `slow-N` takes a while to say something.
fn answer(request: &Recorded) -> Reply {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.last().cloned().unwrap_or_default();
    if last["role"] == "tool" {
        return Reply::say("noted");
    }
    let text = last["content"].to_string();
    let tag = text.split("<<").nth(1).and_then(|rest| rest.split(">>").next()).unwrap_or_default().to_owned();
    match tag.strip_prefix("pwd-") {
        Some(number) => {
            let command = format!("echo {number} $(pwd) >> {WHERE}");
            Reply::call(&[(&tag, "run_shell", json!({ "command": command }))])
        }
        None if tag.starts_with("slow-") => Reply::steps([Step::say("thinking "), Step::SleepMs(150), Step::done()]),
        None => Reply::say("hello"),
    }
}

struct Folders {
    workspace: RunWorkspace,
    p2: PathBuf,
}

impl Folders {
    fn new() -> Self {
        let workspace = RunWorkspace::new(ScriptedModel::answering(answer), &[]);
        let p2 = other_project(&workspace);
        Self { workspace, p2 }
    }

    fn serve(&self, more: &[&str]) -> Served {
        let base_url = self.workspace.model.base_url();
        let folder = self.p2.to_string_lossy().into_owned();
        let arguments: Vec<&str> = ["--project", &folder].into_iter().chain(more.iter().copied()).collect();
        let variables = [("DISPATCH_BASE_URL", base_url.as_str()), ("DISPATCH_MODEL", "scripted")];
        Served::start(&self.workspace.context, &arguments, &variables)
    }

    /// Runs the program in the first project.
    fn in_p1(&self, arguments: &[&str]) -> Output {
        let base_url = self.workspace.model.base_url();
        let variables = [("DISPATCH_BASE_URL", base_url.as_str()), ("DISPATCH_MODEL", "scripted")];
        self.workspace.context.run("dispatch", arguments, b"", &variables)
    }

    fn queue(&self) -> Vec<Value> {
        let shown = self.in_p1(&["queue", "show", "--json"]).json();
        shown["queue"].as_array().cloned().unwrap_or_default()
    }

    fn noted(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.p2.join(WHERE)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn nothing_in_p1(&self) {
        let stray = self.workspace.context.project().join(WHERE);
        assert!(!stray.exists(), "{} was written: {:?}", stray.display(), std::fs::read_to_string(&stray));
    }
}

fn submit(client: &Client, session: &str, tag: &str) -> String {
    client.submit(session, &json!({ "text": format!("please <<{tag}>>"), "ask": "all" }))
}

#[test]
fn work_that_a_kill_left_behind_runs_in_its_own_folder_and_nowhere_else() {
    let seed = std::env::var("DISPATCH_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_117);
    let mut random = SeededRandom(seed);
    let folders = Folders::new();
    let mut sent: Vec<String> = Vec::new();
    let rounds = if slow_lane() { SLOW_ROUNDS } else { ROUNDS };
    for round in 0..rounds {
        let mut served = folders.serve(&[]);
        let session = format!("s{round}");
        submit(&served.client, &session, &format!("slow-{round}"));
        sent.push(submit(&served.client, &session, &format!("pwd-{round}")));
        std::thread::sleep(Duration::from_millis(random.below(250)));
        served.kill();
        // Processes of another folder and with fewer extensions meet what is left.
        if round % 5 == 0 {
            let said = folders.in_p1(&["chat", "hello", "--session", &format!("p1-{round}")]);
            assert_eq!(said.status, 0, "seed {seed}: {said:?}");
        }
        if round % 5 == 1 {
            let small = folders.serve(&["--minimal"]);
            assert_eq!(small.client.say(&format!("small-{round}"), "hello")["state"], "done");
        }
        folders.nothing_in_p1();
        // What waits is taken up before it was killed too often.
        if round % 3 == 2 {
            let served = folders.serve(&[]);
            sent.iter().skip(sent.len() - 3).for_each(|dispatch| drop(served.client.ended(dispatch)));
        }
    }
    let served = folders.serve(&[]);
    let ends: Vec<Value> = sent.iter().map(|dispatch| served.client.ended(dispatch)).collect();
    folders.nothing_in_p1();
    let noted = folders.noted();
    let here = folders.p2.to_string_lossy().into_owned();
    for (round, end) in ends.iter().enumerate() {
        let parked = end["state"] == "parked";
        assert!(parked || end["state"] == "done", "seed {seed}: {end}");
        let lines: Vec<&String> = noted.iter().filter(|line| line.starts_with(&format!("{round} "))).collect();
        assert!(lines.len() <= 1, "seed {seed}: round {round} ran twice: {lines:?}");
        assert!(lines.iter().all(|line| line.ends_with(&here)), "seed {seed}: {lines:?}");
        // A call that a kill caught in the middle may or may not have written its line.
        if end["reason"] == "" {
            assert_eq!(lines.len(), 1, "seed {seed}: round {round} was answered without its work: {end}");
        }
    }
    let finished = ends.iter().filter(|end| end["reason"] == "").count() as u64;
    assert!(finished > rounds / 10, "hardly anything was taken up again: {finished} of {rounds}");
}

#[test]
fn what_no_process_can_run_says_so_and_can_be_sent_elsewhere() {
    let folders = Folders::new();
    let gone = folders.p2.parent().expect("a folder").join("p3");
    std::fs::create_dir_all(&gone).expect("a third folder");
    let mut served = folders.serve(&[]);
    submit(&served.client, "main", "slow-0");
    let second = submit(&served.client, "main", "pwd-0");
    let text = json!({ "text": "please <<pwd-1>>", "ask": "all", "workdir": gone });
    submit(&served.client, "other", &json!({ "text": "please <<slow-1>>", "ask": "all" })["text"].to_string());
    let third = served.client.submit("other", &text);
    served.kill();
    std::fs::remove_dir_all(&gone).expect("nobody is in it");

    // A process of another folder settles what the dead one held, and takes none of it.
    assert_eq!(folders.in_p1(&["chat", "hello", "--session", "p1"]).status, 0);
    let reason = |id: &str| {
        let queue = folders.queue();
        let entry = queue.iter().find(|entry| entry["id"] == id).cloned().unwrap_or_default();
        entry["reason"].as_str().unwrap_or_default().to_owned()
    };
    let small = folders.serve(&["--minimal"]);
    wait_until("the message of a full process waits with a reason", || !reason(&second).is_empty());
    let queue = folders.queue();
    let entry = queue.iter().find(|entry| entry["id"] == second.as_str()).expect("it waits");
    assert_eq!((&entry["state"], &entry["folder"]), (&"pending".into(), &"[TEST]/p2".into()), "{queue:?}");
    let shown = folders.in_p1(&["queue", "show"]).stdout;
    assert!(shown.contains("[TEST]/p2"), "{shown}");
    let doctor = folders.in_p1(&["doctor"]).stdout;
    assert!(doctor.contains("waits: ") && doctor.contains("serve` starts one"), "{doctor}");
    drop(small);

    let refused = folders.in_p1(&["queue", "move", &third, &gone.to_string_lossy()]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("does not exist"), "{refused:?}");
    let served = folders.serve(&[]);
    assert_eq!(served.client.ended(&second)["state"], "done");
    wait_until("the reason names the folder that is gone", || reason(&third).contains("does not exist any more"));
    let moved = folders.in_p1(&["queue", "move", &third, &folders.p2.to_string_lossy(), "--json"]).json();
    assert_eq!(moved["folder"], "[TEST]/p2", "{moved}");
    assert_eq!(served.client.ended(&third)["state"], "done");
    assert_eq!(folders.noted().len(), 2, "{:?}", folders.noted());
    folders.nothing_in_p1();
}

#[test]
fn a_message_is_not_taken_by_a_process_with_other_guards() {
    let folders = Folders::new();
    let guarded = ["--set", r#"redact.patterns=[{"name": "acme", "regex": "ACME-[0-9]+"}]"#];
    let mut served = folders.serve(&guarded);
    let first = submit(&served.client, "s", "slow-1");
    let second = submit(&served.client, "s", "pwd-1");
    served.kill();
    let plain = folders.serve(&[]);
    assert_eq!(plain.client.say("other", "hello")["state"], "done");
    let reason = |id: &str| {
        let queue = folders.queue();
        let entry = queue.iter().find(|entry| entry["id"] == id).cloned().unwrap_or_default();
        entry["reason"].as_str().unwrap_or_default().to_owned()
    };
    wait_until("the message waits with a reason", || [&first, &second].iter().any(|id| reason(id).contains("redact")));
    let told = [reason(&first), reason(&second)].join("\n");
    assert!(told.contains("`redact.patterns`") && !told.contains("ACME"), "{told}");
    drop(plain);
    let served = folders.serve(&guarded);
    assert_eq!(served.client.ended(&second)["state"], "done");
    assert_eq!(folders.noted().len(), 1, "{:?}", folders.noted());
}

#[test]
fn a_message_whose_folder_is_gone_can_be_taken_back() {
    let folders = Folders::new();
    let gone = folders.p2.parent().expect("a folder").join("p3");
    std::fs::create_dir_all(&gone).expect("a third folder");
    let mut served = folders.serve(&[]);
    submit(&served.client, "s", "slow-1");
    let waits = served.client.submit("s", &json!({ "text": "please <<pwd-1>>", "ask": "all", "workdir": gone }));
    served.kill();
    std::fs::remove_dir_all(&gone).expect("nobody is in it");
    let served = folders.serve(&[]);
    let entry = || folders.queue().into_iter().find(|entry| entry["id"] == waits.as_str()).unwrap_or_default();
    let reason = || entry()["reason"].as_str().unwrap_or_default().to_owned();
    wait_until("the reason names the folder", || reason().contains("does not exist any more"));
    let cancelled = folders.in_p1(&["queue", "cancel", &waits, "--json"]);
    assert_eq!(cancelled.status, 0, "{cancelled:?}");
    assert_eq!(served.client.ended(&waits)["state"], "cancelled");
    assert_eq!(served.client.say("s", "hello")["state"], "done", "the session goes on");
}

#[test]
fn sessions_are_listed_and_continued_by_folder() {
    let folders = Folders::new();
    let served = folders.serve(&[]);
    assert_eq!(served.client.say("in-p2", "what is  this\nproject?")["state"], "done");
    drop(served);
    assert_eq!(folders.in_p1(&["chat", "hello", "--session", "in-p1"]).status, 0);
    let labels = |arguments: &[&str]| -> Vec<String> {
        let listed = folders.in_p1(arguments).json();
        let all = listed["sessions"].as_array().cloned().unwrap_or_default();
        all.iter().map(|it| it["label"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(labels(&["session", "list", "--json"]), ["in-p1"]);
    let mut all = labels(&["session", "list", "--all-folders", "--json"]);
    all.sort();
    assert_eq!(all, ["in-p1", "in-p2"]);
    let p2 = folders.p2.to_string_lossy().into_owned();
    let listed = folders.in_p1(&["--project", &p2, "session", "list", "--json"]).json();
    let session = &listed["sessions"][0];
    assert_eq!(
        (&session["title"], &session["folder"]),
        (&"what is this project?".into(), &"[TEST]/p2".into()),
        "{listed}"
    );
    let said = folders.in_p1(&["--project", &p2, "chat", "more", "--continue", "--json"]).json();
    assert_eq!(said["session"], "in-p2", "{said}");
    let said = folders.in_p1(&["chat", "more", "--continue", "--json"]).json();
    assert_eq!(said["session"], "in-p1", "{said}");
}
