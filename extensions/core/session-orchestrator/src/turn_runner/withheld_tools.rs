//! The tools that a message may not use because of the secrets that their extensions can read.

use crate::contract::ToolBounds;
use crate::tool_bounds::leaves_credentials;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::Capability;
use dispatch_contracts::tool::Tool;
use dispatch_kernel::host::{ExtensionHost, Owned};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The names of these tools, of those that a turn begins with.
pub(super) fn withheld_tools(
    kernel: &ExtensionHost,
    tools: &[Owned<Arc<dyn Tool>>],
    bounds: Option<&ToolBounds>,
) -> BTreeSet<String> {
    let is_withheld = |owner: &ExtensionId| !leaves_credentials(bounds, owner.as_str());
    if !tools.iter().any(|tool| is_withheld(&tool.owner)) {
        return BTreeSet::new();
    }
    let all = kernel.status().into_iter();
    let holders = all.filter(|status| status.granted.contains(&Capability::Secrets));
    let withheld: BTreeSet<ExtensionId> = holders.map(|status| status.id).filter(is_withheld).collect();
    tools.iter().filter(|tool| withheld.contains(&tool.owner)).map(|tool| tool.name.clone()).collect()
}
