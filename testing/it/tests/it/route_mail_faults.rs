//! Mail when something is odd: servers that are killed, do not answer, count anew, know no IDLE or speak nonsense, mails
//! that are huge or come back, and two nodes with one mailbox.

use crate::route_mail::{MailServerOptions, Mailbox, PASSWORD, REHEARSAL};
use crate::run_workspace::wait_until;
use crate::seeded_random::SeededRandom;
use dispatch_support::{Certificates, PostgresServer, Reply, ScriptedModel, Served, TestContext, slow_lane};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How many servers are killed, and how many in the slow lane.
const KILLS: u64 = 6;
const SLOW_KILLS: u64 = 50;
const LARGE_MAIL_BYTES: usize = 50_000_000;

fn started(options: &MailServerOptions<'_>, settings: &str) -> Mailbox {
    let mailbox = Mailbox::start_with(options, settings);
    mailbox.keep_password(PASSWORD);
    mailbox
}

fn events(mailbox: &Mailbox) -> Vec<Value> {
    let listed = mailbox.dispatch(&["event", "list", "--limit", "1000", "--json"]).json();
    listed["events"].as_array().cloned().unwrap_or_default()
}

/// How often each mail was answered, by the id that the answers name.
fn answers(mailbox: &Mailbox) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for sent in mailbox.servers.sent() {
        let text = sent["text"].as_str().unwrap_or_default().replace('\r', "");
        let id = text.lines().find_map(|line| line.strip_prefix("In-Reply-To: ")).unwrap_or_default();
        *count.entry(id.trim_matches(['<', '>']).to_owned()).or_default() += 1;
    }
    count
}

#[test]
fn servers_that_are_killed_answer_every_mail_once_or_say_that_it_may_have_left() {
    let mailbox = started(&MailServerOptions::default(), "");
    // It answers at once, so that most kills come before and behind its turn.
    let model = ScriptedModel::answering(|_| Reply::say("Yes."));
    let base_url = model.base_url();
    let variables = [("DISPATCH_BASE_URL", base_url.as_str()), ("DISPATCH_MODEL", "scripted")];
    let serve = || Served::start(&mailbox.context, &[], &variables);
    let mut served = serve();
    mailbox.wait_for_state("connected");
    let kills = if slow_lane() { SLOW_KILLS } else { KILLS };
    let mut random = SeededRandom(14);
    for number in 0..kills {
        mailbox.put("ann@example.org", &format!("k{number}@example.org"), "are you there", &[]);
        // Some are killed while the mail is stored, some while its answer leaves, some in between.
        std::thread::sleep(Duration::from_millis(random.below(400)));
        served.kill();
        served = serve();
    }
    let is_over = || {
        let listed = mailbox.dispatch(&["outbox", "list", "--json"]).json();
        let open = |reply: &Value| matches!(reply["state"].as_str(), Some("pending" | "sending"));
        let stored = events(&mailbox).len() as u64;
        stored == kills && !listed["outbox"].as_array().into_iter().flatten().any(open) && all_done(&mailbox)
    };
    wait_until("all is over", is_over);
    let (answered, unknown) = (answers(&mailbox), mailbox.replies("unknown").len());
    assert!(answered.values().all(|times| *times == 1), "{answered:?}");
    let interrupted = receipts(&mailbox).iter().filter(|receipt| is_interrupted(receipt)).count();
    // What may have left is called unknown, whether it did or not.
    let certain = mailbox.replies("sent").len();
    assert_eq!(certain + unknown + interrupted, usize::try_from(kills).unwrap(), "{answered:?}");
    assert!(answered.len() >= certain && answered.len() <= certain + unknown, "{answered:?}");
    assert!(interrupted * 2 < usize::try_from(kills).unwrap(), "{interrupted} turns were interrupted");
    println!("{kills} kills: {certain} sent, {unknown} unknown, {interrupted} interrupted");
}

fn receipts(mailbox: &Mailbox) -> Vec<Value> {
    let ids = events(mailbox).into_iter().filter_map(|event| event["id"].as_str().map(str::to_owned));
    ids.map(|id| mailbox.dispatch(&["event", "show", &id, "--json"]).json()).collect()
}

