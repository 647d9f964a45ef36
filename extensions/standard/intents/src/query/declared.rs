//! The declared intents and the files that they own, for questions about the past: closed intents count too.

use dispatch_glob::Glob;
use dispatch_os::files::read_text_at_most;

use crate::intent::{IntentFile, IntentSpec};
use crate::layout::Layout;

const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The declared intents with their globs ready.
#[derive(Debug, Default)]
pub struct Declared {
    /// The intents, in the order of the file.
    pub intents: Vec<IntentSpec>,
    globs: Vec<Vec<Glob>>,
}

impl Declared {
    /// Reads the intent file; an absent or damaged one declares nothing.
    #[must_use]
    pub fn read(layout: &Layout) -> Self {
        let text = read_text_at_most(&layout.intents_file(), MAX_FILE_BYTES).unwrap_or_default();
        let file: IntentFile = serde_saphyr::from_str(&text).unwrap_or_default();
        Self::new(file.active_intents)
    }

    /// Makes the globs of intents ready; a glob that is none owns nothing.
    #[must_use]
    pub fn new(intents: Vec<IntentSpec>) -> Self {
        let ready = |intent: &IntentSpec| intent.owned_scope.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
        let globs = intents.iter().map(ready).collect();
        Self { intents, globs }
    }

    /// Whether an intent of this id owns the file.
    #[must_use]
    pub fn owns(&self, id: &str, path: &str) -> bool {
        let of_id = self.intents.iter().zip(&self.globs).filter(|(intent, _)| intent.id == id);
        of_id.flat_map(|(_, globs)| globs).any(|glob| glob.is_match(path))
    }
}
