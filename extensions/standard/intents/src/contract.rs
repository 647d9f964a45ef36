//! What other crates may use of the intents: the declared intents and the ledger of a workspace, as data and queries.

use dispatch_hook_module::Module;

pub use crate::claims::HeldClaim;
#[cfg(any(test, feature = "count"))]
pub use crate::curate::IntentContext;
pub use crate::error::IntentsError;
pub use crate::intent::{ClaimMode, IntentKind, IntentMode, IntentSpec, IntentStatus};
pub use crate::intent_file::{
    IntentEdit, IntentFileProblem, IntentFileState, IntentListField, IntentTextField, LoadedIntents, is_valid_id,
};
pub use crate::intent_workspace::{
    BlamedFile, DraftOutcome, ExportFormat, IntentFileDraft, IntentWorkspace, MatchedLine,
};
pub use crate::layout::{FOLDER as ORCHESTRATION_FOLDER, INTENTS_FILE};
pub use crate::ledger::archive::ArchivedChains;
pub use crate::local_folder::{GIT_ATTRIBUTES, GIT_IGNORE};
pub use crate::module::active_intent_patch;
pub use crate::query::blame::{BlamedLine, LineAuthor};
pub use crate::query::check::UntrackedFiles;
pub use crate::query::filter::EntryFilter;
pub use crate::query::git_repository::GitRepository;
pub use crate::query::sarif::log as sarif_log;
pub use crate::query::uncovered_lines::UncoveredLines;
pub use crate::query::verify::{ARCHIVED, LedgerFinding, LedgerVerification};
pub use crate::status::Reopen;
#[cfg(any(test, feature = "testing"))]
pub use crate::testing;
pub use crate::trace_entry::{AddedLines, Concurrency, FileHashes, MutationClass, ScopeValidation, TraceEntry};

/// The module of the hook pipeline.
#[must_use]
pub fn module() -> &'static (dyn Module + Send + Sync) {
    &crate::module::IntentsModule
}

/// The intent file as it is first created: an explanation and an example in comments.
pub const INTENTS_TEMPLATE: &str = crate::intent_file::TEMPLATE;
/// The name of the module and of its section in the configuration and in a session's state.
pub const MODULE_NAME: &str = crate::module::NAME;
