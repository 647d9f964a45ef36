//! What one transaction can do to the runs: small reads by index, and writes.

use super::rows::{RUN, key, run, values};
use crate::contract::{Receipt, RunId, Usage};
use crate::run_store::{FileWrite, FileWriteState, Run, RunKey, RunStoreError};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Statement, StorageError, Transaction};

/// Records older than this go.
const KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// The most records that are kept.
const KEPT_RECORDS: u64 = 50_000;
/// How long it is known who wrote a file.
const WRITES_KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// How long it is known what an event of the ledger did: whoever sent it asks at once.
const RECEIPTS_KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// The most rows that one clearing removes, so that nobody waits for it.
const CLEARED_AT_ONCE: u32 = 1_000;

/// The runs within one transaction.
pub(crate) struct RunTransaction<'a> {
    tx: &'a mut dyn Transaction,
    /// The version of everything that this transaction changes.
    version: Option<u64>,
}

impl<'a> RunTransaction<'a> {
    pub(super) fn new(tx: &'a mut dyn Transaction) -> Self {
        Self { tx, version: None }
    }

    fn one(&mut self, statement: &Statement) -> Result<Option<Run>, RunStoreError> {
        let found = self.tx.query(statement)?;
        Ok(found.first().map(run).transpose()?)
    }

    fn number(&mut self, statement: &Statement) -> Result<Option<u64>, RunStoreError> {
        let found = self.tx.query(statement)?;
        Ok(found.first().map(|record| record.unsigned(0)).transpose()?)
    }

    fn version(&mut self) -> Result<u64, RunStoreError> {
        if let Some(version) = self.version {
            return Ok(version);
        }
        let next = "UPDATE hook_changes SET version = version + 1 WHERE id = 1 RETURNING version";
        let version = self.number(&statement!(next))?;
        let version = version.ok_or_else(|| StorageError::Corrupt("the count of changes is gone".to_owned()))?;
        self.version = Some(version);
        Ok(version)
    }

    pub(crate) fn find(&mut self, number: u64) -> Result<Option<Run>, RunStoreError> {
        self.one(&statement!(format!("SELECT {RUN} FROM hook_runs WHERE number = ?1"), number))
    }

    pub(crate) fn named(&mut self, id: &RunId) -> Result<Option<Run>, RunStoreError> {
        self.one(&statement!(format!("SELECT {RUN} FROM hook_runs WHERE id = ?1"), id.0.as_str()))
    }

    /// The newest run of a key that waits.
    pub(crate) fn waiting(&mut self, key: &RunKey) -> Result<Option<Run>, RunStoreError> {
        self.one(&statement!(
            format!(
                "SELECT {RUN} FROM hook_runs WHERE workspace = ?1 AND hook = ?2 AND subject = ?3
                 AND status = 'queued' ORDER BY number DESC LIMIT 1"
            ),
            &key.workspace,
            &key.hook,
            &key.subject
        ))
    }

    /// The run of a key that was begun last.
    pub(crate) fn last_begun(&mut self, key: &RunKey) -> Result<Option<Run>, RunStoreError> {
        self.one(&statement!(
            format!(
                "SELECT {RUN} FROM hook_runs WHERE workspace = ?1 AND hook = ?2 AND subject = ?3
                 AND started_at IS NOT NULL ORDER BY started_at DESC, number DESC LIMIT 1"
            ),
            &key.workspace,
            &key.hook,
            &key.subject
        ))
    }

    /// The keys of the runs that go.
    pub(crate) fn running(&mut self, workspace: &str) -> Result<Vec<RunKey>, RunStoreError> {
        let query = "SELECT workspace, hook, subject FROM hook_runs WHERE workspace = ?1 AND status = 'running'";
        let found = self.tx.query(&statement!(query, workspace))?;
        Ok(found.iter().map(|record| key(record, 0)).collect::<Result<_, _>>()?)
    }

    /// The runs of a hook that go.
    pub(crate) fn running_of(&mut self, workspace: &str, hook: &str) -> Result<Vec<Run>, RunStoreError> {
        let query = format!(
            "SELECT {RUN} FROM hook_runs WHERE workspace = ?1 AND hook = ?2 AND status = 'running' ORDER BY number"
        );
        let found = self.tx.query(&statement!(query, workspace, hook))?;
        Ok(found.iter().map(run).collect::<Result<_, _>>()?)
    }

    pub(crate) fn waiting_count(&mut self, workspace: &str) -> Result<u64, RunStoreError> {
        let query = "SELECT COUNT(*) FROM hook_runs WHERE workspace = ?1 AND status = 'queued'";
        Ok(self.number(&statement!(query, workspace))?.unwrap_or_default())
    }

    /// Waiting runs of a hook.
    pub(crate) fn waiting_of(&mut self, workspace: &str, hook: &str, limit: u32) -> Result<Vec<Run>, RunStoreError> {
        let query = format!(
            "SELECT {RUN} FROM hook_runs WHERE workspace = ?1 AND hook = ?2 AND status = 'queued'
             ORDER BY not_before LIMIT ?3"
        );
        let found = self.tx.query(&statement!(query, workspace, hook, limit))?;
        Ok(found.iter().map(run).collect::<Result<_, _>>()?)
    }

