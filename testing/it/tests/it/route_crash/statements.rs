//! `kill -9` at every statement: a server dies at its first, second, third, ... call or statement until a history runs
//! through, before it and behind it, on SQLite and on PostgreSQL. Zero lost, zero doubled, no command repeated.

mod history;
mod statement_proxy;

use crate::call_counter::{CallCounter, Moment};
use dispatch_support::{PostgresServer, slow_lane};
use history::{Histories, HistoryResult, KillPoint, Killing, Way};
use statement_proxy::StatementProxy;
use std::collections::BTreeMap;
use std::time::Instant;

/// Outside the slow lane only one point in so many is tried.
const CALL_STEP: u64 = 29;
const STATEMENT_STEP: u64 = 29;
const TAKE_OVER_STEP: u64 = 97;
/// The number of calls differs a little from time to time, so more than one history has to run through.
const SLOW_RUNS_THROUGH: usize = 3;
/// A history without so many points was not counted.
const FEWEST_POINTS: u64 = 30;

/// What a row of histories came to.
#[derive(Debug, Default)]
struct Tally {
    points: u64,
    histories: usize,
    ends: BTreeMap<&'static str, usize>,
    struck: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, at: u64, played: HistoryResult) {
        self.histories += 1;
        self.points = self.points.max(at);
        *self.ends.entry(played.end).or_default() += 1;
        for what in played.struck {
            *self.struck.entry(what).or_default() += 1;
        }
    }
}

/// Plays histories in which a server dies at each point in turn, behind those that it was brought to before.
fn kill_everywhere(histories: &mut Histories<'_>, way: Way, step: u64, before: &[KillPoint], kind: KillPoint) -> Tally {
    let (step, runs_through) = if slow_lane() { (1, SLOW_RUNS_THROUGH) } else { (step, 1) };
    let mut tally = Tally::default();
    let (mut at, mut through) = (1, 0);
    while through < runs_through {
        let points = [before, &[KillPoint { at, ..kind }]].concat();
        let played = histories.play(way, &points);
        let has_died = played.struck.len() == points.len();
        through = if has_died { 0 } else { through + 1 };
        if has_died {
            tally.add(at, played);
        }
        at += step;
    }
    tally
}

/// Plays everything and gives the figures.
fn play_all(killing: &dyn Killing, step: u64) -> String {
    let (began, mut figures) = (Instant::now(), Vec::new());
    let mut histories = Histories::new(killing);
    let mut most = 0;
    for way in [Way::Webhook, Way::Web] {
        for moment in [Moment::Before, Moment::Behind] {
            let kind = KillPoint { at: 0, moment, from_the_start: false };
            let tally = kill_everywhere(&mut histories, way, step, &[], kind);
            figures.push(format!("{way:?}, {moment:?}: {tally:#?}"));
            assert!(tally.points >= FEWEST_POINTS, "a history has only {} points", tally.points);
            most = most.max(tally.points);
        }
    }
    // Whoever takes over is killed as well.
    for first in [most / 4, most / 2, most * 3 / 4] {
        let before = KillPoint { at: first, moment: Moment::Behind, from_the_start: false };
        let kind = KillPoint { at: 0, moment: Moment::Before, from_the_start: true };
        let tally = kill_everywhere(&mut histories, Way::Webhook, TAKE_OVER_STEP, &[before], kind);
        figures.push(format!("taking over from one that died at {first}: {tally:#?}"));
    }
    let (count, answered) = (histories.count(), histories.check_all());
    figures.push(format!("{count} histories, {answered} answered, {:?}", began.elapsed()));
    assert!(answered * 2 > count, "{answered} of {count} were answered");
    figures.join("\n")
}

#[test]
fn a_kill_at_any_call_that_changes_something_loses_and_doubles_nothing() {
    println!("{}", play_all(&CallCounter::compile(), CALL_STEP));
}

#[test]
fn a_kill_at_any_statement_of_a_database_server_loses_and_doubles_nothing() {
    let server = PostgresServer::start();
    println!("{}", play_all(&StatementProxy::start(&server), STATEMENT_STEP));
    let doubles =
        "SELECT count(*) FROM (SELECT 1 FROM events GROUP BY channel, account, external_id HAVING count(*) > 1) d";
    assert_eq!(server.psql(doubles), "0");
}
