//! Commands that start a host without its hooks, or tell it to skip them from now on.
//!
//! Pure.

use dispatch_toolcall::SimpleCommand;

/// A host's program, and the words or variables with which it runs without hooks.
struct OffSwitch {
    programs: &'static [&'static str],
    /// Words that are enough by themselves.
    flags: &'static [&'static str],
    /// Parts of a word that are enough wherever they stand.
    parts: &'static [&'static str],
    /// Variables in front of the command.
    variables: &'static [&'static str],
}

const OFF_SWITCHES: [OffSwitch; 8] = [
    OffSwitch {
        programs: &["claude"],
        flags: &["--setting-sources", "--bare", "--safe-mode"],
        parts: &["disableAllHooks", "--setting-sources="],
        variables: &["CLAUDE_CONFIG_DIR="],
    },
    OffSwitch {
        programs: &["codex"],
        flags: &[],
        parts: &["features.hooks", "disable=hooks", "hooks=false", "hooks={}", "hooks=[]"],
        variables: &["CODEX_HOME="],
    },
    OffSwitch {
        programs: &["opencode"],
        flags: &["--pure"],
        parts: &[],
        variables: &["OPENCODE_PURE=", "OPENCODE_DISABLE_PROJECT_CONFIG="],
    },
    OffSwitch { programs: &["gemini", "qwen"], flags: &["--skip-trust"], parts: &["hooksConfig"], variables: &[] },
    OffSwitch {
        programs: &["copilot"],
        flags: &["--allow-all-tools", "--yolo"],
        parts: &["disableAllHooks"],
        variables: &[],
    },
    OffSwitch { programs: &["goose"], flags: &["--no-profile"], parts: &[], variables: &[] },
    OffSwitch {
        programs: &["crush", "cursor-agent", "cursor", "kiro", "kiro-cli", "devin", "cline", "windsurf"],
        flags: &[],
        parts: &["disableAllHooks"],
        variables: &[],
    },
    OffSwitch { programs: &["droid"], flags: &[], parts: &["hooksDisabled"], variables: &[] },
];

/// Whether a command runs a host without hooks; `text` is the whole command line.
pub(super) fn switches_hooks_off(command: &SimpleCommand, text: &str) -> bool {
    let words = command.argv.get(1..).unwrap_or_default();
    let name = command.argv.first().map(|first| first.rsplit('/').next().unwrap_or(first)).unwrap_or_default();
    let about = words.iter().any(|word| matches!(word.as_str(), "--help" | "--version" | "-h" | "-V"));
    let Some(switch) = OFF_SWITCHES.iter().find(|switch| switch.programs.contains(&name) && !about) else {
        return false;
    };
    // Hosts find our program by its name: another search path may lead to another program.
    let moves_search = text.split([' ', ';', '\n', '&', '(']).any(|word| word.starts_with("PATH="));
    // Our user-wide rules lie in a folder that these variables name.
    let moves_rules = text.split([' ', ';', '\n', '&', '(']).any(|word| {
        word.starts_with("DISPATCH_HOME=") || word.starts_with("XDG_CONFIG_HOME=") || word.starts_with("HOME=")
    });
    let is_about_hooks = |word: &String| {
        let turns_off = ["no", "disable", "skip", "bypass", "without"].iter().any(|verb| word.contains(verb));
        word.starts_with("--") && turns_off && word.contains("hook")
    };
    // `gemini hooks disable NAME`, `codex features disable hooks`.
    let said = |verb: &str| words.iter().take(3).any(|word| word == verb);
    let by_verb = (said("disable") || said("disable-all") || said("uninstall"))
        && words.iter().any(|word| word.contains("hook") || word == "dispatch");
    let disables = by_verb
        || words.windows(2).any(|pair| pair[0] == "--disable" && pair[1].contains("hooks"))
        || words.iter().any(is_about_hooks);
    disables
        || moves_search
        || moves_rules
        || moves_settings(name, text)
        || words.iter().any(|word| switch.flags.contains(&word.as_str()))
        || words.iter().any(|word| switch.parts.iter().any(|part| word.contains(part)))
        || switch.variables.iter().any(|variable| text.contains(variable))
}

/// `GEMINI_CLI_SYSTEM_SETTINGS_PATH=...`, `CRUSH_GLOBAL_CONFIG=...`: a variable of a host that leads to other settings.
fn moves_settings(program: &str, text: &str) -> bool {
    let host = program.split('-').next().unwrap_or(program).to_ascii_uppercase();
    let named = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name).unwrap_or_default();
        let rest = name.strip_prefix(host.as_str()).unwrap_or_default();
        ["_HOME", "_CONFIG", "_SETTINGS", "_HOOKS"].iter().any(|part| rest.contains(part))
    };
    text.split([' ', ';', '\n', '&', '(']).any(named)
}
