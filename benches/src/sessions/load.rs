//! Many sessions that take turns at once, each message sent when the one before it was answered.

use anyhow::{Context as _, Result};
use dispatch_support::{After, Client, Reply, Script, ScriptedModel, Served, Step};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Clock ticks per second of `/proc/PID/stat`.
const TICKS: f64 = 100.0;
/// How long a process may settle before and after it is watched.
const REST: Duration = Duration::from_millis(500);

/// What a load was like for its servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) turns_per_s: f64,
    /// Processor time of the servers per turn.
    pub(super) cpu_ms: f64,
}

/// A model that says the same every time, after a while.
pub(crate) fn model(thinks_ms: u64) -> ScriptedModel {
    let Reply { status, headers, body } = Reply::say("yes");
    let think = (thinks_ms > 0).then_some(Step::SleepMs(thinks_ms));
    let reply = Reply { status, headers, body: think.into_iter().chain(body).collect() };
    ScriptedModel::start(Script { replies: vec![reply], after: After::RepeatLast, keep: 1, ..Script::default() })
}

fn play(client: &Client, session: &str, turns: u32) {
    for _ in 0..turns {
        client.say(session, "again");
    }
}

/// Plays so many turns in each of so many sessions, spread over the servers. The sessions are new.
pub(super) fn run(served: &[Served], label: &str, sessions: u32, turns: u32) -> Result<Load> {
    let clients: Vec<Client> = served.iter().map(|served| served.client.clone()).collect();
    let all = |name: &str, turns: u32| {
        std::thread::scope(|scope| {
            for (session, client) in (0..sessions).zip(clients.iter().cycle()) {
                let label = format!("{label}-{name}-{session}");
                scope.spawn(move || play(client, &label, turns));
            }
        });
    };
    all("first", 1);
    let before = processor_ms(served)?;
    let start = Instant::now();
    all("timed", turns);
    let count = f64::from(sessions * turns);
    let turns_per_s = count / start.elapsed().as_secs_f64();
    Ok(Load { turns_per_s, cpu_ms: (processor_ms(served)? - before) / count })
}

/// The processor time that processes have used.
fn processor_ms(served: &[Served]) -> Result<f64> {
    let mut total = 0.0;
    for served in served {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", served.id()))?;
        let fields: Vec<&str> = stat.rsplit(')').next().context("a name")?.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).context("ticks");
        total += (ticks(11)? + ticks(12)?) * 1e3 / TICKS;
    }
    Ok(total)
}

/// How often a process waits for the disk per turn; `None` where there is no strace.
pub(super) fn syncs_per_turn(served: &Served, folder: &Path, sessions: u32, turns: u32) -> Option<f64> {
    let log = folder.join("syncs");
    let mut strace = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=fdatasync,fsync", "-o"])
        .arg(&log)
        .args(["-p", &served.id().to_string()])
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    std::thread::sleep(REST);
    let calls = || std::fs::read_to_string(&log).unwrap_or_default().matches("sync(").count();
    let before = calls();
    std::thread::scope(|scope| {
        for session in 0..sessions {
            let client = served.client.clone();
            scope.spawn(move || play(&client, &format!("watched-{sessions}-{session}"), turns));
        }
    });
    let synced = calls() - before;
    // It lets go of the process when it ends.
    let _ = Command::new("kill").arg(strace.id().to_string()).status();
    let _ = strace.wait();
    Some(synced as f64 / f64::from(sessions * turns))
}
