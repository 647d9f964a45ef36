//! Starts the extensions: read, order, activate; what is wrong with one is shown and the rest go on.

use super::disabled::{DisabledList, DisabledStore};
use super::faults::{HostFaultSink, shut_cause};
use super::gate::CapabilityGate;
use super::graph::{ActivationPlan, GraphCause, GraphProblem, resolve};
use super::handle;
use super::manifest::{ManifestProblem, claims, parse_from};
use super::registry::Registry;
use super::roster::{ExtensionScope, Member, Roster};
use super::status::{ExtensionState, ExtensionStatus};
use super::turns::TurnEpoch;
use super::update::ChangeState;
use super::{ExtensionHost, HostState, Permissions, Ports};
use crate::bus::isolate::isolate_call;
use crate::bus::{Bus, BusPorts};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Activation, Capability, Contributes, Manifest, Tier, Trust};
use dispatch_contracts::ports::Level;
use dispatch_contracts::settings::Settings;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::{Arc, Mutex};

/// An extension as the loader found it.
#[derive(Clone)]
pub struct Candidate {
    /// The extension.
    pub extension: Arc<dyn Extension>,
    /// Where its code came from; what the manifest says about that is not believed.
    pub trust: Trust,
    /// Where it was found, for messages.
    pub origin: String,
    /// Makes another one like it that was never active; without it, it starts again only with the program.
    pub fresh: Option<FreshCopy>,
}

/// Makes a copy of an extension that was never active.
pub type FreshCopy = Arc<dyn Fn() -> Option<Arc<dyn Extension>> + Send + Sync>;

impl Candidate {
    /// An extension that is compiled into the program.
    pub fn bundled(extension: Arc<dyn Extension>) -> Self {
        Self { extension, trust: Trust::Bundled, origin: "bundled".to_owned(), fresh: None }
    }
}

/// What a start needs.
pub struct Boot {
    /// The world.
    pub ports: Ports,
    /// The extensions; of two with the same id the first is used.
    pub extensions: Vec<Candidate>,
    /// The merged settings; each extension sees its own section `extensions.<id>`.
    pub settings: Settings,
    /// The folders of this run.
    pub folders: Folders,
    /// Answers questions to the permission rules.
    pub permissions: Permissions,
    /// How many faults a standard or external extension may have.
    pub budget: FaultBudget,
    /// Remembers what was disabled.
    pub disabled: Arc<dyn DisabledStore>,
    /// The capabilities that the user grants to extensions that are not bundled.
    pub grants: BTreeMap<ExtensionId, BTreeSet<Capability>>,
}

/// Why the program cannot start: something is wrong with the core.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootError {
    /// A core extension has no usable manifest.
    #[error("core extension {origin} cannot be loaded: {}", lines(problems))]
    Manifest {
        /// Which one, as far as is known.
        origin: String,
        /// What is wrong.
        problems: Vec<ManifestProblem>,
    },
    /// The core extensions do not fit together.
    #[error("the core extensions do not fit together: {}", lines(.0))]
    Graph(Vec<GraphProblem>),
    /// A core extension did not start.
    #[error("core extension `{extension}` did not start: {reason}")]
    Core {
        /// Which one.
        extension: ExtensionId,
        /// Why.
        reason: String,
    },
}

fn lines<T: Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join("; ")
}

/// Starts all extensions that can be started.
pub async fn boot(input: Boot) -> Result<ExtensionHost, BootError> {
    let (candidates, manifests, mut left_out) = read_all(&input.extensions)?;
    let plan = resolve(&manifests).map_err(BootError::Graph)?;
    for (at, causes) in &plan.left_out {
        if let (Some(candidate), Some(manifest)) = (candidates.get(*at), manifests.get(*at)) {
            left_out.push(left_out_status(candidate, manifest, causes));
        }
    }
    let members = members(&plan, &candidates, &manifests, &input.grants);
    let inner = assemble(input, members, left_out);
    handle::provide(&inner);
    if let Err(error) = inner.disabled.load().await {
        inner.log(Level::Error, error.to_string(), []);
    }
    for status in &inner.left_out() {
        if let Some(obstacle) = status.state.obstacle() {
            inner.log(Level::Warn, format!("extension `{}`, {obstacle}", status.id), []);
        }
    }
    start_all(&inner).await?;
    inner.started.cancel();
    Ok(ExtensionHost { inner })
}

pub(super) type ReadManifests = (Vec<Candidate>, Vec<Manifest>, Vec<ExtensionStatus>);

