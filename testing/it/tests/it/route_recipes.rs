//! The recipes of `docs/routing.md`: every block of the page is run as it is written there, and every receipt is what the
//! page shows. Only what differs by machine is replaced: the server's address and the two mail servers.

use crate::route_mail::{MailServers, PASSWORD};
use crate::route_workspace::{PATIENCE, RouteWorkspace};
use dispatch_support::{Output, Reply, Served};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

const PAGE: &str = include_str!("../../../../docs/routing.md");
/// Where the page's server listens.
const ADDRESS: &str = "127.0.0.1:4747";
/// The line of the page that starts it.
const SERVE: &str = "dispatch serve &";

/// One fenced block.
#[derive(Debug)]
struct Block {
    language: &'static str,
    /// The file that the line before it names.
    file: Option<&'static str>,
    text: &'static str,
}

/// The blocks of a recipe, in order.
fn blocks(title: &str) -> Vec<Block> {
    let section = PAGE.split("\n## ").find(|section| section.starts_with(title)).expect("the recipe is on the page");
    let mut pieces = section.split("\n```");
    let mut before = pieces.next().unwrap_or_default();
    let mut found = Vec::new();
    while let (Some(block), Some(after)) = (pieces.next(), pieces.next()) {
        let (language, text) = block.split_once('\n').unwrap_or((block, ""));
        let named = before.trim_end().lines().last().and_then(|line| line.strip_prefix('`')?.strip_suffix("`:"));
        found.push(Block { language, file: named, text });
        before = after;
    }
    found
}

/// A person who follows a recipe.
struct Reader {
    workspace: RouteWorkspace,
    mailbox: Option<MailServers>,
    /// What the page exports, and the password that it asks for.
    variables: Vec<(String, String)>,
    served: Option<Served>,
}

impl Reader {
    fn new() -> Self {
        let workspace = RouteWorkspace::with_settings(|_| Reply::say("Done."), "");
        let variables = vec![("MAIL_PASSWORD".to_owned(), PASSWORD.to_owned())];
        Self { workspace, mailbox: None, variables, served: None }
    }

    fn follow(&mut self, title: &str) {
        let blocks = blocks(title);
        assert!(blocks.iter().any(|block| block.language == "text"), "the recipe has a receipt: {blocks:?}");
        let mut step = 0;
        while let Some(block) = blocks.get(step) {
            step += 1;
            match (block.language, block.file, blocks.get(step)) {
                ("toml", Some("dispatch.toml"), _) => self.add_settings(block.text),
                ("ts" | "md", Some(file), _) => self.workspace.context.write(file, format!("{}\n", block.text)),
                ("eml", None, _) => self.deliver(block.text),
                ("sh", None, Some(shown)) if shown.language == "text" => {
                    self.compare(block.text, shown.text);
                    step += 1;
                }
                ("sh", None, _) => self.run_all(block.text),
                other => panic!("nobody knows what to do with this block: {other:?}"),
            }
        }
    }

    fn add_settings(&mut self, text: &str) {
        let mut text = text.to_owned();
        if text.contains("[channels.mail.") {
            let mailbox = MailServers::start();
            text = text.replace("imaps://mail.example.org", &format!("imap://127.0.0.1:{}", mailbox.imap_port));
            text = text.replace("smtps://mail.example.org", &format!("smtp://127.0.0.1:{}", mailbox.smtp_port));
            self.mailbox = Some(mailbox);
        }
        let file = self.workspace.context.home().join("config/dispatch.toml");
        let mut settings = std::fs::read_to_string(&file).unwrap();
        writeln!(settings, "\n{text}").unwrap();
        std::fs::write(file, settings).unwrap();
    }

