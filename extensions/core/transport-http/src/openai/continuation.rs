//! Which session continues for a client that sends its whole conversation each time and names no session.
//!
//! Pure.
//!
//! A conversation is identified by a fingerprint of all its messages. After a reply the session is noted
//! under the conversation with that reply; a request whose earlier messages have this fingerprint
//! continues there. Each note is used once: a second branch from the same point gets a new session.

use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};

/// How many conversations are remembered; a forgotten one continues in a new session.
const MAX_NOTES: usize = 1_024;

/// Identifies a conversation by its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The conversation with one more message.
    #[must_use]
    pub(crate) fn with(self, role: &str, words: &str) -> Self {
        let mut digest = Sha256::new();
        digest.update(self.0);
        digest.update((role.len() as u64).to_be_bytes());
        digest.update(role);
        digest.update(words.trim());
        Self(digest.finalize().into())
    }
}

/// The sessions that can be continued.
#[derive(Default)]
pub(crate) struct Continuations {
    notes: BTreeMap<Fingerprint, String>,
    order: VecDeque<Fingerprint>,
}

impl Continuations {
    /// The session of this conversation, which is now taken.
    pub(crate) fn take(&mut self, conversation: Fingerprint) -> Option<String> {
        self.notes.remove(&conversation)
    }

    /// Notes where a conversation stands.
    pub(crate) fn note(&mut self, conversation: Fingerprint, session: String) {
        if self.notes.insert(conversation, session).is_none() {
            self.order.push_back(conversation);
        }
        while self.order.len() > MAX_NOTES {
            if let Some(oldest) = self.order.pop_front() {
                self.notes.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_goes_on_once() {
        let mut continuations = Continuations::default();
        let so_far = Fingerprint::default().with("user", "hi").with("assistant", "hello");
        continuations.note(so_far, "s".to_owned());
        assert_eq!(continuations.take(Fingerprint::default().with("user", "hi")), None);
        assert_eq!(continuations.take(so_far).as_deref(), Some("s"));
        assert_eq!(continuations.take(so_far), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut continuations = Continuations::default();
        for number in 0..3 * MAX_NOTES {
            let note = Fingerprint::default().with("user", &number.to_string());
            continuations.note(note, number.to_string());
            continuations.take(note).unwrap();
            continuations.note(note, number.to_string());
        }
        assert!(continuations.notes.len() <= MAX_NOTES && continuations.order.len() <= MAX_NOTES);
    }
}
