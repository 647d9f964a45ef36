//! Variables that change what programs do, so that no table can say what a program does.
//!
//! Pure.

use super::field::VariableValue;

const NAMES: &[&str] = &[
    "PATH",
    "ENV",
    "IFS",
    "CDPATH",
    "SHELLOPTS",
    "BASHOPTS",
    "PS0",
    "PS1",
    "PS4",
    "PROMPT_COMMAND",
    "HOME",
    "XDG_CONFIG_HOME",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
    "TAR_OPTIONS",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "RSYNC_RSH",
    "CVS_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "AWKPATH",
    "AWKLIBPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "MAKEFLAGS",
    "GZIP",
    "ZIPOPT",
    "UNZIP",
    "XZ_OPT",
    "POSIXLY_CORRECT",
    "FPATH",
    "ZDOTDIR",
    "INPUTRC",
    "TERMCAP",
    "TERMINFO",
    "CURL_HOME",
    "WGETRC",
    "DOCKER_HOST",
    "KUBECONFIG",
    "TMPDIR",
    "SHELL",
    "GLOBIGNORE",
];

const FAMILIES: &[&str] =
    &["LD_", "DYLD_", "GIT_", "BASH_", "PERL", "PYTHON", "RUBY", "LESS", "BAT_", "DELTA_", "FZF_"];

const PAGERS: &[&str] = &["PAGER", "GIT_PAGER", "MANPAGER", "BAT_PAGER", "SYSTEMD_PAGER"];

/// Settings of those families that only quieten a program.
const HARMLESS: &[&str] = &[
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "LESSCHARSET",
];

/// Whether the value of a variable is a command that programs run.
pub(super) fn holds_command(name: &str) -> bool {
    const COMMANDS: &[&str] = &[
        "EDITOR",
        "VISUAL",
        "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "GIT_ASKPASS",
        "BROWSER",
    ];
    PAGERS.contains(&name) || COMMANDS.contains(&name)
}

/// Whether setting a variable makes known programs do unknown things.
pub(super) fn changes_programs(name: &str, value: &VariableValue) -> bool {
    if PAGERS.contains(&name) {
        return !matches!(value, VariableValue::Known(text) if text.is_empty() || text == "cat");
    }
    if HARMLESS.contains(&name) {
        return false;
    }
    NAMES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}
