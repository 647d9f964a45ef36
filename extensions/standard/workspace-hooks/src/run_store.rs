//! The runs in storage: every change is one transaction that happens whole or not at all.

mod file_write;
mod rows;
mod run;
pub(crate) mod tables;
mod transaction;

pub(crate) use file_write::{FileWrite, FileWriteState};
pub(crate) use run::{BATCH_SUBJECT, ChangeSuspicion, Run, RunFacts, RunKey, StoredFile};
pub(crate) use transaction::RunTransaction;

use crate::contract::{Receipt, RunQuery, RunsError};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Durability, Keys, Record, Statement, Storage, StorageError, Transaction};
use rows::{RUN, run};
use std::sync::Arc;

/// How many changes are read at a time.
const PAGE: u32 = 500;
/// Of how many runs the latency is the average.
const LATENCY_RUNS: u32 = 100;

/// How far somebody has read the changes of a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChangePosition {
    pub(crate) version: u64,
    pub(crate) number: u64,
}

/// Numbers over the runs of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunCounts {
    pub(crate) running: u64,
    pub(crate) waiting: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// From queued to ended, of the last runs.
    pub(crate) latencies_ms: Vec<u64>,
}

/// What a transaction about the runs of one workspace works on. Changes of all workspaces are counted in one row; whoever
/// counts keeps that row until the end, so counts are given out in the order of commits.
pub(crate) fn workspace_key(workspace: &str) -> Keys {
    Keys::of([format!("workspace:{workspace}")])
}

/// The runs of all workspaces of a user.
pub(crate) struct RunStore {
    storage: Arc<dyn Storage>,
}

