//! How long it takes from an event until all hooks have decided: with one hook and with twenty, and beside a hook that
//! runs to its deadline. The times are those of the receipts.

use super::milliseconds;
use super::senders::{Sender, event};
use crate::row;
use crate::sample::Samples;
use crate::served_project::ServedProject;
use crate::sessions::ReportRow;
use anyhow::{Context as _, Result, ensure};
use dispatch_support::ScriptedModel;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

const MANY: usize = 20;
const EVENTS: usize = 60;
/// Peers whose events come in while a hook hangs.
const OTHERS: usize = 40;
/// Of fewer than a hundred measurements this is the longest.
const LONGEST: usize = 99;
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(2);

pub(super) fn rows(program: &Path, model: &ScriptedModel) -> Result<Vec<ReportRow>> {
    let [one, many] = [1, MANY].map(|count| decided_one_by_one(program, model, count));
    let (one, many) = (mean_ms(&one?), mean_ms(&many?));
    let (usual, beside) = beside_a_hanging_hook(program, model)?;
    // They come one after the other, so that a delay shows in the longest and hides in the median.
    let [usual, beside] = [&usual, &beside].map(|samples| milliseconds(samples, LONGEST));
    Ok(vec![
        row![
            format!("{MANY} hooks decide about an event, mean"),
            format!("{many:.1} ms"),
            format!("{one:.1} ms with one"),
            format!("{:.1} x", many / one),
            "at most 8 x"
        ],
        row![
            "the slowest other event while a hook runs to its deadline",
            format!("{beside:.0} ms"),
            format!("{usual:.0} ms without"),
            format!("{:+.0} ms", beside - usual),
            "no delay"
        ],
    ])
}

/// Events one after the other, with hooks that pass.
fn decided_one_by_one(program: &Path, model: &ScriptedModel, hooks: usize) -> Result<Samples> {
    let sources =
        (1..=hooks).map(|number| (format!("hook{number}"), format!("export default () => null; // {number}\n")));
    let project = with_hooks(program, model, sources)?;
    let served = project.serve()?;
    let mut sender = Sender::connect(&served.client)?;
    // The first ones start the workers and compile the hooks.
    for number in 0..EVENTS / 4 {
        _ = decided(&mut sender, "warm", &format!("warm-{number}"), hooks)?;
    }
    let mut samples = Samples::default();
    for number in 0..EVENTS {
        samples.add(decided(&mut sender, "peer", &format!("timed-{number}"), hooks)?);
    }
    Ok(samples)
}

/// How long other events take, without and with one that makes a hook run to its deadline.
fn beside_a_hanging_hook(program: &Path, model: &ScriptedModel) -> Result<(Samples, Samples)> {
    let hanging =
        "export default (event: { content: string }) => { while (event.content === \"hang\") {} return null; };\n";
    let sources = [("hangs", hanging), ("passes", "export default () => null;\n")];
    let project = with_hooks(program, model, sources.map(|(name, text)| (name.to_owned(), text.to_owned())))?;
    let served = project.serve()?;
    let mut sender = Sender::connect(&served.client)?;
    for number in 0..EVENTS / 4 {
        _ = decided(&mut sender, "warm", &format!("warm-{number}"), 2)?;
    }
    let mut others = |label: &str| -> Result<Samples> {
        let mut samples = Samples::default();
        for number in 0..OTHERS {
            samples.add(decided(&mut sender, &format!("{label}-{number}"), &format!("{label}-{number}"), 2)?);
        }
        Ok(samples)
    };
    let usual = others("usual")?;
    // Several at once, so that they could hold every worker.
    let mut hanging = Sender::connect(&served.client)?;
    for number in 0..3 {
        post(&mut hanging, &format!("hanging-{number}"), &format!("hang-{number}"), "hang")?;
    }
    let beside = others("beside")?;
    let waited = receipt(&mut hanging, "hang-0", 2)?;
    let timed_out = waited["hooks"].as_array().into_iter().flatten().any(|hook| hook["outcome"] == "timeout");
    ensure!(timed_out, "the hook did not hang: {waited}");
    Ok((usual, beside))
}

fn with_hooks(
    program: &Path,
    model: &ScriptedModel,
    sources: impl IntoIterator<Item = (String, String)>,
) -> Result<ServedProject> {
    let project = ServedProject::new(program, model)?;
    let folder = project.folder().join("home/config/hooks");
    std::fs::create_dir_all(&folder)?;
    for (name, source) in sources {
        std::fs::write(folder.join(format!("{name}.ts")), source)?;
    }
    Ok(project)
}

fn post(sender: &mut Sender, peer: &str, id: &str, content: &str) -> Result<()> {
    let (status, answer) = sender.post("/v1/events", &event(peer, id, content))?;
    ensure!(status == 202, "an event was not taken: {answer}");
    Ok(())
}

/// Posts an event and gives the time from its storing until it was decided, as its receipt tells.
fn decided(sender: &mut Sender, peer: &str, id: &str, hooks: usize) -> Result<Duration> {
    post(sender, peer, id, "hello")?;
    let receipt = receipt(sender, id, hooks)?;
    let stored = receipt.pointer("/event/receivedAt").and_then(Value::as_u64).context("when it was stored")?;
    let times = receipt["hooks"].as_array().into_iter().flatten().filter_map(|hook| hook["atMs"].as_u64());
    let decided = times.max().context("when it was decided")?;
    Ok(Duration::from_millis(decided.saturating_sub(stored)))
}

/// The receipt of an event that so many hooks have decided about.
fn receipt(sender: &mut Sender, id: &str, hooks: usize) -> Result<Value> {
    let until = Instant::now() + PATIENCE;
    loop {
        let receipt = sender.get(&format!("/v1/events/web:{id}"))?;
        if receipt["hooks"].as_array().is_some_and(|lines| lines.len() == hooks) {
            return Ok(receipt);
        }
        ensure!(Instant::now() < until, "the event is not decided: {receipt}");
        std::thread::sleep(LOOK);
    }
}

/// The receipts count whole milliseconds, which the mean of many makes up for.
fn mean_ms(samples: &Samples) -> f64 {
    samples.mean_us() / 1e3
}
