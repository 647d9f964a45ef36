//! The suite: which extension is checked among which others, and the results in one order.

use crate::checks::{self, Check};
use crate::fault::InjectedFault;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::manifest::Trust;
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::Ports;
use futures_util::stream::{self, StreamExt as _};
use serde::Serialize;
use std::sync::Arc;

/// How many checks run at once: most of them wait for a deadline or a process.
const CONCURRENT_CHECKS: usize = 4;

/// An extension that was made for one check.
pub struct MadeExtension {
    /// The extension.
    pub extension: Arc<dyn Extension>,
    /// The processes that run its code, where it has some.
    pub worker_ids: Option<Arc<dyn Fn() -> Vec<u32> + Send + Sync>>,
}

/// What is checked, and in which surroundings.
pub struct Subject<'a> {
    /// The extension's id.
    pub id: String,
    /// Where its code comes from.
    pub trust: Trust,
    /// Makes the extension anew, with this fault; `None` where it cannot have that fault.
    pub make: &'a dyn Fn(Option<InjectedFault>) -> Result<Option<MadeExtension>, String>,
    /// Makes the extensions that it runs among: at least those that it depends on.
    pub others: &'a dyn Fn() -> Vec<Arc<dyn Extension>>,
    /// The world.
    pub ports: Ports,
    /// The settings of all.
    pub settings: Settings,
    /// Folders that nobody else uses.
    pub folders: Folders,
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It does not hold.
    Failed {
        /// What was seen instead.
        reason: String,
    },
    /// It cannot be asked of this extension.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// One check and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// The name of the check.
    pub name: String,
    /// What must hold, as a sentence.
    pub rule: String,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Runs all checks. The order of the results is the same every time.
pub async fn check_extension(subject: &Subject<'_>) -> Vec<CheckResult> {
    let all = checks::all();
    let run = |check: Check| async move {
        let outcome = checks::run(subject, &check).await;
        CheckResult { name: check.name, rule: check.rule.to_owned(), outcome }
    };
    stream::iter(all.into_iter().map(run)).buffered(CONCURRENT_CHECKS).collect().await
}
