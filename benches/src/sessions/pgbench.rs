//! The statements of one turn as a script of `pgbench`: taken from the server's log, with values that go on from turn to
//! turn, and a session for each client.

use super::statement_log::{LoggedStatement, Unit, is_end, partners, texts, units};
use crate::process::find;
use anyhow::{Context as _, Result, bail, ensure};
use dispatch_support::{Client, PostgresServer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

const SESSION: &str = "traced";
const ATTEMPTS: u32 = 20;
/// What a turn leaves to be done after its answer is done by then.
const REST: Duration = Duration::from_millis(150);
/// How long a server that does nothing is listened to: longer than the longest pause between two of its looks.
const IDLE: Duration = Duration::from_secs(6);
const MOST_CLIENTS: u32 = 64;
const SECONDS: &str = "5";
/// A longer text keeps its length where part of it has to be new.
const LONG_TEXT: usize = 40;

/// What `pgbench` runs, and the texts that it is given.
pub(super) struct Script {
    text: String,
    texts: Vec<(String, String)>,
    transactions: usize,
    statements: usize,
}

impl Script {
    /// Plays turns until two in a row sent the same statements, and makes a script of them. What the server is sent
    /// while nothing happens belongs to no turn.
    pub(super) fn of_turn(server: &PostgresServer, client: &Client) -> Result<Self> {
        (0..3).for_each(|_| drop(client.say(SESSION, "again")));
        server.psql("ALTER SYSTEM SET log_statement = 'all'");
        server.psql("SELECT pg_reload_conf()");
        std::thread::sleep(REST);
        let sent_during = |work: &dyn Fn()| {
            let before = server.log().len();
            work();
            units(server.log().get(before..).unwrap_or_default())
        };
        let idle: BTreeSet<Vec<String>> = sent_during(&|| std::thread::sleep(IDLE)).iter().map(texts).collect();
        let turn = || -> Vec<Unit> {
            let sent = sent_during(&|| {
                client.say(SESSION, "again");
                std::thread::sleep(REST);
            });
            sent.into_iter().filter(|unit| !idle.contains(&texts(unit))).collect()
        };
        let mut last = turn();
        for _ in 0..ATTEMPTS {
            let next = turn();
            if let Some(pairs) = partners(&last, &next) {
                server.psql("ALTER SYSTEM RESET log_statement");
                server.psql("SELECT pg_reload_conf()");
                let session = server.psql(&format!("SELECT id FROM agent_sessions WHERE label = '{SESSION}'"));
                prepare_sessions(server);
                let (last, next): (Vec<Unit>, Vec<Unit>) = pairs.into_iter().unzip();
                return Ok(ScriptWriter { session, ..ScriptWriter::default() }.write(&last.concat(), &next.concat()));
            }
            last = next;
        }
        bail!("no two turns send the same statements")
    }

    pub(super) fn size(&self) -> String {
        format!("{} in {}", self.statements, self.transactions)
    }

    /// Scripts per second with so many clients; `None` where there is no `pgbench`.
    pub(super) fn rate(&self, server: &PostgresServer, clients: u32) -> Result<Option<f64>> {
        let Some(program) = find("pgbench") else { return Ok(None) };
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), &self.text)?;
        let mut command = Command::new(program);
        command.args(["-n", "-M", "prepared", "-T", SECONDS, "-j", "2", "-c", &clients.to_string()]);
        command.arg("-f").arg(file.path()).arg("-h").arg(server.socket_folder()).args(["-U", "dispatch"]);
        // A run goes on where no other has been.
        command.args(["-D", &format!("turn={clients}000000")]);
        for (name, text) in &self.texts {
            command.arg("-D").arg(format!("{name}={text}"));
        }
        let output = command.arg("postgres").output()?;
        let told = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "pgbench: {errors}");
        let line = told.lines().find_map(|line| line.strip_prefix("tps = ")).context("a rate")?;
        let rate = line.split_whitespace().next().context("a number")?.parse()?;
        Ok(Some(rate))
    }
}

/// Gives each client a session that is like the traced one.
fn prepare_sessions(server: &PostgresServer) {
    for (table, id) in [("agent_sessions", "id"), ("session_leases", "session")] {
        server.psql(&format!(
            "INSERT INTO {table} SELECT (jsonb_populate_record(s,
                 jsonb_build_object('{id}', s.{id} || c, 'label', s.label || c))).*
             FROM {table} s, generate_series(0, {MOST_CLIENTS} - 1) c WHERE s.label = '{SESSION}'
             ON CONFLICT DO NOTHING"
        ));
    }
}

