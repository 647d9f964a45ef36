//! Changes of policy need a person: a question at a terminal, nothing inside an agent's process tree, and a record.

use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use dispatch_contracts::settings::Origin;
use dispatch_os::files::{AppendOptions, append_line, create_dir_owner_only};
use dispatch_os::{environment, process, terminal, time};
use serde_json::json;

/// Where changes are recorded, below the user's data.
const RECORD_FILE: &str = "policy-changes.jsonl";
/// The setting that switches the question off, in the user's own file only.
const SETTING: &str = "policy.confirm";

/// The programs of agents: whatever runs below one of them was started by an agent.
const AGENTS: [&str; 17] = [
    "claude",
    "codex",
    "gemini",
    "qwen",
    "opencode",
    "cline",
    "droid",
    "goose",
    "copilot",
    "cursor-agent",
    "crush",
    "kiro-cli",
    "devin",
    "windsurf",
    "amp",
    "aider",
    "pi",
];

/// Asks the user whether policy may change in this way, and records the answer.
///
/// # Errors
/// When an agent runs this, nobody is at a terminal, or the user says no.
pub(crate) fn confirm(loaded: &Loaded, what: &str, printer: &Printer) -> Result<(), Failure> {
    if is_question_off(loaded) {
        record(loaded, what, "confirmed by setting");
        return Ok(());
    }
    let ancestors = process::ancestors();
    let agent = AGENTS.iter().find(|name| ancestors.iter().any(|ancestor| ancestor.is_named(name)));
    if let Some(agent) = agent {
        record(loaded, what, "refused: run by an agent");
        return Err(Failure::usage(format!("an agent (`{agent}`) may not {what}"))
            .hint("run this yourself, in a terminal of your own"));
    }
    if !terminal::is_interactive() {
        record(loaded, what, "refused: no terminal");
        return Err(Failure::usage(format!("to {what}, confirm it at a terminal"))
            .hint(format!("for scripts, set `[policy] confirm = \"none\"` in {}", user_file(loaded))));
    }
    printer.warn(&format!("this will {what}"));
    if !terminal::ask_yes("Go on? [y/N] ")? {
        record(loaded, what, "refused: the user said no");
        return Err(Failure { status: crate::app::Status::No, ..Failure::usage("nothing was changed") });
    }
    record(loaded, what, "confirmed at a terminal");
    Ok(())
}

/// Whether the user said that nothing is asked.
pub(crate) fn is_question_off(loaded: &Loaded) -> bool {
    let setting = loaded.settings.get(SETTING);
    setting.is_some_and(|setting| setting.value == "none" && matches!(setting.origin, Origin::Global { .. }))
}

fn user_file(loaded: &Loaded) -> String {
    loaded.dirs.config.join("dispatch.toml").display().to_string()
}

/// Who, from where, what and how it ended. A disk that refuses does not keep the user from changing policy.
fn record(loaded: &Loaded, what: &str, result: &str) {
    let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| environment::variable(name).ok().flatten());
    let parents: Vec<String> =
        process::ancestors().into_iter().take(4).filter_map(|ancestor| ancestor.arguments.into_iter().next()).collect();
    let line = json!({
        "ts": time::now_rfc3339(),
        "user": user,
        "folder": loaded.start,
        "startedBy": parents,
        "change": what,
        "result": result,
    });
    let line = dispatch_redact::Redactor::builtin().redact(&line.to_string()).into_owned();
    let folder = &loaded.dirs.data;
    let _ = create_dir_owner_only(folder);
    let options = AppendOptions { access: dispatch_os::Access::OwnerOnly, ..AppendOptions::default() };
    let _ = append_line(&folder.join(RECORD_FILE), line.as_bytes(), options);
}
