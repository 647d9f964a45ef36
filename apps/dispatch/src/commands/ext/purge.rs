//! `dispatch ext remove --purge`: deletes what an extension stored and what the settings say about it.

use crate::app::Status;
use crate::commands::session::counted;
use crate::failure::Failure;
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::host::STORAGE;
use dispatch_contracts::storage::{StorageBackend, StorageError};
use dispatch_os::files::{ReplaceOptions, read_text_at_most, replace_with};
use dispatch_script_extension::FoundExtension;
use std::path::Path;
use std::sync::Arc;
use toml_edit::DocumentMut;

/// The largest settings file that is edited.
const LIMIT_BYTES: u64 = 1024 * 1024;

/// Answers what was deleted, in words.
pub(super) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    extension: &FoundExtension,
) -> Result<Vec<String>, Failure> {
    let mut said = Vec::new();
    let running = Running::look_at_storage(loaded, extensions)?;
    let purged = running.service(&STORAGE).and_then(|storage| {
        let purged = running.block_on(delete_stored(storage.as_ref(), &extension.id));
        purged.map_err(|error| Failure::of(Status::Internal, &error))
    });
    running.shutdown();
    let (keys, tables) = purged?;
    said.push(format!("deleted {} and {}", counted(keys as u64, "stored key"), counted(tables as u64, "table")));
    for file in &loaded.files {
        if without_settings(&file.path, &extension.id)? {
            said.push(format!("took its settings and grants out of {}", file.path.display()));
        }
    }
    Ok(said)
}

/// How many keys and tables there were.
async fn delete_stored(storage: &dyn StorageBackend, id: &str) -> Result<(usize, usize), StorageError> {
    let keys = storage.open(id).keys("").await?.len();
    Ok((keys, storage.delete_namespace(id).await?))
}

/// Takes `[extensions.ID]`, `[grants.ID]` and the entry in `extensions.disabled` out of a file; whether they were there.
fn without_settings(path: &Path, id: &str) -> Result<bool, Failure> {
    let text = match read_text_at_most(path, LIMIT_BYTES) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| Failure::configuration(format!("{} is not valid TOML", path.display())).caused_by(&error))?;
    if !take_out(&mut document, id) {
        return Ok(false);
    }
    replace_with(path, document.to_string().as_bytes(), ReplaceOptions::default())?;
    Ok(true)
}

fn take_out(document: &mut DocumentMut, id: &str) -> bool {
    let mut changed = false;
    for section in ["extensions", "grants"] {
        let Some(table) = document.get_mut(section).and_then(|item| item.as_table_like_mut()) else { continue };
        changed |= table.remove(id).is_some();
        if let Some(off) = table.get_mut("disabled").and_then(|item| item.as_array_mut()) {
            let before = off.len();
            off.retain(|entry| entry.as_str() != Some(id));
            if off.len() != before {
                changed = true;
                off.fmt();
            }
        }
        if table.is_empty() {
            document.remove(section);
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_settings_say_about_an_extension_goes_and_the_rest_stays() {
        let text = "# mine\n[model]\nmodel = \"x\" # keep\n\n[extensions]\ndisabled = [\"a\", \"b\"]\n\n[extensions.a]\nword = 1\n\n\
                    [grants.a]\ncapabilities = [\"db\"]\n";
        let mut document: DocumentMut = text.parse().unwrap();
        assert!(take_out(&mut document, "a"));
        assert_eq!(document.to_string(), "# mine\n[model]\nmodel = \"x\" # keep\n\n[extensions]\ndisabled = [\"b\"]\n");
        assert!(!take_out(&mut document, "a"));
    }
}
