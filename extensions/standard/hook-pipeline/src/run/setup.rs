//! The rules of a workspace as they are on disk now.

use dispatch_hook_module::Paths;
use dispatch_hook_module::digest::fingerprint;
use dispatch_os::files::read_at_most;
use serde::Deserialize as _;

use crate::config::{CONFIG_LIMIT_BYTES, Config};
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
            None => read(&paths.manifest_file(), MANIFEST_LIMIT_BYTES, &mut problems),
        };
        let config_bytes = read(&paths.config_file(), CONFIG_LIMIT_BYTES, &mut problems);
        let parts = [manifest_bytes.as_deref().unwrap_or_default(), config_bytes.as_deref().unwrap_or_default()];
        let fingerprint = fingerprint(&parts);
        let (manifest, found) = manifest_bytes.map_or_else(Default::default, |bytes| PipelineManifest::parse(&bytes));
        problems.extend(found);
        let (config, found) = config_bytes.map_or_else(Default::default, |bytes| Config::parse(&bytes));
        problems.extend(found);
        Self { manifest, config, problems, notes: Vec::new(), absent: Vec::new(), fingerprint }
    }

    /// Whether ids go into the input of tools. No host is known whose tools all bear that.
    pub(super) fn stamps_input(&self) -> bool {
        let section = self.config.section("session");
        !section.is_null() && crate::modules::SessionSettings::deserialize(section).is_ok_and(|found| found.stamp_input)
    }

    pub(super) fn all_problems(&self) -> Vec<String> {
        let absent = self.absent.iter().map(|name| format!("module `{name}` is enabled but does not exist"));
        self.problems.iter().cloned().chain(self.notes.iter().cloned()).chain(absent).collect()
    }
}

fn read(path: &std::path::Path, limit: u64, problems: &mut Vec<String>) -> Option<Vec<u8>> {
    match read_at_most(path, limit) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.is_not_found() => None,
        Err(error) => {
            problems.push(format!("{error}, so the defaults hold"));
            None
        }
    }
}
