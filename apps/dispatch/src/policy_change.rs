//! Changes of policy need a person: a question at a terminal, nothing inside an agent's process tree, and a record.

mod agents;

use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use dispatch_contracts::settings::Origin;
use dispatch_os::files::{AppendOptions, append_line, create_dir_owner_only};
use dispatch_os::process::Ancestor;
use dispatch_os::{environment, process, terminal, time};
use serde_json::json;

use agents::ProcessFacts;

/// Where changes are recorded, below the user's data.
const RECORD_FILE: &str = "policy-changes.jsonl";
/// The setting that switches the question off, in the user's own file only.
const SETTING: &str = "policy.confirm";

/// Letters of the word that has to be typed.
const WORD_LETTERS: usize = 6;

/// Asks the user whether policy may change in this way, and records the answer.
///
/// # Errors
/// When an agent runs this, nobody is at a terminal, or the user does not type the word that is shown.
pub(crate) fn confirm(loaded: &Loaded, what: &str, printer: &Printer) -> Result<(), Failure> {
    refuse_own_agent(loaded, what)?;
    if is_question_off(loaded) {
        record(loaded, what, "confirmed by setting");
        return Ok(());
    }
    refuse_impostor(loaded, what)?;
    if !terminal::is_interactive() {
        return Err(no_terminal(loaded, what));
    }
    printer.warn(&format!("this will {what}"));
    // A word that nobody knows before it is shown: what was typed, or is piped in, without looking is no answer.
    let word = dispatch_os::ids::hex_id(WORD_LETTERS);
    match terminal::ask_word(&format!("Type `{word}` to go on: "))? {
        None => Err(no_terminal(loaded, what)),
        Some(typed) if typed == word => {
            record(loaded, what, "confirmed at a terminal");
            Ok(())
        }
        Some(_) => {
            record(loaded, what, "refused: the word was not typed");
            Err(Failure { status: crate::app::Status::No, ..Failure::usage("nothing was changed") })
        }
    }
}

/// Refuses where an agent runs this; a person is not asked anything.
///
/// # Errors
/// When an agent runs this.
pub(crate) fn require_person(loaded: &Loaded, what: &str) -> Result<(), Failure> {
    refuse_own_agent(loaded, what)?;
    if is_question_off(loaded) { Ok(()) } else { refuse_impostor(loaded, what) }
}

/// Whether an agent started this process, as far as that shows.
pub(crate) fn is_run_by_agent(loaded: &Loaded) -> bool {
    process::is_below_own_process() || (!is_question_off(loaded) && impostor().is_some())
}

/// Our own agent answers no questions of its own, whatever the settings say.
fn refuse_own_agent(loaded: &Loaded, what: &str) -> Result<(), Failure> {
    if process::is_below_own_process() {
        record(loaded, what, "refused: run by an agent");
        return Err(Failure::usage(format!("an agent cannot {what}: this command was started by a tool call"))
            .hint("run it in a terminal of your own"));
    }
    Ok(())
}

fn refuse_impostor(loaded: &Loaded, what: &str) -> Result<(), Failure> {
    match impostor() {
        None => Ok(()),
        Some(who) => {
            record(loaded, what, "refused: run by an agent");
            Err(Failure::usage(format!("{who} may not {what}")).hint("run this yourself, in a terminal of your own"))
        }
    }
}

fn no_terminal(loaded: &Loaded, what: &str) -> Failure {
    record(loaded, what, "refused: no terminal");
    Failure::usage(format!("to {what}, confirm it at a terminal"))
        .hint(format!("for scripts, set `[policy] confirm = \"none\"` in {}", user_file(loaded)))
}

/// Why this process does not speak for a person, in words.
fn impostor() -> Option<String> {
    agents::impostor(&ThisProcess { ancestors: process::ancestors() })
}

/// The facts of the process that runs.
struct ThisProcess {
    ancestors: Vec<Ancestor>,
}

impl ProcessFacts for ThisProcess {
    fn is_below(&self, program: &str) -> bool {
        self.ancestors.iter().any(|ancestor| ancestor.is_named(program))
    }

    fn has_variable(&self, name: &str) -> bool {
        environment::is_set(name) || self.ancestors.iter().any(|ancestor| ancestor.has_variable(name))
    }
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
