//! Numbers the drafts and writes them as architecture decision records.
//!
//! Pure.

use std::collections::BTreeMap;

use dispatch_hook_module::{Context, Record};

use super::drafts::AdrDraft;

const FOLDER: &str = "adr";
const MAX_FILES: usize = 1_000;
const DRAFT_LIMIT_BYTES: u64 = 256 * 1024;
const STATUS: &str = "Status: draft";
const MAX_EVIDENCE: usize = 20;
/// From the folder of the drafts to the log.
const LOG: &str = "../../../events.jsonl";

/// The files of all drafts, by path below the output folder.
///
/// A draft keeps the number it has on disk. A new one gets the next number, in the order of its first
/// evidence, so numbers depend on the facts and not on when they were looked at. A file whose status
/// is no longer a draft belongs to the user.
pub(super) fn files(ctx: &Context<'_>, drafts: &[AdrDraft<'_>]) -> Vec<(String, String)> {
    let folder = ctx.folders.output.join(FOLDER);
    let mut numbers = numbered(&ctx.session.list(&folder, MAX_FILES));
    let mut next = numbers.values().max().map_or(1, |last| last + 1);
    let mut files = Vec::new();
    for draft in drafts {
        let number = *numbers.entry(draft.slug.clone()).or_insert_with(|| {
            next += 1;
            next - 1
        });
        let name = format!("{number:04}-{}.md", draft.slug);
        if is_ours(ctx, &folder.join(&name)) {
            files.push((format!("{FOLDER}/{name}"), render(number, draft)));
        }
    }
    files
}

/// The numbers that are taken, by slug.
fn numbered(names: &[String]) -> BTreeMap<String, u32> {
    let split = |name: &String| {
        let (number, slug) = name.strip_suffix(".md")?.split_once('-')?;
        Some((slug.to_owned(), number.parse().ok().filter(|number| *number < 100_000)?))
    };
    names.iter().filter_map(split).collect()
}

fn is_ours(ctx: &Context<'_>, file: &std::path::Path) -> bool {
    match ctx.session.read(file, DRAFT_LIMIT_BYTES) {
        Some(bytes) => bytes.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == STATUS.as_bytes()),
        None => ctx.session.modified_ms(file).is_none(),
    }
}

fn render(number: u32, draft: &AdrDraft<'_>) -> String {
    let evidence: Vec<String> = draft.evidence.iter().take(MAX_EVIDENCE).map(|record| link(record)).collect();
    let title = &draft.title;
    let (context, decision) = (bullets(&draft.context), &draft.decision);
    let (consequences, evidence) = (bullets(&draft.consequences), bullets(&evidence));
    format!(
        "# {number:04}. {title}\n\n{STATUS}\n\n## Context\n\n{context}\n## Decision\n\n{decision}\n\n\
         ## Consequences\n\n{consequences}\n## Evidence\n\n{evidence}"
    )
}

fn link(record: &Record) -> String {
    format!("[{} {}]({LOG}), turn {}", record.kind, record.id, record.turn_id)
}

fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}
