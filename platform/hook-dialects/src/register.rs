//! Registration: which files make a host call Dispatch, and how to edit them without harm.

mod command;
mod commented_json;
mod document;
mod hooks_file;
mod hosts;
mod lookup;
mod missing_program;
mod standalone;

use std::fmt::Debug;
use std::sync::Arc;

use thiserror::Error;

use crate::dialect;
use hooks_file::HooksFile;
use standalone::Standalone;

pub use command::{CommandLine, Shell, System};
pub use document::Document;
pub use lookup::{Launch, RegisteredCommand};

/// Whose hooks are registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The repository's; paths are relative to its root.
    Project,
    /// The user's; paths are relative to the home directory.
    User,
}

/// Which of a host's present and former places are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Where the host looks today.
    Current,
    /// Also where it used to look.
    WithLegacy,
}

/// What a file says about our registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered {
    /// All of it is there.
    Yes,
    /// None of it is there.
    Missing,
    /// Part of it is missing or says something else; one line per difference.
    Differs(Vec<String>),
}

/// What is left of a file without our registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Write this back.
    Keep(String),
    /// Nothing of anyone else's is left: delete the file.
    Delete,
}

/// Why a file was left alone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegisterError {
    /// No dialect has this name.
    #[error("no host is called `{name}`")]
    UnknownHost {
        /// The name as given.
        name: String,
    },
    /// The host has no file to register in.
    #[error("{host} has no file to register hooks in")]
    NothingToRegister {
        /// The host's id.
        host: &'static str,
    },
    /// The file is not JSON.
    #[error("the file is not valid JSON (line {line}, column {column}); repair it first")]
    Syntax {
        /// Line of the first fault.
        line: usize,
        /// Column of the first fault.
        column: usize,
    },
    /// The file has comments that an edit would lose.
    #[error("the file has comments that would be lost; add this by hand:\n{snippet}")]
    Comments {
        /// What to add.
        snippet: String,
    },
    /// A key appears twice, and a rewrite would lose one of the two.
    #[error("the file has the key `{key}` twice in one object; remove one first")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// The file is JSON of another shape than the host reads.
    #[error("`{at}` is not {expected}; the host would not read it either")]
    Shape {
        /// Where in the file.
        at: String,
        /// What should be there.
        expected: &'static str,
    },
    /// The file is not what it should be, in the words of whoever reads it.
    #[error("{detail}; repair it first")]
    Unreadable {
        /// What is wrong.
        detail: String,
    },
    /// The place is taken by a file that is not ours.
    #[error("a file that Dispatch did not write is in this place; move it first")]
    ForeignFile,
}

/// One file of one host's registration.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where it is, with `/` between the parts, relative to the scope's root.
    pub path: String,
    /// What the path is relative to.
    pub scope: Scope,
    /// Whether the file must be executable.
    pub executable: bool,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Hooks(HooksFile),
    Standalone(Standalone),
    Other(Arc<dyn FileEditor>),
}

/// How a file that is about something else than hooks is edited.
pub trait FileEditor: Debug + Send + Sync {
    /// The file with our entry in it and everything else kept.
    ///
    /// # Errors
    /// When the file cannot be edited without losing something.
    fn merge(&self, existing: Option<&str>) -> Result<String, RegisterError>;

    /// The file without our entry.
    ///
    /// # Errors
    /// When the file cannot be edited without losing something.
    fn remove(&self, existing: &str) -> Result<Removal, RegisterError>;

    /// What the file says about our entry.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn check(&self, existing: Option<&str>) -> Result<Registered, RegisterError>;
}

/// The files that register Dispatch with `host`.
///
/// # Errors
/// When there is no such host, or it has nothing to register in.
pub fn targets(host: &str, scope: Scope, system: System, layout: Layout) -> Result<Vec<Target>, RegisterError> {
    let dialect = dialect::by_name(host).ok_or_else(|| RegisterError::UnknownHost { name: host.to_owned() })?;
    let targets = hosts::targets(dialect.id(), scope, system, layout);
    if targets.is_empty() {
        return Err(RegisterError::NothingToRegister { host: dialect.id() });
    }
    Ok(targets)
}

/// What the user must still do after the files are written, if anything.
#[must_use]
pub fn advice(host: &str) -> Option<&'static str> {
    hosts::advice(dialect::by_name(host)?.id())
}

impl Target {
    /// A file that is about something else than hooks.
    #[must_use]
    pub fn other(path: &str, scope: Scope, editor: Arc<dyn FileEditor>) -> Self {
        Self { path: path.to_owned(), scope, executable: false, kind: Kind::Other(editor) }
    }

    /// The file with our registration in it and everything else kept. Merging twice changes nothing.
    ///
    /// # Errors
    /// When the file cannot be edited without losing something.
    pub fn merge(&self, existing: Option<&str>, command: &CommandLine) -> Result<String, RegisterError> {
        match &self.kind {
            Kind::Hooks(file) => file.merge(existing, command),
            Kind::Standalone(file) => file.merge(existing, command),
            Kind::Other(file) => file.merge(existing),
        }
    }

    /// The file without our registration.
    ///
    /// # Errors
    /// When the file cannot be edited without losing something.
    pub fn remove(&self, existing: &str) -> Result<Removal, RegisterError> {
        match &self.kind {
            Kind::Hooks(file) => file.remove(existing),
            Kind::Standalone(file) => Ok(file.remove(existing)),
            Kind::Other(file) => file.remove(existing),
        }
    }

    /// What the file says about our registration.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn check(&self, existing: Option<&str>, command: &CommandLine) -> Result<Registered, RegisterError> {
        match &self.kind {
            Kind::Hooks(file) => file.check(existing, command),
            Kind::Standalone(file) => Ok(file.check(existing, command)),
            Kind::Other(file) => file.check(existing),
        }
    }

    /// Every command of ours in the file, as its host would start it on `system`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn commands(&self, existing: &str, system: System) -> Result<Vec<RegisteredCommand>, RegisterError> {
        match &self.kind {
            Kind::Hooks(file) => file.commands(existing, system),
            Kind::Standalone(file) => Ok(file.command(existing).into_iter().collect()),
            Kind::Other(_) => Ok(Vec::new()),
        }
    }
}
