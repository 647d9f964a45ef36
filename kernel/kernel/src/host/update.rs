//! Changing the extensions while the program runs.
//!
//! New versions start beside the old ones, for the next generation. When all have had their chance, one step puts the
//! new in the place of the old, so nothing is ever missing in between. What did not start leaves the old version
//! running, and turns that are running keep what they began with.

mod staging;

use super::boot::{Candidate, ReadManifests, left_out_status, read_all};
use super::registry::drop_contained;
use super::roster::{Member, RosterEdit};
use super::roster_plan::{RosterPlan, plan_roster_change};
use super::status::ExtensionState;
use super::turns::{EndedEpoch, TurnEpoch};
use super::{BootError, ExtensionHost, HostState};
use dispatch_contracts::extension::Extension;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Capability, Manifest, Tier, Trust};
use dispatch_contracts::ports::Level;
use dispatch_contracts::settings::Settings;
use futures_util::lock::Mutex as Turnstile;
use semver::Version;
use staging::Staging;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The extensions as they are wanted now.
pub struct RosterUpdate {
    /// All of them; one that did not change is the same instance as before.
    pub extensions: Vec<Candidate>,
    /// The merged settings.
    pub settings: Settings,
    /// The capabilities that the user grants to extensions that are not bundled.
    pub grants: BTreeMap<ExtensionId, BTreeSet<Capability>>,
}

/// What became of one extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionChange {
    /// Which one.
    pub extension: ExtensionId,
    /// Its version, where it runs.
    pub version: Option<Version>,
    /// What became of it.
    pub outcome: ChangeOutcome,
}

/// What can become of an extension in a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// It runs, and did not before.
    Started,
    /// It runs in the place of the one before.
    Replaced,
    /// It does not run any more.
    Stopped {
        /// Why.
        reason: String,
    },
    /// It did not start, and the one before runs on.
    Kept {
        /// Why it did not start.
        reason: String,
    },
    /// It did not start.
    Failed {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for ExtensionChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, version) = (&self.extension, self.version.as_ref().map(|version| format!(" {version}")));
        let version = version.unwrap_or_default();
        match &self.outcome {
            ChangeOutcome::Started => write!(out, "extension `{id}`{version} started"),
            ChangeOutcome::Replaced => write!(out, "extension `{id}`{version} was loaded again"),
            ChangeOutcome::Stopped { reason } => write!(out, "extension `{id}` stopped: {reason}"),
            ChangeOutcome::Kept { reason } => {
                write!(out, "extension `{id}` did not start again, so the version before runs on: {reason}")
            }
            ChangeOutcome::Failed { reason } => write!(out, "extension `{id}` did not start: {reason}"),
        }
    }
}

/// What the host remembers between and during changes.
#[derive(Default)]
pub(super) struct ChangeState {
    /// One change at a time.
    turnstile: Turnstile<()>,
    /// Those whose names a starting extension may take.
    leaving: Mutex<Arc<BTreeSet<ExtensionId>>>,
    /// Versions that did not start; they are not tried again.
    refused: Mutex<BTreeMap<ExtensionId, Arc<dyn Extension>>>,
}

impl ChangeState {
    pub(super) fn leaving(&self) -> Arc<BTreeSet<ExtensionId>> {
        Arc::clone(&self.leaving.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_leaving(&self, ids: BTreeSet<ExtensionId>) {
        *self.leaving.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(ids);
    }

    fn was_refused(&self, id: &ExtensionId, extension: &Arc<dyn Extension>) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get(id).is_some_and(|known| Arc::ptr_eq(known, extension))
    }

    fn remember_refused(
        &self,
        refused: BTreeMap<ExtensionId, Arc<dyn Extension>>,
        gone: impl Fn(&ExtensionId) -> bool,
    ) {
        let mut known = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|id, _| !gone(id));
        known.extend(refused);
    }
}

impl ExtensionHost {
    /// Makes the running extensions those of `update`: adds, replaces and removes, dependents with what they need.
    /// Answers what became of each one that the change touched.
    ///
    /// # Errors
    /// When the core would no longer fit together; then nothing changes.
    pub async fn update(&self, update: RosterUpdate) -> Result<Vec<ExtensionChange>, BootError> {
        self.inner.update(update).await
    }
}

