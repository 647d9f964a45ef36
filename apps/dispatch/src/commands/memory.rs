//! `dispatch memory`: what the sessions of a workspace learned, and what the user makes of it.

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_hook_module::Paths;
use dispatch_os::files::{read_at_most, read_text_at_most, replace};
use dispatch_os::lock::{FileLock, LockKind};
use ext_hook_pipeline::contract::check_work_folder;
use ext_hook_pipeline::contract::followup::{FollowupRules, RULES_LIMIT_BYTES};
use ext_hook_pipeline::contract::memory::{
    CANDIDATES_FILE, CANDIDATES_LIMIT_BYTES, FORGOTTEN_FILE, ForgottenCandidates, JOURNAL, ListedCandidate,
    MemoryError, Promotion, find, forget, list, promote, withdraw,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// What is shown of a candidate.
const TEXT_CHARS: usize = 100;
/// How long to wait for another `dispatch memory`.
const LOCK_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Subcommand)]
pub(crate) enum MemoryCommand {
    /// List what is worth remembering, best first
    List {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Turn a candidate into a reminder, a rule in .ai/hooks/followup-rules.json
    Promote {
        /// The candidate's id, or a prefix of it
        id: String,
    },
    /// Drop a candidate and remove its reminder
    Forget {
        /// The candidate's id, or a prefix of it
        id: String,
    },
}

pub(crate) fn run(loaded: &Loaded, command: &MemoryCommand, printer: &Printer) -> Result<Status, Failure> {
    let memory = WorkspaceMemory::open(Workspace::with_rules(loaded)?)?;
    match command {
        MemoryCommand::List { json } => memory.list((*json).into(), printer),
        MemoryCommand::Promote { id } => memory.promote(id, printer),
        MemoryCommand::Forget { id } => memory.forget(id, printer),
    }
}

/// Everything that the workspace remembers.
struct WorkspaceMemory {
    paths: Paths,
    /// Files of candidates with their content.
    files: Vec<(PathBuf, Vec<u8>)>,
    forgotten: ForgottenCandidates,
    rules: Option<String>,
}

impl WorkspaceMemory {
    fn open(workspace: Workspace) -> Result<Self, Failure> {
        let paths = workspace.paths("memory");
        let file = |id: &str| workspace.paths(id).module_output(JOURNAL).join(CANDIDATES_FILE);
        let sessions = workspace.sessions().into_iter().map(|session| file(&session.id));
        let files = sessions.filter_map(|file| Some((file.clone(), read_at_most(&file, CANDIDATES_LIMIT_BYTES).ok()?)));
        let forgotten =
            read_at_most(&paths.work_root.join(FORGOTTEN_FILE), ForgottenCandidates::LIMIT_BYTES).unwrap_or_default();
        let rules = match read_text_at_most(&paths.followup_rules_file(), RULES_LIMIT_BYTES) {
            Ok(text) => Some(text),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { files: files.collect(), forgotten: ForgottenCandidates::parse(&forgotten), rules, paths })
    }

    fn listed(&self) -> Vec<ListedCandidate> {
        let rules = self.rules.as_deref().map(|text| FollowupRules::parse(text.as_bytes())).unwrap_or_default();
        list(self.files.iter().map(|(_, bytes)| bytes.as_slice()), &self.forgotten, &rules)
    }

    fn list(&self, format: Format, printer: &Printer) -> Result<Status, Failure> {
        let listed = self.listed();
        if format == Format::Json {
            let entry = |listed: &ListedCandidate| {
                let mut value = serde_json::to_value(&listed.candidate).unwrap_or_default();
                value["promoted"] = Value::Bool(listed.promoted);
                value
            };
            printer.json(&json!({ "candidates": listed.iter().map(entry).collect::<Vec<_>>() }))?;
            return Ok(Status::Done);
        }
        if listed.is_empty() {
            printer.out("nothing is worth remembering yet");
            return Ok(Status::Done);
        }
        let row = |listed: &ListedCandidate| {
            let candidate = &listed.candidate;
            let promoted = if listed.promoted { "promoted" } else { "" };
            let seen = format!("{}x", candidate.count);
            let text = one_line(&candidate.text, TEXT_CHARS);
            vec![candidate.id.clone(), candidate.kind.as_str().to_owned(), seen, promoted.to_owned(), text]
        };
        printer.out(&table(&listed.iter().map(row).collect::<Vec<_>>()));
        Ok(Status::Done)
    }

    fn promote(&self, id: &str, printer: &Printer) -> Result<Status, Failure> {
        let listed = self.listed();
        let candidate = &find(&listed, id).map_err(refused)?.candidate;
        let _lock = self.lock()?;
        match promote(self.rules.as_deref(), candidate).map_err(refused)? {
            Promotion::Added(text) => {
                replace(&self.paths.followup_rules_file(), text.as_bytes())?;
                printer.out(&format!("{} is a reminder now: {}", candidate.id, one_line(&candidate.text, TEXT_CHARS)));
            }
            Promotion::AlreadyThere => printer.out(&format!("{} is a reminder already", candidate.id)),
        }
        Ok(Status::Done)
    }

    fn forget(self, id: &str, printer: &Printer) -> Result<Status, Failure> {
        let listed = self.listed();
        let id = find(&listed, id).map_err(refused)?.candidate.id.clone();
        let _lock = self.lock()?;
        let forgotten = self.forgotten.with(&id);
        replace(&self.paths.work_root.join(FORGOTTEN_FILE), forgotten.write().as_bytes())?;
        for (file, bytes) in &self.files {
            if let Some(text) = forget(&String::from_utf8_lossy(bytes), &id) {
                replace(file, text.as_bytes())?;
            }
        }
        let rules = self.rules.as_deref().map(|text| withdraw(text, &id).map_err(refused)).transpose()?;
        let withdrawn = rules.flatten();
        if let Some(text) = &withdrawn {
            replace(&self.paths.followup_rules_file(), text.as_bytes())?;
        }
        let too = if withdrawn.is_some() { ", and its reminder is gone" } else { "" };
        printer.out(&format!("{id} is forgotten{too}"));
        Ok(Status::Done)
    }

    fn lock(&self) -> Result<FileLock, Failure> {
        check_work_folder(&self.paths)?;
        let file = self.paths.work_root.join("memory.lock");
        Ok(FileLock::acquire(&file, LockKind::Exclusive, LOCK_WAIT)?)
    }
}

fn refused(error: MemoryError) -> Failure {
    match &error {
        MemoryError::NotFound(_) | MemoryError::Ambiguous(_) => {
            Failure::of(Status::Usage, &error).hint("`dispatch memory list` shows the ids")
        }
        MemoryError::RuleExists(_) => Failure::of(Status::Usage, &error).hint("rename or remove that rule first"),
        MemoryError::RulesNotJson(_) | MemoryError::RulesShape(_) => Failure::of(Status::Configuration, &error)
            .hint("correct .ai/hooks/followup-rules.json; nothing was changed"),
    }
}