fn all_done(mailbox: &Mailbox) -> bool {
    let is_done = |receipt: &Value| {
        receipt["dispatches"].as_array().is_some_and(|all| all.len() == 1 && all[0]["state"] == "done")
    };
    receipts(mailbox).iter().all(is_done)
}

fn is_interrupted(receipt: &Value) -> bool {
    receipt["dispatches"][0]["reason"].as_str().is_some_and(|reason| reason.contains("interrupted"))
}

#[test]
fn a_mail_that_may_have_left_is_unknown_and_is_not_sent_again() {
    let mailbox = started(&MailServerOptions { manners: Some("hang-up"), ..MailServerOptions::default() }, "");
    let mut served = mailbox.serve();
    mailbox.wait_for_state("connected");
    mailbox.put("ann@example.org", "h1@example.org", "are you there", &[]);
    wait_until("it is unknown", || mailbox.replies("unknown").len() == 1);
    served.kill();
    let _served = mailbox.serve();
    mailbox.wait_for_state("connected");
    mailbox.put("ann@example.org", "h2@example.org", "and now", &[]);
    wait_until("the next is unknown too", || mailbox.replies("unknown").len() == 2);
    let answered = answers(&mailbox);
    assert_eq!((answered.len(), answered["h1@example.org"], answered["h2@example.org"]), (2, 1, 1), "{answered:?}");
}

#[test]
fn mail_is_read_and_sent_with_tls() {
    let certificates = Certificates::for_host("IP:127.0.0.1");
    let options = MailServerOptions { certificates: Some(&certificates), ..MailServerOptions::default() };
    let mailbox = started(&options, "");
    let stranger = mailbox.dispatch(&["channel", "test", "mail", "me"]);
    assert!(stranger.status != 0 && format!("{stranger:?}").contains("certificate"), "{stranger:?}");
    let authority = certificates.authority();
    let variables = [("SSL_CERT_FILE", authority.to_str().unwrap())];
    let tested = mailbox.context.run(
        "dispatch",
        &["channel", "test", "mail", "me", REHEARSAL[0], REHEARSAL[1]],
        b"",
        &variables,
    );
    assert_eq!(tested.status, 0, "{tested:?}");
    let _served = Served::start(&mailbox.context, &REHEARSAL, &variables);
    mailbox.wait_for_state("connected");
    mailbox.put("ann@example.org", "t1@example.org", "are you there", &[]);
    wait_until("it is answered", || answers(&mailbox).contains_key("t1@example.org"));
}

#[test]
fn a_server_without_idle_is_asked() {
    let options =
        MailServerOptions { dovecot: "imap_capability = IMAP4rev1 UIDPLUS\n", ..MailServerOptions::default() };
    let mailbox = started(&options, "poll_s = 5\n");
    let tested = mailbox.dispatch(&["channel", "test", "mail", "me"]);
    assert!(tested.status == 0 && tested.stdout.contains("asked at intervals"), "{tested:?}");
    let _served = mailbox.serve();
    mailbox.wait_for_state("connected");
    for number in 0..2 {
        mailbox.put("ann@example.org", &format!("p{number}@example.org"), "are you there", &[]);
        wait_until("it is answered", || answers(&mailbox).len() == number + 1);
    }
}