impl RunStore {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage }
    }

    async fn runs(&self, statement: Statement) -> Result<Vec<Run>, RunStoreError> {
        let found = self.storage.query(statement).await?;
        Ok(found.iter().map(run).collect::<Result<_, _>>()?)
    }

    async fn texts(&self, statement: Statement) -> Result<Vec<String>, RunStoreError> {
        let found = self.storage.query(statement).await?;
        Ok(found.iter().map(|record| record.text(0).map(str::to_owned)).collect::<Result<_, _>>()?)
    }

    async fn first<T>(
        &self,
        statement: Statement,
        read: impl Fn(&Record) -> Result<T, StorageError>,
    ) -> Result<Option<T>, RunStoreError> {
        let found = self.storage.query(statement).await?;
        Ok(found.first().map(read).transpose()?)
    }

    /// Runs one transaction that outlives a power cut once it is answered.
    pub(crate) async fn transact<T: Send + 'static>(
        &self,
        keys: Keys,
        work: impl FnOnce(&mut RunTransaction<'_>) -> Result<T, RunStoreError> + Send + 'static,
    ) -> Result<T, RunStoreError> {
        self.transact_with(keys, Durability::Disk, work).await
    }

    /// The same, as durable as asked.
    pub(crate) async fn transact_with<T: Send + 'static>(
        &self,
        keys: Keys,
        durability: Durability,
        work: impl FnOnce(&mut RunTransaction<'_>) -> Result<T, RunStoreError> + Send + 'static,
    ) -> Result<T, RunStoreError> {
        let work = move |tx: &mut dyn Transaction| work(&mut RunTransaction::new(tx));
        dispatch_durable_queue::transact_with(self.storage.as_ref(), keys, durability, work).await
    }

    /// The hooks of a workspace that have a run waiting. Steps from hook to hook, however many runs each has.
    pub(crate) async fn hooks_waiting(&self, workspace: &str) -> Result<Vec<String>, RunStoreError> {
        self.texts(statement!(
            "WITH RECURSIVE hooks (hook) AS (
                    SELECT MIN(hook) FROM hook_runs WHERE workspace = ?1 AND status = 'queued'
                    UNION ALL
                    SELECT (SELECT MIN(r.hook) FROM hook_runs r
                            WHERE r.workspace = ?1 AND r.status = 'queued' AND r.hook > hooks.hook)
                    FROM hooks WHERE hooks.hook IS NOT NULL
                 )
                 SELECT hook FROM hooks WHERE hook IS NOT NULL",
            workspace
        ))
        .await
    }

    /// The first waiting runs of a hook by the time they are due, without those whose key runs.
    pub(crate) async fn heads(&self, workspace: &str, hook: &str, limit: u32) -> Result<Vec<Run>, RunStoreError> {
        self.runs(statement!(
            format!(
                "SELECT {RUN} FROM hook_runs q
                 WHERE workspace = ?1 AND hook = ?2 AND status = 'queued'
                   AND NOT EXISTS (SELECT 1 FROM hook_runs r WHERE r.workspace = ?1 AND r.hook = ?2
                                   AND r.subject = q.subject AND r.status = 'running')
                 ORDER BY not_before, number LIMIT ?3"
            ),
            workspace,
            hook,
            limit
        ))
        .await
    }

    /// Every run of a workspace that goes.
    pub(crate) async fn running(&self, workspace: &str) -> Result<Vec<Run>, RunStoreError> {
        let query = format!("SELECT {RUN} FROM hook_runs WHERE workspace = ?1 AND status = 'running'");
        self.runs(statement!(query, workspace)).await
    }

    /// Every owner of a run that goes, in whatever workspace.
    pub(crate) async fn holders(&self) -> Result<Vec<String>, RunStoreError> {
        self.texts(statement!(
            "SELECT DISTINCT run_owner FROM hook_runs WHERE status = 'running' AND run_owner IS NOT NULL"
        ))
        .await
    }

    /// Whether anything of a workspace waits or goes.
    pub(crate) async fn is_busy(&self, workspace: &str) -> Result<bool, RunStoreError> {
        let query = statement!(
            "SELECT EXISTS (SELECT 1 FROM hook_runs WHERE workspace = ?1 AND status = 'queued')
                 OR EXISTS (SELECT 1 FROM hook_runs WHERE workspace = ?1 AND status = 'running')",
            workspace
        );
        Ok(self.first(query, |record| record.integer(0)).await? == Some(1))
    }

    /// Runs whose id starts so, at most two; one whose id is exactly that alone.
    pub(crate) async fn named(&self, id: &str) -> Result<Vec<Run>, RunStoreError> {
        let exact = statement!(format!("SELECT {RUN} FROM hook_runs WHERE id = ?1"), id);
        let exact = self.runs(exact).await?;
        if !exact.is_empty() || id.is_empty() {
            return Ok(exact);
        }
        let begins = format!(
            "SELECT {RUN} FROM hook_runs WHERE id >= ?1 AND id < ?2 AND substr(id, 1, length(?1)) = ?1 LIMIT 2"
        );
        self.runs(statement!(begins, id, format!("{id}~"))).await
    }

    /// What a run printed.
    pub(crate) async fn output(&self, number: u64) -> Result<Option<String>, RunStoreError> {
        let query = statement!("SELECT output FROM hook_outputs WHERE run = ?1", number);
        self.first(query, |record| record.text(0).map(str::to_owned)).await
    }

    /// Runs, newest first; those whose hook, output, facts or reason could hold the text, if one is asked for.
    pub(crate) async fn list(
        &self,
        query: &RunQuery,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<Run>, RunStoreError> {
        let workspace = query.workspace.as_ref().map(|path| path.display().to_string());
        let states: String = query.status.iter().map(|status| format!("|{}|", status.word())).collect();
        self.runs(statement!(
            format!(
                "SELECT {RUN} FROM hook_runs
                 WHERE number < ?1 AND (?2 IS NULL OR workspace = ?2) AND (?3 IS NULL OR hook = ?3)
                   AND (?4 = '' OR ?4 LIKE '%|' || status || '|%')
                   AND (?5 IS NULL OR hook LIKE ?5 ESCAPE '\\' OR reason LIKE ?5 ESCAPE '\\' OR facts LIKE ?5 ESCAPE '\\'
                        OR EXISTS (SELECT 1 FROM hook_outputs o WHERE o.run = number AND o.output LIKE ?5 ESCAPE '\\'))
                 ORDER BY number DESC LIMIT ?6"
            ),
            before.unwrap_or(u64::MAX),
            workspace,
            query.hook.as_deref(),
            states,
            query.text.as_deref().map(like),
            limit
        ))
        .await
    }

    /// Runs of a workspace that changed behind a position, in the order they changed.
    pub(crate) async fn changed(&self, workspace: &str, after: ChangePosition) -> Result<Vec<Run>, RunStoreError> {
        self.runs(statement!(
            format!(
                "SELECT {RUN} FROM hook_runs
                 WHERE version >= ?1 AND (version > ?1 OR number > ?2) AND workspace = ?3
                 ORDER BY version, number LIMIT ?4"
            ),
            after.version,
            after.number,
            workspace,
            PAGE
        ))
        .await
    }

    /// The position of the last change.
    pub(crate) async fn last_place(&self) -> Result<ChangePosition, RunStoreError> {
        let query = statement!("SELECT version FROM hook_changes WHERE id = 1");
        let version = self.first(query, |record| record.unsigned(0)).await?.unwrap_or_default();
        Ok(ChangePosition { version, number: i64::MAX.unsigned_abs() })
    }

    /// Numbers; those of the day since the given time.
    pub(crate) async fn tally(&self, workspace: &str, day_from_ms: u64) -> Result<RunCounts, RunStoreError> {
        let counts = statement!(
            "SELECT (SELECT COUNT(*) FROM hook_runs WHERE workspace = ?1 AND status = 'running'),
                    (SELECT COUNT(*) FROM hook_runs WHERE workspace = ?1 AND status = 'queued'),
                    (SELECT COUNT(*) FROM hook_runs
                     WHERE ended_at >= ?2 AND workspace = ?1 AND status = 'success'),
                    (SELECT COUNT(*) FROM hook_runs
                     WHERE ended_at >= ?2 AND workspace = ?1 AND status IN ('failed', 'timeout'))",
            workspace,
            day_from_ms
        );
        let read = |record: &Record| {
            let [running, waiting, succeeded, failed] = [0, 1, 2, 3].map(|at| record.unsigned(at));
            let latencies_ms = Vec::new();
            Ok(RunCounts { running: running?, waiting: waiting?, succeeded: succeeded?, failed: failed?, latencies_ms })
        };
        let mut tally = self.first(counts, read).await?.unwrap_or_default();
        let last = statement!(
            "SELECT ended_at - queued_at FROM hook_runs
             WHERE ended_at IS NOT NULL AND workspace = ?1 AND started_at IS NOT NULL
             ORDER BY ended_at DESC LIMIT ?2",
            workspace,
            LATENCY_RUNS
        );
        let last = self.storage.query(last).await?;
        // A clock that was set back can make a run end before it was queued.
        let latency = |record: &Record| record.integer(0).map(|ms| u64::try_from(ms).unwrap_or_default());
        tally.latencies_ms = last.iter().map(latency).collect::<Result<_, _>>()?;
        Ok(tally)
    }

    /// Up to which event a workspace has taken up the ledger.
    pub(crate) async fn ledger_position(&self, workspace: &str) -> Result<Option<u64>, RunStoreError> {
        let query = statement!("SELECT sequence FROM hook_positions WHERE workspace = ?1", workspace);
        self.first(query, |record| record.unsigned(0)).await
    }

    /// What an event of the ledger did to the hooks of a workspace.
    pub(crate) async fn ledger_receipts(&self, workspace: &str, sequence: u64) -> Result<Vec<Receipt>, RunStoreError> {
        let query = "SELECT receipts FROM hook_receipts WHERE workspace = ?1 AND sequence = ?2";
        let found = self.texts(statement!(query, workspace, sequence)).await?;
        let read = |text: &String| serde_json::from_str(text).map_err(|error| StorageError::Corrupt(error.to_string()));
        Ok(found.first().map(read).transpose()?.unwrap_or_default())
    }

    /// When an owner was last heard of.
    pub(crate) async fn heard(&self, owner: &str) -> Result<Option<u64>, RunStoreError> {
        let query = statement!("SELECT heard_at FROM hook_owners WHERE name = ?1", owner);
        self.first(query, |record| record.unsigned(0)).await
    }
}

/// A text as a pattern that finds it anywhere.
fn like(text: &str) -> String {
    let escaped: String = text
        .chars()
        .flat_map(|character| {
            let special = matches!(character, '%' | '_' | '\\');
            special.then_some('\\').into_iter().chain([character])
        })
        .collect();
    format!("%{escaped}%")
}

/// Why the store refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RunStoreError {
    /// The run is not ours any more.
    #[error("the run was taken over by another process")]
    Fenced,
    /// Somebody asked for what cannot be done.
    #[error(transparent)]
    Refused(#[from] RunsError),
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<RunStoreError> for RunsError {
    fn from(error: RunStoreError) -> Self {
        match error {
            RunStoreError::Refused(refused) => refused,
            RunStoreError::Storage(error @ (StorageError::Unreachable(_) | StorageError::Busy)) => {
                Self::Away(error.to_string())
            }
            other => Self::Storage(other.to_string()),
        }
    }
}
