//! Which hosts a command is about.

use dispatch_hook_dialects::dialect;
use dispatch_hook_dialects::register::{self, Layout, Scope, System};

use super::changes::{McpServerPart, registrations};
use super::host_detection::{self, DetectedHost};
use super::registration_root::RegistrationRoot;
use crate::failure::Failure;

/// The hosts that can be registered, in the order of the documentation.
pub(crate) fn all() -> Vec<&'static str> {
    let can = |id: &&str| register::targets(id, Scope::Project, System::current(), Layout::Current).is_ok();
    dialect::ALL.iter().map(|dialect| dialect.id()).filter(can).collect()
}

/// The hosts of these names.
pub(crate) fn named(names: &[String]) -> Result<Vec<&'static str>, Failure> {
    let mut hosts = Vec::new();
    for name in names {
        let found = dialect::by_name(name).map(dialect::Dialect::id).filter(|id| all().contains(id));
        match found {
            Some(host) if hosts.contains(&host) => {}
            Some(host) => hosts.push(host),
            None => {
                return Err(Failure::usage(format!("cannot register host `{name}`"))
                    .hint(format!("the hosts are: {}", all().join(", "))));
            }
        }
    }
    Ok(hosts)
}

/// The hosts that have our entries in a file, or had them when `init` last ran.
pub(crate) fn registered(place: &RegistrationRoot) -> Result<Vec<&'static str>, Failure> {
    let restore = place.restore()?;
    let is_there = |host: &&'static str| {
        let files = registrations(&[host], place.scope, Layout::Current, McpServerPart::Left);
        let in_file = files.iter().any(|file| {
            let text = place.read(&file.path).unwrap_or_default();
            text.is_some() && file.presence(text.as_deref(), place) != Ok(super::restore::OwnEntries::Absent)
        });
        in_file || restore.hosts.contains(*host)
    };
    Ok(all().into_iter().filter(is_there).collect())
}

/// The hosts that are used here.
pub(super) fn detected(place: &RegistrationRoot) -> Result<Vec<DetectedHost>, Failure> {
    let found = host_detection::detect(place);
    if found.is_empty() {
        return Err(Failure::usage("no hosts found in this project or on this machine")
            .hint("name one: `dispatch init --host claude-code`; `--all` registers every host")
            .hint(format!("the hosts are: {}", all().join(", "))));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_are_hosts_and_the_rest_is_told_what_there_is() {
        assert_eq!(
            named(&["claude".to_owned(), "cursor".to_owned(), "claude-code".to_owned()]).unwrap(),
            ["claude-code", "cursor"]
        );
        for wrong in ["native", "emacs", ""] {
            let failure = named(&[wrong.to_owned()]).unwrap_err();
            assert!(failure.hints[0].contains("windsurf"), "{failure:?}");
        }
        assert_eq!(all().len(), dialect::ALL.len() - 1);
    }
}
