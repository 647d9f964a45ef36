//! Personas on disk: the project's, once the user approved their content, before the user's own.

use crate::hook_files::trust_file;
use crate::persona::Persona;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::suggest::nearest;
use dispatch_os::files::{read_dir, read_text_at_most};
use dispatch_trust::Trust;
use ext_session_orchestrator::contract::PersonaCheck;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The folder of personas below a project's `.dispatch` and below the user's configuration folder.
const FOLDER: &str = "personas";
/// The largest file of a persona.
const MAX_PERSONA_BYTES: u64 = 256 * 1024;
/// How many names an error lists.
const LISTED: usize = 10;

/// The personas of this process.
pub(crate) struct PersonaFiles {
    pub(crate) folders: Folders,
}

impl PersonaFiles {
    fn places(&self) -> Vec<PathBuf> {
        let project = self.folders.project.as_ref().map(|root| root.join(".dispatch").join(FOLDER));
        project.into_iter().chain([self.folders.config.join(FOLDER)]).collect()
    }

    /// The names of all personas.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let entries = self.places().into_iter().flat_map(|folder| read_dir(folder).into_iter().flatten().flatten());
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned)).collect()
    }

    /// The persona of a name. One that came with the project, says more than which tools are left out and was not
    /// approved as it is does not count: the user's own of that name does.
    pub(crate) fn find(&self, name: &str) -> Result<Persona, String> {
        if !is_name(name) {
            return Err(format!("invalid persona name `{name}`: use letters, digits, `-`, `_` and `.`"));
        }
        let own = self.folders.config.join(FOLDER);
        let mut waiting = None;
        for folder in self.places() {
            let path = folder.join(format!("{name}.md"));
            let text = match read_text_at_most(&path, MAX_PERSONA_BYTES) {
                Ok(text) => text,
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(format!("persona `{name}` cannot be read: {error}")),
            };
            let persona =
                Persona::read(&text).map_err(|error| format!("persona `{name}`: {}: {error}", path.display()))?;
            if folder == own || !persona.steers() || self.is_approved(&text) {
                return Ok(persona);
            }
            waiting = Some(path);
        }
        match waiting {
            Some(path) => Err(format!(
                "persona `{name}` came with the project and is not approved; look at {path}, then run `dispatch trust \
                 {path}`",
                path = path.display()
            )),
            None => Err(self.unknown(name)),
        }
    }

    fn is_approved(&self, text: &str) -> bool {
        Trust::load(&trust_file(&self.folders)).is_approved(text.as_bytes())
    }

    fn unknown(&self, name: &str) -> String {
        let names = self.names();
        let known = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("unknown persona `{name}`; did you mean `{near}`? Known: {known}"),
            None if names.is_empty() => {
                format!("unknown persona `{name}`: there is none; write .dispatch/personas/{name}.md")
            }
            None => format!("unknown persona `{name}`; known: {known}"),
        }
    }
}

impl PersonaCheck for PersonaFiles {
    fn check(&self, persona: &str) -> Result<(), String> {
        self.find(persona).map(drop)
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_persona_comes_before_the_users_and_an_unknown_one_is_suggested() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders {
            config: root.path().join("config"),
            data: root.path().join("data"),
            project: Some(root.path().join("project")),
            ..Folders::default()
        };
        let files = PersonaFiles { folders };
        assert!(files.check("atlas").unwrap_err().contains("write .dispatch/personas/atlas.md"));
        for (path, text) in [
            ("config/personas/atlas.md", "the user's"),
            ("project/.dispatch/personas/atlas.md", "the project's"),
            ("config/personas/broken.md", "---\nx\n---\n"),
            ("project/.dispatch/personas/cloned.md", "---\nmodel: theirs\n---\n"),
            ("project/.dispatch/personas/narrow.md", "---\ntools: [read_file]\n---\n"),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        assert_eq!(files.find("atlas").unwrap().prompt, "the user's", "nobody approved the project's");
        let mut trust = Trust::default();
        trust.approve(root.path().join("project/.dispatch/personas/atlas.md"), b"the project's").unwrap();
        trust.write(&trust_file(&files.folders)).unwrap();
        assert_eq!(files.find("atlas").unwrap().prompt, "the project's");
        let waits = files.check("cloned").unwrap_err();
        assert!(waits.contains("not approved") && waits.contains("dispatch trust"), "{waits}");
        assert!(files.check("narrow").is_ok(), "what only leaves tools out needs nobody's word");
        assert!(files.check("altas").unwrap_err().contains("did you mean `atlas`?"));
        assert!(files.check("broken").unwrap_err().contains("line 2"));
        assert!(files.check("../atlas").unwrap_err().contains("invalid persona name"));
    }
}
