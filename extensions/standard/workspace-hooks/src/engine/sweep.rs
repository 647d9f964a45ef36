//! Settles what processes left that are gone, and says that this one is there.

use super::ending::AttemptStop;
use super::finish::{AttemptEnding, RunLease, abandon, finish};
use super::{Engine, digest};
use crate::contract::{HookSet, Retry, RunId};
use crate::run_executor::SettledRun;
use crate::run_store::{FileWrite, FileWriteState, Run, RunStoreError, workspace_key};
use dispatch_contracts::storage::Keys;
use dispatch_durable_queue::Standing;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// An owner without a trace that was not heard of for so long is gone.
const SILENT_MS: u64 = 30_000;
/// What a run whose hook is gone is repeated with.
const NO_RETRY: Retry = Retry { count: 0, backoff_ms: 0, backoff_factor: 1.0 };

impl Engine {
    /// Settles the runs of the dead: as they ended if that is known, else they wait again. Leaves those that go.
    pub(super) async fn sweep(
        &self,
        workspace: &Path,
        running: &mut Vec<Run>,
        set: &HookSet,
    ) -> Result<(), RunStoreError> {
        let mut has_settled = false;
        let others = running.iter().filter_map(|run| run.owner.clone()).filter(|owner| *owner != self.ports.owner);
        for owner in others.collect::<BTreeSet<String>>() {
            if !self.is_gone(&owner).await? {
                continue;
            }
            for run in running.extract_if(.., |run| run.owner.as_ref() == Some(&owner)).collect::<Vec<_>>() {
                match self.settle(workspace, &run, &owner, set).await {
                    Ok(Some(run)) => {
                        self.tell(&run);
                        has_settled = true;
                    }
                    Ok(None) => running.push(run),
                    // Another process was faster.
                    Err(RunStoreError::Fenced) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if has_settled { self.forget_dead().await } else { Ok(()) }
    }

    /// Removes the traces of the dead whose runs are settled.
    pub(super) async fn forget_dead(&self) -> Result<(), RunStoreError> {
        let holders = self.store.holders().await?;
        self.ports.liveness.forget_dead(&holders);
        Ok(())
    }

    async fn is_gone(&self, owner: &str) -> Result<bool, RunStoreError> {
        match self.ports.liveness.standing(owner) {
            Standing::Alive => Ok(false),
            Standing::Dead => Ok(true),
            Standing::Unknown => {
                let heard_ms = self.store.heard(owner).await?.unwrap_or_default();
                Ok(self.now_ms().saturating_sub(heard_ms) > SILENT_MS)
            }
        }
    }

    /// The run as it is then; none while it is not over.
    async fn settle(
        &self,
        workspace: &Path,
        run: &Run,
        owner: &str,
        set: &HookSet,
    ) -> Result<Option<Run>, RunStoreError> {
        let settled = self.ports.executor.settle(&run.id, run.attempts).await;
        if settled == SettledRun::Pending {
            return Ok(None);
        }
        let stored = self.store_settled(workspace, run, owner, set, settled).await?;
        self.ports.executor.stored(&run.id, run.attempts);
        Ok(Some(stored))
    }

    async fn store_settled(
        &self,
        workspace: &Path,
        run: &Run,
        owner: &str,
        set: &HookSet,
        settled: SettledRun,
    ) -> Result<Run, RunStoreError> {
        let lease = RunLease::of(run, owner);
        let keys = workspace_key(&lease.workspace);
        let now_ms = self.now_ms();
        let SettledRun::Ended(result) = settled else {
            return self.store.transact(keys, move |tx| abandon(tx, &lease, now_ms)).await;
        };
        let hook = set.hooks.iter().find(|hook| hook.id == run.key.hook);
        let (left, wrote) = match hook {
            Some(hook) => self.left(workspace, hook, &result.wrote, &[]).await,
            None => (BTreeMap::new(), Vec::new()),
        };
        let ending = AttemptEnding {
            lease,
            result: *result,
            left,
            wrote,
            halt: AttemptStop::None,
            retry: hook.map_or(NO_RETRY, |hook| hook.retry),
            timeout_ms: hook.map(|hook| hook.timeout_ms),
            now_ms,
            random: self.random(),
        };
        self.store.transact(keys, move |tx| finish(tx, ending)).await
    }

    /// Stops what others want stopped, and notes which files running attempts were seen to write.
    pub(super) async fn attend(&self, workspace: &Path, running: &[Run]) -> Result<(), RunStoreError> {
        for run in running.iter().filter(|run| run.stop && run.owner.as_ref() == Some(&self.ports.owner)) {
            self.stop(&run.id, if run.facts.superseded { AttemptStop::Restart } else { AttemptStop::Person });
        }
        let going: Vec<(RunId, u64)> = {
            let going = self.going();
            let ours = going.iter().filter(|(_, going)| going.workspace == workspace);
            ours.map(|(id, going)| (id.clone(), going.number)).collect()
        };
        let mut fresh = Vec::new();
        for (id, number) in going {
            let observed = self.ports.executor.observed(&id).into_iter().map(|path| digest(&path));
            let mut going = self.going();
            let Some(going) = going.get_mut(&id) else { continue };
            let at_ms = self.now_ms();
            let new = observed.filter(|path| going.noted.insert(path.clone()));
            fresh.extend(new.map(|path| FileWrite {
                path,
                run: number,
                state: FileWriteState::Live,
                content: None,
                at_ms,
            }));
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let name = super::name(workspace);
        self.store
            .transact(workspace_key(&name), move |tx| {
                for write in &fresh {
                    // An attempt may have ended meanwhile; what it left is known then.
                    let goes = tx.find(write.run)?.is_some_and(|run| run.status == crate::contract::Status::Running);
                    if goes {
                        tx.keep_write(&name, write)?;
                    }
                }
                Ok(())
            })
            .await
    }

    /// Says that this process is alive, if it holds anything.
    pub(super) async fn beat(&self) -> Result<(), RunStoreError> {
        if self.going().is_empty() {
            return Ok(());
        }
        let (owner, now_ms) = (self.ports.owner.clone(), self.now_ms());
        self.store.transact(Keys::none(), move |tx| tx.beat(&owner, now_ms)).await
    }
}