    /// When runs of a hook began, newest first, none before `since_ms` or after `now_ms`.
    pub(crate) fn begun_since(
        &mut self,
        workspace: &str,
        hook: &str,
        since_ms: u64,
        now_ms: u64,
        limit: u32,
    ) -> Result<Vec<u64>, RunStoreError> {
        let found = self.tx.query(&statement!(
            "SELECT started_at FROM hook_runs WHERE workspace = ?1 AND hook = ?2
             AND started_at IS NOT NULL AND started_at > ?3 AND started_at <= ?4
             ORDER BY started_at DESC LIMIT ?5",
            workspace,
            hook,
            since_ms,
            now_ms,
            limit
        ))?;
        Ok(found.iter().map(|record| record.unsigned(0)).collect::<Result<_, _>>()?)
    }

    pub(crate) fn spent(&mut self, workspace: &str, hook: &str, day: u64) -> Result<Usage, RunStoreError> {
        let query = "SELECT tokens, micro_usd FROM hook_spending WHERE workspace = ?1 AND hook = ?2 AND day = ?3";
        let found = self.tx.query(&statement!(query, workspace, hook, day))?;
        let Some(record) = found.first() else { return Ok(Usage::default()) };
        Ok(Usage { tokens: record.unsigned(0)?, micro_usd: record.unsigned(1)? })
    }

    pub(crate) fn spend(&mut self, workspace: &str, hook: &str, day: u64, usage: Usage) -> Result<(), RunStoreError> {
        self.tx.execute(&statement!(
            "INSERT INTO hook_spending (workspace, hook, day, tokens, micro_usd) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (workspace, hook, day) DO UPDATE SET
                 tokens = hook_spending.tokens + excluded.tokens,
                 micro_usd = hook_spending.micro_usd + excluded.micro_usd",
            workspace,
            hook,
            day,
            usage.tokens,
            usage.micro_usd
        ))?;
        Ok(())
    }

    /// Notes an event; false if it is known already.
    pub(crate) fn note_event(&mut self, workspace: &str, event: &str, now_ms: u64) -> Result<bool, RunStoreError> {
        let insert = "INSERT INTO hook_events (workspace, event, at) VALUES (?1, ?2, ?3)
                      ON CONFLICT (workspace, event) DO NOTHING";
        Ok(self.tx.execute(&statement!(insert, workspace, event, now_ms))? > 0)
    }

    /// Notes that a workspace has taken up the ledger to an event; false if it had.
    pub(crate) fn advance(&mut self, workspace: &str, sequence: u64) -> Result<bool, RunStoreError> {
        let insert = "INSERT INTO hook_positions (workspace, sequence) VALUES (?1, ?2)
                      ON CONFLICT (workspace) DO UPDATE SET sequence = excluded.sequence
                          WHERE hook_positions.sequence < excluded.sequence";
        Ok(self.tx.execute(&statement!(insert, workspace, sequence))? > 0)
    }

    /// Keeps for a while what an event of the ledger did.
    pub(crate) fn keep_receipts(
        &mut self,
        workspace: &str,
        sequence: u64,
        receipts: &[Receipt],
        now_ms: u64,
    ) -> Result<(), RunStoreError> {
        let text = serde_json::to_string(receipts).map_err(|error| StorageError::Corrupt(error.to_string()))?;
        let insert = "INSERT INTO hook_receipts (workspace, sequence, receipts, at) VALUES (?1, ?2, ?3, ?4)";
        self.tx.execute(&statement!(insert, workspace, sequence, text, now_ms))?;
        Ok(())
    }

    /// Who wrote a file.
    pub(crate) fn writes(&mut self, workspace: &str, path: &str) -> Result<Vec<FileWrite>, RunStoreError> {
        let query = "SELECT run, live, content, at FROM hook_writes WHERE workspace = ?1 AND path = ?2";
        let found = self.tx.query(&statement!(query, workspace, path))?;
        let mut writes = Vec::with_capacity(found.len());
        for record in &found {
            writes.push(FileWrite {
                path: path.to_owned(),
                run: record.unsigned(0)?,
                state: if record.unsigned(1)? == 0 { FileWriteState::Left } else { FileWriteState::Live },
                content: record.optional_text(2)?.map(str::to_owned),
                at_ms: record.unsigned(3)?,
            });
        }
        Ok(writes)
    }

    pub(crate) fn keep_write(&mut self, workspace: &str, write: &FileWrite) -> Result<(), RunStoreError> {
        self.tx.execute(&statement!(
            "INSERT INTO hook_writes (workspace, path, run, live, content, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (workspace, path, run) DO UPDATE SET
                 live = excluded.live, content = excluded.content, at = excluded.at",
            workspace,
            &write.path,
            write.run,
            write.state == FileWriteState::Live,
            write.content.as_deref(),
            write.at_ms
        ))?;
        Ok(())
    }

