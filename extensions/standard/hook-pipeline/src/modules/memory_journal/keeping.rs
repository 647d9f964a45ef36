//! How much of a text is kept: without secrets first, then shortened.

use dispatch_hook_module::Context;
use dispatch_redact::Redactor;

use super::MemoryJournalSettings;
use crate::config::{CONFIG_LIMIT_BYTES, Config, PromptAudit};
use crate::prose::{head, shorten};

/// The longest part of a text that is looked at.
const SCAN_LIMIT_BYTES: usize = 16 * 1024;
const MIN_TEXT_CHARS: usize = 40;
const MAX_TEXT_CHARS: usize = 2_000;

/// What is kept of texts.
pub(super) struct KeptText {
    redactor: Redactor,
    /// Whether the text of prompts may be kept at all.
    pub(super) prompts: PromptAudit,
    text_chars: usize,
}

impl KeptText {
    /// By the workspace's configuration, which also says what a secret is.
    pub(super) fn of(ctx: &Context<'_>) -> Self {
        let bytes = ctx.session.read(&ctx.paths.config_file(), CONFIG_LIMIT_BYTES);
        let config = bytes.map(|bytes| Config::parse(&bytes).0).unwrap_or_default();
        let settings: MemoryJournalSettings = ctx.settings();
        Self {
            redactor: config.redactor(),
            prompts: config.prompts,
            text_chars: settings.text_chars.clamp(MIN_TEXT_CHARS, MAX_TEXT_CHARS),
        }
    }

    /// The text on one line. Everything that is written is redacted on its way to the disk; here it
    /// is done before the text is cut too, because half a secret is not recognised any more.
    pub(super) fn keep(&self, text: &str) -> String {
        shorten(&self.redactor.redact(head(text, SCAN_LIMIT_BYTES)), self.text_chars)
    }
}
