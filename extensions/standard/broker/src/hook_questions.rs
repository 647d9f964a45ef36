//! What a hook may ask about an event: the person, the thread, and what it decided before. Nothing here writes.

use crate::hook_evaluation::HookQuestions;
use crate::journal::Journal;
use crate::sender_standing::SenderKnowledge;
use dispatch_contracts::BoxFuture;
use ext_event_ledger::contract::{Event, EventLedger};
use serde_json::{Value, json};
use std::sync::Arc;

/// How much is answered if a hook does not say.
const USUAL: u64 = 20;
/// The most that is answered.
const MOST: u64 = 200;

/// Questions about one event.
pub(crate) struct EventQuestions {
    pub(crate) ledger: Arc<dyn EventLedger>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) senders: SenderKnowledge,
    pub(crate) event: Event,
    pub(crate) hook: String,
}

impl EventQuestions {
    async fn person(&self, id: Option<&str>) -> Result<Value, String> {
        let id = id.unwrap_or(&self.event.from);
        let found = self.ledger.person_of(&self.event.channel, id).await.map_err(|error| error.to_string())?;
        let is_owner = self.senders.is_owner(&self.event.channel, id, found.as_ref());
        Ok(match found {
            None if !is_owner => Value::Null,
            None => json!({ "name": null, "isOwner": true, "identities": [] }),
            Some(person) => {
                let identities: Vec<String> = person.identities.iter().map(ToString::to_string).collect();
                json!({ "name": person.name, "isOwner": is_owner, "identities": identities })
            }
        })
    }
}

impl HookQuestions for EventQuestions {
    fn answer<'a>(&'a self, question: &'a str, argument: &'a Value) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            let limit = u32::try_from(argument.as_u64().unwrap_or(USUAL).min(MOST)).unwrap_or(u32::MAX);
            match question {
                "person" => self.person(argument.as_str()).await,
                "thread" => {
                    let events = self.ledger.thread_history(&self.event, limit).await;
                    events.map(|events| json!(events)).map_err(|error| error.to_string())
                }
                "invocations" => {
                    let found = self.journal.invocations_of(&self.hook, self.event.sequence, limit).await;
                    let found = found.map_err(|error| error.to_string())?;
                    let one = |it: &crate::journal::JournaledInvocation| json!({ "event": it.event, "outcome": it.outcome, "at": it.at_ms, "result": it.value });
                    Ok(found.iter().map(one).collect())
                }
                other => Err(format!("unknown question `{other}`")),
            }
        })
    }
}
