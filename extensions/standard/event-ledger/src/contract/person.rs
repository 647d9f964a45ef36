//! Persons: whom the user named, and by which names the channels know them.
//!
//! Pure.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A channel's name for a person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// Which kind of channel.
    pub channel: String,
    /// The name there.
    pub id: String,
}

impl Identity {
    /// The identity that `CHANNEL:ID` names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (channel, id) = text.split_once(':')?;
        let named = !channel.is_empty() && !id.is_empty();
        named.then(|| Self { channel: channel.to_owned(), id: id.to_owned() })
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.channel, self.id)
    }
}

/// A person whom the user named by linking an identity. Whoever was never linked is no person, however often they wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The name that the user gave; it is also the id.
    pub name: String,
    /// By which names the channels know the person, in order.
    pub identities: Vec<Identity>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_a_channel_and_a_name_that_may_contain_colons() {
        let parsed = |text: &str| Identity::parse(text).map(|it| (it.channel, it.id));
        let some = |channel: &str, id: &str| Some((channel.to_owned(), id.to_owned()));
        assert_eq!(parsed("mail:me@example.org"), some("mail", "me@example.org"));
        assert_eq!(parsed("matrix:!room:server"), some("matrix", "!room:server"));
        for wrong in ["", "mail", ":x", "mail:"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
