//! The job that each command belongs to: one table that orders `dispatch --help` and `docs/commands.md`.
//!
//! Pure.

use clap::builder::Styles;
use clap::builder::styling::Style;
use std::fmt::Write as _;

/// The commands of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandGroup {
    /// The job, as the README names it.
    pub(crate) job: &'static str,
    /// What the job is, in a few words.
    pub(crate) about: &'static str,
    /// Its commands, in the order a user meets them.
    pub(crate) commands: &'static [&'static str],
}

/// Every command that is not hidden, once.
pub(crate) const GROUPS: [CommandGroup; 6] = [
    CommandGroup {
        job: "Guard",
        about: "check what coding agents do",
        commands: &[
            "hook",
            "canary",
            "check",
            "events",
            "why",
            "explain",
            "rules",
            "replay",
            "allow-once",
            "module",
            "plan",
            "phase",
            "state",
            "memory",
        ],
    },
    CommandGroup {
        job: "Trace",
        about: "tie every change to a declared intent",
        commands: &["intent", "trace", "mcp"],
    },
    CommandGroup {
        job: "React",
        about: "run prompts and programs when files change",
        commands: &["watch", "service", "lsp", "workspace-hooks", "runs"],
    },
    CommandGroup {
        job: "Route",
        about: "bring in events from outside",
        commands: &["event", "route", "outbox", "person", "channel"],
    },
    CommandGroup {
        job: "Run",
        about: "use Dispatch's own agent",
        commands: &["chat", "run", "session", "queue", "approvals", "permissions", "serve", "acp", "storage"],
    },
    CommandGroup {
        job: "Set-up",
        about: "install, configure and check",
        commands: &["init", "up", "doctor", "trust", "auth", "config", "ext", "schema", "completions", HELP],
    },
];

/// The command that clap adds when it parses.
const HELP: &str = "help";
const HELP_ABOUT: &str = "Print this message or the help of a command";
const INDENT: &str = "  ";

/// Makes `--help` list the commands by job. Clap has headings for options alone, so the list is part of the template.
pub(crate) fn with_groups(command: clap::Command) -> clap::Command {
    let template = template(&command, &command.get_styles().clone());
    command.help_template(template)
}

fn template(command: &clap::Command, styles: &Styles) -> String {
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    for group in GROUPS {
        write_group(&mut text, command, &group, (header, literal));
    }
    let _ = write!(text, "{header}Options:{header:#}\n{{options}}{{after-help}}");
    text
}

fn write_group(text: &mut String, command: &clap::Command, group: &CommandGroup, (header, literal): (&Style, &Style)) {
    let width = GROUPS.iter().flat_map(|group| group.commands).map(|name| name.len()).max().unwrap_or_default();
    let _ = writeln!(text, "{header}{}:{header:#} {}", group.job, group.about);
    for name in group.commands {
        let _ = writeln!(text, "{INDENT}{literal}{name:<width$}{literal:#}{INDENT}{}", about(command, name));
    }
    text.push('\n');
}

fn about(command: &clap::Command, name: &str) -> String {
    let found = command.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string);
    found.unwrap_or_else(|| HELP_ABOUT.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::CommandFactory;

    #[test]
    fn every_command_stands_in_exactly_one_group() {
        let command = Args::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
        let mut shown: Vec<&str> = shown.chain([HELP]).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }

    #[test]
    fn every_line_of_the_help_fits_a_terminal() {
        let mut command = with_groups(Args::command());
        for line in command.render_help().to_string().lines() {
            assert!(line.chars().count() <= 100, "{} characters: {line}", line.chars().count());
        }
    }
}
