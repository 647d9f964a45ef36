//! What others may use: the name of the channel.

/// The name of the channel in events, settings and commands.
pub const CHANNEL: &str = "mail";
