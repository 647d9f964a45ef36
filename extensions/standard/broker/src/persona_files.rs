//! Personas on disk: the project's before the user's.

use crate::persona::Persona;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::suggest::nearest;
use dispatch_os::files::{read_dir, read_text_at_most};
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

    /// The persona of a name.
    pub(crate) fn find(&self, name: &str) -> Result<Persona, String> {
        if !is_name(name) {
            return Err(format!("invalid persona name `{name}`: use letters, digits, `-`, `_` and `.`"));
        }
        for folder in self.places() {
            let path = folder.join(format!("{name}.md"));
            match read_text_at_most(&path, MAX_PERSONA_BYTES) {
                Ok(text) => {
                    return Persona::read(&text)
                        .map_err(|error| format!("persona `{name}`: {}: {error}", path.display()));
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(format!("persona `{name}` cannot be read: {error}")),
            }
        }
        Err(self.unknown(name))
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
            project: Some(root.path().join("project")),
            ..Folders::default()
        };
        let files = PersonaFiles { folders };
        assert!(files.check("atlas").unwrap_err().contains("write .dispatch/personas/atlas.md"));
        for (path, text) in [
            ("config/personas/atlas.md", "the user's"),
            ("project/.dispatch/personas/atlas.md", "the project's"),
            ("config/personas/broken.md", "---\nx\n---\n"),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        assert_eq!(files.find("atlas").unwrap().prompt, "the project's");
        assert!(files.check("altas").unwrap_err().contains("did you mean `atlas`?"));
        assert!(files.check("broken").unwrap_err().contains("line 2"));
        assert!(files.check("../atlas").unwrap_err().contains("invalid persona name"));
    }
}