    /// Forgets what ended runs left of a file: it holds something else now.
    pub(crate) fn forget_left(&mut self, workspace: &str, path: &str) -> Result<(), RunStoreError> {
        let delete = "DELETE FROM hook_writes WHERE workspace = ?1 AND path = ?2 AND live = 0";
        self.tx.execute(&statement!(delete, workspace, path))?;
        Ok(())
    }

    /// Forgets what a run was seen to write.
    pub(crate) fn forget_live(&mut self, run: u64) -> Result<(), RunStoreError> {
        self.tx.execute(&statement!("DELETE FROM hook_writes WHERE run = ?1 AND live = 1", run))?;
        Ok(())
    }

    /// Puts a new run in; it gets its number and its version.
    pub(crate) fn insert(&mut self, run: &mut Run) -> Result<(), RunStoreError> {
        run.version = self.version()?;
        let insert = Statement::new(
            "INSERT INTO hook_runs (id, workspace, hook, subject, status, content, attempts, reason, queued_at,
                 not_before, started_at, ended_at, run_owner, stop, version, facts)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) RETURNING number",
            values(run)?,
        );
        let number = self.number(&insert)?;
        run.number = number.ok_or_else(|| StorageError::GivenUp("the run got no number".to_owned()))?;
        Ok(())
    }

    /// Stores a run as it is now, with a new version.
    pub(crate) fn save(&mut self, run: &mut Run) -> Result<(), RunStoreError> {
        run.version = self.version()?;
        let mut parameters = values(run)?;
        parameters.push(run.number.into());
        self.tx.execute(&Statement::new(
            "UPDATE hook_runs SET id = ?1, workspace = ?2, hook = ?3, subject = ?4, status = ?5, content = ?6,
                 attempts = ?7, reason = ?8, queued_at = ?9, not_before = ?10, started_at = ?11, ended_at = ?12,
                 run_owner = ?13, stop = ?14, version = ?15, facts = ?16
             WHERE number = ?17",
            parameters,
        ))?;
        Ok(())
    }

    pub(crate) fn remove(&mut self, number: u64) -> Result<(), RunStoreError> {
        self.tx.execute(&statement!("DELETE FROM hook_runs WHERE number = ?1", number))?;
        Ok(())
    }

    /// What the attempts so far printed.
    pub(crate) fn output(&mut self, number: u64) -> Result<Option<String>, RunStoreError> {
        let found = self.tx.query(&statement!("SELECT output FROM hook_outputs WHERE run = ?1", number))?;
        Ok(found.first().map(|record| record.text(0).map(str::to_owned)).transpose()?)
    }

    pub(crate) fn keep_output(&mut self, number: u64, output: &str) -> Result<(), RunStoreError> {
        let insert = "INSERT INTO hook_outputs (run, output) VALUES (?1, ?2)
                      ON CONFLICT (run) DO UPDATE SET output = excluded.output";
        self.tx.execute(&statement!(insert, number, output))?;
        Ok(())
    }

    /// Says that an owner is alive.
    pub(crate) fn beat(&mut self, owner: &str, now_ms: u64) -> Result<(), RunStoreError> {
        let insert = "INSERT INTO hook_owners (name, heard_at) VALUES (?1, ?2)
                      ON CONFLICT (name) DO UPDATE SET heard_at = excluded.heard_at";
        self.tx.execute(&statement!(insert, owner, now_ms))?;
        Ok(())
    }

    /// Removes what is too old; answers how many runs went.
    pub(crate) fn clear(&mut self, now_ms: u64) -> Result<u64, RunStoreError> {
        let over = "SELECT number FROM hook_runs WHERE ended_at IS NOT NULL ORDER BY number DESC LIMIT 1 OFFSET ?1";
        let last = self.number(&statement!(over, KEPT_RECORDS))?.unwrap_or_default();
        let before_ms = now_ms.saturating_sub(KEPT_MS);
        let find = "SELECT number FROM hook_runs WHERE ended_at IS NOT NULL AND (ended_at < ?1 OR number <= ?2)
                    ORDER BY ended_at LIMIT ?3";
        let found = self.tx.query(&statement!(find, before_ms, last, CLEARED_AT_ONCE))?;
        for record in &found {
            let number = record.unsigned(0)?;
            self.tx.execute(&statement!("DELETE FROM hook_outputs WHERE run = ?1", number))?;
            self.remove(number)?;
        }
        self.tx.execute(&statement!("DELETE FROM hook_events WHERE at < ?1", before_ms))?;
        let receipts = "DELETE FROM hook_receipts WHERE at < ?1";
        self.tx.execute(&statement!(receipts, now_ms.saturating_sub(RECEIPTS_KEPT_MS)))?;
        let writes = "DELETE FROM hook_writes WHERE at < ?1 AND live = 0";
        self.tx.execute(&statement!(writes, now_ms.saturating_sub(WRITES_KEPT_MS)))?;
        let spending = "DELETE FROM hook_spending WHERE day < ?1";
        self.tx.execute(&statement!(spending, before_ms / (24 * 60 * 60 * 1000)))?;
        self.tx.execute(&statement!("DELETE FROM hook_owners WHERE heard_at < ?1", before_ms))?;
        Ok(found.len() as u64)
    }
}
