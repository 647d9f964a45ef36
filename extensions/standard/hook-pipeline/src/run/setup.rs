//! The rules of a workspace as they are on disk now.

use dispatch_hook_module::Paths;
use dispatch_hook_module::digest::fingerprint;

use crate::config::{CONFIG_LIMIT_BYTES, Config, read_rules};
use crate::manifest::{MANIFEST_LIMIT_BYTES, PipelineManifest};

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
    /// Changes with the configuration.
    pub(super) fingerprint: String,
}

impl Setup {
    pub(super) fn load(paths: &Paths, manifest: Option<&[u8]>) -> Self {
        let mut problems = Vec::new();
        let manifest_bytes = match manifest {
            Some(given) => Some(given.to_vec()),
            None => {
                let (bytes, problem) = read_rules(&paths.manifest_file(), MANIFEST_LIMIT_BYTES);
                problems.extend(problem);
                bytes
            }
        };
        let (config_bytes, problem) = read_rules(&paths.config_file(), CONFIG_LIMIT_BYTES);
        problems.extend(problem);
        let parts = [manifest_bytes.as_deref().unwrap_or_default(), config_bytes.as_deref().unwrap_or_default()];
        let fingerprint = fingerprint(&parts);
        let (manifest, found) = manifest_bytes.map_or_else(Default::default, |bytes| PipelineManifest::parse(&bytes));
        problems.extend(found);
        let (config, found) = config_bytes.map_or_else(Default::default, |bytes| Config::parse(&bytes));
        problems.extend(found);
        Self { manifest, config, problems, notes: Vec::new(), absent: Vec::new(), fingerprint }
    }

    pub(super) fn all_problems(&self) -> Vec<String> {
        let absent = self.absent.iter().map(|name| format!("module `{name}` is enabled but does not exist"));
        self.problems.iter().cloned().chain(self.notes.iter().cloned()).chain(absent).collect()
    }
}
