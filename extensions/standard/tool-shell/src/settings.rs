//! Reads the extension's section of the settings.
//!
//! Pure.

use dispatch_contracts::settings::Settings;

/// Whether the system confines what commands write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SandboxMode {
    Off,
    Workspace,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellSettings {
    pub(crate) sandbox: SandboxMode,
    pub(crate) sandbox_writable: Vec<String>,
    pub(crate) pass_variables: Vec<String>,
    pub(crate) overlap: OverlapPolicy,
}

/// Whether a command may run beside other calls of its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverlapPolicy {
    /// What a command touches is unknown, so it runs alone.
    Never,
    /// The user accepts the risk.
    Allowed,
}

/// Variables of Dispatch, its key among them, are not passed on.
const OWN_PREFIX: &str = "DISPATCH_";

impl ShellSettings {
    /// A sandbox that is set to something unknown counts as on: it is safer to refuse than to guess.
    pub(crate) fn read(settings: &Settings) -> Self {
        let sandbox = match settings.get("sandbox").map(|setting| setting.value.as_str()) {
            None | Some(Some("off")) => SandboxMode::Off,
            Some(_) => SandboxMode::Workspace,
        };
        let names: Vec<String> = settings.read("pass_variables").unwrap_or_default();
        Self {
            sandbox,
            sandbox_writable: settings.read("sandbox_writable").unwrap_or_default(),
            pass_variables: names.into_iter().filter(|name| !is_own(name)).collect(),
            overlap: if settings.read("overlap") == Some(true) { OverlapPolicy::Allowed } else { OverlapPolicy::Never },
        }
    }
}

fn is_own(name: &str) -> bool {
    name.to_ascii_uppercase().starts_with(OWN_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::settings::{Origin, Setting};
    use serde_json::{Value, json};

    fn read(values: &[(&str, Value)]) -> ShellSettings {
        let setting = |value: &Value| Setting { value: value.clone(), origin: Origin::BuiltIn };
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), setting(value)));
        ShellSettings::read(&Settings::new(values.collect()))
    }

    #[test]
    fn the_sandbox_is_off_unless_something_is_said() {
        assert_eq!(read(&[]).sandbox, SandboxMode::Off);
        assert_eq!(read(&[("sandbox", json!("off"))]).sandbox, SandboxMode::Off);
        assert_eq!(read(&[("sandbox", json!("workspace"))]).sandbox, SandboxMode::Workspace);
        assert_eq!(read(&[("sandbox", json!("wrokspace"))]).sandbox, SandboxMode::Workspace);
        assert_eq!(read(&[("sandbox", json!(false))]).sandbox, SandboxMode::Workspace);
    }

    #[test]
    fn commands_overlap_only_when_somebody_says_so() {
        for (value, expected) in [
            (json!(true), OverlapPolicy::Allowed),
            (json!(false), OverlapPolicy::Never),
            (json!("yes"), OverlapPolicy::Never),
        ] {
            assert_eq!(read(&[("overlap", value)]).overlap, expected);
        }
        assert_eq!(read(&[]).overlap, OverlapPolicy::Never);
    }

    #[test]
    fn our_own_variables_cannot_be_passed_on() {
        let settings = read(&[("pass_variables", json!(["CARGO_HOME", "DISPATCH_API_KEY", "dispatch_home"]))]);
        assert_eq!(settings.pass_variables, ["CARGO_HOME"]);
    }
}
