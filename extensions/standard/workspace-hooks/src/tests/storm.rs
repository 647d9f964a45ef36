//! A storm: people save, attempts fail and write files, processes die, freeze and are replaced.

use super::check::check;
use super::hooks::hook;
use super::simulated_executor::SimulatedAttempt;
use super::simulation::{Process, Simulation};
use crate::contract::{ExecutionRecord, Hook, Retry, Runs, Source};
use crate::run_executor::RunJob;
use dispatch_contracts::ports::Clock;
use dispatch_sim::SeededRandom;
use std::sync::atomic::Ordering;

const ROUNDS: u64 = 150;
const FILES: u64 = 8;

fn hooks() -> Vec<Hook> {
    let mut all: Vec<Hook> = ["lint", "test", "docs", "flaky", "format"].into_iter().map(hook).collect();
    all[1].concurrency = 1;
    all[3].retry = Retry { count: 2, backoff_ms: 300, backoff_factor: 2.0 };
    all[4].pattern = vec!["formatted/".to_owned()];
    all
}

/// One in three attempts of the flaky hook fails; the format hook puts its file in form.
fn script(job: &RunJob, random: &SeededRandom) -> SimulatedAttempt {
    let takes_ms = random.below(400);
    let file = job.files.first().expect("a hook of files has one");
    match job.hook.id.as_str() {
        "flaky" if random.below(3) == 0 => SimulatedAttempt::failure(takes_ms),
        "format" => {
            let content = file.content_hash.clone().unwrap_or_default();
            let form = if content.starts_with("form:") { content } else { format!("form:{content}") };
            SimulatedAttempt { writes: vec![(file.path.clone(), form)], ..SimulatedAttempt::success(takes_ms) }
        }
        _ => SimulatedAttempt::success(takes_ms),
    }
}

/// Plays a history and checks everything.
pub(super) fn storm(simulation: &Simulation) -> Vec<ExecutionRecord> {
    simulation.set_hooks(hooks());
    simulation.script(script);
    let played = simulation.sim.block_on(async {
        let mut processes = vec![simulation.start("p0"), simulation.start("p1")];
        let mut born = 2;
        for round in 0..ROUNDS {
            simulation.clock().sleep_ms(simulation.random.below(120)).await;
            let at = usize::try_from(simulation.random.below(processes.len() as u64)).unwrap();
            match simulation.random.below(24) {
                0 => {
                    processes.swap_remove(at).kill();
                    processes.push(simulation.start(&format!("p{born}")));
                    born += 1;
                }
                1 => processes[at].frozen.store(true, Ordering::Relaxed),
                2 => {
                    let retired = processes.swap_remove(at);
                    retired.frozen.store(false, Ordering::Relaxed);
                    retired.service.drain().await;
                    retired.kill();
                    processes.push(simulation.start(&format!("p{born}")));
                    born += 1;
                }
                3 => simulation.fails.store(simulation.random.below(2) == 0, Ordering::Relaxed),
                // Whoever is stopped takes nothing in.
                _ if processes[at].frozen.load(Ordering::Relaxed) => {}
                _ => save(simulation, &processes[at], round).await,
            }
            if simulation.random.below(6) == 0 {
                processes.iter().for_each(|process| process.frozen.store(false, Ordering::Relaxed));
            }
            watch(simulation, &processes).await;
        }
        simulation.fails.store(false, Ordering::Relaxed);
        processes.iter().for_each(|process| process.frozen.store(false, Ordering::Relaxed));
        // What runs write is reported, which may start runs.
        for _ in 0..20 {
            watch(simulation, &processes).await;
            simulation.settle().await;
        }
        check(simulation).await;
        processes.iter().for_each(Process::kill);
        simulation.records().await
    });
    played.expect("nothing hangs")
}

/// Every content is new, so that each is handled for itself.
async fn save(simulation: &Simulation, process: &Process, round: u64) {
    let folder = if simulation.random.below(3) == 0 { "formatted" } else { "plain" };
    let path = format!("{folder}/{}", simulation.random.below(FILES));
    simulation.write(&path, &format!("content {round}"));
    // Only an editor can tell a save from the work of a run that writes the same file at the same time.
    let by_editor = folder == "formatted" || simulation.random.below(2) == 0;
    while by_editor && simulation.report(process, &path, Source::Editor).await.is_err() {
        simulation.clock().sleep_ms(20).await;
    }
}

/// The file system tells what changed to whoever is not stopped, until it is taken in.
async fn watch(simulation: &Simulation, processes: &[Process]) {
    let Some(awake) = processes.iter().find(|process| !process.frozen.load(Ordering::Relaxed)) else { return };
    for path in simulation.disk.take_unreported() {
        while simulation.report(awake, &path, Source::Watcher).await.is_err() {
            simulation.clock().sleep_ms(20).await;
        }
    }
}
