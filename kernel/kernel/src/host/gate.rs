//! What one extension may ask of the host: its manifest, cut down to what the user grants.

use super::handle::HOST;
use dispatch_contracts::hook::owner_of;
use dispatch_contracts::host::{HostError, SECRETS, STORAGE};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Capability, Contributes, Manifest, Tier, Trust};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The owner of the kernel's own hooks and services.
const KERNEL: &str = "kernel";

/// Answers for one extension.
#[derive(Clone, Debug)]
pub(crate) struct CapabilityGate {
    manifest: Arc<Manifest>,
    granted: BTreeSet<Capability>,
}

/// The kinds of things that a manifest declares by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContributionKind {
    Tool,
    Provider,
    Auth,
    Route,
    Command,
    Job,
    Service,
    Hook,
}

impl ContributionKind {
    /// The word for messages.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Provider => "provider",
            Self::Auth => "credential source",
            Self::Route => "route",
            Self::Command => "command",
            Self::Job => "job",
            Self::Service => "service",
            Self::Hook => "hook",
        }
    }

    fn declared(self, contributes: &Contributes) -> &[String] {
        match self {
            Self::Tool => &contributes.tools,
            Self::Provider => &contributes.providers,
            Self::Auth => &contributes.auth,
            Self::Route => &contributes.routes,
            Self::Command => &contributes.commands,
            Self::Job => &contributes.jobs,
            Self::Service => &contributes.services,
            Self::Hook => &contributes.hooks,
        }
    }
}

impl CapabilityGate {
    /// A gate for a manifest. Bundled code is granted what it declares, other code what the user lists.
    pub(crate) fn new(manifest: Arc<Manifest>, grants: &BTreeSet<Capability>) -> Self {
        let wanted = manifest.capabilities.iter().copied();
        let granted = wanted.filter(|it| manifest.trust == Trust::Bundled || grants.contains(it)).collect();
        Self { manifest, granted }
    }

    /// The capabilities that are both declared and granted.
    pub(crate) fn granted(&self) -> &BTreeSet<Capability> {
        &self.granted
    }

    /// Whether these grants give what it has.
    pub(crate) fn has_grants(&self, grants: Option<&BTreeSet<Capability>>) -> bool {
        let none = BTreeSet::new();
        Self::new(Arc::clone(&self.manifest), grants.unwrap_or(&none)).granted == self.granted
    }

    pub(crate) fn capability(&self, action: &'static str, capability: Capability) -> Result<(), HostError> {
        let extension = self.manifest.id.clone();
        if !self.manifest.capabilities.contains(&capability) {
            return Err(HostError::Capability { extension, action, capability });
        }
        if !self.granted.contains(&capability) {
            return Err(HostError::NotGranted { extension, action, capability });
        }
        Ok(())
    }

    pub(crate) fn declares(&self, kind: ContributionKind, name: &str) -> Result<(), HostError> {
        if kind.declared(&self.manifest.contributes).iter().any(|declared| declared == name) {
            return Ok(());
        }
        Err(HostError::Undeclared { extension: self.manifest.id.clone(), kind: kind.word(), name: name.to_owned() })
    }

    /// Whether the extension may emit or apply a hook.
    pub(crate) fn owns(&self, hook: &str) -> Result<(), HostError> {
        let owner = owner_of(hook);
        if owner != self.manifest.id.as_str() {
            let (id, owner) = (hook.to_owned(), owner.to_owned());
            return Err(HostError::NotOwner { extension: self.manifest.id.clone(), id, owner });
        }
        self.declares(ContributionKind::Hook, hook)
    }

    /// Whether the extension may subscribe to a hook.
    pub(crate) fn hears(&self, hook: &str) -> Result<(), HostError> {
        if owner_of(hook) == self.manifest.id.as_str() {
            return self.declares(ContributionKind::Hook, hook);
        }
        self.depends_on_owner_of(hook)
    }

    /// Whether the extension may see everybody's settings.
    pub(crate) fn sees_all_settings(&self) -> Result<(), HostError> {
        if self.manifest.tier == Tier::Core {
            return Ok(());
        }
        Err(HostError::Reserved { extension: self.manifest.id.clone(), id: "all settings".to_owned() })
    }

