//! The limits that keep the analysis of any input small.
//!
//! Pure.

/// A longer command is not analysed.
pub const MAX_COMMAND_BYTES: usize = 128 * 1024;
/// A longer text outside of here-documents is not parsed: on broken input the grammar's time grows
/// with the square of the length.
pub(super) const MAX_STRUCTURE_BYTES: usize = MAX_COMMAND_BYTES;
/// Steps of the parser (in its own unit of a hundred operations) for one text.
pub(super) const MAX_PARSE_STEPS: u32 = 20_000;
/// The same once an error was met: recovery is slow, and its result is unknown anyway.
pub(super) const MAX_ERROR_STEPS: u32 = 2;
/// Open brackets at one point of a text: the grammar's time grows with their square.
pub(super) const MAX_OPEN_BRACKETS: usize = 256;
/// Pipe signs outside of here-documents: the grammar's time grows with their square.
pub(super) const MAX_PIPE_SIGNS: usize = 512;
/// Here-document marks times bytes: for each mark the grammar may read to the end.
pub(super) const MAX_HEREDOC_WORK: usize = 8 * 1024 * 1024;
/// Bytes parsed for one command, nested texts included.
pub(super) const MAX_PARSED_BYTES: usize = 4 * MAX_COMMAND_BYTES;
/// Nodes of one syntax tree.
pub(super) const MAX_TREE_NODES: usize = 60_000;
/// Nesting of statements, substitutions, wrapped commands and texts that are run as code.
pub(super) const MAX_DEPTH: u32 = 120;
/// Texts parsed for one command: the command, its `sh -c` and `eval` texts, its function calls.
pub(super) const MAX_PARSED_TEXTS: u32 = 256;
/// Statements, words and program calls looked at.
pub(super) const MAX_WORK: u32 = 20_000;
/// Effects of one kind that are listed.
pub(super) const MAX_EFFECTS: usize = 1024;
/// Simple commands that are listed.
pub(super) const MAX_COMMANDS: usize = 2048;
/// Words that one word may become by brace expansion and splitting.
pub(super) const MAX_FIELDS: usize = 1024;
/// Words of a loop that are tried one by one.
pub(super) const MAX_LOOP_WORDS: usize = 512;
/// Passes over the body of a loop before its variables count as unknown.
pub(super) const MAX_LOOP_PASSES: usize = 3;
/// Working directories that are held possible at one point.
pub(super) const MAX_DIRECTORIES: usize = 4;
/// Variables, functions and aliases that are tracked.
pub(super) const MAX_NAMES: usize = 512;
