//! The command line, as clap reads it.

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// One policy pipeline between AI agents and the code, messages and machines they touch.
#[derive(Debug, Parser)]
#[command(name = "dispatch", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 done, 1 the answer is no, 2 usage, 3 configuration, 4 internal.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Work on the project in this folder instead of the current one
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) project: Option<PathBuf>,

    /// Set one setting for this run, for example --set model.name=qwen3
    #[arg(long = "set", value_name = "NAME=VALUE", global = true)]
    pub(crate) set: Vec<String>,

    /// Run with the core extensions alone
    #[arg(long, global = true)]
    pub(crate) minimal: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what is configured, found and wrong, and how to fix it
    Doctor {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Show the settings in force
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// List and switch extensions
    Ext {
        #[command(subcommand)]
        command: ExtCommand,
    },
    /// Approve the present content of files that came with a project
    Trust(TrustRequest),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Run scripts for another Dispatch process
    #[command(hide = true)]
    ScriptWorker,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each setting with its value and where it came from
    Show {
        /// Only this setting, or the settings below it
        name: Option<String>,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the files that are read, strongest last
    Paths {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of the settings
    Schema,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExtCommand {
    /// Print every extension with its state
    List {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Switch on an extension that was switched off because it kept failing
    Enable {
        /// The extension's id
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct TrustRequest {
    /// The files to approve; default: the project's settings
    pub(crate) paths: Vec<PathBuf>,
    /// Print what is approved instead
    #[arg(long, conflicts_with = "paths")]
    pub(crate) list: bool,
    /// Take the approval back instead
    #[arg(long, conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// With --list: print one JSON object instead of text
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
