//! A real pgbouncer in transaction mode in front of a test's database server. It ends with the test.

use crate::PostgresServer;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where Debian keeps it.
const PROGRAM: &str = "/usr/sbin/pgbouncer";
const READY_LIMIT: Duration = Duration::from_secs(60);
/// Fewer than the connections of one process, so that transactions change between them.
const POOL_SIZE: u32 = 3;
/// Stops the pooler when standard input ends.
const KEEPER: &str = "\"$@\" & pooler=$!; read -r line; kill $pooler; wait $pooler";
const PORT: u16 = 6432;

/// A running pooler.
pub struct PgBouncer {
    folder: TempDir,
    keeper: Child,
}

impl PgBouncer {
    /// Starts one in front of a server.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    #[must_use]
    pub fn start(server: &PostgresServer) -> Self {
        let folder = tempfile::Builder::new().prefix("dispatch-pool-").tempdir().expect("a folder can be made");
        server.give_away(folder.path());
        let place = folder.path().display();
        let settings = format!(
            "[databases]\n* = host={} user=dispatch\n[pgbouncer]\npool_mode = transaction\nauth_type = any\n\
             unix_socket_dir = {place}\nlisten_port = {PORT}\ndefault_pool_size = {POOL_SIZE}\nmax_client_conn = 500\n\
             server_idle_timeout = 1\nlogfile = {place}/log\n",
            server.socket_folder().display()
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).expect("settings can be written");
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "sh", PROGRAM]).arg(&file).current_dir(folder.path());
        if let Some((user, group)) = server.account() {
            keeper.uid(user).gid(group);
        }
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let pooler = Self { keeper: keeper.spawn().expect("a shell"), folder };
        pooler.wait_until_ready();
        pooler
    }

    fn wait_until_ready(&self) {
        assert!(Path::new(PROGRAM).exists(), "{PROGRAM} is missing: install Debian's package `pgbouncer`");
        let socket = self.folder.path().join(format!(".s.PGSQL.{PORT}"));
        let began = Instant::now();
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(began.elapsed() < READY_LIMIT, "the pooler does not start: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The URL of a database behind the pooler, as `storage.url` takes it.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://dispatch@{folder}:{PORT}/{database}?prepared_statements=false")
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}
