//! What a step does, as statements of one transaction.

use super::rows::{RUN, key, run, values};
use crate::book::shelf::{CLEARED_AT_ONCE, KEPT_MS, KEPT_RECORDS, WRITES_KEPT_MS};
use crate::book::{BookError, Key, Run, Shelf, Write, WriteState};
use crate::contract::{RunId, Usage};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Statement, StorageError, Transaction};

/// The book within one transaction.
pub(super) struct SqlShelf<'a> {
    tx: &'a mut dyn Transaction,
    /// The version of everything that this step changes.
    version: Option<u64>,
}

impl<'a> SqlShelf<'a> {
    pub(super) fn new(tx: &'a mut dyn Transaction) -> Self {
        Self { tx, version: None }
    }

    fn one(&mut self, statement: &Statement) -> Result<Option<Run>, BookError> {
        let found = self.tx.query(statement)?;
        Ok(found.first().map(run).transpose()?)
    }

    fn number(&mut self, statement: &Statement) -> Result<Option<u64>, BookError> {
        let found = self.tx.query(statement)?;
        Ok(found.first().map(|record| record.unsigned(0)).transpose()?)
    }

    fn version(&mut self) -> Result<u64, BookError> {
        if let Some(version) = self.version {
            return Ok(version);
        }
        let next = "UPDATE hook_changes SET version = version + 1 WHERE id = 1 RETURNING version";
        let version = self.number(&statement!(next))?;
        let version = version.ok_or_else(|| StorageError::Corrupt("the count of changes is gone".to_owned()))?;
        self.version = Some(version);
        Ok(version)
    }
}

