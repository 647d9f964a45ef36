//! The extensions of one run: what each is, how it is doing, and what it did wrong.

use super::fault_policy::{FaultVerdict, judge_faults};
use super::gate::CapabilityGate;
use super::registry::Owned;
use super::status::{ExtensionState, ExtensionStatus};
use crate::bus::isolate::isolate_call;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::fault::{Fault, FaultBudget};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Activation, Manifest, Tier};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many faults of one extension are remembered, unless its budget is larger.
const FAULTS_KEPT: usize = 64;

/// Ends with the extension: its host calls, its background work.
#[derive(Debug, Default)]
pub(super) struct ExtensionScope {
    over: AtomicBool,
    retired: AtomicBool,
    pub(super) cancel: CancelToken,
    /// Ends its jobs, which its successor has too.
    pub(super) jobs: CancelToken,
}

impl ExtensionScope {
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(super) fn end(&self) {
        self.retire();
        self.over.store(true, Ordering::Release);
        self.cancel.cancel();
    }

    /// From now on only turns that are running use it.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        self.jobs.cancel();
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }
}

/// One extension that is part of the plan. What never changes is shared, so that no lock is held
/// while it is used.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) manifest: Arc<Manifest>,
    pub(super) origin: String,
    pub(super) extension: Arc<dyn Extension>,
    /// The instance that was given for it; another one if it is a fresh copy.
    pub(super) given: Arc<dyn Extension>,
    pub(super) rank: u32,
    /// The generation of subscribers that it belongs to.
    pub(super) generation: u64,
    pub(super) gate: CapabilityGate,
    pub(super) scope: Arc<ExtensionScope>,
}

/// What a fault means for its extension.
pub(super) struct JudgedFault {
    pub(super) tier: Tier,
    pub(super) before: ExtensionState,
    pub(super) verdict: FaultVerdict,
}

struct RosterSlot {
    member: Member,
    state: ExtensionState,
    faults: VecDeque<Fault>,
    fault_count: u64,
}

impl RosterSlot {
    fn new(member: Member, state: ExtensionState) -> Self {
        Self { member, state, faults: VecDeque::new(), fault_count: 0 }
    }
}

/// All members, in activation order.
pub(super) struct Roster {
    slots: Mutex<RosterSlots>,
}

struct RosterSlots {
    order: Vec<ExtensionId>,
    by_id: BTreeMap<ExtensionId, RosterSlot>,
}

/// What becomes of the members in a change.
#[derive(Default)]
pub(super) struct RosterEdit {
    /// All of them, in activation order.
    pub(super) order: Vec<ExtensionId>,
    /// The new ones and those in the place of others.
    pub(super) put: Vec<(Member, ExtensionState)>,
}

impl Roster {
    pub(super) fn new(members: Vec<Member>) -> Self {
        let order = members.iter().map(|member| member.manifest.id.clone()).collect();
        let slots = members.into_iter().map(|member| RosterSlot::new(member, ExtensionState::Starting));
        let by_id = slots.map(|slot| (slot.member.manifest.id.clone(), slot)).collect();
        Self { slots: Mutex::new(RosterSlots { order, by_id }) }
    }

    /// The ids in activation order.
    pub(super) fn order(&self) -> Vec<ExtensionId> {
        self.lock().order.clone()
    }

    /// All members in activation order.
    pub(super) fn members(&self) -> Vec<Member> {
        let slots = self.lock();
        slots.order.iter().filter_map(|id| slots.by_id.get(id)).map(|slot| slot.member.clone()).collect()
    }

    /// Makes a change; who is not in its order is gone.
    pub(super) fn apply(&self, edit: RosterEdit) {
        let RosterEdit { order, put } = edit;
        let mut gone = Vec::new();
        let mut slots = self.lock();
        for (member, state) in put {
            gone.extend(slots.by_id.insert(member.manifest.id.clone(), RosterSlot::new(member, state)));
        }
        gone.extend(slots.by_id.extract_if(.., |id, _| !order.contains(id)).map(|(_, slot)| slot));
        slots.order = order;
        drop(slots);
        // The last one to hold an extension runs its destructor, which is foreign code.
        let _ = isolate_call(move || drop(gone));
    }

    pub(super) fn member(&self, id: &ExtensionId) -> Option<Member> {
        self.lock().by_id.get(id).map(|slot| slot.member.clone())
    }

    pub(super) fn state(&self, id: &ExtensionId) -> Option<ExtensionState> {
        self.lock().by_id.get(id).map(|slot| slot.state.clone())
    }

    /// Sets a state; answers the one before.
    pub(super) fn set_state(&self, id: &ExtensionId, state: ExtensionState) -> Option<ExtensionState> {
        self.lock().by_id.get_mut(id).map(|slot| std::mem::replace(&mut slot.state, state))
    }

    /// Makes an extension active, unless it was stopped while it was starting.
    pub(super) fn activated(&self, id: &ExtensionId) -> Result<(), String> {
        let mut slots = self.lock();
        let Some(slot) = slots.by_id.get_mut(id) else { return Err("is not known".to_owned()) };
        if let (false, Some(obstacle)) = (slot.state.is_running(), slot.state.obstacle()) {
            return Err(obstacle);
        }
        slot.state = ExtensionState::Active;
        Ok(())
    }

