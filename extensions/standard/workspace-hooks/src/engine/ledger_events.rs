//! Custom events come from the event ledger: they are stored there first, and each workspace takes them up from its position,
//! in order, once.

use super::submit::{EventSubmission, SubmittedRuns, WantedRun, repeated, submit_recorded};
use super::{Engine, durability, intake, name};
use crate::contract::{CustomEvent, Receipt, RunsError, SendError, SentEvent, Source};
use crate::recorded_event::{CHANNEL, event_of, is_for, recorded};
use crate::run_store::workspace_key;
use ext_event_ledger::contract::{Appended, Event as StoredEvent, EventLedger};
use std::path::Path;
use std::sync::PoisonError;

/// How many events are read from the ledger at once.
const PAGE: u32 = 100;

impl Engine {
    /// Stores an event, then takes up what the ledger has for the workspace, this event included.
    pub(crate) async fn send(
        &self,
        sent: CustomEvent,
        workspace: &Path,
        base: &Path,
        from: &str,
    ) -> Result<SentEvent, SendError> {
        let event = sent.clone().event(workspace, base)?;
        if self.is_draining() {
            return Err(RunsError::Refused("the program is about to end".to_owned()).into());
        }
        let Some(ledger) = self.ports.ledger.clone() else {
            let receipts = self.take_in(&event).await?;
            return Ok(SentEvent { event: None, receipts, is_busy: self.is_busy(workspace).await? });
        };
        let set = self.ports.hooks.in_force(workspace).await?;
        let appended = ledger.append(recorded(&sent, &event, from, &set.hooks)).await?;
        let receipts = self.receipts(workspace, &appended).await?;
        Ok(SentEvent { event: Some(appended.event.id), receipts, is_busy: self.is_busy(workspace).await? })
    }

    /// What a stored event did; if it was taken up before it was sent this time, it did nothing.
    async fn receipts(&self, workspace: &Path, appended: &Appended) -> Result<Vec<Receipt>, RunsError> {
        let event = &appended.event;
        let position = self.store.ledger_position(&name(workspace)).await?.unwrap_or_default();
        let was_taken = !appended.fresh && (position >= event.sequence || !is_for(event, workspace));
        self.catch_up(workspace).await?;
        if was_taken {
            let (_, wanted) = self.wanted_of(workspace, event).await?;
            return Ok(wanted.iter().map(repeated).collect());
        }
        Ok(self.store.ledger_receipts(&name(workspace), event.sequence).await?)
    }

    /// Takes up the events that the ledger has for a workspace, in order.
    pub(crate) async fn catch_up(&self, workspace: &Path) -> Result<(), RunsError> {
        let Some(ledger) = self.ports.ledger.clone() else { return Ok(()) };
        let last = ledger.last_sequence().await.map_err(unreadable)?;
        let looked = self.looked().get(workspace).copied().unwrap_or_default();
        if last <= looked {
            return Ok(());
        }
        let store_name = name(workspace);
        let stored = self.store.ledger_position(&store_name).await?;
        let reached = self.take_after(ledger.as_ref(), workspace, stored.unwrap_or_default().max(looked)).await?;
        if stored.is_none() {
            // A workspace without events of its own does not read the whole ledger each time.
            let (keys, at) = (workspace_key(&store_name), last);
            self.store.transact(keys, move |tx| tx.advance(&store_name, at).map(drop)).await?;
        }
        self.looked().insert(workspace.to_path_buf(), reached.max(last));
        Ok(())
    }

    /// Takes up what stands behind a number; gives the number of the last event.
    async fn take_after(&self, ledger: &dyn EventLedger, workspace: &Path, from: u64) -> Result<u64, RunsError> {
        let mut reached = from;
        loop {
            let page = ledger.after_in(CHANNEL, reached, PAGE).await.map_err(unreadable)?;
            let Some(last) = page.last().map(|event| event.sequence) else { return Ok(reached) };
            for stored in page.iter().filter(|stored| is_for(stored, workspace)) {
                self.take_up(workspace, stored).await?;
            }
            reached = last;
        }
    }

    /// Stores the runs of an event and that the workspace has taken it up, in one transaction.
    async fn take_up(&self, workspace: &Path, stored: &StoredEvent) -> Result<(), RunsError> {
        let (queued_limit, wanted) = self.wanted_of(workspace, stored).await?;
        let submission = EventSubmission {
            workspace: name(workspace),
            trigger: format!("custom:{}", stored.content),
            source: Source::Outside,
            event: None,
            wanted,
            now_ms: self.now_ms(),
            queued_limit,
            seen: self.observed(workspace),
            sight: self.ports.executor.sight(),
        };
        let (keys, sequence) = (workspace_key(&submission.workspace), stored.sequence);
        let work = move |tx: &mut crate::run_store::RunTransaction<'_>| submit_recorded(tx, submission, sequence);
        let submitted: Option<SubmittedRuns> =
            self.store.transact_with(keys, durability(Source::Outside), work).await?;
        // Otherwise another process has taken it up.
        if let Some(submitted) = submitted {
            self.announce(&submitted);
        }
        Ok(())
    }

    /// The runs that a stored event wants, and how many may wait.
    async fn wanted_of(&self, workspace: &Path, stored: &StoredEvent) -> Result<(u32, Vec<WantedRun>), RunsError> {
        let set = self.ports.hooks.in_force(workspace).await?;
        let Some(event) = event_of(stored, workspace) else { return Ok((set.limits.queued, Vec::new())) };
        let ids = self.ports.ids.as_ref();
        let started = self.ports.hooks.matching(&set, &event);
        let wanted = started
            .iter()
            .flat_map(|(hook, files)| intake::wanted(hook, files, &event, &self.redaction, ids))
            .collect();
        Ok((set.limits.queued, wanted))
    }

    /// Whether something of a workspace waits or goes.
    pub(crate) async fn is_busy(&self, workspace: &Path) -> Result<bool, RunsError> {
        Ok(self.store.is_busy(&name(workspace)).await?)
    }

    fn looked(&self) -> std::sync::MutexGuard<'_, std::collections::BTreeMap<std::path::PathBuf, u64>> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unreadable(error: ext_event_ledger::contract::LedgerError) -> RunsError {
    RunsError::Away(error.to_string())
}
