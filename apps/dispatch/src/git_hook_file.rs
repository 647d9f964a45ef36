//! The text of a hook of git with our lines in it or out of it; nothing else of it is touched.

/// The hook that sees the message that will be committed.
pub(super) const NAME: &str = "commit-msg";
/// What a hook that is no shell script is called while ours runs it.
pub(super) const KEPT_NAME: &str = "commit-msg.before-dispatch";
const BEGIN: &str = "# >>> dispatch trace >>>";
const END: &str = "# <<< dispatch trace <<<";
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ksh", "zsh"];

/// A hook that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Ours is in it.
    Installed(String),
    /// A shell script of somebody else's.
    Shell(String),
    /// Something that our lines cannot be put into.
    Other,
}

impl Found {
    pub(super) fn read(content: &[u8]) -> Self {
        match String::from_utf8(content.to_vec()) {
            Ok(text) if text.contains(BEGIN) => Self::Installed(text),
            Ok(text) if is_shell(&text) => Self::Shell(text),
            _ => Self::Other,
        }
    }
}

fn is_shell(text: &str) -> bool {
    let Some(first) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else {
        return false;
    };
    let mut words = first.split_whitespace().filter_map(|word| word.rsplit('/').next());
    let program = words.next();
    let program = if program == Some("env") { words.next() } else { program };
    program.is_some_and(|program| SHELLS.contains(&program))
}

/// A hook with ours alone, which then runs the one that was there, if there was one.
pub(super) fn alone(program: &str) -> String {
    format!(
        "#!/bin/sh\n{}kept=\"$(dirname \"$0\")/{KEPT_NAME}\"\nif [ -x \"$kept\" ]; then exec \"$kept\" \"$@\"; fi\n",
        lines(program)
    )
}

/// A shell script with our lines before everything that it does.
pub(super) fn with(script: &str, program: &str) -> String {
    let clean = without(script).unwrap_or_else(|| script.to_owned());
    let (first, rest) = clean.split_once('\n').unwrap_or((clean.as_str(), ""));
    format!("{first}\n{}{rest}", lines(program))
}

/// The script without our lines; nothing if that leaves only what we wrote.
pub(super) fn without(script: &str) -> Option<String> {
    let (before, rest) = script.split_once(&format!("{BEGIN}\n"))?;
    let (_, after) = rest.split_once(&format!("{END}\n"))?;
    let ours = alone("");
    let (_, ours_after) = ours.split_once(&format!("{END}\n"))?;
    (after != ours_after || before != "#!/bin/sh\n").then(|| format!("{before}{after}"))
}

fn lines(program: &str) -> String {
    let quoted = format!("'{}'", program.replace('\'', "'\\''"));
    format!(
        "{BEGIN}\ndispatch_program={quoted}\n[ -x \"$dispatch_program\" ] || dispatch_program=dispatch\n\
         if command -v \"$dispatch_program\" >/dev/null 2>&1; then\n  \
         \"$dispatch_program\" trace trailers \"$1\" || true\nfi\n{END}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_lines_come_and_go_and_leave_the_rest() {
        let script = "#!/usr/bin/env bash\nset -e\ngrep -q x \"$1\"\n";
        let Found::Shell(found) = Found::read(script.as_bytes()) else { panic!("a shell script") };
        let installed = with(&found, "/opt/it's here/dispatch");
        assert!(installed.starts_with("#!/usr/bin/env bash\n# >>>"), "{installed}");
        assert!(installed.contains(r"'/opt/it'\''s here/dispatch'"), "{installed}");
        assert_eq!(with(&installed, "/opt/it's here/dispatch"), installed, "twice is once");
        assert_eq!(Found::read(installed.as_bytes()), Found::Installed(installed.clone()));
        assert_eq!(without(&installed).as_deref(), Some(script));
        assert_eq!(without(&alone("/bin/dispatch")), None);
    }

    #[test]
    fn what_is_no_shell_script_is_known() {
        for (text, shell) in [
            (&b"#!/bin/sh\n"[..], true),
            (b"#!/usr/bin/env -S python3\n", false),
            (b"#!/usr/bin/python3\n", false),
            (b"echo hi\n", false),
            (b"\x7fELF\xff", false),
            (b"", false),
        ] {
            assert_eq!(matches!(Found::read(text), Found::Shell(_)), shell, "{text:?}");
        }
    }
}
