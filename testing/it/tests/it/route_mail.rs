//! Mail through servers that are not ours: Dovecot has the mailbox, `aiosmtpd` takes what is sent, Python is the person.

use crate::installed::python;
use crate::run_workspace::wait_until;
use dispatch_support::{Certificates, Output, Served, TestContext};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const AIOSMTPD: &str = "aiosmtpd==1.4.6";
const DOVECOT: &str = "/usr/sbin/dovecot";
pub(crate) const PASSWORD: &str = "pw-of-the-mailbox-7Q";
/// Dovecot does not run as root; this user comes with the packages that tests need anyway.
const SERVER_USER: &str = "postgres";
pub(crate) const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];

/// Dovecot with one mailbox, and a server that takes what is sent.
pub(crate) struct MailServers {
    folder: tempfile::TempDir,
    pub(crate) imap_port: u16,
    pub(crate) smtp_port: u16,
    /// `plain` or `tls`.
    protection: &'static str,
    dovecot: Child,
    smtp: Child,
}

/// How the servers differ from those of most tests.
#[derive(Default)]
pub(crate) struct MailServerOptions<'a> {
    /// Further lines of Dovecot's configuration.
    pub(crate) dovecot: &'a str,
    /// What the servers show of themselves; both insist on TLS then.
    pub(crate) certificates: Option<&'a Certificates>,
    /// What the server for sent mail does with mail (`take`, or `hang-up` behind the mail).
    pub(crate) manners: Option<&'a str>,
}

impl MailServers {
    pub(crate) fn start() -> Self {
        Self::start_with(&MailServerOptions::default())
    }

    pub(crate) fn start_with(options: &MailServerOptions<'_>) -> Self {
        let folder = tempfile::Builder::new().prefix("dispatch-mail-").tempdir().unwrap();
        let (imap_port, smtp_port) = (free_port(), free_port());
        if let Some(certificates) = options.certificates {
            certificates.install(folder.path());
        }
        let dovecot = start_dovecot(folder.path(), imap_port, options);
        let smtp = start_smtp(folder.path(), smtp_port, options);
        wait_until("Dovecot answers", || std::net::TcpStream::connect(("127.0.0.1", imap_port)).is_ok());
        let protection = if options.certificates.is_some() { "tls" } else { "plain" };
        Self { folder, imap_port, smtp_port, protection, dovecot, smtp }
    }

    fn put(&self, sender: &str, id: &str, text: &str, headers: &[&str]) {
        let headers: String = headers.iter().map(|header| format!("{header}\n")).collect();
        let start = format!("From: {sender}\nTo: me@example.org\nSubject: A question\nMessage-ID: <{id}>\n");
        self.put_mail(&format!("{start}{headers}\n{text}\n"));
    }

    /// Puts a mail into the mailbox.
    pub(crate) fn put_mail(&self, mail: &str) {
        let mut command = Command::new("python3");
        command.args(["-c", include_str!("route_mail/put_mail.py"), &self.imap_port.to_string(), PASSWORD, mail]);
        command.arg(self.protection);
        let put = command.output().unwrap();
        assert!(String::from_utf8_lossy(&put.stdout).contains("Append completed"), "{put:?}");
    }

    /// Puts a mail into the mailbox as its delivery agent does, whatever its size.
    pub(crate) fn deliver(&self, name: &str, mail: &[u8]) {
        let maildir = self.maildir();
        let (made, new) = (maildir.join("tmp").join(name), maildir.join("new").join(name));
        std::fs::write(&made, mail).unwrap();
        if let (_, Some((user, group))) = server_account() {
            chown(&made, Some(user), Some(group)).unwrap();
        }
        std::fs::rename(made, new).unwrap();
    }

    pub(crate) fn maildir(&self) -> PathBuf {
        self.folder.path().join("home/Maildir")
    }

    /// What was sent so far.
    pub(crate) fn sent(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("sent")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("dovecot.log")).unwrap_or_default()
    }
}

impl Drop for MailServers {
    fn drop(&mut self) {
        // Its children end with it when it is asked to.
        let _ = Command::new("kill").arg(self.dovecot.id().to_string()).status();
        let _ = self.dovecot.wait();
        let _ = self.smtp.kill();
        let _ = self.smtp.wait();
    }
}

/// The servers, and a home that knows the mailbox.
pub(crate) struct Mailbox {
    pub(crate) context: TestContext,
    pub(crate) servers: MailServers,
}

impl Mailbox {
    fn start() -> Self {
        Self::start_with(&MailServerOptions::default(), "")
    }

    /// The same with other servers and further settings of the account.
    pub(crate) fn start_with(options: &MailServerOptions<'_>, settings: &str) -> Self {
        let mailbox = Self { context: TestContext::new(), servers: MailServers::start_with(options) };
        let schemes = if options.certificates.is_some() { ["imaps", "smtp+starttls"] } else { ["imap", "smtp"] };
        mailbox.configure(&mailbox.context, schemes, settings);
        mailbox
    }

