//! The text of a hook of git with our lines in it or out of it; nothing else of it is touched.

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ksh", "zsh"];
const FIRST_LINE: &str = "#!/bin/sh\n";

/// Lines of ours in a hook, known by their purpose, so that those of one purpose come and go beside those of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DispatchLines {
    /// What they are for, in one word.
    pub(crate) purpose: &'static str,
    /// How our program is called, where it is the one thing that is run.
    pub(crate) command: String,
    /// The program; found by its name if it is not there.
    pub(crate) program: String,
}

/// A hook that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExistingGitHook {
    /// Ours is in it.
    Installed(String),
    /// Another shell script.
    Shell(String),
    /// Something that our lines cannot be put into.
    Other,
}

impl ExistingGitHook {
    pub(crate) fn read(content: &[u8], purpose: &str) -> Self {
        match String::from_utf8(content.to_vec()) {
            Ok(text) if text.contains(&begin(purpose)) => Self::Installed(text),
            Ok(text) if is_shell(&text) => Self::Shell(text),
            _ => Self::Other,
        }
    }
}

/// The name of a hook that is not a shell script while ours runs it.
pub(crate) fn kept_name(hook: &str) -> String {
    format!("{hook}.before-dispatch")
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
pub(crate) fn alone(lines: &DispatchLines, hook: &str) -> String {
    format!("{FIRST_LINE}{}{}", lines.text(), ending(hook))
}

/// A shell script with our lines before everything that it does.
pub(crate) fn with(script: &str, lines: &DispatchLines) -> String {
    let clean = cut(script, lines.purpose).unwrap_or_else(|| script.to_owned());
    let text = lines.text();
    match clean.split_once('\n') {
        Some((first, rest)) if first.starts_with("#!") => format!("{first}\n{text}{rest}"),
        None if clean.starts_with("#!") => format!("{clean}\n{text}"),
        // Some programs run a script that does not say what it is.
        _ => format!("{text}{clean}"),
    }
}

/// What is left of a hook without our lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RemainingScript {
    /// Ours are not in it.
    Untouched,
    /// Only what we wrote.
    Nothing,
    Script(String),
}

/// The script without our lines.
pub(crate) fn without(script: &str, purpose: &str, hook: &str) -> RemainingScript {
    match cut(script, purpose) {
        None => RemainingScript::Untouched,
        Some(rest) if rest.trim().is_empty() || rest == format!("{FIRST_LINE}{}", ending(hook)) => {
            RemainingScript::Nothing
        }
        Some(rest) => RemainingScript::Script(rest),
    }
}

fn cut(script: &str, purpose: &str) -> Option<String> {
    let (before, rest) = script.split_once(&format!("{}\n", begin(purpose)))?;
    let (_, after) = rest.split_once(&format!("{}\n", end(purpose)))?;
    Some(format!("{before}{after}"))
}

fn begin(purpose: &str) -> String {
    format!("# >>> dispatch {purpose} >>>")
}

fn end(purpose: &str) -> String {
    format!("# <<< dispatch {purpose} <<<")
}

fn ending(hook: &str) -> String {
    let kept = kept_name(hook);
    format!("kept=\"$(dirname \"$0\")/{kept}\"\nif [ -x \"$kept\" ]; then exec \"$kept\" \"$@\"; fi\n")
}

/// A word that a shell takes as it is.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

impl DispatchLines {
    fn text(&self) -> String {
        let Self { purpose, command, program } = self;
        let (begin, end, program) = (begin(purpose), end(purpose), quoted(program));
        format!(
            "{begin}\ndispatch_program={program}\n[ -x \"$dispatch_program\" ] || dispatch_program=dispatch\n\
             if command -v \"$dispatch_program\" >/dev/null 2>&1; then\n  {command}\nfi\n{end}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(purpose: &'static str) -> DispatchLines {
        let command = format!("\"$dispatch_program\" {purpose} || true");
        DispatchLines { purpose, command, program: "/opt/it's here/dispatch".to_owned() }
    }

    #[test]
    fn our_lines_come_and_go_and_leave_the_rest() {
        let script = "#!/usr/bin/env bash\nset -e\ngrep -q x \"$1\"\n";
        let ExistingGitHook::Shell(found) = ExistingGitHook::read(script.as_bytes(), "trace") else {
            panic!("a shell script")
        };
        let installed = with(&found, &lines("trace"));
        assert!(installed.starts_with("#!/usr/bin/env bash\n# >>>"), "{installed}");
        assert!(installed.contains(r"'/opt/it'\''s here/dispatch'"), "{installed}");
        assert_eq!(with(&installed, &lines("trace")), installed, "twice is once");
        assert_eq!(ExistingGitHook::read(installed.as_bytes(), "trace"), ExistingGitHook::Installed(installed.clone()));
        assert_eq!(without(&installed, "trace", "commit-msg"), RemainingScript::Script(script.to_owned()));
        assert_eq!(without(&alone(&lines("trace"), "commit-msg"), "trace", "commit-msg"), RemainingScript::Nothing);
        assert_eq!(without(script, "trace", "commit-msg"), RemainingScript::Untouched);
    }

    #[test]
    fn two_purposes_share_a_hook() {
        let first = alone(&lines("trace"), "commit-msg");
        let both = with(&first, &lines("hooks"));
        assert_eq!(without(&both, "hooks", "commit-msg"), RemainingScript::Script(first));
        let RemainingScript::Script(second) = without(&both, "trace", "commit-msg") else { panic!("the other stays") };
        assert_eq!(without(&second, "hooks", "commit-msg"), RemainingScript::Nothing);
    }

    #[test]
    fn a_script_without_a_first_line_keeps_what_it_has() {
        let installed = with("npm test\n", &lines("hooks"));
        assert!(installed.starts_with("# >>>") && installed.ends_with("npm test\n"), "{installed}");
        assert_eq!(without(&installed, "hooks", "pre-commit"), RemainingScript::Script("npm test\n".to_owned()));
        assert_eq!(without(&with("", &lines("hooks")), "hooks", "pre-commit"), RemainingScript::Nothing);
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
            assert_eq!(matches!(ExistingGitHook::read(text, "trace"), ExistingGitHook::Shell(_)), shell, "{text:?}");
        }
    }
}
