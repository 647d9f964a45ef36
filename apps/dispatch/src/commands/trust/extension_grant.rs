//! What the user grants an extension: offered with the approval, kept in the user's own settings.

use crate::external_extensions::grants;
use crate::failure::Failure;
use crate::policy_change::{confirm, is_question_off};
use crate::printer::Printer;
use crate::settings::{FILE_NAME, Loaded};
use dispatch_contracts::manifest::{Capability, Manifest};
use dispatch_os::files;
use dispatch_os::terminal;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

/// What becomes of the capabilities that a manifest asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantChoice {
    /// A person at a terminal is asked; nobody else is granted anything.
    Ask,
    /// All are granted.
    All,
}

impl From<bool> for GrantChoice {
    fn from(all: bool) -> Self {
        if all { Self::All } else { Self::Ask }
    }
}

/// Offers to grant what the manifest asks for and the settings do not grant yet.
///
/// # Errors
/// When the settings cannot be read or written, or `--grant` is refused.
pub(crate) fn offer_grants(
    loaded: &Loaded,
    manifest: &Manifest,
    choice: GrantChoice,
    printer: &Printer,
) -> Result<(), Failure> {
    let granted = grants(&loaded.settings).remove(&manifest.id).unwrap_or_default();
    let missing: Vec<Capability> = manifest.capabilities.iter().copied().filter(|it| !granted.contains(it)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let id = &manifest.id;
    let names: Vec<&str> = missing.iter().map(|capability| capability.name()).collect();
    let what = format!("grant `{id}` the capabilities {}", names.join(", "));
    let later = || {
        printer.out(&format!("not granted to `{id}`: {}; `dispatch trust {id} --grant` grants it", names.join(", ")));
    };
    match choice {
        GrantChoice::Ask if is_question_off(loaded) || !terminal::is_interactive() => {
            later();
            return Ok(());
        }
        GrantChoice::Ask if confirm(loaded, &what, printer).is_err() => {
            later();
            return Ok(());
        }
        GrantChoice::Ask => {}
        GrantChoice::All => confirm(loaded, &what, printer)?,
    }
    let all: Vec<Capability> = granted.into_iter().chain(missing).collect();
    write(loaded, manifest, &all)?;
    printer.out(&format!("granted to `{id}`: {}", names.join(", ")));
    Ok(())
}

fn write(loaded: &Loaded, manifest: &Manifest, capabilities: &[Capability]) -> Result<(), Failure> {
    let file = loaded.dirs.config.join(FILE_NAME);
    let failed = |reason: String| Failure::configuration(format!("cannot write {}: {reason}", file.display()));
    let text = match files::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error.to_string())),
    };
    let text = with_grant(&text, manifest.id.as_str(), capabilities).map_err(failed)?;
    files::create_dir_all(&loaded.dirs.config).map_err(|error| failed(error.to_string()))?;
    files::replace(&file, text.as_bytes()).map_err(|error| failed(error.to_string()))
}

/// The settings with this grant; everything else stays as it was written.
fn with_grant(text: &str, id: &str, capabilities: &[Capability]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let tables = document.entry("grants").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let tables = tables.as_table_like_mut().ok_or("`grants` is not a table")?;
    let grant = tables.entry(id).or_insert_with(|| Item::Table(Table::new()));
    let grant = grant.as_table_like_mut().ok_or_else(|| format!("`grants.{id}` is not a table"))?;
    let names: Array = capabilities.iter().map(|capability| capability.name()).collect();
    grant.insert("capabilities", Item::Value(Value::Array(names)));
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_added_and_the_rest_stays_as_it_was_written() {
        let added = with_grant("# mine\n[model]\nmodel = \"m\"\n", "hello", &[Capability::Fs]).unwrap();
        assert_eq!(added, "# mine\n[model]\nmodel = \"m\"\n\n[grants.hello]\ncapabilities = [\"fs\"]\n");
        let more = with_grant(&added, "hello", &[Capability::Fs, Capability::Db]).unwrap();
        assert!(more.ends_with("[grants.hello]\ncapabilities = [\"fs\", \"db\"]\n"), "{more}");
        assert!(with_grant("grants = 1", "hello", &[]).is_err() && with_grant("[", "hello", &[]).is_err());
    }
}
