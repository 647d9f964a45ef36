//! What the database and the folder say in the end.

use dispatch_support::PostgresServer;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const OPEN: &str = "FROM dispatches WHERE state IN ('pending', 'running')";

/// Waits until no message waits or runs; fails when for so long none has ended.
pub(super) fn wait_for_the_end(server: &PostgresServer, limit: Duration) {
    let count = || server.psql(&format!("SELECT count(*) {OPEN}")).parse::<u64>().unwrap();
    let (mut left, mut since) = (count(), Instant::now());
    while left > 0 {
        std::thread::sleep(Duration::from_millis(100));
        let now = count();
        if now < left {
            (left, since) = (now, Instant::now());
        }
        let which = format!("SELECT string_agg(external_id || ' ' || state || ' ' || reason, '; ') {OPEN}");
        assert!(since.elapsed() < limit, "these do not end: {}", server.psql(&which));
    }
}

/// Nothing is lost, nothing is answered twice, and each line was appended at most once; where it was not, or where
/// nobody knows, the ledger says so.
pub(super) fn check(server: &PostgresServer, project: &Path, messages: u64) -> String {
    let count = |sql: &str| server.psql(sql).parse::<u64>().unwrap();
    assert_eq!(count("SELECT count(*) FROM dispatches"), messages, "each message is there once");
    let parked = count("SELECT count(*) FROM dispatches WHERE state = 'parked' AND reason <> ''");
    let done = count("SELECT count(*) FROM dispatches WHERE state = 'done'");
    assert_eq!(done + parked, messages, "and has its end");
    let consumed = "SELECT count(*) FROM dispatches d JOIN turn_inputs i ON i.dispatch_id = d.id AND d.state = 'done'";
    assert_eq!(count(consumed), done, "one turn has consumed each");
    let twice = "SELECT count(*) FROM (SELECT turn FROM agent_messages WHERE kind = 'turn_ended' GROUP BY turn
        HAVING count(*) > 1) t";
    assert_eq!(count(twice), 0, "no turn ends twice");
    let order = "SELECT count(*) FROM (SELECT t.session, d.seq, lag(d.seq) OVER (PARTITION BY t.session ORDER BY t.ord)
        AS earlier FROM dispatches d JOIN turn_inputs i ON i.dispatch_id = d.id JOIN agent_turns t ON t.id = i.turn_id) o
        WHERE seq < earlier";
    assert_eq!(count(order), 0, "the messages of a session are answered in order");
    let running = "SELECT count(*) FROM agent_turns t JOIN session_leases s ON s.running_turn = t.id";
    assert_eq!(count(running), 0, "no turn is left running");
    let (ran, unknown) = effects(server, project, messages);
    let interrupted = count("SELECT count(*) FROM dispatches WHERE reason LIKE 'interrupted%'");
    format!(
        "{ran} lines appended once each, {unknown} calls marked as unknown, {interrupted} turns interrupted, {parked} parked"
    )
}

fn effects(server: &PostgresServer, project: &Path, messages: u64) -> (usize, usize) {
    let text = std::fs::read_to_string(project.join("effects")).unwrap_or_default();
    let mut lines: BTreeMap<u64, u32> = BTreeMap::new();
    text.lines().for_each(|line| *lines.entry(line.parse().unwrap()).or_default() += 1);
    let statuses = server.psql(
        "SELECT string_agg(d.external_id || ' ' || coalesce(c.status, '?'), ',') FROM agent_tool_calls c
         JOIN turn_inputs i ON i.turn_id = c.turn JOIN dispatches d ON d.id = i.dispatch_id",
    );
    let statuses: BTreeMap<u64, &str> = statuses
        .split(',')
        .filter_map(|one| one.split_once(' '))
        .map(|(id, status)| (id.trim_start_matches('m').parse().unwrap(), status))
        .collect();
    for number in 0..messages {
        let (times, status) = (lines.get(&number).copied().unwrap_or_default(), statuses.get(&number).copied());
        assert!(times <= 1, "line {number} was appended {times} times, its call is {status:?}");
        match status {
            Some("succeeded") => assert_eq!(times, 1, "the call of {number} succeeded"),
            Some("unknown" | "failed") => {}
            _ => assert_eq!(times, 0, "line {number} was appended, and its call is {status:?}"),
        }
    }
    (lines.len(), statuses.values().filter(|status| **status == "unknown").count())
}