#[test]
fn a_mailbox_that_counts_anew_is_read_on_and_nothing_is_answered_twice() {
    let mailbox = started(&MailServerOptions::default(), "");
    let mut served = mailbox.serve();
    mailbox.wait_for_state("connected");
    mailbox.put("ann@example.org", "u1@example.org", "one", &[]);
    wait_until("it is answered", || answers(&mailbox).len() == 1);
    served.kill();
    // Dovecot numbers the mails of a folder anew whose list of numbers is gone.
    for entry in std::fs::read_dir(mailbox.servers.maildir()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("dovecot") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    mailbox.put("ann@example.org", "u2@example.org", "two", &[]);
    let _served = mailbox.serve();
    wait_until("the new one is answered", || answers(&mailbox).contains_key("u2@example.org"));
    let reason = mailbox.account()["reason"].clone();
    assert!(reason.as_str().is_some_and(|reason| reason.contains("UIDVALIDITY")), "{reason}");
    assert_eq!((events(&mailbox).len(), answers(&mailbox)["u1@example.org"]), (2, 1));
}

#[test]
fn a_huge_mail_with_an_attachment_is_cut_and_answered_and_those_behind_it_are_read() {
    let mailbox = started(&MailServerOptions::default(), "");
    let _served = mailbox.serve();
    mailbox.wait_for_state("connected");
    // The first mail makes the folders that the huge one is delivered to.
    mailbox.put("ann@example.org", "l1@example.org", "one", &[]);
    wait_until("it is answered", || answers(&mailbox).len() == 1);
    let head = "From: ann@example.org\nTo: me@example.org\nSubject: Pictures\nMessage-ID: <l2@example.org>\n\
                References: <l1@example.org>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n\
                --b\nContent-Type: text/plain\n\nHere they are.\n\
                --b\nContent-Type: application/zip; name=pictures.zip\n\
                Content-Disposition: attachment; filename=pictures.zip\nContent-Transfer-Encoding: base64\n\n";
    let line = format!("{}\n", "QUJD".repeat(18));
    let mail = [head, &line.repeat(LARGE_MAIL_BYTES / line.len()), "--b--\n"].concat();
    mailbox.servers.deliver("1.large", mail.as_bytes());
    mailbox.put("ann@example.org", "l3@example.org", "three", &[]);
    wait_until("all are answered", || answers(&mailbox).len() == 3);
    let event = mailbox.dispatch(&["event", "show", "mail:l2@example.org", "--json"]).json()["event"].clone();
    assert_eq!(event["metadata"]["truncated"], true, "{event}");
    assert!(
        event["metadata"]["attachments"][0].as_str().is_some_and(|name| name.starts_with("pictures.zip")),
        "{event}"
    );
    assert!(event["content"].as_str().is_some_and(|text| text.contains("Here they are.")), "{event}");
    let first = mailbox.dispatch(&["event", "show", "mail:l1@example.org", "--json"]).json()["event"].clone();
    assert_eq!(event["threadId"], first["threadId"], "one thread");
}

#[test]
fn two_mailboxes_that_answer_each_other_stop_by_themselves() {
    let mailbox = started(&MailServerOptions::default(), "");
    let _served = mailbox.serve();
    mailbox.wait_for_state("connected");
    mailbox.put("ann@example.org", "r0@example.org", "are you there", &[]);
    // Somebody between the two takes away what says that a program answered, but not what counts.
    for round in 1..=8 {
        wait_until("it is answered", || answers(&mailbox).len() == round || is_stopped(&mailbox));
        if is_stopped(&mailbox) {
            let rounds = answers(&mailbox).len();
            assert!((4..=6).contains(&rounds), "{rounds} replies");
            return;
        }
        let sent = mailbox.servers.sent();
        let text = sent.last().unwrap()["text"].as_str().unwrap_or_default().replace('\r', "");
        let hops = text.lines().find(|line| line.starts_with("Dispatch-Hops")).unwrap_or_default().to_owned();
        assert!(!hops.is_empty(), "{text}");
        mailbox.put("ann@example.org", &format!("r{round}@example.org"), "and you", &[&hops]);
    }
    panic!("they never stop: {:?}", answers(&mailbox));
}

fn is_stopped(mailbox: &Mailbox) -> bool {
    receipts(mailbox).iter().any(|receipt| receipt["hooks"][0]["outcome"] == "stopped")
}

#[test]
fn a_reply_of_a_program_is_not_answered() {
    let mailbox = started(&MailServerOptions::default(), "");
    let _served = mailbox.serve();
    mailbox.wait_for_state("connected");
    mailbox.put("ann@example.org", "a1@example.org", "I am away", &["Auto-Submitted: auto-replied"]);
    mailbox.put("ann@example.org", "a2@example.org", "are you there", &[]);
    wait_until("the person is answered", || answers(&mailbox).len() == 1);
    wait_until("the program is not", || mailbox.replies("failed").len() == 1);
    assert!(answers(&mailbox).contains_key("a2@example.org"), "{:?}", answers(&mailbox));
}

#[test]
fn two_nodes_on_one_database_read_a_mailbox_once_and_say_where() {
    let server = PostgresServer::start();
    let mailbox = started(&MailServerOptions::default(), "");
    let other = TestContext::new();
    mailbox.configure(&other, ["imap", "smtp"], "");
    let kept = other.run("dispatch", &["auth", "add", "channel:mail:me"], PASSWORD.as_bytes(), &[]);
    assert_eq!(kept.status, 0, "{kept:?}");
    let setting = format!("storage.url={}", server.url());
    let arguments = [REHEARSAL[0], REHEARSAL[1], "--set", &setting];
    let state = |context: &TestContext| {
        let listed = context.dispatch(&[&["channel", "list", "--json"], &arguments[..]].concat()).json();
        let mail = listed.as_array().into_iter().flatten().find(|account| account["channel"] == "mail").cloned();
        mail.unwrap_or_default()["state"].as_str().unwrap_or_default().to_owned()
    };
    let mut first = Served::start(&mailbox.context, &arguments, &[]);
    wait_until("the first reads", || state(&mailbox.context) == "connected");
    let _second = Served::start(&other, &arguments, &[]);
    wait_until("the second says that somebody else does", || state(&other) == "elsewhere");
    mailbox.put("ann@example.org", "e1@example.org", "one", &[]);
    wait_until("it is answered", || answers(&mailbox).len() == 1);
    first.kill();
    mailbox.put("ann@example.org", "e2@example.org", "two", &[]);
    wait_until("the second takes over", || answers(&mailbox).len() == 2);
    assert!(answers(&mailbox).values().all(|times| *times == 1));
}

/// An IMAP server that is not Dovecot.
struct OddServer {
    child: Child,
    port: String,
    folder: tempfile::TempDir,
}

impl OddServer {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("python3");
        command.args(["-c", include_str!("route_mail_faults/odd_server.py")]).arg(folder.path().join("fetched"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, port: port.trim().to_owned(), folder }
    }

    /// How often a mail was fetched.
    fn fetches(&self, uid: u32) -> usize {
        let text = std::fs::read_to_string(self.folder.path().join("fetched")).unwrap_or_default();
        text.lines().filter(|line| *line == uid.to_string()).count()
    }
}

impl Drop for OddServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_mail_whose_answer_cannot_be_read_is_named_once_and_the_others_are_read() {
    let (server, context) = (OddServer::start(), TestContext::new());
    let port = &server.port;
    let toml = format!("[channels.mail.me]\nimap = \"imap://127.0.0.1:{port}\"\nuser = \"me\"\npoll_s = 5\n");
    context.write_home("config/dispatch.toml", toml);
    let kept = context.run("dispatch", &["auth", "add", "channel:mail:me"], PASSWORD.as_bytes(), &[]);
    assert_eq!(kept.status, 0, "{kept:?}");
    // As if the mails had come after the first reading.
    let database = context.home().join("dispatch.db");
    let mut served = Served::start(&context, &REHEARSAL, &[]);
    let connected = || {
        let listed = context.dispatch(&["channel", "list", "--json", REHEARSAL[0], REHEARSAL[1]]).json();
        let is_read = |account: &Value| account["channel"] == "mail" && account["state"] == "connected";
        listed.as_array().is_some_and(|all| all.iter().any(is_read))
    };
    wait_until("it is connected", connected);
    served.kill();
    let changed = Command::new("python3")
        .args(["-c", "import sqlite3, sys\nfile = sqlite3.connect(sys.argv[1])\nfile.execute(\"UPDATE adapter_positions SET read_up_to = '7:0:0:0'\")\nfile.commit()"])
        .arg(database)
        .status()
        .unwrap();
    assert!(changed.success());
    let _served = Served::start(&context, &REHEARSAL, &[]);
    let listed = || context.dispatch(&["event", "list", "--json", REHEARSAL[0], REHEARSAL[1]]).json()["events"].clone();
    wait_until("all three are events", || listed().as_array().is_some_and(|events| events.len() == 3));
    let events = listed();
    let ids: Vec<&str> = events.as_array().unwrap().iter().filter_map(|event| event["id"].as_str()).collect();
    assert!(ids.contains(&"mail:odd1@example.org") && ids.contains(&"mail:odd3@example.org"), "{ids:?}");
    assert!(ids.contains(&"mail:unreadable-me-7-2"), "{ids:?}");
    wait_until("it goes on", connected);
    assert!((2..=5).contains(&server.fetches(2)), "fetched {} times", server.fetches(2));
    let log = std::fs::read_to_string(context.home().join("serve.log")).unwrap_or_default();
    assert!(!log.contains("secret-of-the-mail"), "{log}");
}
