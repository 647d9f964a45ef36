//! The visible, ordered list of bundled extensions. Deleting a line removes that extension.

use dispatch_contracts::extension::Extension;
use std::sync::Arc;

/// Every extension that ships with the program.
pub fn bundled() -> Vec<Arc<dyn Extension>> {
    vec![ext_hook_pipeline::extension()]
}
