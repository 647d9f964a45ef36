//! A real PostgreSQL server in a temporary folder, on a socket in the file system. It ends with the test, whatever way
//! the test ends: a shell between them stops it when the test's end of a pipe is gone.

use crate::Certificates;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where Debian keeps the programs that are not on `PATH`.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The user that the server steps down to: it refuses to run as root.
const SERVER_USER: &str = "postgres";
const PORT: u16 = 5432;
const READY_LIMIT: Duration = Duration::from_secs(120);
/// Stops the server when standard input ends.
const KEEPER: &str = "\"$@\" & server=$!; read -r line; kill -QUIT $server; wait $server";

/// A running server with an empty database.
pub struct PostgresServer {
    folder: TempDir,
    account: Option<(u32, u32)>,
    options: Vec<String>,
    port: u16,
    keeper: Option<Child>,
}

impl PostgresServer {
    /// Makes a database cluster and starts it.
    #[must_use]
    pub fn start() -> Self {
        // What survives a killed server does not depend on the disk; what survives a power cut is not tested here.
        Self::start_with(&["fsync=off", "max_connections=300"])
    }

    /// The same with these settings.
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Self {
        let mut server = Self::made(PORT, settings);
        server.resume();
        server
    }

    /// Starts one that also answers on this machine's network with a certificate, and asks there for a password.
    #[must_use]
    pub fn start_protected(certificates: &Certificates, password: &str) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("a free port").port();
        let mut server = Self::made(port, &["fsync=off", "listen_addresses=127.0.0.1", "ssl=on"]);
        certificates.install(&server.data());
        for name in ["server.pem", "server.key"] {
            let path = server.data().join(name);
            server.give_away(&path);
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a mode can be set");
        }
        server.options.extend(["ssl_cert_file=server.pem".to_owned(), "ssl_key_file=server.key".to_owned()]);
        let rules = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
        std::fs::write(server.data().join("pg_hba.conf"), rules).expect("a rule can be written");
        server.resume();
        server.psql(&format!("ALTER ROLE dispatch PASSWORD '{password}'"));
        server
    }

    /// The port on this machine's network, for a server that answers there.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The user that the server runs as, if it is not the test's own.
    pub(crate) fn account(&self) -> Option<(u32, u32)> {
        self.account
    }

    /// Gives a file or folder to that user.
    pub(crate) fn give_away(&self, path: &Path) {
        if let Some((user, group)) = self.account {
            chown(path, Some(user), Some(group)).expect("it can be given away");
        }
    }

    /// A cluster that does not run yet.
    fn made(port: u16, settings: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("dispatch-pg-").tempdir().expect("a folder can be made");
        let account = if rustix::process::getuid().is_root() { Some(account(SERVER_USER)) } else { None };
        let options = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let server = Self { folder, account, options, port, keeper: None };
        server.give_away(server.folder.path());
        let data = server.data();
        let made = server
            .command(&program("initdb"))
            .args(["--locale=C", "--encoding=UTF8", "--auth=trust", "--username=dispatch", "--no-sync", "--pgdata"])
            .arg(&data)
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server
    }

    /// The URL of the database, as `storage.url` takes it.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    fn url_of(&self, database: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://dispatch@{folder}/{database}")
    }

    /// The folder with the socket.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes another, empty database and gives its URL.
    #[must_use]
    pub fn create(&self, name: &str) -> String {
        self.psql(&format!("CREATE DATABASE {name}"));
        self.url_of(name)
    }

    /// Runs SQL with PostgreSQL's own client and gives what it printed.
    pub fn psql(&self, sql: &str) -> String {
        let mut client = Command::new(program("psql"));
        client.args([
            "--no-psqlrc",
            "--quiet",
            "--tuples-only",
            "--no-align",
            "--username=dispatch",
            "--dbname=postgres",
        ]);
        client.arg("--host").arg(self.folder.path()).arg("--port").arg(self.port.to_string());
        let done = client.arg("--command").arg(sql).output().expect("psql runs");
        assert!(done.status.success(), "psql: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// Asks every client for its password from now on.
    pub fn require_password(&self, password: &str) {
        self.psql(&format!("ALTER ROLE dispatch PASSWORD '{password}'"));
        std::fs::write(self.data().join("pg_hba.conf"), "local all all scram-sha-256\n")
            .expect("a rule can be written");
        self.psql("SELECT pg_reload_conf()");
    }

    /// Ends the server as a crash does: without a checkpoint, with every connection cut.
    pub fn crash(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            _ = keeper.wait();
        }
    }

    /// Starts the server again.
    pub fn resume(&mut self) {
        let mut keeper = self.command(Path::new("sh"));
        keeper.args(["-c", KEEPER, "sh"]).arg(program("postgres")).arg("-D").arg(self.data());
        keeper.arg("-k").arg(self.folder.path()).args(["-c", "listen_addresses="]);
        keeper.arg("-p").arg(self.port.to_string());
        for option in &self.options {
            keeper.args(["-c", option]);
        }
        let log = std::fs::File::create(self.folder.path().join("log")).expect("a log can be made");
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        self.keeper = Some(keeper.spawn().expect("the server starts"));
        self.wait_until_ready();
    }

    fn wait_until_ready(&mut self) {
        let status = self.data().join("postmaster.pid");
        let began = Instant::now();
        while !std::fs::read_to_string(&status)
            .is_ok_and(|text| text.lines().nth(7).is_some_and(|line| line.trim() == "ready"))
        {
            assert!(began.elapsed() < READY_LIMIT, "the server does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the server wrote since it was started.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.crash();
    }
}

/// A program of the newest PostgreSQL that is installed.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        versions.map(|version| version.path().join("bin").join(name)).filter(|path| path.exists()).collect();
    found.sort();
    found.pop().unwrap_or_else(|| PathBuf::from(name))
}

fn account(user: &str) -> (u32, u32) {
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = accounts.lines().find(|line| line.split(':').next() == Some(user));
    let numbers = line.and_then(|line| {
        let mut fields = line.split(':').skip(2).map(str::parse);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    });
    numbers.unwrap_or_else(|| panic!("no user `{user}`: install Debian's package `postgresql`"))
}
