//! The mode that `init --intents` begins with: what becomes of changes outside an intent.

use super::InitRequest;
use super::changes::FileChange;
use super::registration_root::RegistrationRoot;
use super::restore::OwnEntries;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use dispatch_os::terminal;

/// Where a project keeps the mode.
pub(super) const FILE: &str = ".dispatch/dispatch.toml";
const SECTION: &str = "[intents]";

/// What becomes of a change outside an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum IntentModeName {
    /// It is recorded
    Observe,
    /// It is recorded, and the agent is told
    Warn,
    /// It is refused
    Enforce,
}

impl IntentModeName {
    fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
        }
    }

    /// What happens next, for people.
    pub(super) fn next_steps(self) -> &'static str {
        match self {
            Self::Enforce => {
                "\n\
Intents: from now on, agents' changes without an intent are refused. `dispatch intent new NAME --scope GLOB` declares
one. To look first, run `dispatch init --intents --intents-mode observe`, which records and refuses nothing.
Commit .orchestration/ with .gitattributes, so that git merges the ledger."
            }
            Self::Observe | Self::Warn => {
                "\n\
Intents: agents' changes are recorded and none is refused. `dispatch intent new NAME --scope GLOB` declares an intent;
`dispatch trace log` shows the changes. `dispatch init --intents --intents-mode enforce` refuses those without an intent.
Commit .orchestration/ with .gitattributes, so that git merges the ledger, and .dispatch/; in another clone the mode
counts after `dispatch trust`."
            }
        }
    }
}

/// The mode to write; nothing if the project's own stays. Whoever asks for a mode that refuses nothing confirms it.
pub(super) fn chosen(
    loaded: &Loaded,
    request: &InitRequest,
    place: &RegistrationRoot,
    printer: &Printer,
) -> Result<Option<IntentModeName>, Failure> {
    if !request.intents {
        return Ok(None);
    }
    if let Some(mode) = request.intents_mode {
        if mode != IntentModeName::Enforce {
            let what = format!("record agents' changes without refusing any (mode `{}`)", mode.as_str());
            crate::policy_change::confirm(loaded, &what, printer)?;
        }
        return Ok(Some(mode));
    }
    let is_set = place.read(FILE).is_ok_and(|text| text.is_some_and(|text| mode_of(&text).is_some()));
    if is_set || request.json || !terminal::is_interactive() || crate::policy_change::is_question_off(loaded) {
        return Ok(None);
    }
    let offer =
        "begin in mode `observe`, which records changes and refuses none; `n` refuses changes without an intent";
    Ok(crate::policy_change::confirm(loaded, offer, printer).is_ok().then_some(IntentModeName::Observe))
}

/// The mode that is in force in the project once the change is made.
pub(super) fn in_force(chosen: Option<IntentModeName>, place: &RegistrationRoot) -> IntentModeName {
    let present = place.read(FILE).ok().flatten().and_then(|text| mode_of(&text));
    chosen.or(present).unwrap_or(IntentModeName::Enforce)
}

/// The change of the project's settings; nothing if they say so already.
pub(super) fn change(place: &RegistrationRoot, mode: IntentModeName) -> Result<Option<FileChange>, String> {
    let before = place.read(FILE)?;
    if before.as_deref().and_then(mode_of) == Some(mode) {
        return Ok(None);
    }
    let after = with_mode(before.as_deref().unwrap_or_default(), mode);
    let detail = format!("intents.mode = \"{}\"", mode.as_str());
    let differences = if before.is_some() { vec![detail.clone()] } else { Vec::new() };
    let (path, ours) = (FILE.to_owned(), OwnEntries::Absent);
    Ok(Some(FileChange { path, before, after, executable: false, ours, detail, differences }))
}

fn mode_of(text: &str) -> Option<IntentModeName> {
    let values = toml::from_str::<serde_json::Value>(text).ok()?;
    let name = values.get("intents")?.get("mode")?.as_str()?.to_owned();
    [IntentModeName::Observe, IntentModeName::Warn, IntentModeName::Enforce]
        .into_iter()
        .find(|mode| mode.as_str() == name)
}

/// The settings with the mode; everything else of the text stays.
fn with_mode(text: &str, mode: IntentModeName) -> String {
    let line = format!("mode = \"{}\"\n", mode.as_str());
    let is_mode = |text: &str| text.split('=').next().is_some_and(|key| key.trim() == "mode");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(section) = lines.iter().position(|text| text.trim() == SECTION) else {
        let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return format!("{text}{end}{gap}{SECTION}\n{line}");
    };
    let rest = lines.iter().skip(section + 1).take_while(|text| !text.trim_start().starts_with('['));
    let old = rest.clone().position(|text| is_mode(text)).map(|at| section + 1 + at);
    let mut result = String::new();
    for (number, text) in lines.iter().enumerate() {
        match old {
            Some(old) if old == number => result.push_str(&line),
            None if number == section => result.push_str(&format!("{}\n{line}", text.trim_end())),
            _ => result.push_str(text),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_mode_changes() {
        let observe = |text: &str| with_mode(text, IntentModeName::Observe);
        assert_eq!(observe(""), "[intents]\nmode = \"observe\"\n");
        assert_eq!(observe("[run]\nmode = 1"), "[run]\nmode = 1\n\n[intents]\nmode = \"observe\"\n");
        assert_eq!(observe("[intents]\nmode='warn'\n[x]\n"), "[intents]\nmode = \"observe\"\n[x]\n");
        assert_eq!(observe("[intents]\n[x]\nmode=1\n"), "[intents]\nmode = \"observe\"\n[x]\nmode=1\n");
        assert_eq!(mode_of(&observe("a = 1\n")), Some(IntentModeName::Observe));
    }
}
