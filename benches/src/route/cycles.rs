//! Whole cycles: a peer posts an event, hooks look at it, a session answers, and the peer reads the reply.

use super::milliseconds;
use super::senders::{Sender, event};
use crate::sample::Samples;
use anyhow::{Context as _, Result, ensure};
use dispatch_support::Client;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::time::Instant;

/// Cycles of each peer; the first is not counted.
const CYCLES: usize = 12;

/// What cycles were like.
pub(super) struct CycleRate {
    pub(super) per_s: f64,
    /// From the event to its reply.
    pub(super) median_ms: f64,
}

/// Cycles of so many peers at once. The names of the peers begin with `label`.
pub(super) fn per_second(client: &Client, label: &str, peers: usize) -> Result<CycleRate> {
    play(client, &format!("{label}-first"), peers, 1)?;
    let start = Instant::now();
    let samples = play(client, &format!("{label}-timed"), peers, CYCLES)?;
    let per_s = samples.len() as f64 / start.elapsed().as_secs_f64();
    Ok(CycleRate { per_s, median_ms: milliseconds(&samples, 50) })
}

fn play(client: &Client, label: &str, peers: usize, cycles: usize) -> Result<Samples> {
    std::thread::scope(|scope| {
        let start = |peer: usize| scope.spawn(move || converse(client, &format!("{label}-{peer}"), cycles));
        let threads: Vec<_> = (0..peers).map(start).collect();
        let mut all = Samples::default();
        for thread in threads {
            all.extend(thread.join().map_err(|_| anyhow::anyhow!("a peer failed"))??);
        }
        Ok(all)
    })
}

fn converse(client: &Client, peer: &str, cycles: usize) -> Result<Samples> {
    let mut replies = client.send("GET", &format!("/v1/channels/web/{peer}/events"), &[], "")?;
    let mut sender = Sender::connect(client)?;
    let mut samples = Samples::default();
    for cycle in 0..cycles {
        let start = Instant::now();
        let (status, answer) = sender.post("/v1/events", &event(peer, &format!("{peer}-{cycle}"), "again"))?;
        ensure!(status == 202, "an event was not taken: {answer}");
        next_reply(&mut replies).with_context(|| format!("the reply {cycle} to {peer}"))?;
        samples.add(start.elapsed());
    }
    Ok(samples)
}

fn next_reply(stream: &mut BufReader<TcpStream>) -> Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        ensure!(stream.read_line(&mut line)? > 0, "the stream ended");
        if line.starts_with("event: reply") || line.starts_with("event:reply") {
            return Ok(());
        }
    }
}
