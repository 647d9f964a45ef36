//! Starting the extensions of a change beside those that run.

use super::{ChangeOutcome, ExtensionChange, StagedChange};
use crate::host::HostState;
use crate::host::boot::{Candidate, MemberPlace, ReadManifests, member};
use crate::host::faults::shut_cause;
use crate::host::roster::Member;
use crate::host::roster_plan::RosterPlan;
use crate::host::status::ExtensionState;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Activation, Capability, Manifest};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Grants = BTreeMap<ExtensionId, BTreeSet<Capability>>;

/// What has been tried so far.
pub(super) struct Staging<'a> {
    host: &'a Arc<HostState>,
    plan: &'a RosterPlan,
    grants: &'a Grants,
    changed: &'a BTreeSet<ExtensionId>,
    wanted: BTreeMap<ExtensionId, (&'a Candidate, &'a Manifest)>,
    /// All of them, in activation order.
    order: Vec<ExtensionId>,
    generation: u64,
    put: Vec<(Member, ExtensionState)>,
    /// Those that are others after the change, or gone.
    replaced: BTreeSet<ExtensionId>,
    lazy: Vec<(ExtensionId, Vec<String>)>,
    refused: BTreeMap<ExtensionId, Arc<dyn Extension>>,
    changes: Vec<ExtensionChange>,
}

impl<'a> Staging<'a> {
    pub(super) fn new(
        host: &'a Arc<HostState>,
        plan: &'a RosterPlan,
        read: &'a ReadManifests,
        grants: &'a Grants,
        changed: &'a BTreeSet<ExtensionId>,
    ) -> Self {
        let chosen = || plan.after.order.iter().filter_map(|at| Some((read.0.get(*at)?, read.1.get(*at)?)));
        Self {
            host,
            plan,
            grants,
            changed,
            wanted: chosen().map(|it| (it.1.id.clone(), it)).collect(),
            order: chosen().map(|(_, manifest)| manifest.id.clone()).collect(),
            generation: host.bus.generation() + 1,
            put: Vec::new(),
            replaced: plan.stop.iter().filter(|id| !plan.start.contains(id)).cloned().collect(),
            lazy: Vec::new(),
            refused: BTreeMap::new(),
            changes: Vec::new(),
        }
    }

    pub(super) async fn start_all(&mut self) {
        for id in &self.plan.start {
            let Some((candidate, manifest)) = self.wanted.get(id).copied() else { continue };
            let stands_on_new = manifest.depends_on.iter().any(|it| self.replaced.contains(&it.id));
            let is_new = self.host.roster.member(id).is_none();
            // What it needs did not change after all, so it runs on as it is.
            if is_new || self.changed.contains(id) || stands_on_new {
                self.start(candidate, manifest).await;
            }
        }
    }

    async fn start(&mut self, candidate: &Candidate, manifest: &Manifest) {
        let id = &manifest.id;
        if let Some(disabled) = self.host.disabled.find(id) {
            self.host.bus.shut(id, &disabled.filters, &shut_cause(&disabled.reason));
            let state = ExtensionState::Disabled { reason: disabled.reason };
            return self.put(candidate, manifest, state);
        }
        if let Some(reason) = self.obstacle(manifest) {
            return self.put(candidate, manifest, ExtensionState::Skipped { reason });
        }
        let before = self.host.roster.state(id);
        let was_active = before == Some(ExtensionState::Active);
        if let (Activation::OnHook(hooks), false) = (&manifest.activation, was_active) {
            self.lazy.push((id.clone(), hooks.clone()));
            return self.put(candidate, manifest, ExtensionState::Lazy);
        }
        let Some(candidate) = self.startable(candidate, id) else {
            let reason = "what it needs changed, and it starts again only with the program".to_owned();
            return self.put(candidate, manifest, ExtensionState::Skipped { reason });
        };
        self.activate(&candidate, manifest, was_active).await;
    }

    async fn activate(&mut self, candidate: &Candidate, manifest: &Manifest, was_active: bool) {
        let id = &manifest.id;
        let staged = self.member(candidate, manifest);
        let failure = match self.host.activate_member(&staged).await {
            Ok(()) => {
                self.replaced.insert(id.clone());
                let outcome = if was_active { ChangeOutcome::Replaced } else { ChangeOutcome::Started };
                self.tell(manifest, outcome);
                return self.put.push((staged, ExtensionState::Active));
            }
            Err(failure) => failure.message,
        };
        staged.scope.end();
        self.host.registry.remove_staged(id);
        self.host.bus.remove_staged(id);
        if let Some((wanted, _)) = self.wanted.get(id) {
            self.refused.insert(id.clone(), Arc::clone(&wanted.extension));
        }
        let stands_on_new = manifest.depends_on.iter().any(|it| self.replaced.contains(&it.id));
        if was_active && !stands_on_new {
            return self.tell(manifest, ChangeOutcome::Kept { reason: failure });
        }
        self.put(candidate, manifest, ExtensionState::Failed { reason: failure });
    }