impl Shelf for SqlShelf<'_> {
    fn find(&mut self, number: u64) -> Result<Option<Run>, BookError> {
        self.one(&statement!(format!("SELECT {RUN} FROM hook_runs WHERE number = ?1"), number))
    }

    fn named(&mut self, id: &RunId) -> Result<Option<Run>, BookError> {
        self.one(&statement!(format!("SELECT {RUN} FROM hook_runs WHERE id = ?1"), id.0.as_str()))
    }

    fn waiting(&mut self, key: &Key) -> Result<Option<Run>, BookError> {
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

    fn last_begun(&mut self, key: &Key) -> Result<Option<Run>, BookError> {
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

    fn running(&mut self, workspace: &str) -> Result<Vec<Key>, BookError> {
        let query = "SELECT workspace, hook, subject FROM hook_runs WHERE workspace = ?1 AND status = 'running'";
        let found = self.tx.query(&statement!(query, workspace))?;
        Ok(found.iter().map(|record| key(record, 0)).collect::<Result<_, _>>()?)
    }

    fn waiting_count(&mut self, workspace: &str) -> Result<u64, BookError> {
        let query = "SELECT COUNT(*) FROM hook_runs WHERE workspace = ?1 AND status = 'queued'";
        Ok(self.number(&statement!(query, workspace))?.unwrap_or_default())
    }

    fn waiting_of(&mut self, workspace: &str, hook: &str, limit: u32) -> Result<Vec<Run>, BookError> {
        let query = format!(
            "SELECT {RUN} FROM hook_runs WHERE workspace = ?1 AND hook = ?2 AND status = 'queued'
             ORDER BY not_before LIMIT ?3"
        );
        let found = self.tx.query(&statement!(query, workspace, hook, limit))?;
        Ok(found.iter().map(run).collect::<Result<_, _>>()?)
    }

    fn begun_since(
        &mut self,
        workspace: &str,
        hook: &str,
        since_ms: u64,
        now_ms: u64,
        limit: u32,
    ) -> Result<Vec<u64>, BookError> {
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

    fn spent(&mut self, workspace: &str, hook: &str, day: u64) -> Result<Usage, BookError> {
        let query = "SELECT tokens, micro_usd FROM hook_spending WHERE workspace = ?1 AND hook = ?2 AND day = ?3";
        let found = self.tx.query(&statement!(query, workspace, hook, day))?;
        let Some(record) = found.first() else { return Ok(Usage::default()) };
        Ok(Usage { tokens: record.unsigned(0)?, micro_usd: record.unsigned(1)? })
    }

    fn spend(&mut self, workspace: &str, hook: &str, day: u64, usage: Usage) -> Result<(), BookError> {
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

    fn note_event(&mut self, workspace: &str, event: &str, now_ms: u64) -> Result<bool, BookError> {
        let insert = "INSERT INTO hook_events (workspace, event, at) VALUES (?1, ?2, ?3)
                      ON CONFLICT (workspace, event) DO NOTHING";
        Ok(self.tx.execute(&statement!(insert, workspace, event, now_ms))? > 0)
    }

    fn writes(&mut self, workspace: &str, path: &str) -> Result<Vec<Write>, BookError> {
        let query = "SELECT run, live, content, at FROM hook_writes WHERE workspace = ?1 AND path = ?2";
        let found = self.tx.query(&statement!(query, workspace, path))?;
        let mut writes = Vec::with_capacity(found.len());
        for record in &found {
            writes.push(Write {
                path: path.to_owned(),
                run: record.unsigned(0)?,
                state: if record.unsigned(1)? == 0 { WriteState::Left } else { WriteState::Live },
                content: record.optional_text(2)?.map(str::to_owned),
                at_ms: record.unsigned(3)?,
            });
        }
        Ok(writes)
    }

    fn keep_write(&mut self, workspace: &str, write: &Write) -> Result<(), BookError> {
        self.tx.execute(&statement!(
            "INSERT INTO hook_writes (workspace, path, run, live, content, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (workspace, path, run) DO UPDATE SET
                 live = excluded.live, content = excluded.content, at = excluded.at",
            workspace,
            &write.path,
            write.run,
            write.state == WriteState::Live,
            write.content.as_deref(),
            write.at_ms
        ))?;
        Ok(())
    }

    fn forget_left(&mut self, workspace: &str, path: &str) -> Result<(), BookError> {
        let delete = "DELETE FROM hook_writes WHERE workspace = ?1 AND path = ?2 AND live = 0";
        self.tx.execute(&statement!(delete, workspace, path))?;
        Ok(())
    }

    fn forget_live(&mut self, run: u64) -> Result<(), BookError> {
        self.tx.execute(&statement!("DELETE FROM hook_writes WHERE run = ?1 AND live = 1", run))?;
        Ok(())
    }

    fn insert(&mut self, run: &mut Run) -> Result<(), BookError> {
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

    fn save(&mut self, run: &mut Run) -> Result<(), BookError> {
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

    fn remove(&mut self, number: u64) -> Result<(), BookError> {
        self.tx.execute(&statement!("DELETE FROM hook_runs WHERE number = ?1", number))?;
        Ok(())
    }

    fn keep_output(&mut self, number: u64, output: &str) -> Result<(), BookError> {
        let insert = "INSERT INTO hook_outputs (run, output) VALUES (?1, ?2)
                      ON CONFLICT (run) DO UPDATE SET output = excluded.output";
        self.tx.execute(&statement!(insert, number, output))?;
        Ok(())
    }

    fn beat(&mut self, owner: &str, now_ms: u64) -> Result<(), BookError> {
        let insert = "INSERT INTO hook_owners (name, heard_at) VALUES (?1, ?2)
                      ON CONFLICT (name) DO UPDATE SET heard_at = excluded.heard_at";
        self.tx.execute(&statement!(insert, owner, now_ms))?;
        Ok(())
    }

    fn clear(&mut self, now_ms: u64) -> Result<u64, BookError> {
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
        let writes = "DELETE FROM hook_writes WHERE at < ?1 AND live = 0";
        self.tx.execute(&statement!(writes, now_ms.saturating_sub(WRITES_KEPT_MS)))?;
        let spending = "DELETE FROM hook_spending WHERE day < ?1";
        self.tx.execute(&statement!(spending, before_ms / (24 * 60 * 60 * 1000)))?;
        self.tx.execute(&statement!("DELETE FROM hook_owners WHERE heard_at < ?1", before_ms))?;
        Ok(found.len() as u64)
    }
}
