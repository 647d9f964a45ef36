//! The book in storage.

mod rows;
mod shelf;

use super::{Book, BookError, Place, Run, Step, Tally};
use crate::contract::RunQuery;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Durability, Record, Statement, Storage, StorageError};
use rows::{RUN, run};
use shelf::SqlShelf;
use std::sync::{Arc, Mutex, PoisonError};

/// How many changes are read at a time.
const PAGE: u32 = 500;
/// Of how many runs the latency is the average.
const LATENCY_RUNS: u32 = 100;

/// The book over the store of this extension.
pub(crate) struct SqlBook {
    storage: Arc<dyn Storage>,
}

impl SqlBook {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage }
    }

    async fn runs(&self, statement: Statement) -> Result<Vec<Run>, BookError> {
        let found = self.storage.query(statement).await?;
        Ok(found.iter().map(run).collect::<Result<_, _>>()?)
    }

    async fn texts(&self, statement: Statement) -> Result<Vec<String>, BookError> {
        let found = self.storage.query(statement).await?;
        Ok(found.iter().map(|record| record.text(0).map(str::to_owned)).collect::<Result<_, _>>()?)
    }

    async fn first<T>(
        &self,
        statement: Statement,
        read: impl Fn(&Record) -> Result<T, StorageError>,
    ) -> Result<Option<T>, BookError> {
        let found = self.storage.query(statement).await?;
        Ok(found.first().map(read).transpose()?)
    }
}

impl Book for SqlBook {
    /// A refusal rolls back as a failure does, and is handed out as it is.
    fn step(&self, durability: Durability, work: Step) -> BoxFuture<'_, Result<(), BookError>> {
        Box::pin(async move {
            let slot = Arc::new(Mutex::new(None));
            let inner = Arc::clone(&slot);
            let done = self.storage.transact_with(
                durability,
                Box::new(move |tx| {
                    let refused = work(&mut SqlShelf::new(tx)).err();
                    let answer = match &refused {
                        Some(_) => Err(StorageError::GivenUp("the step was refused".to_owned())),
                        None => Ok(Vec::new()),
                    };
                    *inner.lock().unwrap_or_else(PoisonError::into_inner) = refused;
                    answer
                }),
            );
            let done = done.await;
            let refused = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            match refused {
                Some(refused) => Err(refused),
                None => Ok(done.map(drop)?),
            }
        })
    }

    /// Steps from hook to hook, however many runs each has.
    fn hooks_waiting<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Vec<String>, BookError>> {
        Box::pin(self.texts(statement!(
            "WITH RECURSIVE hooks (hook) AS (
                    SELECT MIN(hook) FROM hook_runs WHERE workspace = ?1 AND status = 'queued'
                    UNION ALL
                    SELECT (SELECT MIN(r.hook) FROM hook_runs r
                            WHERE r.workspace = ?1 AND r.status = 'queued' AND r.hook > hooks.hook)
                    FROM hooks WHERE hooks.hook IS NOT NULL
                 )
                 SELECT hook FROM hooks WHERE hook IS NOT NULL",
            workspace
        )))
    }

    fn heads<'a>(
        &'a self,
        workspace: &'a str,
        hook: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        Box::pin(self.runs(statement!(
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
        )))
    }

    fn running<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        let query = format!("SELECT {RUN} FROM hook_runs WHERE workspace = ?1 AND status = 'running'");
        Box::pin(self.runs(statement!(query, workspace)))
    }

    fn holders(&self) -> BoxFuture<'_, Result<Vec<String>, BookError>> {
        Box::pin(self.texts(statement!(
            "SELECT DISTINCT run_owner FROM hook_runs WHERE status = 'running' AND run_owner IS NOT NULL"
        )))
    }

    fn is_busy<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<bool, BookError>> {
        Box::pin(async move {
            let query = statement!(
                "SELECT EXISTS (SELECT 1 FROM hook_runs WHERE workspace = ?1 AND status = 'queued')
                     OR EXISTS (SELECT 1 FROM hook_runs WHERE workspace = ?1 AND status = 'running')",
                workspace
            );
            Ok(self.first(query, |record| record.integer(0)).await? == Some(1))
        })
    }

    fn named<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        Box::pin(async move {
            let exact = statement!(format!("SELECT {RUN} FROM hook_runs WHERE id = ?1"), id);
            let exact = self.runs(exact).await?;
            if !exact.is_empty() || id.is_empty() {
                return Ok(exact);
            }
            let begins = format!(
                "SELECT {RUN} FROM hook_runs WHERE id >= ?1 AND id < ?2 AND substr(id, 1, length(?1)) = ?1 LIMIT 2"
            );
            self.runs(statement!(begins, id, format!("{id}~"))).await
        })
    }

    fn output(&self, number: u64) -> BoxFuture<'_, Result<Option<String>, BookError>> {
        let query = statement!("SELECT output FROM hook_outputs WHERE run = ?1", number);
        Box::pin(self.first(query, |record| record.text(0).map(str::to_owned)))
    }

    fn list<'a>(
        &'a self,
        query: &'a RunQuery,
        before: Option<u64>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        let workspace = query.workspace.as_ref().map(|path| path.display().to_string());
        let states: String = query.status.iter().map(|status| format!("|{}|", status.word())).collect();
        Box::pin(self.runs(statement!(
            format!(
                "SELECT {RUN} FROM hook_runs
                 WHERE number < ?1 AND (?2 IS NULL OR workspace = ?2) AND (?3 IS NULL OR hook = ?3)
                   AND (?4 = '' OR ?4 LIKE '%|' || status || '|%')
                   AND (?5 IS NULL OR reason LIKE ?5 ESCAPE '\\' OR facts LIKE ?5 ESCAPE '\\'
                        OR EXISTS (SELECT 1 FROM hook_outputs o WHERE o.run = number AND o.output LIKE ?5 ESCAPE '\\'))
                 ORDER BY number DESC LIMIT ?6"
            ),
            before.unwrap_or(u64::MAX),
            workspace,
            query.hook.as_deref(),
            states,
            query.text.as_deref().map(like),
            limit
        )))
    }

    fn changed<'a>(&'a self, workspace: &'a str, after: Place) -> BoxFuture<'a, Result<Vec<Run>, BookError>> {
        Box::pin(self.runs(statement!(
            format!(
                "SELECT {RUN} FROM hook_runs
                 WHERE version >= ?1 AND (version > ?1 OR number > ?2) AND workspace = ?3
                 ORDER BY version, number LIMIT ?4"
            ),
            after.version,
            after.number,
            workspace,
            PAGE
        )))
    }

    fn last_place(&self) -> BoxFuture<'_, Result<Place, BookError>> {
        Box::pin(async move {
            let query = statement!("SELECT version FROM hook_changes WHERE id = 1");
            let version = self.first(query, |record| record.unsigned(0)).await?.unwrap_or_default();
            Ok(Place { version, number: i64::MAX.unsigned_abs() })
        })
    }

    fn tally<'a>(&'a self, workspace: &'a str, day_from_ms: u64) -> BoxFuture<'a, Result<Tally, BookError>> {
        Box::pin(async move {
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
                Ok(Tally { running: running?, waiting: waiting?, succeeded: succeeded?, failed: failed?, latencies_ms })
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
        })
    }

    fn heard<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Option<u64>, BookError>> {
        let query = statement!("SELECT heard_at FROM hook_owners WHERE name = ?1", owner);
        Box::pin(self.first(query, |record| record.unsigned(0)))
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
