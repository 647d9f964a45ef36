//! Decides which extensions start and in what order, from their manifests alone.
//!
//! A problem of a core extension ends the start; any other extension with a problem is left out, with
//! those that depend on it, and the rest start. The order depends on the set of manifests, never on
//! the order they were given in.

mod order;
mod paths;

#[cfg(test)]
mod tests;

use super::manifest::tier_name;
use dispatch_contracts::API_VERSION;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Manifest, Tier};
use dispatch_contracts::suggest::nearest;
use semver::{Version, VersionReq};
use std::collections::BTreeMap;
use std::fmt;

/// Why an extension cannot be part of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphProblem {
    /// Whose problem it is.
    pub extension: ExtensionId,
    /// What it is.
    pub cause: GraphCause,
}

/// What can be wrong between extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphCause {
    /// It was written for another version of the ABI.
    ApiVersion {
        /// What it asks for.
        wants: VersionReq,
    },
    /// Another extension has the same id.
    Duplicate,
    /// A dependency does not exist.
    Missing {
        /// Which one.
        dependency: ExtensionId,
        /// What was probably meant.
        meant: Option<ExtensionId>,
    },
    /// A dependency exists in another version.
    Version {
        /// Which one.
        dependency: ExtensionId,
        /// What is asked for.
        wants: VersionReq,
        /// What is there.
        found: Version,
    },
    /// The extension depends on itself by way of others.
    Cycle {
        /// From the extension back to itself.
        path: Vec<ExtensionId>,
    },
    /// A dependency belongs to a higher tier.
    Upward {
        /// The extension's own tier.
        tier: Tier,
        /// Which dependency.
        dependency: ExtensionId,
        /// Its tier.
        dependency_tier: Tier,
    },
    /// A dependency was itself left out.
    LeftOut {
        /// Which one.
        dependency: ExtensionId,
    },
}

impl fmt::Display for GraphProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "extension `{}` {}", self.extension, self.cause)
    }
}

impl fmt::Display for GraphCause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApiVersion { wants } => {
                write!(out, "was written for API {wants}; this program speaks API {API_VERSION}")
            }
            Self::Duplicate => write!(out, "is installed twice; this copy is ignored"),
            Self::Missing { dependency, meant: None } => write!(out, "needs `{dependency}`, which is not installed"),
            Self::Missing { dependency, meant: Some(meant) } => {
                write!(out, "needs `{dependency}`, which is not installed; did you mean `{meant}`?")
            }
            Self::Version { dependency, wants, found } => {
                write!(out, "needs `{dependency}` {wants}, but {found} is installed")
            }
            Self::Cycle { path } => {
                let path: Vec<&str> = path.iter().map(ExtensionId::as_str).collect();
                write!(out, "depends on itself: {}", path.join(" -> "))
            }
            Self::Upward { tier, dependency, dependency_tier } => write!(
                out,
                "is of the {} tier and may not depend on `{dependency}` of the {} tier",
                tier_name(*tier),
                tier_name(*dependency_tier)
            ),
            Self::LeftOut { dependency } => write!(out, "needs `{dependency}`, which was left out"),
        }
    }
}

/// Which of the given manifests start, and in what order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivationPlan {
    /// Positions in the input: dependencies first, otherwise by id.
    pub order: Vec<usize>,
    /// Positions in the input that do not start, and why.
    pub left_out: BTreeMap<usize, Vec<GraphCause>>,
}

/// Makes the plan, or names what is wrong with the core.
pub fn resolve(manifests: &[Manifest]) -> Result<ActivationPlan, Vec<GraphProblem>> {
    let chosen = choose(manifests);
    let mut left_out: BTreeMap<usize, Vec<GraphCause>> = BTreeMap::new();
    for (at, manifest) in manifests.iter().enumerate() {
        let causes = if chosen.get(&manifest.id) == Some(&at) {
            own_problems(manifest, manifests, &chosen)
        } else {
            vec![GraphCause::Duplicate]
        };
        if !causes.is_empty() {
            left_out.insert(at, causes);
        }
    }
    leave_out_dependents(manifests, &chosen, &mut left_out);
    let fatal = core_problems(manifests, &left_out);
    if !fatal.is_empty() {
        return Err(fatal);
    }
    let starting = chosen.into_iter().filter(|(_, at)| !left_out.contains_key(at)).collect();
    Ok(ActivationPlan { order: order::topological(manifests, &starting), left_out })
}

/// The manifest that stands for each id: one of the core before any other, then the first given.
fn choose(manifests: &[Manifest]) -> BTreeMap<&ExtensionId, usize> {
    let mut chosen: BTreeMap<&ExtensionId, usize> = BTreeMap::new();
    for (at, manifest) in manifests.iter().enumerate() {
        let kept = chosen.entry(&manifest.id).or_insert(at);
        if manifest.tier == Tier::Core && manifests.get(*kept).is_some_and(|other| other.tier != Tier::Core) {
            *kept = at;
        }
    }
    chosen
}

fn own_problems(
    manifest: &Manifest,
    manifests: &[Manifest],
    chosen: &BTreeMap<&ExtensionId, usize>,
) -> Vec<GraphCause> {
    let mut causes = Vec::new();
    if !manifest.api_version.matches(&API_VERSION) {
        causes.push(GraphCause::ApiVersion { wants: manifest.api_version.clone() });
    }
    for wanted in &manifest.depends_on {
        let dependency = wanted.id.clone();
        let Some(found) = chosen.get(&wanted.id).and_then(|at| manifests.get(*at)) else {
            if wanted.optional {
                continue;
            }
            let known = chosen.keys().filter(|id| **id != &manifest.id).map(|id| id.as_str());
            let meant = nearest(wanted.id.as_str(), known).map(ExtensionId::new);
            causes.push(GraphCause::Missing { dependency, meant });
            continue;
        };
        if !wanted.version.matches(&found.version) {
            let (wants, found) = (wanted.version.clone(), found.version.clone());
            causes.push(GraphCause::Version { dependency: dependency.clone(), wants, found });
        }
        if found.tier > manifest.tier {
            causes.push(GraphCause::Upward { tier: manifest.tier, dependency, dependency_tier: found.tier });
        }
    }
    if let Some(path) = paths::cycle_through(&manifest.id, manifests, chosen) {
        causes.push(GraphCause::Cycle { path });
    }
    causes
}

fn leave_out_dependents(
    manifests: &[Manifest],
    chosen: &BTreeMap<&ExtensionId, usize>,
    left_out: &mut BTreeMap<usize, Vec<GraphCause>>,
) {
    loop {
        let next = chosen.values().filter(|at| !left_out.contains_key(at)).find_map(|&at| {
            let missing = manifests.get(at)?.depends_on.iter().find(|dependency| {
                let left_out = chosen.get(&dependency.id).is_some_and(|dependency| left_out.contains_key(dependency));
                left_out && !dependency.optional
            })?;
            Some((at, missing.id.clone()))
        });
        let Some((at, dependency)) = next else { return };
        left_out.insert(at, vec![GraphCause::LeftOut { dependency }]);
    }
}

fn core_problems(manifests: &[Manifest], left_out: &BTreeMap<usize, Vec<GraphCause>>) -> Vec<GraphProblem> {
    let troubled = left_out.iter().filter_map(|(at, causes)| Some((manifests.get(*at)?, causes)));
    troubled
        .filter(|(manifest, _)| manifest.tier == Tier::Core)
        .flat_map(|(manifest, causes)| {
            causes.iter().map(|cause| GraphProblem { extension: manifest.id.clone(), cause: cause.clone() })
        })
        .collect()
}