pub(super) fn read_all(extensions: &[Candidate]) -> Result<ReadManifests, BootError> {
    let (mut candidates, mut manifests, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
    for (at, candidate) in extensions.iter().enumerate() {
        let text = isolate_call(|| candidate.extension.manifest().into_owned());
        let parsed = match &text {
            Ok(text) => parse_from(text, candidate.trust),
            Err(failure) => {
                let message = format!("the extension {} while its manifest was read", failure.message);
                Err(vec![ManifestProblem { path: String::new(), message, hint: None }])
            }
        };
        match parsed {
            Ok(manifest) => {
                candidates.push(candidate.clone());
                manifests.push(manifest);
            }
            Err(problems) => {
                let (id, tier) = text.map_or((None, None), |text| claims(&text));
                let id = id.unwrap_or_else(|| ExtensionId::new(format!("unreadable-{}", at + 1)));
                // What ships with the program and will not say what it is may be part of the core.
                if candidate.trust == Trust::Bundled && tier.is_none_or(|tier| tier == Tier::Core) {
                    return Err(BootError::Manifest { origin: format!("`{id}`"), problems });
                }
                unreadable.push(unreadable_status(candidate, id, tier, &problems));
            }
        }
    }
    Ok((candidates, manifests, unreadable))
}

fn unreadable_status(
    candidate: &Candidate,
    id: ExtensionId,
    tier: Option<Tier>,
    problems: &[ManifestProblem],
) -> ExtensionStatus {
    ExtensionStatus {
        id,
        origin: candidate.origin.clone(),
        version: None,
        tier,
        trust: candidate.trust,
        state: ExtensionState::Failed { reason: format!("the manifest cannot be used: {}", lines(problems)) },
        contributes: Contributes::default(),
        granted: Vec::new(),
        faults: 0,
        dropped_events: 0,
        last_fault: None,
    }
}

pub(super) fn left_out_status(candidate: &Candidate, manifest: &Manifest, causes: &[GraphCause]) -> ExtensionStatus {
    let reason = lines(causes);
    let only_dependencies = causes.iter().all(|cause| matches!(cause, GraphCause::LeftOut { .. }));
    ExtensionStatus {
        version: Some(manifest.version.clone()),
        state: if only_dependencies { ExtensionState::Skipped { reason } } else { ExtensionState::Failed { reason } },
        contributes: manifest.contributes.clone(),
        ..unreadable_status(candidate, manifest.id.clone(), Some(manifest.tier), &[])
    }
}

fn members(
    plan: &ActivationPlan,
    candidates: &[Candidate],
    manifests: &[Manifest],
    grants: &BTreeMap<ExtensionId, BTreeSet<Capability>>,
) -> Vec<Member> {
    let chosen = plan.order.iter().filter_map(|at| Some((candidates.get(*at)?, manifests.get(*at)?)));
    chosen
        .zip(0..)
        .map(|((candidate, manifest), rank)| member(candidate, manifest, grants, MemberPlace { rank, generation: 0 }))
        .collect()
}

/// Where a member stands among all.
pub(super) struct MemberPlace {
    pub(super) rank: u32,
    pub(super) generation: u64,
}

pub(super) fn member(
    candidate: &Candidate,
    manifest: &Manifest,
    grants: &BTreeMap<ExtensionId, BTreeSet<Capability>>,
    place: MemberPlace,
) -> Member {
    let manifest = Arc::new(manifest.clone());
    let granted = grants.get(&manifest.id).cloned().unwrap_or_default();
    Member {
        origin: candidate.origin.clone(),
        extension: Arc::clone(&candidate.extension),
        given: Arc::clone(&candidate.extension),
        rank: place.rank,
        generation: place.generation,
        gate: CapabilityGate::new(Arc::clone(&manifest), &granted),
        scope: Arc::new(ExtensionScope::default()),
        manifest,
    }
}

fn assemble(input: Boot, members: Vec<Member>, left_out: Vec<ExtensionStatus>) -> Arc<HostState> {
    let ports = input.ports;
    let bus_ports =
        BusPorts { clock: Arc::clone(&ports.clock), spawner: Arc::clone(&ports.spawner), log: Arc::clone(&ports.log) };
    Arc::new_cyclic(|inner| HostState {
        bus: Bus::new(bus_ports, Arc::new(HostFaultSink(inner.clone()))),
        disabled: DisabledList::new(input.disabled, Arc::clone(&ports.clock)),
        ports,
        registry: Registry::new(),
        roster: Roster::new(members),
        settings: Mutex::new(input.settings),
        folders: input.folders,
        permissions: input.permissions,
        budget: input.budget,
        fatal: Mutex::new(None),
        left_out: Mutex::new(left_out),
        turns: Mutex::new(TurnEpoch::new(inner.clone())),
        change: ChangeState::default(),
        started: CancelToken::new(),
    })
}

async fn start_all(inner: &Arc<HostState>) -> Result<(), BootError> {
    let eager = inner.roster.eager();
    for id in &inner.roster.order() {
        let Some(member) = inner.roster.member(id) else { continue };
        let tier = member.manifest.tier;
        if let Some(disabled) = inner.disabled.find(id).filter(|_| tier != Tier::Core) {
            inner.bus.shut(id, &disabled.filters, &shut_cause(&disabled.reason));
            inner.roster.set_state(id, ExtensionState::Disabled { reason: disabled.reason });
            inner.dispose(id);
        } else if let Some(obstacle) = inner.obstacle(id) {
            inner.skip(id, obstacle);
        } else if let (Activation::OnHook(hooks), false) = (&member.manifest.activation, eager.contains(id)) {
            inner.roster.set_state(id, ExtensionState::Lazy);
            sleep_until_needed(inner, id, hooks);
        } else if let (Err(reason), Tier::Core) = (inner.activate(id).await, tier) {
            inner.shutdown().await;
            return Err(BootError::Core { extension: id.clone(), reason });
        }
    }
    Ok(())
}

pub(super) fn sleep_until_needed(inner: &Arc<HostState>, id: &ExtensionId, hooks: &[String]) {
    let (weak, sleeper) = (Arc::downgrade(inner), id.clone());
    let activate = move || -> BoxFuture<'static, Result<(), String>> {
        let (inner, id) = (weak.upgrade(), sleeper.clone());
        Box::pin(async move {
            match inner {
                Some(inner) => inner.activate(&id).await,
                None => Err("the program is shutting down".to_owned()),
            }
        })
    };
    inner.bus.set_dormant(id, hooks, Arc::new(activate));
}
