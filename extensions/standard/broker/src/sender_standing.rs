//! Who a sender is: one of the owner's identities, a person whom the owner named, or nobody known.

use crate::dispatch_plan::SenderStanding;
use dispatch_contracts::settings::Settings;
use ext_event_ledger::contract::{Event, EventLedger, LedgerError, Person};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The owner's identities.
#[derive(Clone, Default)]
pub(crate) struct SenderKnowledge {
    owners: Arc<BTreeSet<String>>,
}

impl SenderKnowledge {
    /// The identities that the settings name.
    pub(crate) fn of(settings: &Settings) -> Self {
        let owners: Vec<String> = settings.read("route.owners").unwrap_or_default();
        Self { owners: Arc::new(owners.into_iter().collect()) }
    }

    /// Whether an identity is the owner's: it is named itself, or linked to a person of whom one is.
    pub(crate) fn is_owner(&self, channel: &str, id: &str, person: Option<&Person>) -> bool {
        let linked = person.iter().flat_map(|person| &person.identities).map(ToString::to_string);
        self.owners.contains(&format!("{channel}:{id}"))
            || linked.into_iter().any(|linked| self.owners.contains(&linked))
    }

    /// Who sent an event.
    pub(crate) async fn standing(
        &self,
        ledger: &dyn EventLedger,
        event: &Event,
    ) -> Result<SenderStanding, LedgerError> {
        let person = ledger.person_of(&event.channel, &event.from).await?;
        let is_owner = self.is_owner(&event.channel, &event.from, person.as_ref());
        Ok(SenderStanding { is_owner, person: person.map(|person| person.name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ext_event_ledger::contract::Identity;
    use serde_json::json;

    #[test]
    fn the_owner_is_known_by_each_linked_identity() {
        let senders = SenderKnowledge::of(&Settings::default().with("route.owners", json!(["mail:me@example.org"])));
        let identity = |text: &str| Identity::parse(text).unwrap();
        let me =
            Person { name: "me".to_owned(), identities: vec![identity("mail:me@example.org"), identity("sms:+1")] };
        let ann = Person { name: "Ann".to_owned(), identities: vec![identity("sms:+2")] };
        for (channel, id, person, expected) in [
            ("mail", "me@example.org", None, true),
            ("sms", "+1", Some(&me), true),
            ("sms", "+1", None, false),
            ("sms", "+2", Some(&ann), false),
            ("chat", "me@example.org", None, false),
        ] {
            assert_eq!(senders.is_owner(channel, id, person), expected, "{channel}:{id}");
        }
    }
}
