//! `CF01` to `CF06`: files with which a user, a login or the system is set up.
//!
//! Pure.

use dispatch_toolcall::{Access, EffectPath, SimpleCommand, ToolCall};

use super::JudgedCommand;
use super::location::{PathLocation, WorkspaceBounds};
use super::rules::{CF01, CF02, CF03, CF04, CF05, CF06, GuardRule, RuleFindings};
use dispatch_redact::credential_path::is_private_key;

/// Files of the home folder that run when a shell or a session starts.
const START_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".config/fish/config.fish",
    ".pam_environment",
    ".gitconfig",
    ".config/git/config",
    ".config/powershell/profile.ps1",
    ".config/powershell/microsoft.powershell_profile.ps1",
];
const START_FOLDERS: &[&str] = &[".config/fish/conf.d", ".bashrc.d", ".zshrc.d"];
/// Folders of the home folder whose entries run by themselves.
const AUTOMATIC: &[&str] =
    &[".config/autostart", ".config/systemd/user", "library/launchagents", ".config/cron", ".local/share/systemd/user"];
/// Stores of credentials in the home folder.
const STORES: &[&str] = &[
    ".aws",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".gnupg",
    ".kube/config",
    ".docker/config.json",
    ".config/gcloud",
    ".config/gh/hosts.yml",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".password-store",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".config/op",
    ".terraform.d/credentials.tfrc.json",
    "library/keychains",
    ".local/share/keyrings",
    ".gem/credentials",
    ".config/hub",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
];
/// Folders of the system.
const SYSTEM: &[&str] = &[
    "/etc",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/system",
    "/library",
    "/private/etc",
    "/var/spool/cron",
    "/var/at",
];
/// Windows has its own.
const WINDOWS_SYSTEM: &[&str] = &["c:/windows", "c:/program files", "c:/programdata"];

/// Judges a command.
pub(super) fn judge(shell: &JudgedCommand<'_>, findings: &mut RuleFindings) {
    let effects = shell.effects;
    let moved = effects.moves.iter().flat_map(|moved| [&moved.from, &moved.to]);
    let changed = effects.writes.iter().chain(&effects.creates).chain(&effects.deletes).chain(moved);
    for path in changed.filter(|path| !only_tightened(shell, path)) {
        if let Some(rule) = written_rule(shell.workspace, &path.path) {
            findings.push(rule, &path.path);
        }
    }
    let outside = |path: &&EffectPath| shell.workspace.locate(&path.path) != PathLocation::Inside;
    let reads_content = effects.commands.iter().any(|command| !NAMES_ONLY.contains(&command.program.as_str()));
    let is_secret = |path: &&EffectPath| {
        let whole = reads_content && path.recursive && is_secret_folder(shell.workspace, &path.path);
        whole || is_read_secret(shell.workspace, &path.path)
    };
    for path in effects.reads.iter().filter(outside).filter(is_secret) {
        findings.push(&CF06, &path.path);
    }
    for command in &effects.commands {
        if command.program == "launchctl"
            && command.argv.iter().any(|word| matches!(word.as_str(), "load" | "bootstrap"))
        {
            findings.push(&CF05, "launchctl");
        }
        if command.argv.iter().any(|word| word.starts_with("--export-secret")) && command.program.starts_with("gpg") {
            findings.push(&CF06, "gpg");
        }
        if schedules(command) {
            findings.push(&CF05, &command.program);
        }
        if forgets_credentials(command) {
            findings.push(&CF03, &command.program);
        }
        if command.program == "security"
            && command.argv.iter().any(|word| matches!(word.as_str(), "dump-keychain" | "export"))
        {
            findings.push(&CF06, "security");
        }
        if command.program == "crontab" && changes_crontab(command.argv.get(1..).unwrap_or_default()) {
            findings.push(&CF05, "crontab");
        }
    }
}

/// Judges the paths of a tool that runs no command.
pub(super) fn judge_paths(call: &ToolCall, workspace: &WorkspaceBounds<'_>, findings: &mut RuleFindings) {
    for path in &call.paths {
        let outside = workspace.locate(&path.path) != PathLocation::Inside;
        if path.access == Access::Read {
            if outside && is_read_secret(workspace, &path.path) {
                findings.push(&CF06, &path.path);
            }
        } else if let Some(rule) = written_rule(workspace, &path.path) {
            findings.push(rule, &path.path);
        }
    }
}

