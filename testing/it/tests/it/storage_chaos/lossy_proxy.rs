//! A way to a PostgreSQL server on which the answer of a commit is lost now and then: the commit has happened, and the
//! connection breaks before anybody hears of it.

use dispatch_support::PostgresServer;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The name of the socket that PostgreSQL's clients look for.
const SOCKET: &str = ".s.PGSQL.5432";
/// A simple query of the one word.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

pub(super) struct LossyProxy {
    folder: tempfile::TempDir,
    counts: Arc<CommitCounts>,
}

struct CommitCounts {
    /// One commit in so many loses its answer.
    every: u64,
    seen: AtomicU64,
    lost: AtomicU64,
}

impl LossyProxy {
    pub(super) fn start(server: &PostgresServer, every: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let counts = Arc::new(CommitCounts { every, seen: AtomicU64::new(0), lost: AtomicU64::new(0) });
        let (shared, target) = (Arc::clone(&counts), server.socket_folder().join(SOCKET));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (shared, target) = (Arc::clone(&shared), target.clone());
                std::thread::spawn(move || forward(client, target, &shared));
            }
        });
        Self { folder, counts }
    }

    pub(super) fn url(&self) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://dispatch@{folder}/postgres")
    }

    /// How many answers were lost.
    pub(super) fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }
}

fn forward(client: UnixStream, target: PathBuf, counts: &Arc<CommitCounts>) {
    let Ok(server) = UnixStream::connect(target) else { return };
    let loses = Arc::new(AtomicBool::new(false));
    let (from_client, from_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (noticed, shared) = (Arc::clone(&loses), Arc::clone(counts));
    let asking = std::thread::spawn(move || {
        pass(from_client, server, |asked| {
            if has(asked, COMMIT) && shared.seen.fetch_add(1, Ordering::Relaxed) % shared.every == shared.every - 1 {
                noticed.store(true, Ordering::Release);
            }
            true
        });
    });
    pass(from_server, client, |answer| {
        let is_lost = loses.load(Ordering::Acquire) && has(answer, b"COMMIT\0");
        counts.lost.fetch_add(u64::from(is_lost), Ordering::Relaxed);
        !is_lost
    });
    let _ = asking.join();
}

fn has(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Passes on what comes, as long as it may; then both ends are closed.
fn pass(mut from: UnixStream, mut to: UnixStream, may_pass: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer) {
        let passed = &buffer[..count];
        if count == 0 || !may_pass(passed) || to.write_all(passed).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
