//! A prompt: that it was sent, and the sentences in it that say how things should be from now on.

use dispatch_hook_module::digest::sha256_hex;
use dispatch_hook_module::{Context, HookAction};

use super::keeping::KeptText;
use super::{appended, entry, preference};
use crate::config::PromptAudit;
use crate::memory::ExperienceKind;

pub(super) fn submitted(ctx: &Context<'_>) -> HookAction {
    let Some(prompt) = ctx.event.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty()) else {
        return HookAction::none();
    };
    let keeping = KeptText::of(ctx);
    let readable = keeping.prompts == PromptAudit::Text;
    let what = ExperienceKind::Prompt {
        sha256: sha256_hex(prompt.as_bytes()),
        chars: prompt.chars().count(),
        text: readable.then(|| keeping.keep(prompt)),
    };
    let mut entries = vec![entry(ctx, "prompt", what)];
    if readable {
        let stated = preference::preferences(prompt).into_iter().enumerate();
        entries.extend(stated.map(|(index, sentence)| {
            let what = ExperienceKind::Preference { text: keeping.keep(&sentence) };
            entry(ctx, &format!("preference {index}"), what)
        }));
    }
    appended(HookAction::none(), &entries)
}