    /// Runs a block in one shell; the server is started in the place of its line and stays.
    fn run_all(&mut self, script: &str) {
        let exported = script.lines().filter_map(|line| line.strip_prefix("export ")?.split_once('='));
        self.variables.extend(exported.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let (first, starts_server) = match script.strip_suffix(SERVE) {
            Some(before) => (before, true),
            None => (script, false),
        };
        assert!(!first.contains(SERVE), "the server is the last line of its block");
        let output = self.run(first);
        assert_eq!(output.status, 0, "{first}\n{output:?}");
        if starts_server {
            let variables: Vec<(&str, &str)> =
                self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            self.served = Some(Served::start(&self.workspace.context, &[], &variables));
        }
    }

    fn run(&self, script: &str) -> Output {
        let mut script = script.to_owned();
        if let Some(served) = &self.served {
            script = script.replace(ADDRESS, &served.client.address.to_string());
        }
        let exports: String = self.variables.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        self.workspace.context.run_shell(&format!("set -e\n{exports}{script}"))
    }

    /// Puts a mail into the mailbox, once it is read.
    fn deliver(&self, mail: &str) {
        let mailbox = self.mailbox.as_ref().expect("the page has set up a mailbox");
        let is_connected = |output: &Output| {
            let accounts = output.json();
            accounts
                .as_array()
                .is_some_and(|all| all.iter().any(|it| it["channel"] == "mail" && it["state"] == "connected"))
        };
        self.wait_for("dispatch channel list --json", is_connected);
        mailbox.put_mail(mail);
    }

    /// What the command prints comes to be what the page shows.
    fn compare(&self, command: &str, shown: &str) {
        self.wait_for(command, |output| output.status == 0 && without_times(&output.stdout) == without_times(shown));
    }

    fn wait_for(&self, command: &str, is_reached: impl Fn(&Output) -> bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            let output = self.run(command);
            if is_reached(&output) {
                return;
            }
            assert!(Instant::now() < until, "{command} never said what it should:\n{}{}", output.stdout, output.stderr);
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// A receipt without what is different each time: moments, durations, and ids that we make.
fn without_times(text: &str) -> String {
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ").trim_end().to_owned();
    let text = text.trim().lines().map(line).collect::<Vec<_>>().join("\n");
    let mut parts = text.split(" in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| match part.split_once(" ms") {
        Some((digits, rest)) if digits.chars().all(|letter| letter.is_ascii_digit()) => {
            format!("{before} in N ms{rest}")
        }
        _ => format!("{before} in {part}"),
    })
}

fn word(word: &str) -> String {
    let is_moment = word.len() == "2026-11-18T12:08:54.827Z".len() && word.ends_with('Z') && word.contains("T");
    if is_moment {
        return "TIME".to_owned();
    }
    let made = word.get(..26).filter(|id| id.chars().all(|it| it.is_ascii_digit() || it.is_ascii_uppercase()));
    made.map_or_else(|| word.to_owned(), |id| word.replacen(id, "ID", 1))
}

#[test]
fn a_pull_request_is_reviewed_as_the_page_says() {
    let mut reader = Reader::new();
    reader.follow("Reviews of pull requests");
    let asked = reader.workspace.asked();
    assert_eq!(asked.len(), 1, "{asked:#?}");
    let shown = asked[0]["messages"].to_string();
    assert!(shown.contains("You review pull requests.") && shown.contains("Rate limits"), "{shown}");
    let tools: Vec<String> = offered(&asked[0]);
    assert_eq!(tools, ["find_files", "list_files", "read_file", "search_files"]);
}

#[test]
fn mail_is_triaged_as_the_page_says() {
    let mut reader = Reader::new();
    reader.follow("Mail triage");
    let sent = reader.mailbox.as_ref().unwrap().sent();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0]["to"], serde_json::json!(["ann@example.org"]));
    assert!(reader.workspace.asked()[0]["messages"].to_string().contains("Ann wrote a mail."));
}

#[test]
fn a_reminder_comes_once_as_the_page_says() {
    let mut reader = Reader::new();
    reader.follow("A one-shot reminder");
    assert_eq!(reader.workspace.asked().len(), 1, "only the first message reminds");
    let outbox = reader.workspace.context.dispatch(&["outbox", "list", "--json"]).json();
    let replies = outbox["outbox"].as_array().unwrap();
    assert_eq!((replies.len(), &replies[0]["delivery"]["peerId"]), (1, &serde_json::json!("me")), "{outbox:#}");
}

#[test]
fn a_family_chats_as_the_page_says() {
    let mut reader = Reader::new();
    reader.follow("A family chat");
    let asked = reader.workspace.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!((offered(&asked[0]), offered(&asked[1])), (vec!["read_file".to_owned(), "todo".to_owned()], Vec::new()));
    assert!(asked.iter().all(|request| request["messages"].to_string().contains("You are Atlas")), "{asked:#?}");
}

#[test]
fn every_recipe_of_the_page_is_run() {
    let titles: Vec<&str> = PAGE.split("\n## ").skip(1).filter_map(|section| section.lines().next()).collect();
    assert_eq!(titles, ["Reviews of pull requests", "Mail triage", "A one-shot reminder", "A family chat"]);
}

/// The names of the tools that a request offers, sorted.
fn offered(request: &serde_json::Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let mut names: Vec<String> =
        tools.iter().filter_map(|tool| tool["function"]["name"].as_str().map(str::to_owned)).collect();
    names.sort();
    names
}
