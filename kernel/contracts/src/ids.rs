//! Names of things as distinct types, so that a call id cannot be passed where a turn id belongs.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps a text as this id.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

text_id!(
    /// Names an extension: the folder name, the prefix of its hooks, the owner of its faults.
    ExtensionId
);
text_id!(
    /// Names one conversation of our own agent.
    SessionId
);
text_id!(
    /// Names one reply of the agent.
    TurnId
);
text_id!(
    /// Names one tool call; unique within a session.
    CallId
);
text_id!(
    /// Names one row of the conversation log.
    RowId
);
