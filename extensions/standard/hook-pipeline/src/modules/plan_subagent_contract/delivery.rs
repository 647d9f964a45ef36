//! Checks what a planning subagent left behind: the plan, the manifest, and what the manifest claims.
//!
//! Pure.

use std::path::{Component, Path};

use dispatch_hook_module::digest::sha256_hex;
use dispatch_hook_module::{Artifact, Context};
use serde::Deserialize;

use crate::modules::subagent_output::{FILE_LIMIT_BYTES, SubagentOutputFolder, is_left_over};
use crate::plan::{self, PLAN_FILE_NAME, Plan, PlanSource};

/// The name of the manifest's file.
pub(super) const MANIFEST_FILE_NAME: &str = "manifest.json";
const MANIFEST_VERSION: u64 = 1;
const MAX_FILES: usize = 100;
const MAX_PROBLEMS: usize = 20;

/// Everything was there.
pub(super) struct PlanDelivery {
    pub(super) plan: Plan,
    pub(super) source: PlanSource,
    pub(super) artifacts: Vec<Artifact>,
}

#[derive(Debug, Deserialize)]
struct DeliveryManifest {
    version: u64,
    files: Vec<DeliveredFile>,
}

#[derive(Debug, Deserialize)]
struct DeliveredFile {
    path: String,
    #[serde(default)]
    sha256: Option<String>,
}

/// The delivery, or everything that is missing or wrong.
pub(super) fn check(ctx: &Context<'_>, folder: &SubagentOutputFolder) -> Result<PlanDelivery, Vec<String>> {
    let mut problems = Vec::new();
    let plan_bytes = read(ctx, folder, PLAN_FILE_NAME, &mut problems);
    let plan = plan_bytes.as_ref().and_then(|bytes| match plan::parse(bytes) {
        Ok(plan) => Some(plan),
        Err(found) => {
            problems.extend(found.iter().map(|problem| format!("{PLAN_FILE_NAME}: {problem}")));
            None
        }
    });
    let manifest_bytes = read(ctx, folder, MANIFEST_FILE_NAME, &mut problems);
    let claimed = manifest_bytes.as_ref().map(|bytes| claims(ctx, folder, bytes, &mut problems)).unwrap_or_default();
    if let (Some(plan), Some(bytes), Some(manifest), true) = (plan, plan_bytes, manifest_bytes, problems.is_empty()) {
        let path = folder.path.join(PLAN_FILE_NAME);
        let source = PlanSource {
            path: format!("{}/{PLAN_FILE_NAME}", folder.shown),
            mtime_ms: ctx.session.modified_ms(&path).unwrap_or(0),
            hash: sha256_hex(&bytes),
        };
        let mut artifacts = vec![
            artifact("planGraph", folder, PLAN_FILE_NAME, &bytes),
            artifact("planManifest", folder, MANIFEST_FILE_NAME, &manifest),
        ];
        artifacts.extend(claimed);
        return Ok(PlanDelivery { plan, source, artifacts });
    }
    if problems.len() > MAX_PROBLEMS {
        let more = problems.len() - MAX_PROBLEMS;
        problems.truncate(MAX_PROBLEMS);
        problems.push(format!("and {more} more"));
    }
    Err(problems)
}

fn read(ctx: &Context<'_>, folder: &SubagentOutputFolder, name: &str, problems: &mut Vec<String>) -> Option<Vec<u8>> {
    let path = folder.path.join(name);
    if ctx.session.modified_ms(&path).is_none() {
        problems.push(format!("{name} does not exist"));
        return None;
    }
    if is_left_over(ctx, &path) {
        problems.push(format!("{name} is from an earlier run: write it again"));
        return None;
    }
    let bytes = ctx.session.read(&path, FILE_LIMIT_BYTES);
    if bytes.is_none() {
        problems.push(format!("{name} cannot be read or has more than {FILE_LIMIT_BYTES} bytes"));
    }
    bytes
}

/// The files that the manifest lists beside the two that are required.
fn claims(ctx: &Context<'_>, folder: &SubagentOutputFolder, bytes: &[u8], problems: &mut Vec<String>) -> Vec<Artifact> {
    let manifest: DeliveryManifest = match serde_json::from_slice(bytes) {
        Ok(manifest) => manifest,
        Err(error) => {
            problems.push(format!("{MANIFEST_FILE_NAME}: {error}"));
            return Vec::new();
        }
    };
    if manifest.version != MANIFEST_VERSION {
        problems.push(format!("{MANIFEST_FILE_NAME}: version must be {MANIFEST_VERSION}"));
    }
    if manifest.files.len() > MAX_FILES {
        problems.push(format!("{MANIFEST_FILE_NAME}: lists more than {MAX_FILES} files"));
    }
    if !manifest.files.iter().any(|entry| entry.path == PLAN_FILE_NAME) {
        problems.push(format!("{MANIFEST_FILE_NAME}: does not list {PLAN_FILE_NAME}"));
    }
    let files = manifest.files.iter().take(MAX_FILES);
    files.filter_map(|entry| claim(ctx, folder, entry, problems)).collect()
}

fn claim(
    ctx: &Context<'_>,
    folder: &SubagentOutputFolder,
    entry: &DeliveredFile,
    problems: &mut Vec<String>,
) -> Option<Artifact> {
    let name = entry.path.as_str();
    let parts = || Path::new(name).components();
    let inside = parts().next().is_some() && parts().all(|part| matches!(part, Component::Normal(_)));
    if !inside || name.contains('\\') {
        problems.push(format!("{MANIFEST_FILE_NAME}: `{name}` is not a path inside the folder"));
        return None;
    }
    let Some(bytes) = ctx.session.read(&folder.path.join(name), FILE_LIMIT_BYTES) else {
        // A problem with the plan itself is reported where it is read.
        if name != PLAN_FILE_NAME {
            problems.push(format!("{MANIFEST_FILE_NAME}: `{name}` does not exist or cannot be read"));
        }
        return None;
    };
    let hash = sha256_hex(&bytes);
    if entry.sha256.as_ref().is_some_and(|claimed| !claimed.eq_ignore_ascii_case(&hash)) {
        problems.push(format!("{MANIFEST_FILE_NAME}: the sha256 of `{name}` is {hash}"));
    }
    let owed = name == PLAN_FILE_NAME || name == MANIFEST_FILE_NAME;
    (!owed).then(|| artifact("planFile", folder, name, &bytes))
}

fn artifact(kind: &str, folder: &SubagentOutputFolder, name: &str, bytes: &[u8]) -> Artifact {
    Artifact {
        kind: kind.to_owned(),
        path: format!("{}/{name}", folder.shown),
        sha256: Some(sha256_hex(bytes)),
        bytes: Some(bytes.len() as u64),
        ..Artifact::default()
    }
}
