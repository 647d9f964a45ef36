//! Routing hooks whose answers follow from a seed, and differ each time they are asked: what counts is what the journal has.

use super::surroundings::{IDEMPOTENT, Surroundings};
use crate::hook_evaluation::{Evaluation, HookFailure, HookMeta, HookQuestions, HookRunning};
use crate::hook_files::HookFile;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Clock;
use ext_event_ledger::contract::Event;
use serde_json::{Value, json};
use std::sync::Arc;

/// The hook that answers most events.
pub(super) const ANSWERS: &str = "answers";
/// One that sometimes sends the same event elsewhere too.
pub(super) const FORWARDS: &str = "forwards";
/// One that throws, hangs and returns nonsense.
pub(super) const BREAKS: &str = "breaks";
/// One that disables itself when it fires.
pub(super) const ONCE: &str = "once";
/// One that sees a single channel.
pub(super) const PICKY: &str = "picky";
/// All of them.
pub(super) const HOOKS: [&str; 5] = [ANSWERS, FORWARDS, BREAKS, ONCE, PICKY];

const TIMEOUT_MS: u64 = 2_000;

/// Runs them.
pub(super) struct SeededHooks(pub(super) Arc<Surroundings>);

impl SeededHooks {
    async fn ask(&self, hook: &str, event: &Event) -> Result<Value, HookFailure> {
        let around = &self.0;
        around.clock.sleep_ms(around.random.below(20)).await;
        if around.chance(60) {
            return Err(HookFailure::NoWorker("no worker could be started".to_owned()));
        }
        Ok(match hook {
            ANSWERS if around.chance(12) => json!({"fire": false}),
            ANSWERS => json!({"fire": true, "routing": {"queueMode": self.mode()}, "context": {"extracted": {"n": 1}}}),
            FORWARDS if around.chance(3) => json!({"fire": true, "permissions": {"level": "minimal"}}),
            FORWARDS if around.chance(2) => json!({
                "fire": true,
                "routing": {"session": format!("forwarded:{}", event.from), "queueMode": self.mode()},
                "deliveryContext": {"channel": IDEMPOTENT, "peerId": format!("archive-{}", around.random.below(2))},
            }),
            BREAKS => match around.random.below(4) {
                0 => return Err(HookFailure::Failed("it threw".to_owned())),
                1 => {
                    around.clock.sleep_ms(TIMEOUT_MS).await;
                    return Err(HookFailure::TimedOut("timed out".to_owned()));
                }
                2 => json!({"fire": "yes"}),
                _ => Value::Null,
            },
            ONCE if around.chance(8) => json!({"fire": true, "disableHook": true, "routing": {"session": "reminder"}}),
            PICKY => json!({"fire": true, "context": {"includeThreadHistory": false}}),
            _ => Value::Null,
        })
    }

    fn mode(&self) -> &'static str {
        match self.0.random.below(10) {
            0..=4 => "followup",
            5..=6 => "steer",
            7..=8 => "collect",
            _ => "interrupt",
        }
    }
}

impl HookRunning for SeededHooks {
    fn longest_ms(&self) -> u64 {
        2 * TIMEOUT_MS
    }

    fn meta<'a>(&'a self, file: &'a HookFile) -> BoxFuture<'a, Result<HookMeta, HookFailure>> {
        let id = file.stem();
        let channels = (id == PICKY).then(|| vec![IDEMPOTENT.to_owned()]);
        let priority = if id == ANSWERS { 90 } else { 10 };
        Box::pin(std::future::ready(Ok(HookMeta { id: Some(id), priority, channels })))
    }

    fn evaluate<'a>(
        &'a self,
        file: &'a HookFile,
        event: &'a Event,
        _is_owner: bool,
        _questions: Arc<dyn HookQuestions>,
    ) -> BoxFuture<'a, Evaluation> {
        Box::pin(async move {
            let started = self.0.clock.monotonic_ms();
            let returned = self.ask(&file.stem(), event).await;
            Evaluation { returned, ms: self.0.clock.monotonic_ms() - started, log: Vec::new() }
        })
    }
}