    pub(super) fn enabled(&self, id: &ExtensionId) {
        let mut slots = self.lock();
        if let Some(slot) = slots.by_id.get_mut(id).filter(|slot| matches!(slot.state, ExtensionState::Disabled { .. }))
        {
            let reason = "enabled again; it starts when the program starts again".to_owned();
            slot.state = ExtensionState::Skipped { reason };
        }
    }

    /// Writes a fault down and judges its extension. An extension that is to be disabled has that
    /// state when this returns, so that it is not disabled twice.
    pub(super) fn record(&self, fault: &Fault, budget: FaultBudget, now_ms: u64) -> Option<JudgedFault> {
        let mut slots = self.lock();
        let slot = slots.by_id.get_mut(&fault.extension)?;
        slot.fault_count += 1;
        slot.faults.push_back(fault.clone());
        let kept = usize::try_from(budget.faults).unwrap_or(usize::MAX).max(FAULTS_KEPT);
        while slot.faults.len() > kept {
            slot.faults.pop_front();
        }
        let (tier, before) = (slot.member.manifest.tier, slot.state.clone());
        if !before.is_running() {
            return Some(JudgedFault { tier, before, verdict: FaultVerdict::Keep });
        }
        let verdict = judge_faults(tier, slot.faults.make_contiguous(), budget, now_ms);
        if let FaultVerdict::Disable { reason } = &verdict {
            slot.state = ExtensionState::Disabled { reason: reason.clone() };
        }
        Some(JudgedFault { tier, before, verdict })
    }

    /// The extensions that need `id`, directly or by way of others, last in the order first.
    pub(super) fn dependents(&self, id: &ExtensionId) -> Vec<ExtensionId> {
        let slots = self.lock();
        let mut needing = BTreeSet::from([id.clone()]);
        let mut dependents = Vec::new();
        for candidate in &slots.order {
            let depends_on = slots.by_id.get(candidate).into_iter().flat_map(|slot| &slot.member.manifest.depends_on);
            if depends_on.into_iter().any(|dependency| !dependency.optional && needing.contains(&dependency.id)) {
                needing.insert(candidate.clone());
                dependents.push(candidate.clone());
            }
        }
        dependents.reverse();
        dependents
    }

    /// The extensions that start with the program: the eager ones and what they need.
    pub(super) fn eager(&self) -> BTreeSet<ExtensionId> {
        let slots = self.lock();
        let mut eager = BTreeSet::new();
        for id in slots.order.iter().rev() {
            let Some(slot) = slots.by_id.get(id) else { continue };
            if slot.member.manifest.activation == Activation::Eager || eager.contains(id) {
                eager.insert(id.clone());
                eager.extend(slot.member.manifest.depends_on.iter().map(|dependency| dependency.id.clone()));
            }
        }
        eager
    }

    pub(super) fn faults(&self) -> BTreeMap<ExtensionId, (u64, Fault)> {
        let slots = self.lock();
        let faulted = slots.by_id.iter().filter_map(|(id, slot)| Some((id, slot, slot.faults.back()?)));
        faulted.map(|(id, slot, last)| (id.clone(), (slot.fault_count, last.clone()))).collect()
    }

    pub(super) fn status(&self) -> Vec<ExtensionStatus> {
        self.lock().by_id.values().map(status_of).collect()
    }

    pub(super) fn each_state(&self, tell: &mut dyn FnMut(&ExtensionId, Option<Tier>, &ExtensionState)) {
        self.lock()
            .by_id
            .values()
            .for_each(|slot| tell(&slot.member.manifest.id, Some(slot.member.manifest.tier), &slot.state));
    }

    pub(super) fn hooks(&self) -> Vec<Owned<()>> {
        let slots = self.lock();
        let running = slots.by_id.values().filter(|slot| slot.state.is_running());
        let declared = running.flat_map(|slot| {
            let manifest = &slot.member.manifest;
            manifest.contributes.hooks.iter().map(|hook| Owned {
                owner: manifest.id.clone(),
                name: hook.clone(),
                item: (),
            })
        });
        let mut hooks: Vec<_> = declared.collect();
        hooks.sort_by(|a, b| a.name.cmp(&b.name));
        hooks
    }

    pub(super) fn settings_schemas(&self) -> Vec<Owned<Value>> {
        let slots = self.lock();
        let manifests = slots.by_id.values().map(|slot| &slot.member.manifest);
        let with_schema = manifests.filter_map(|manifest| Some((&manifest.id, manifest.settings_schema.clone()?)));
        with_schema.map(|(id, item)| Owned { owner: id.clone(), name: id.to_string(), item }).collect()
    }

    /// No lock is held while the extension answers, and its panic leaves it without texts.
    pub(super) fn harness(&self, id: &ExtensionId) -> Option<Harness> {
        let member = self.member(id)?;
        Some(isolate_call(|| member.extension.harness()).unwrap_or_default())
    }

    fn lock(&self) -> MutexGuard<'_, RosterSlots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn status_of(slot: &RosterSlot) -> ExtensionStatus {
    let manifest = &slot.member.manifest;
    ExtensionStatus {
        id: manifest.id.clone(),
        origin: slot.member.origin.clone(),
        version: Some(manifest.version.clone()),
        tier: Some(manifest.tier),
        trust: manifest.trust,
        state: slot.state.clone(),
        contributes: manifest.contributes.clone(),
        granted: slot.member.gate.granted().iter().copied().collect(),
        faults: slot.fault_count,
        dropped_events: 0,
        last_fault: slot.faults.back().cloned(),
    }
}