impl HostState {
    async fn update(self: &Arc<Self>, update: RosterUpdate) -> Result<Vec<ExtensionChange>, BootError> {
        let _turn = self.change.turnstile.lock().await;
        let read = read_all(&update.extensions)?;
        if let Err(error) = self.disabled.reload().await {
            self.log(Level::Error, error.to_string(), []);
        }
        let changed = self.changed(&read, &update);
        let members = self.roster.members();
        let before: Vec<Manifest> = members.iter().map(|member| Manifest::clone(&member.manifest)).collect();
        let plan = plan_roster_change(&before, &read.1, &changed).map_err(BootError::Graph)?;
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = update.settings;
        self.note_left_out(&plan, &read);
        if plan.stop.is_empty() && plan.start.is_empty() {
            return Ok(Vec::new());
        }
        self.change.set_leaving(plan.stop.iter().cloned().collect());
        let mut staging = Staging::new(self, &plan, &read, &update.grants, &changed);
        staging.start_all().await;
        let staged = staging.finish();
        let changes = staged.changes.clone();
        self.change.remember_refused(staged.refused.clone(), |id| staged.replaced.contains(id));
        self.commit(staged).await;
        self.change.set_leaving(BTreeSet::new());
        for change in &changes {
            let is_fine = matches!(change.outcome, ChangeOutcome::Started | ChangeOutcome::Replaced);
            self.log(if is_fine { Level::Info } else { Level::Warn }, change.to_string(), []);
        }
        Ok(changes)
    }

    /// The extensions that are others than those that run, or run under other terms.
    fn changed(&self, read: &ReadManifests, update: &RosterUpdate) -> BTreeSet<ExtensionId> {
        let before = self.settings();
        let has_changed = |(candidate, manifest): (&Candidate, &Manifest)| {
            let id = &manifest.id;
            let member = self.roster.member(id)?;
            let is_other = !Arc::ptr_eq(&member.given, &candidate.extension);
            let is_off = matches!(self.roster.state(id), Some(ExtensionState::Disabled { .. }));
            let section = format!("extensions.{id}");
            let terms = manifest.trust != Trust::Bundled
                && (before.section(&section) != update.settings.section(&section)
                    || !member.gate.has_grants(update.grants.get(id)));
            let changed = (is_other && !self.change.was_refused(id, &candidate.extension))
                || is_off != self.disabled.find(id).is_some()
                || terms;
            (changed && manifest.tier != Tier::Core).then(|| id.clone())
        };
        read.0.iter().zip(&read.1).filter_map(has_changed).collect()
    }

    fn note_left_out(&self, plan: &RosterPlan, read: &ReadManifests) {
        let mut left_out = read.2.clone();
        for (at, causes) in &plan.after.left_out {
            if let (Some(candidate), Some(manifest)) = (read.0.get(*at), read.1.get(*at)) {
                left_out.push(left_out_status(candidate, manifest, causes));
            }
        }
        *self.left_out.lock().unwrap_or_else(PoisonError::into_inner) = left_out;
    }

    /// Puts the new in the place of the old.
    async fn commit(self: &Arc<Self>, staged: StagedChange) {
        let StagedChange { order, put, leaving, lazy, .. } = staged;
        let retired: Vec<Member> = leaving.iter().filter_map(|id| self.roster.member(id)).collect();
        let was_active = |member: &Member| self.roster.state(&member.manifest.id) == Some(ExtensionState::Active);
        let members: Vec<Member> = retired.iter().filter(|member| was_active(member)).cloned().collect();
        leaving.iter().for_each(|id| self.bus.forget_dormant(id));
        let set: BTreeSet<ExtensionId> = leaving.iter().cloned().collect();
        let next = TurnEpoch::new(Arc::downgrade(self));
        let (epoch, lost, removed) = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            let (lost, removed) = self.registry.commit(&set);
            let subscriptions = self.bus.advance(&leaving);
            let epoch = std::mem::replace(&mut *turns, Arc::clone(&next));
            epoch.end(EndedEpoch { members, subscriptions, _next: next });
            (epoch, lost, removed)
        };
        drop_contained(removed);
        retired.iter().for_each(|member| member.scope.retire());
        self.roster.apply(RosterEdit { order, put });
        for id in leaving.iter().filter(|id| self.disabled.find(id).is_none()) {
            self.bus.open(id);
        }
        for item in lost {
            let message = format!("extension `{}` lost its {} `{}` to another", item.owner, item.kind, item.name);
            self.log(Level::Warn, message, []);
        }
        for (id, hooks) in &lazy {
            super::boot::sleep_until_needed(self, id, hooks);
        }
        epoch.release().await;
    }
}

/// A change that is ready to be made.
struct StagedChange {
    order: Vec<ExtensionId>,
    put: Vec<(Member, ExtensionState)>,
    /// Who leaves, dependents first.
    leaving: Vec<ExtensionId>,
    /// Who sleeps until one of these hooks needs it.
    lazy: Vec<(ExtensionId, Vec<String>)>,
    replaced: BTreeSet<ExtensionId>,
    refused: BTreeMap<ExtensionId, Arc<dyn Extension>>,
    changes: Vec<ExtensionChange>,
}
