//! Kills a server on PostgreSQL at its nth message that executes or commits a statement: a proxy between them reads what
//! the server sends, and holds back the message, or its answer.

use super::history::{KillPoint, Killing};
use crate::call_counter::Moment;
use crate::route_workspace::RouteWorkspace;
use dispatch_support::{PostgresServer, Served};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The name of the socket that PostgreSQL's clients look for.
const SOCKET: &str = ".s.PGSQL.5432";
/// What a client sends first that would like an encrypted connection, behind the length.
const ENCRYPTION_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();
const NO_ENCRYPTION: &[u8] = b"N";
/// How long a statement may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct StatementProxy {
    folder: tempfile::TempDir,
    counter: Arc<Mutex<StatementCounter>>,
}

#[derive(Default)]
struct StatementCounter {
    /// The process that dies, where it does, and what it had asked for when it did.
    armed: Option<(u32, KillPoint)>,
    seen: u64,
    struck: Option<String>,
}

/// What happens with a message.
enum Passage {
    Passes,
    Strikes(u32, Moment),
}

impl StatementCounter {
    fn count(&mut self, what: &str) -> Passage {
        let Some((process, point)) = self.armed else { return Passage::Passes };
        self.seen += 1;
        if self.seen != point.at {
            return Passage::Passes;
        }
        self.struck = Some(what.to_owned());
        Passage::Strikes(process, point.moment)
    }
}

impl StatementProxy {
    pub(super) fn start(server: &PostgresServer) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let counter = Arc::<Mutex<StatementCounter>>::default();
        let (shared, target) = (Arc::clone(&counter), server.socket_folder().join(SOCKET));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (shared, target) = (Arc::clone(&shared), target.clone());
                std::thread::spawn(move || forward(client, &target, &shared));
            }
        });
        Self { folder, counter }
    }

    pub(super) fn url(&self) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://dispatch@{folder}/postgres")
    }
}

impl Killing for StatementProxy {
    fn start(&self, workspace: &RouteWorkspace, point: Option<KillPoint>) -> Option<Served> {
        *lock(&self.counter) = StatementCounter::default();
        let url = format!("storage.url={}", self.url());
        let child = Served::spawn(&workspace.context, &["--set", &url], &[]);
        if let Some(point) = point.filter(|point| point.from_the_start) {
            self.arm(child.id(), point);
        }
        let home = workspace.context.home();
        Served::over(child, &home).ok()
    }

    fn arm(&self, process: u32, point: KillPoint) {
        *lock(&self.counter) = StatementCounter { armed: Some((process, point)), seen: 0, struck: None };
    }

    fn struck(&self) -> Option<String> {
        lock(&self.counter).struck.clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the answers of one connection have come to.
#[derive(Default)]
struct Answers {
    state: Mutex<AnswerState>,
    changed: Condvar,
}

#[derive(Default)]
struct AnswerState {
    /// How often the server said that it is ready.
    ready: u64,
    is_over: bool,
    /// Nothing more reaches the client.
    is_withheld: bool,
}

impl Answers {
    fn change(&self, change: impl FnOnce(&mut AnswerState)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
    }

    fn wait_for(&self, ready: u64) {
        let waits = |state: &mut AnswerState| state.ready < ready && !state.is_over;
        let waited = self.changed.wait_timeout_while(lock(&self.state), PATIENCE, waits);
        let waited = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.1.timed_out(), "the database does not answer");
    }
}

fn forward(client: UnixStream, target: &PathBuf, counter: &Mutex<StatementCounter>) {
    let Ok(server) = UnixStream::connect(target) else { return };
    let answers = Arc::<Answers>::default();
    let (from_server, to_client, told) =
        (server.try_clone().unwrap(), client.try_clone().unwrap(), Arc::clone(&answers));
    let answering = std::thread::spawn(move || pass_answers(from_server, to_client, &told));
    let _ = pass_questions(&client, &server, counter, &answers);
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
    let _ = answering.join();
}

fn pass_answers(mut server: UnixStream, mut client: UnixStream, answers: &Answers) {
    while let Ok(message) = typed_message(&mut server) {
        let is_withheld = lock(&answers.state).is_withheld;
        if !is_withheld && client.write_all(&message).is_err() {
            break;
        }
        if message.first() == Some(&b'Z') {
            answers.change(|state| state.ready += 1);
        }
    }
    answers.change(|state| state.is_over = true);
    let _ = client.shutdown(Shutdown::Both);
}

/// Passes on what a client asks until it has died or ended.
fn pass_questions(
    mut client: &UnixStream,
    mut server: &UnixStream,
    counter: &Mutex<StatementCounter>,
    answers: &Answers,
) -> io::Result<()> {
    let mut first = untyped_message(&mut client)?;
    if first.get(4..) == Some(&ENCRYPTION_REQUEST) {
        client.write_all(NO_ENCRYPTION)?;
        first = untyped_message(&mut client)?;
    }
    server.write_all(&first)?;
    let mut statements = Statements::default();
    // The server says that it is ready once by itself, then after each of these.
    let mut ready = 1;
    loop {
        let message = typed_message(&mut client)?;
        let executed = statements.read(&message);
        let ends = matches!(message.first(), Some(b'Q' | b'S'));
        ready += u64::from(ends);
        let passage = executed.map_or(Passage::Passes, |what| lock(counter).count(&what));
        let Passage::Strikes(process, moment) = passage else {
            server.write_all(&message)?;
            continue;
        };
        if moment == Moment::Behind {
            answers.change(|state| state.is_withheld = true);
            server.write_all(&message)?;
            if ends {
                answers.wait_for(ready);
            }
        }
        let process = Pid::from_raw(process.cast_signed()).expect("a process");
        return Ok(kill_process(process, Signal::KILL)?);
    }
}

/// The statements of a connection by their names, and the one that runs next.
#[derive(Default)]
struct Statements {
    texts: BTreeMap<String, String>,
    bound: String,
}

impl Statements {
    /// What a message executes, in few words.
    fn read(&mut self, message: &[u8]) -> Option<String> {
        let body = message.get(5..).unwrap_or_default();
        let mut texts = body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
        match message.first()? {
            b'Q' => Some(first_words(&texts.next()?)),
            b'P' => {
                let (name, text) = (texts.next()?, texts.next()?);
                self.texts.insert(name, text);
                None
            }
            b'B' => {
                let name = texts.nth(1)?;
                self.bound = self.texts.get(&name).cloned().unwrap_or_default();
                None
            }
            b'E' => Some(first_words(&self.bound)),
            b'S' => Some("the end of a batch".to_owned()),
            _ => None,
        }
    }
}

/// `INSERT`, `UPDATE`, `COMMIT`, ...
fn first_words(sql: &str) -> String {
    sql.split_whitespace().next().unwrap_or("nothing").to_uppercase()
}

/// The first message of a connection has a length and no type.
fn untyped_message(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    with_length(stream, Vec::new())
}

fn typed_message(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut kind = [0];
    stream.read_exact(&mut kind)?;
    with_length(stream, kind.to_vec())
}

fn with_length(stream: &mut impl Read, mut message: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    message.extend(length);
    let rest = (u32::from_be_bytes(length) as usize).saturating_sub(4);
    let began = message.len();
    message.resize(began + rest, 0);
    stream.read_exact(&mut message[began..])?;
    Ok(message)
}
