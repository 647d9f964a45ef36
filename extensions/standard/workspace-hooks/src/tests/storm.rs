//! A storm: people save, attempts fail and write files, processes die, freeze and are replaced.

use super::check::check;
use super::faulty::Dice;
use super::hooks::hook;
use super::player::Act;
use super::world::{Process, World};
use crate::contract::{Hook, Retry, Runs, Source};
use crate::performer::Assignment;
use dispatch_contracts::ports::Clock;
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
fn script(assignment: &Assignment, dice: &Dice) -> Act {
    let takes_ms = dice.below(400);
    let file = assignment.files.first().expect("a hook of files has one");
    match assignment.hook.id.as_str() {
        "flaky" if dice.below(3) == 0 => Act::failure(takes_ms),
        "format" => {
            let content = file.content_hash.clone().unwrap_or_default();
            let form = if content.starts_with("form:") { content } else { format!("form:{content}") };
            Act { writes: vec![(file.path.clone(), form)], ..Act::success(takes_ms) }
        }
        _ => Act::success(takes_ms),
    }
}

/// Plays a history and checks everything.
pub(super) fn storm(world: &World) {
    world.set_hooks(hooks());
    world.play(script);
    let played = world.sim.block_on(async {
        let mut processes = vec![world.start("p0"), world.start("p1")];
        let mut born = 2;
        for round in 0..ROUNDS {
            world.clock().sleep_ms(world.dice.below(120)).await;
            let at = usize::try_from(world.dice.below(processes.len() as u64)).unwrap();
            match world.dice.below(24) {
                0 => {
                    processes.swap_remove(at).kill();
                    processes.push(world.start(&format!("p{born}")));
                    born += 1;
                }
                1 => processes[at].frozen.store(true, Ordering::Relaxed),
                2 => {
                    let retired = processes.swap_remove(at);
                    retired.frozen.store(false, Ordering::Relaxed);
                    retired.desk.drain().await;
                    retired.kill();
                    processes.push(world.start(&format!("p{born}")));
                    born += 1;
                }
                3 => world.fails.store(world.dice.below(2) == 0, Ordering::Relaxed),
                // Whoever is stopped takes nothing in.
                _ if processes[at].frozen.load(Ordering::Relaxed) => {}
                _ => save(world, &processes[at], round).await,
            }
            if world.dice.below(6) == 0 {
                processes.iter().for_each(|process| process.frozen.store(false, Ordering::Relaxed));
            }
            watch(world, &processes).await;
        }
        world.fails.store(false, Ordering::Relaxed);
        processes.iter().for_each(|process| process.frozen.store(false, Ordering::Relaxed));
        // What runs write is reported, which may start runs.
        for _ in 0..20 {
            watch(world, &processes).await;
            world.settle().await;
        }
        check(world).await;
        processes.iter().for_each(Process::kill);
    });
    played.expect("nothing hangs");
}

/// Every content is new, so that each is handled for itself.
async fn save(world: &World, process: &Process, round: u64) {
    let folder = if world.dice.below(3) == 0 { "formatted" } else { "plain" };
    let path = format!("{folder}/{}", world.dice.below(FILES));
    world.write(&path, &format!("content {round}"));
    // Only an editor can tell a save from the work of a run that writes the same file at the same time.
    let by_editor = folder == "formatted" || world.dice.below(2) == 0;
    while by_editor && world.report(process, &path, Source::Editor).await.is_err() {
        world.clock().sleep_ms(20).await;
    }
}

/// The file system tells what changed to whoever is not stopped, until it is taken in.
async fn watch(world: &World, processes: &[Process]) {
    let Some(awake) = processes.iter().find(|process| !process.frozen.load(Ordering::Relaxed)) else { return };
    for path in world.disk.take_unreported() {
        while world.report(awake, &path, Source::Watcher).await.is_err() {
            world.clock().sleep_ms(20).await;
        }
    }
}
