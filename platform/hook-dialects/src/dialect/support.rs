//! What each host can be told at each hook event: one table that both the code and the docs read.

use std::fmt::Write as _;

use dispatch_hook_module::{EventName, same_name};

/// A set of things a reply can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities(u8);

impl Abilities {
    /// The host only observes.
    pub const NONE: Self = Self(0);
    /// Block what is about to happen, or keep the agent going at a stop.
    pub const DENY: Self = Self(1);
    /// Make the user confirm.
    pub const ASK: Self = Self(1 << 1);
    /// Answer the permission prompt for the user.
    pub const GRANT: Self = Self(1 << 2);
    /// Replace the tool's input.
    pub const REWRITE: Self = Self(1 << 3);
    /// Give the model something to read.
    pub const CONTEXT: Self = Self(1 << 4);
    /// Show the user something.
    pub const MESSAGE: Self = Self(1 << 5);
    /// Stop the agent altogether.
    pub const HALT: Self = Self(1 << 6);
    /// Replace the tool's result.
    pub const OUTPUT: Self = Self(1 << 7);

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether everything in `other` is in this set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// How a refusal reaches the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// One JSON object on standard output, exit code 0.
    Json,
    /// Exit code 2, reason on standard error; standard output is plain text or ignored.
    ExitCode,
    /// Nothing may be printed: the host takes standard output for something else.
    Silent,
}

/// One event of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSupport {
    /// The host's spelling.
    pub host_event: &'static str,
    /// Which event it is; `Other` for events outside the eight.
    pub name: EventName,
    /// What a reply can do.
    pub abilities: Abilities,
    /// How it does it.
    pub channel: Channel,
    /// What is worth knowing.
    pub note: &'static str,
}

/// An event outside the eight, in a table.
pub(crate) const OTHER: EventName = EventName::Other(String::new());

/// A row for a host that reads JSON.
pub(crate) const fn row(
    host_event: &'static str,
    name: EventName,
    abilities: Abilities,
    note: &'static str,
) -> EventSupport {
    EventSupport { host_event, name, abilities, channel: Channel::Json, note }
}

/// A row for a host, or an event, that is blocked by exit code.
pub(crate) const fn exit_row(
    host_event: &'static str,
    name: EventName,
    abilities: Abilities,
    note: &'static str,
) -> EventSupport {
    EventSupport { host_event, name, abilities, channel: Channel::ExitCode, note }
}

/// Everything known about one host.
#[derive(Debug, PartialEq, Eq)]
pub struct Support {
    /// The id that `--host` and registrations use.
    pub id: &'static str,
    /// The product's name.
    pub title: &'static str,
    /// Other accepted ids.
    pub aliases: &'static [&'static str],
    /// The payload fields that may hold the event's name.
    pub(crate) event_keys: &'static [&'static str],
    /// Environment variables that hold the project directory.
    pub(crate) project_variables: &'static [&'static str],
    /// The host's events.
    pub events: &'static [EventSupport],
    /// What happens to what the host cannot express.
    pub degradation: &'static str,
}

impl Support {
    /// The row of an event: exact spelling first, then without case, then by meaning.
    #[must_use]
    pub fn event(&self, spelling: &str) -> Option<&'static EventSupport> {
        let events = self.events;
        events
            .iter()
            .find(|row| row.host_event == spelling)
            .or_else(|| events.iter().find(|row| same_name(row.host_event, spelling)))
            .or_else(|| {
                let known = EventName::known(spelling)?;
                events.iter().find(|row| row.name == known)
            })
    }

    /// What a reply to an event can do; nothing, for an event the host is not known to fire.
    #[must_use]
    pub fn abilities(&self, host_event: &str) -> Abilities {
        self.event(host_event).map_or(Abilities::NONE, |row| row.abilities)
    }
}

/// The page that says what each host can do, from the tables the code runs on.
#[must_use]
pub fn hosts_markdown() -> String {
    let mut page = String::from(
        "# Hosts\n\nGenerated from the dialect tables. A reply can do only what the row of its event says; \
         each section says what happens to the rest. A stop that a stop hook caused is not blocked.\n",
    );
    for dialect in super::ALL {
        let support = dialect.support();
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## {} (`{}`)\n\n", support.title, support.id);
        if !support.aliases.is_empty() {
            let _ = writeln!(page, "Also called: `{}`.\n", support.aliases.join("`, `"));
        }
        let _ = writeln!(page, "{}\n", support.degradation);
        page.push_str(
            "| Host event | Event | Deny | Ask | Grant | Rewrite | Context | Message | Halt | How | Notes |\n",
        );
        page.push_str("|---|---|---|---|---|---|---|---|---|---|---|\n");
        for row in support.events {
            page.push_str(&markdown_row(row));
        }
    }
    page
}

fn markdown_row(row: &EventSupport) -> String {
    let mark = |ability| if row.abilities.has(ability) { "yes" } else { "" };
    let name = match &row.name {
        EventName::Other(_) => "",
        known => known.as_str(),
    };
    let channel = match row.channel {
        Channel::Json => "JSON",
        Channel::ExitCode => "exit code",
        Channel::Silent => "silent",
    };
    format!(
        "| {} | {name} | {} | {} | {} | {} | {} | {} | {} | {channel} | {} |\n",
        row.host_event,
        mark(Abilities::DENY),
        mark(Abilities::ASK),
        mark(Abilities::GRANT),
        mark(Abilities::REWRITE),
        mark(Abilities::CONTEXT),
        mark(Abilities::MESSAGE),
        mark(Abilities::HALT),
        row.note,
    )
}