    /// Whether the extension is a transport, which answers requests before any route does.
    pub(crate) fn serves_routes(&self) -> Result<(), HostError> {
        if self.manifest.tier == Tier::Core {
            return Ok(());
        }
        Err(HostError::Reserved { extension: self.manifest.id.clone(), id: "the server's own routes".to_owned() })
    }

    /// Whether the extension may call a service. The backends that open everybody's data are for the
    /// core alone.
    pub(crate) fn calls(&self, service: &str) -> Result<(), HostError> {
        if [STORAGE.id(), SECRETS.id(), HOST.id()].contains(&service) && self.manifest.tier != Tier::Core {
            return Err(HostError::Reserved { extension: self.manifest.id.clone(), id: service.to_owned() });
        }
        self.depends_on_owner_of(service)
    }

    fn depends_on_owner_of(&self, id: &str) -> Result<(), HostError> {
        let owner = owner_of(id);
        let known = owner == KERNEL
            || owner == self.manifest.id.as_str()
            || self.manifest.depends_on.iter().any(|dependency| dependency.id == ExtensionId::new(owner));
        if known {
            return Ok(());
        }
        let (id, owner) = (id.to_owned(), owner.to_owned());
        Err(HostError::NoDependency { extension: self.manifest.id.clone(), id, owner })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::manifest::parse_from;

    fn gate(trust: Trust, grants: &[Capability]) -> CapabilityGate {
        let text = r#"{"id":"a","name":"A","version":"1.0.0","apiVersion":"*","tier":"external","dependsOn":["b"],
            "contributes":{"tools":["look"],"hooks":["a/seen"]},"capabilities":["db","spawn"]}"#;
        let manifest = parse_from(text, trust).unwrap();
        CapabilityGate::new(Arc::new(manifest), &grants.iter().copied().collect())
    }

    fn said(outcome: Result<(), HostError>) -> String {
        outcome.map_or_else(|error| error.to_string(), |()| "yes".to_owned())
    }

    #[test]
    fn a_capability_needs_the_manifest_and_outside_the_bundle_the_user_too() {
        let bundled = gate(Trust::Bundled, &[]);
        assert_eq!(said(bundled.capability("keep data", Capability::Db)), "yes");
        assert_eq!(
            said(bundled.capability("read secrets", Capability::Secrets)),
            "extension `a` may not read secrets: its manifest does not list the capability `secrets`"
        );
        let foreign = gate(Trust::External, &[Capability::Spawn, Capability::Secrets]);
        assert_eq!(said(foreign.capability("run work in the background", Capability::Spawn)), "yes");
        assert_eq!(
            said(foreign.capability("keep data", Capability::Db)),
            "extension `a` may not keep data: the settings do not grant it the capability `db`"
        );
        assert!(foreign.capability("read secrets", Capability::Secrets).is_err(), "a grant alone is not enough");
    }

    #[test]
    fn names_must_be_declared_and_foreign_ids_need_a_dependency() {
        let gate = gate(Trust::Bundled, &[]);
        assert_eq!(said(gate.declares(ContributionKind::Tool, "look")), "yes");
        assert_eq!(
            said(gate.declares(ContributionKind::Tool, "leap")),
            "extension `a` may not add tool `leap`: its manifest does not list it under `contributes`"
        );
        assert_eq!(said(gate.hears("kernel/turn.sealed")), "yes");
        assert_eq!(said(gate.hears("b/done")), "yes");
        assert_eq!(
            said(gate.hears("c/done")),
            "extension `a` uses `c/done` but its manifest does not list `c` under `dependsOn`"
        );
        assert_eq!(said(gate.owns("a/seen")), "yes");
        assert!(gate.owns("a/other").is_err());
        assert_eq!(said(gate.owns("b/done")), "extension `a` may not run `b/done`: only its owner `b` may");
        assert_eq!(
            said(gate.calls("kernel/storage")),
            "extension `a` may not use `kernel/storage` directly: ask the host for its own part instead"
        );
    }
}
