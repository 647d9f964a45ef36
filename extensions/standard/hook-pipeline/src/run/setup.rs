//! The rules of one root as they are on disk now.

use dispatch_hook_module::digest::fingerprint;

use super::refusal;
use super::roots::{RuleLevel, RuleRoot};
use crate::config::{CONFIG_LIMIT_BYTES, Config, read_rules};
use crate::manifest::{MANIFEST_LIMIT_BYTES, PipelineManifest};
use crate::pipeline::GuardFinding;
use crate::rule_trust::{RuleTrust, not_in_force};

/// Manifest, configuration, and what is wrong with them.
pub(super) struct Setup {
    pub(super) manifest: PipelineManifest,
    pub(super) config: Config,
    /// Told in the log as warnings.
    pub(super) problems: Vec<String>,
    /// Told in the trace only, because they repeat at every event.
    pub(super) notes: Vec<String>,
    /// Enabled modules that do not exist.
    pub(super) absent: Vec<String>,
    /// Why no tool call passes, whatever the modules say.
    pub(super) refusals: Vec<GuardFinding>,
    /// Changes with the configuration.
    pub(super) fingerprint: String,
}

/// Rules that the caller hands in, in place of those on disk; they count as approved.
#[derive(Clone, Copy, Default)]
pub(super) struct GivenRules<'a> {
    pub(super) manifest: Option<&'a [u8]>,
    pub(super) config: Option<&'a [u8]>,
}

impl Setup {
    pub(super) fn load(root: &RuleRoot, given: GivenRules<'_>, trust: RuleTrust<'_>) -> Self {
        let mut problems = Vec::new();
        let mut refusals = Vec::new();
        let mut read = |path: &std::path::Path, limit: u64| {
            let (bytes, problem) = read_rules(path, limit);
            refusals.extend(problem.as_deref().map(refusal::unreadable_rules));
            problems.extend(problem);
            bytes
        };
        let manifest_bytes = match given.manifest {
            Some(given) => Some(given.to_vec()),
            None => read(&root.paths.manifest_file(), MANIFEST_LIMIT_BYTES),
        };
        let config_bytes = match given.config {
            Some(given) => Some(given.to_vec()),
            None => read(&root.paths.config_file(), CONFIG_LIMIT_BYTES),
        };
        let (manifest_text, config_text) =
            (manifest_bytes.as_deref().unwrap_or_default(), config_bytes.as_deref().unwrap_or_default());
        let fingerprint = fingerprint(&[manifest_text, config_text]);
        let (mut manifest, found) = manifest_bytes.as_deref().map_or_else(Default::default, PipelineManifest::parse);
        problems.extend(found);
        let (mut config, found) = config_bytes.as_deref().map_or_else(Default::default, Config::parse);
        problems.extend(found);
        let mut notes = Vec::new();
        if root.level == RuleLevel::Project {
            let needs_trust = |text: &[u8]| !trust.is_approved(text);
            if given.manifest.is_none() && manifest.is_looser() && needs_trust(manifest_text) {
                notes.extend(manifest.tighten().into_iter().map(|what| not_in_force("dispatch.manifest.json", &what)));
            }
            if given.config.is_none() && config.is_looser() && needs_trust(config_text) {
                notes.extend(config.tighten().into_iter().map(|what| not_in_force("config.json", &what)));
            }
        }
        Self { manifest, config, problems, notes, absent: Vec::new(), refusals, fingerprint }
    }

    pub(super) fn all_problems(&self) -> Vec<String> {
        let absent = self.absent.iter().map(|name| format!("module `{name}` is enabled but does not exist"));
        self.problems.iter().cloned().chain(self.notes.iter().cloned()).chain(absent).collect()
    }
}
