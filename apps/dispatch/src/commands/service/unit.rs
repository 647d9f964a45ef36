//! The text of a unit that watches a workspace, for systemd and for launchd.

use crate::failure::Failure;
use dispatch_os::environment;
use std::path::{Path, PathBuf};

/// Variables without which a program of the user finds neither its files nor other programs.
const PASSED_ON: [&str; 2] = ["PATH", "DISPATCH_HOME"];

/// What a unit says.
pub(super) struct ServiceUnit {
    workspace: String,
    program: String,
    variables: Vec<(&'static str, String)>,
}

impl ServiceUnit {
    pub(super) fn of(workspace: &Path, program: PathBuf) -> Result<Self, Failure> {
        let text = |path: &Path| {
            let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
            text.map(str::to_owned).ok_or_else(|| {
                Failure::usage(format!("{} cannot be written into a unit", path.display())).hint("rename the folder")
            })
        };
        let value = |name| environment::variable(name).ok().flatten().map(|value| (name, value));
        Ok(Self {
            workspace: text(workspace)?,
            program: text(&program)?,
            variables: PASSED_ON.into_iter().filter_map(value).collect(),
        })
    }

    pub(super) fn systemd(&self) -> String {
        let variable =
            |(name, value): &(&str, String)| format!("Environment={}\n", systemd_word(&format!("{name}={value}")));
        format!(
            "[Unit]\nDescription=Dispatch: hooks of {}\n\n[Service]\nExecStart={} watch --project {}\n\
             {}Restart=on-failure\nRestartSec=5\n\n[Install]\nWantedBy=default.target\n",
            self.workspace.replace('%', "%%"),
            systemd_word(&self.program),
            systemd_word(&self.workspace).replace('$', "$$"),
            self.variables.iter().map(variable).collect::<String>(),
        )
    }

    pub(super) fn launchd(&self, label: &str) -> String {
        let text = |value: &str| format!("<string>{}</string>", xml(value));
        let arguments: String = [self.program.as_str(), "watch", "--project", self.workspace.as_str()]
            .into_iter()
            .map(|word| format!("    {}\n", text(word)))
            .collect();
        let variable = |(name, value): &(&str, String)| format!("    <key>{name}</key>\n    {}\n", text(value));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  {}\n  <key>ProgramArguments</key>\n  <array>\n{arguments}  </array>\n\
             \x20 <key>WorkingDirectory</key>\n  {}\n  <key>EnvironmentVariables</key>\n  <dict>\n{}  </dict>\n\
             \x20 <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
             </dict>\n</plist>\n",
            text(label),
            text(&self.workspace),
            self.variables.iter().map(variable).collect::<String>(),
        )
    }
}

/// A word that systemd takes as it is.
fn systemd_word(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit() -> ServiceUnit {
        ServiceUnit {
            workspace: "/home/ada/50% \"off\" & $more".to_owned(),
            program: "/opt/dispatch".to_owned(),
            variables: vec![("PATH", "/usr/bin:/bin".to_owned())],
        }
    }

    #[test]
    fn odd_names_reach_the_program_as_they_are() {
        let text = unit().systemd();
        let expected = r#"ExecStart="/opt/dispatch" watch --project "/home/ada/50%% \"off\" & $$more""#;
        assert!(text.lines().any(|line| line == expected), "{text}");
        assert!(text.contains("Environment=\"PATH=/usr/bin:/bin\"\n"), "{text}");
        let plist = unit().launchd("dispatch.watch.1");
        assert!(plist.contains("<string>/home/ada/50% \"off\" &amp; $more</string>"), "{plist}");
    }
}