#[derive(Default)]
struct ScriptWriter {
    session: String,
    /// Variables by what they hold at first.
    fresh: BTreeMap<String, String>,
    constants: BTreeMap<String, String>,
    sets: String,
}

impl ScriptWriter {
    fn write(mut self, before: &[LoggedStatement], turn: &[LoggedStatement]) -> Script {
        let old: Vec<&String> = before.iter().flat_map(|one| one.values.iter().flatten()).collect();
        let mut body = String::new();
        for (before, statement) in before.iter().zip(turn) {
            let values: Vec<String> = (0..statement.values.len())
                .map(|at| self.value(statement, at, before.values.get(at).cloned().flatten(), &old))
                .collect();
            let _ = writeln!(body, "{};", filled(statement.sql.trim_end_matches([';', ' ']), &values));
        }
        let text = format!("\\set turn :turn + 1\n{}{body}", self.sets);
        let ends = turn.iter().filter(|one| is_end(&one.sql)).count();
        let within = turn.iter().filter(|one| one.sql.starts_with("BEGIN")).count();
        let texts = self.constants.into_iter().map(|(text, name)| (name, text)).collect();
        Script { text, texts, transactions: ends.max(within), statements: turn.len() }
    }

    /// What stands for one value of a statement.
    fn value(&mut self, statement: &LoggedStatement, at: usize, before: Option<String>, old: &[&String]) -> String {
        let Some(now) = statement.values.get(at).cloned().flatten() else { return "NULL".to_owned() };
        if now.is_empty() {
            // pgbench takes no empty text from its command line.
            return "''".to_owned();
        }
        if statement.sql.contains("string_to_array") && at == 0 {
            return self.locks(&now, statement.values.get(1).cloned().flatten().unwrap_or_default().as_str());
        }
        if statement.sql.contains("advisory_xact_lock($1)") {
            return format!("({now}::bigint + :client_id::bigint)");
        }
        if now == self.session || now == SESSION {
            let name = self.constant(&now);
            return format!("(:{name}::text || :client_id::text)");
        }
        if before.as_ref() == Some(&now) || before.is_none() {
            return format!(":{}", self.constant(&now));
        }
        let numbers = before.and_then(|before| Some((before.parse::<i64>().ok()?, now.parse::<i64>().ok()?)));
        if let Some((before, now)) = numbers {
            return format!("({now}::bigint + :turn::bigint * {})", now - before);
        }
        if old.contains(&&now) {
            return format!(":{}", self.constant(&now));
        }
        let fresh = self.fresh(&now);
        if now.len() <= LONG_TEXT {
            return format!(":{fresh}::text");
        }
        format!("(:{}::text || :{fresh}::text)", self.constant(&now))
    }

    /// Locks that others share stay; those of the session are the client's own.
    fn locks(&self, ids: &str, shared: &str) -> String {
        let lock = |(id, shared): (&str, &str)| match shared {
            "true" => format!("'{id}'"),
            _ => format!("({id}::bigint + :client_id::bigint)::text"),
        };
        ids.split(',').zip(shared.split(',')).map(lock).collect::<Vec<_>>().join(" || ',' || ")
    }

    fn constant(&mut self, text: &str) -> String {
        let name = format!("c{}", self.constants.len());
        self.constants.entry(text.to_owned()).or_insert(name).clone()
    }

    fn fresh(&mut self, text: &str) -> String {
        let name = format!("f{}", self.fresh.len());
        if !self.fresh.contains_key(text) {
            let _ = writeln!(self.sets, "\\set {name} random(1, 9000000000000000)");
        }
        self.fresh.entry(text.to_owned()).or_insert(name).clone()
    }
}

/// A statement with its places filled.
fn filled(sql: &str, values: &[String]) -> String {
    let mut text = String::new();
    let mut parts = sql.split('$');
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let value = digits.parse::<usize>().ok().and_then(|number| values.get(number.checked_sub(1)?));
        text.push_str(value.map_or("$", String::as_str));
        text.push_str(part.get(digits.len()..).unwrap_or_default());
    }
    text
}