    /// Lets a home know the mailbox.
    pub(crate) fn configure(&self, context: &TestContext, [imap, smtp]: [&str; 2], settings: &str) {
        let MailServers { imap_port, smtp_port, .. } = &self.servers;
        let toml = format!(
            "[route]\nowners = [\"mail:ann@example.org\"]\n[channels.mail.me]\nimap = \"{imap}://127.0.0.1:{imap_port}\"\n\
             smtp = \"{smtp}://127.0.0.1:{smtp_port}\"\nuser = \"me@example.org\"\n{settings}"
        );
        context.write_home("config/dispatch.toml", toml);
        context.write_home("config/hooks/all.ts", "export default () => ({ fire: true });\n");
    }

    pub(crate) fn put(&self, sender: &str, id: &str, text: &str, headers: &[&str]) {
        self.servers.put(sender, id, text, headers);
    }

    pub(crate) fn sent(&self) -> Vec<Value> {
        self.servers.sent()
    }

    fn log(&self) -> String {
        self.servers.log()
    }

    pub(crate) fn keep_password(&self, password: &str) {
        let kept = self.context.run("dispatch", &["auth", "add", "channel:mail:me"], password.as_bytes(), &[]);
        assert_eq!(kept.status, 0, "{kept:?}");
    }

    pub(crate) fn serve(&self) -> Served {
        Served::start(&self.context, &REHEARSAL, &[])
    }

    pub(crate) fn dispatch(&self, arguments: &[&str]) -> Output {
        self.context.dispatch(&[arguments, &REHEARSAL].concat())
    }

    /// How the account stands, as another process sees it.
    pub(crate) fn account(&self) -> Value {
        let accounts = self.dispatch(&["channel", "list", "--json"]).json();
        accounts.as_array().and_then(|all| all.iter().find(|one| one["channel"] == "mail")).cloned().unwrap_or_default()
    }

    pub(crate) fn wait_for_state(&self, state: &str) {
        wait_until(state, || self.account()["state"] == state);
    }

    /// The replies of the outbox in a state.
    pub(crate) fn replies(&self, state: &str) -> Vec<Value> {
        let listed = self.dispatch(&["outbox", "list", "--json"]).json();
        let replies = listed["outbox"].as_array().cloned().unwrap_or_default();
        replies.into_iter().filter(|reply| reply["state"] == state).collect()
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).unwrap().port()
}

