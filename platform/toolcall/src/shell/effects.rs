//! The result of the analysis: what a command reads, changes, removes, and what could not be told.
//!
//! Pure.

use std::collections::BTreeSet;

use serde::Serialize;

use super::unbounded::UnboundedCall;
use crate::access::{Access, PathAccess};

/// A path that a command touches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectPath {
    /// Absolute path or pattern.
    pub path: String,
    /// Whether `path` is a pattern that stands for whatever it matches.
    pub glob: bool,
    /// Whether everything below the path is touched too.
    pub recursive: bool,
}

/// A file or folder that changes its name. Listed here only, not among writes and deletes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PathMove {
    /// The name that goes away.
    pub from: EffectPath,
    /// The name as the command gives it; it may turn out to be the folder that receives.
    pub to: EffectPath,
}

/// One program call found in a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SimpleCommand {
    /// The program without its folder; empty when it could not be resolved.
    pub program: String,
    /// All words, the program first; a word that could not be resolved is as written.
    pub argv: Vec<String>,
    /// The folder it runs in, if exactly one is possible.
    pub cwd: Option<String>,
    /// The programs that start it, outermost first (`sudo`, `xargs`, `sh`).
    pub wrapped_by: Vec<String>,
    /// Whether every word was resolved.
    pub exact: bool,
}

/// Why a part of a command could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UnknownReason {
    /// The command is longer than the limit.
    TooLong,
    /// The command is nested deeper than the limit.
    TooDeep,
    /// The command needs more work than the limit.
    TooMuchWork,
    /// The text is not a command that the parser understands.
    Syntax,
    /// No table knows the program.
    UnknownProgram,
    /// The name of the program is computed.
    UnresolvedProgram,
    /// A path that is written, made or removed is computed.
    UnresolvedPath,
    /// A relative path in a folder that is not known.
    UnknownDirectory,
    /// Code that is run is computed or comes from a file or a pipe.
    UnresolvedCode,
    /// Code that the command decodes before it runs it.
    DecodedCode,
    /// Code in a language that is not analysed.
    ForeignCode,
    /// The program runs what a project or a file tells it to.
    ProjectCode,
    /// The command runs on another machine or in a container.
    Remote,
    /// A variable that changes what programs do.
    Environment,
    /// A function that calls itself.
    Recursion,
    /// An option that no table knows, or one that is computed.
    Option,
    /// Something other than files changes: processes, services, users, devices.
    SystemState,
    /// A shell that is not analysed.
    ForeignShell,
    /// Input for a process that already runs.
    RunningProcess,
}

/// A part of a command that could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnknownPart {
    /// Why.
    pub reason: UnknownReason,
    /// Which part: a program, a variable, a construct. Never file content.
    pub detail: String,
}

/// What a command does, as far as its text says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellEffects {
    /// Paths that are looked at.
    pub reads: Vec<EffectPath>,
    /// Paths whose content or attributes change; they may come into being.
    pub writes: Vec<EffectPath>,
    /// Paths that are made.
    pub creates: Vec<EffectPath>,
    /// Paths that are removed.
    pub deletes: Vec<EffectPath>,
    /// Paths that change their name.
    pub moves: Vec<PathMove>,
    /// Whether another machine may be reached.
    pub network: bool,
    /// Whether code runs that is not part of the command's own programs.
    pub runs_code: bool,
    /// Whether something is read whose path is computed.
    pub unresolved_reads: bool,
    /// What could not be judged; empty means that the lists above are complete.
    pub unknown: Vec<UnknownPart>,
    /// The texts of code that runs and could not be followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opaque_code: Vec<String>,
    /// Texts that a program may run, in which a command removes or changes something.
    #[serde(skip)]
    pub possible_code: Vec<String>,
    /// Every program call, in the order found.
    pub commands: Vec<SimpleCommand>,
    /// Calls without a bound on effect or time.
    pub unbounded: Vec<UnboundedCall>,
}

impl ShellEffects {
    /// Whether every part is known, and none changes a file, reaches the network or runs code.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_known() && !self.changes_files() && !self.network && !self.runs_code
    }

    /// Whether every part could be judged.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty()
    }

    /// Whether a change of a file is known of.
    #[must_use]
    pub fn changes_files(&self) -> bool {
        !(self.writes.is_empty() && self.creates.is_empty() && self.deletes.is_empty() && self.moves.is_empty())
    }

    /// All paths with their access; a move is a delete and a write.
    #[must_use]
    pub fn path_accesses(&self) -> Vec<PathAccess> {
        let lists = [
            (&self.reads, Access::Read),
            (&self.writes, Access::Write),
            (&self.creates, Access::Create),
            (&self.deletes, Access::Delete),
        ];
        let listed = lists.into_iter().flat_map(|(paths, access)| paths.iter().map(move |path| (path, access)));
        let moved = self.moves.iter().flat_map(|moved| [(&moved.from, Access::Delete), (&moved.to, Access::Write)]);
        let mut seen = BTreeSet::new();
        listed
            .chain(moved)
            .filter(|(path, access)| seen.insert((path.path.as_str(), *access, path.glob)))
            .map(|(path, access)| PathAccess { path: path.path.clone(), access, glob: path.glob })
            .collect()
    }

    /// The effects of a command for a shell that is not analysed.
    pub(crate) fn foreign_shell() -> Self {
        Self::opaque(UnknownReason::ForeignShell)
    }

    /// The effects of text typed into a process that already runs.
    pub(crate) fn running_process() -> Self {
        Self::opaque(UnknownReason::RunningProcess)
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self.creates.extend(other.creates);
        self.deletes.extend(other.deletes);
        self.moves.extend(other.moves);
        self.network |= other.network;
        self.runs_code |= other.runs_code;
        self.unresolved_reads |= other.unresolved_reads;
        self.unknown.extend(other.unknown);
        self.opaque_code.extend(other.opaque_code);
        self.possible_code.extend(other.possible_code);
        self.commands.extend(other.commands);
        self.unbounded.extend(other.unbounded);
    }

    fn opaque(reason: UnknownReason) -> Self {
        let unknown = vec![UnknownPart { reason, detail: String::new() }];
        Self { runs_code: true, unknown, ..Self::default() }
    }
}