fn written_rule(workspace: &WorkspaceBounds<'_>, path: &str) -> Option<&'static GuardRule> {
    if workspace.locate(path) == PathLocation::Inside {
        return None;
    }
    let plain = path.replace('\\', "/").to_ascii_lowercase();
    let within = |folder: &str| plain == folder || plain.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    if let Some(rest) = below_home(workspace, &plain) {
        let inside = |names: &[&str]| {
            names.iter().any(|name| rest == *name || rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')))
        };
        return match () {
            () if START_FILES.contains(&rest) || inside(START_FOLDERS) || rest.ends_with("_profile.ps1") => Some(&CF01),
            () if inside(&[".ssh"]) && !rest.ends_with("/known_hosts") => Some(&CF02),
            () if inside(STORES) => Some(&CF03),
            () if inside(AUTOMATIC) => Some(&CF05),
            () => None,
        };
    }
    let scheduled = ["/etc/cron", "/var/spool/cron", "/etc/systemd", "/etc/init.d", "/library/launchdaemons"];
    if scheduled.iter().any(|folder| plain.starts_with(folder)) {
        return Some(&CF05);
    }
    if plain.contains("/.ssh/authorized_keys") {
        return Some(&CF02);
    }
    SYSTEM.iter().chain(WINDOWS_SYSTEM).any(|folder| within(folder)).then_some(&CF04)
}

/// Files of credentials that are for the programs that own them, and no reading for an agent.
const READ_SECRETS: &[&str] = &[
    ".aws/credentials",
    ".kube/config",
    ".config/gh/hosts.yml",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".vault-token",
    ".pgpass",
    ".cargo/credentials.toml",
    ".config/gcloud/application_default_credentials.json",
    ".config/gcloud/credentials.db",
    ".config/gcloud/access_tokens.db",
    ".azure/accesstokens.json",
    ".azure/msal_token_cache.json",
    ".config/rclone/rclone.conf",
    ".terraform.d/credentials.tfrc.json",
    ".my.cnf",
    ".config/hub",
];
/// Names of files in which browsers keep passwords and sessions, and parts of the folders of browsers.
const BROWSER_FILES: &[&str] =
    &["logins.json", "key4.db", "login data", "cookies", "cookies.sqlite", "cookies.binarycookies"];
const BROWSERS: &[&str] = &[
    "mozilla",
    "firefox",
    "librewolf",
    "thunderbird",
    "chrom",
    "brave",
    "edge",
    "opera",
    "vivaldi",
    "library/cookies",
];
/// Folders of the home folder whose files are keys.
const READ_SECRET_FOLDERS: &[&str] =
    &[".local/share/keyrings/", "library/keychains/", ".ethereum/keystore/", ".electrum/wallets/"];

/// Folders that hold nothing but keys and credentials.
const SECRET_FOLDERS: &[&str] = &[".ssh", ".gnupg", ".aws", ".password-store"];
/// Programs that tell the names of files and not what they hold.
const NAMES_ONLY: &[&str] = &["ls", "stat", "du", "test", "[", "cd", "tree", "file", "realpath", "find", "fd", "chmod"];

fn is_secret_folder(workspace: &WorkspaceBounds<'_>, path: &str) -> bool {
    let plain = path.to_ascii_lowercase();
    below_home(workspace, &plain).is_some_and(|rest| SECRET_FOLDERS.contains(&rest.trim_end_matches('/')))
}

fn is_read_secret(workspace: &WorkspaceBounds<'_>, path: &str) -> bool {
    let plain = path.replace('\\', "/").to_ascii_lowercase();
    is_private_key(path)
        || matches!(path, "/etc/shadow" | "/etc/gshadow" | "/private/etc/master.passwd")
        || below_home(workspace, &plain).is_some_and(|rest| {
            let name = rest.rsplit('/').next().unwrap_or(rest);
            READ_SECRETS.contains(&rest)
                || name == "wallet.dat"
                || (BROWSER_FILES.contains(&name) && BROWSERS.iter().any(|browser| rest.contains(browser)))
                || READ_SECRET_FOLDERS.iter().any(|folder| rest.starts_with(folder))
        })
}

/// The rest of a path below the user's home, or below what looks like somebody's.
fn below_home<'p>(workspace: &WorkspaceBounds<'_>, path: &'p str) -> Option<&'p str> {
    let home = workspace.home().map(str::to_ascii_lowercase);
    let own =
        home.and_then(|home| path.strip_prefix(home.trim_end_matches('/'))).and_then(|rest| rest.strip_prefix('/'));
    own.or_else(|| {
        let rest = ["/home/", "/users/", "c:/users/"].iter().find_map(|homes| path.strip_prefix(homes))?;
        rest.split_once('/').map(|(_, rest)| rest)
    })
}

/// `chmod 600` and the like on a key keep others out.
fn only_tightened(shell: &JudgedCommand<'_>, path: &EffectPath) -> bool {
    let tight =
        |mode: &str| matches!(mode, "600" | "700" | "400" | "500" | "0600" | "0700" | "go-rwx" | "u=rw" | "u=rwx,go=");
    let name = path.path.rsplit('/').next().unwrap_or_default();
    shell.effects.commands.iter().any(|command| {
        command.program == "chmod"
            && command.argv.iter().any(|word| tight(word))
            && command.argv.iter().any(|word| word.trim_end_matches('/').ends_with(name))
    })
}

/// Units and tasks that start by themselves from now on; a unit that the system has is switched on by its name.
fn schedules(command: &SimpleCommand) -> bool {
    let has = |wanted: &[&str]| command.argv.iter().any(|word| wanted.contains(&word.to_ascii_lowercase().as_str()));
    match command.program.as_str() {
        "systemctl" => has(&["enable", "link"]) && command.argv.iter().skip(1).any(|word| word.contains('/')),
        "schtasks" | "schtasks.exe" => has(&["/create", "-create"]),
        "register-scheduledtask" | "new-service" => true,
        _ => false,
    }
}

/// Programs that keep credentials, told to forget them.
fn forgets_credentials(command: &SimpleCommand) -> bool {
    let words = command.argv.get(1..).unwrap_or_default();
    let has = |start: &str| words.iter().any(|word| word.starts_with(start));
    match command.program.as_str() {
        "gpg" | "gpg2" => has("--delete-secret"),
        "security" => has("delete-") && !has("delete-certificate-trust"),
        "secret-tool" => words.first().is_some_and(|word| word == "clear"),
        "pass" | "gopass" => words.first().is_some_and(|word| matches!(word.as_str(), "rm" | "remove" | "delete")),
        "cmdkey" | "cmdkey.exe" => has("/delete"),
        _ => false,
    }
}

fn changes_crontab(words: &[String]) -> bool {
    let lists = words.iter().any(|word| matches!(word.as_str(), "-l" | "--help" | "-V" | "--version"));
    // Without a word it takes its input for the new table.
    !lists
}