/// The name and the numbers of the user that Dovecot runs as.
fn server_account() -> (String, Option<(u32, u32)>) {
    let id = |arguments: &[&str]| {
        let output = Command::new("id").args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    if id(&["-u"]) != "0" {
        return (id(&["-un"]), None);
    }
    let number = |option: &str| id(&[option, SERVER_USER]).parse().unwrap();
    (SERVER_USER.to_owned(), Some((number("-u"), number("-g"))))
}

fn start_dovecot(folder: &Path, port: u16, options: &MailServerOptions<'_>) -> Child {
    let (user, account) = server_account();
    let place = folder.display();
    let (plain, protected, tls) = match options.certificates {
        None => (port, 0, "ssl = no\n".to_owned()),
        Some(_) => {
            (0, port, format!("ssl = required\nssl_cert = <{place}/server.pem\nssl_key = <{place}/server.key\n"))
        }
    };
    let more = options.dovecot;
    let text = format!(
        "base_dir = {place}/run\nstate_dir = {place}/run\nlog_path = {place}/dovecot.log\nauth_verbose = yes\n\
         protocols = imap\nlisten = 127.0.0.1\n{tls}{more}disable_plaintext_auth = no\nfirst_valid_uid = 1\n\
         mail_location = maildir:{place}/home/Maildir\ndefault_internal_user = {user}\ndefault_login_user = {user}\n\
         default_internal_group =\nservice anvil {{\n chroot =\n}}\nservice imap-login {{\n chroot =\n\
         inet_listener imap {{\n port = {plain}\n}}\n inet_listener imaps {{\n port = {protected}\n ssl = yes\n}}\n}}\n\
         passdb {{\n driver = static\n args = password={PASSWORD}\n}}\n\
         userdb {{\n driver = static\n args = uid={user} home={place}/home\n}}\n"
    );
    let config = folder.join("dovecot.conf");
    std::fs::write(&config, text).unwrap();
    for made in ["run", "home"] {
        std::fs::create_dir(folder.join(made)).unwrap();
    }
    let mut command = Command::new(DOVECOT);
    command.arg("-F").arg("-c").arg(&config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some((user, group)) = account {
        let certificates = ["server.pem", "server.key"].map(|name| folder.join(name));
        let owned = [folder.to_path_buf(), config.clone(), folder.join("run"), folder.join("home")];
        for path in owned.into_iter().chain(certificates.into_iter().filter(|path| path.exists())) {
            chown(path, Some(user), Some(group)).unwrap();
        }
        command.uid(user).gid(group);
    }
    command.spawn().expect("Debian's package `dovecot-imapd` is installed")
}

fn start_smtp(folder: &Path, port: u16, options: &MailServerOptions<'_>) -> Child {
    let mut command = Command::new(python("smtp-server", AIOSMTPD));
    command.args(["-c", include_str!("route_mail/smtp_server.py"), &port.to_string()]).arg(folder.join("sent"));
    command.arg(options.manners.unwrap_or("take"));
    if options.certificates.is_some() {
        command.arg(folder.join("server.pem")).arg(folder.join("server.key"));
    }
    let mut smtp = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(smtp.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    smtp
}

#[test]
fn a_mail_is_answered_once_in_its_thread_and_a_list_gets_no_answer() {
    let mailbox = Mailbox::start();
    mailbox.keep_password(PASSWORD);
    let tested = mailbox.dispatch(&["channel", "test", "mail", "me"]);
    assert_eq!(tested.status, 0, "{tested:?}");
    let mut served = mailbox.serve();
    mailbox.wait_for_state("connected");
    mailbox.put("ann@example.org", "m1@example.org", "shall we meet", &[]);
    mailbox.put("news@example.org", "m2@example.org", "many things", &["List-Id: <news.example.org>"]);
    wait_until("the mail is answered", || mailbox.sent().len() == 1);
    wait_until("the list is not", || mailbox.replies("failed").len() == 1);
    let sent = &mailbox.sent()[0];
    let text = sent["text"].as_str().unwrap();
    assert_eq!(sent["to"], json!(["ann@example.org"]));
    for header in ["Subject: Re: A question", "In-Reply-To: <m1@example.org>", "Auto-Submitted: auto-replied"] {
        assert!(text.contains(header), "{text}");
    }
    // The same mail again, and a server that was killed: nothing is answered twice, and what came meanwhile is.
    served.kill();
    mailbox.put("ann@example.org", "m1@example.org", "shall we meet", &[]);
    mailbox.put("ann@example.org", "m3@example.org", "and when", &["References: <m1@example.org>"]);
    let _served = mailbox.serve();
    wait_until("the next one is answered", || mailbox.sent().len() == 2);
    assert!(mailbox.sent()[1]["text"].as_str().unwrap().contains("In-Reply-To: <m3@example.org>"));
    let events = mailbox.dispatch(&["event", "list", "--json"]).json();
    assert_eq!(events["events"].as_array().map(Vec::len), Some(3), "{events}");
    assert_eq!(mailbox.sent().len(), 2);
    let home = told_files(&mailbox.context.home());
    assert!(
        !home.iter().any(|(name, text)| !name.contains("secret") && !name.contains("key") && text.contains(PASSWORD))
    );
}

#[test]
fn a_second_server_reads_nothing_until_the_first_is_gone() {
    let mailbox = Mailbox::start();
    mailbox.keep_password(PASSWORD);
    let mut first = mailbox.serve();
    mailbox.wait_for_state("connected");
    let node = mailbox.account()["node"].clone();
    let _second = mailbox.serve();
    mailbox.put("ann@example.org", "n1@example.org", "one", &[]);
    wait_until("it is answered", || mailbox.sent().len() == 1);
    assert_eq!(mailbox.account()["node"], node, "the first still has it");
    first.kill();
    mailbox.put("ann@example.org", "n2@example.org", "two", &[]);
    wait_until("the second one takes over", || mailbox.sent().len() == 2);
    assert_ne!(mailbox.account()["node"], node);
}

#[test]
fn a_wrong_password_stops_the_account_and_is_not_tried_again_and_again() {
    let mailbox = Mailbox::start();
    mailbox.keep_password("something-else");
    let _served = mailbox.serve();
    mailbox.wait_for_state("stopped");
    let refused = || mailbox.log().matches("auth failed").count();
    let doctor = mailbox.dispatch(&["doctor"]);
    assert!(doctor.status == 1 && doctor.stdout.contains("mail:me"), "{doctor:?}");
    assert!(refused() <= 2, "{}", mailbox.log());
    mailbox.keep_password(PASSWORD);
    mailbox.wait_for_state("connected");
    assert!(!format!("{doctor:?}{:?}", mailbox.account()).contains("something-else"));
}

/// The files of a folder and below, with their text.
fn told_files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(told_files(&path));
        } else {
            let text = std::fs::read(&path).unwrap_or_default();
            found.push((path.display().to_string(), String::from_utf8_lossy(&text).into_owned()));
        }
    }
    found
}