    /// The candidate with an instance that was never active.
    fn startable(&self, candidate: &Candidate, id: &ExtensionId) -> Option<Candidate> {
        let running = self.host.roster.member(id);
        let never_ran = running.is_none_or(|member| !Arc::ptr_eq(&member.given, &candidate.extension));
        if never_ran {
            return Some(candidate.clone());
        }
        let extension = candidate.fresh.as_ref().and_then(|fresh| fresh())?;
        Some(Candidate { extension, ..candidate.clone() })
    }

    /// Why it cannot start because of another, in the world after the change.
    fn obstacle(&self, manifest: &Manifest) -> Option<String> {
        let needed = manifest.depends_on.iter().filter(|dependency| !dependency.optional);
        needed.into_iter().find_map(|dependency| {
            let staged = self.put.iter().find(|(member, _)| member.manifest.id == dependency.id);
            let state = staged.map(|(_, state)| state.clone()).or_else(|| self.host.roster.state(&dependency.id))?;
            Some(format!("needs `{}`, {}", dependency.id, state.obstacle()?))
        })
    }

    fn put(&mut self, candidate: &Candidate, manifest: &Manifest, state: ExtensionState) {
        let was_running = self.host.roster.state(&manifest.id).is_some_and(|before| before.is_running());
        match &state {
            ExtensionState::Lazy if was_running => self.tell(manifest, ChangeOutcome::Replaced),
            ExtensionState::Lazy => self.tell(manifest, ChangeOutcome::Started),
            ExtensionState::Failed { reason } => self.tell(manifest, ChangeOutcome::Failed { reason: reason.clone() }),
            ExtensionState::Disabled { reason } | ExtensionState::Skipped { reason } if was_running => {
                self.tell(manifest, ChangeOutcome::Stopped { reason: reason.clone() });
            }
            _ => {}
        }
        self.replaced.insert(manifest.id.clone());
        let member = self.member(candidate, manifest);
        if !state.is_running() {
            member.scope.end();
        }
        self.put.push((member, state));
    }

    /// Its rank is above that of all it needs, because those keep theirs.
    fn member(&self, candidate: &Candidate, manifest: &Manifest) -> Member {
        let rank_of = |id: &ExtensionId| {
            let staged = self.put.iter().find(|(member, _)| &member.manifest.id == id).map(|(member, _)| member.rank);
            staged.or_else(|| self.host.roster.member(id).map(|member| member.rank))
        };
        let needed = manifest.depends_on.iter().filter_map(|dependency| Some(rank_of(&dependency.id)? + 1)).max();
        let at = self.order.iter().position(|id| id == &manifest.id);
        let place = at.and_then(|at| u32::try_from(at).ok()).unwrap_or_default();
        let rank = place.max(needed.unwrap_or_default());
        let mut member = member(candidate, manifest, self.grants, MemberPlace { rank, generation: self.generation });
        if let Some((given, _)) = self.wanted.get(&manifest.id) {
            member.given = Arc::clone(&given.extension);
        }
        member
    }

    fn tell(&mut self, manifest: &Manifest, outcome: ChangeOutcome) {
        let (extension, version) = (manifest.id.clone(), Some(manifest.version.clone()));
        self.changes.push(ExtensionChange { extension, version, outcome });
    }

    pub(super) fn finish(mut self) -> StagedChange {
        for id in self.plan.stop.iter().filter(|id| !self.wanted.contains_key(*id)) {
            let left_out = self.host.left_out().into_iter().find(|status| &status.id == id);
            let reason = match left_out.map(|status| status.state) {
                Some(ExtensionState::Failed { reason } | ExtensionState::Skipped { reason }) => reason,
                _ => "it is not there any more".to_owned(),
            };
            let (extension, outcome) = (id.clone(), ChangeOutcome::Stopped { reason });
            self.changes.push(ExtensionChange { extension, version: None, outcome });
        }
        let leaving = self.plan.stop.iter().filter(|id| self.replaced.contains(*id)).cloned().collect();
        StagedChange {
            order: self.order,
            put: self.put,
            leaving,
            lazy: self.lazy,
            replaced: self.replaced,
            refused: self.refused,
            changes: self.changes,
        }
    }
}
