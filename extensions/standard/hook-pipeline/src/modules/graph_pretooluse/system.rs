//! `SY01` to `SY03`: the machine, its processes and its protections.
//!
//! Pure.

use dispatch_toolcall::SimpleCommand;

use super::rules::{GuardRule, RuleFindings, SY01, SY02, SY03};

/// Services that keep others out.
const PROTECTIONS: &[&str] = &["firewalld", "ufw", "auditd", "apparmor", "fail2ban", "nftables", "iptables"];

fn stops_protection(words: &[&str]) -> bool {
    let stops = words.iter().any(|word| matches!(*word, "stop" | "disable" | "mask" | "kill"));
    stops && words.iter().any(|word| PROTECTIONS.contains(&word.trim_end_matches(".service")))
}

/// `u+s`, `4755`: whoever runs the file has the rights of its owner.
fn gives_rights(mode: &str) -> bool {
    let letters = mode.split_once('+').is_some_and(|(who, rights)| {
        matches!(who, "" | "u" | "a" | "ug" | "ugo")
            && rights.chars().all(|c| "rwxst".contains(c))
            && rights.contains('s')
    });
    let digits = mode.len() == 4 && mode.chars().all(|c| ('0'..='7').contains(&c)) && mode.starts_with(['4', '6']);
    letters || digits
}

/// Capabilities that come to the same.
fn gives_capability(word: &str) -> bool {
    ["cap_setuid", "cap_sys_admin", "cap_dac", "=ep", "all="].iter().any(|right| word.starts_with(right))
}

/// Judges one program call.
pub(super) fn judge(commands: &[SimpleCommand], index: usize, command: &SimpleCommand, findings: &mut RuleFindings) {
    if command.program == "kill" && !command.exact && kills_whatever_runs(commands, index) {
        findings.push(&SY02, "kill");
    }
    let words: Vec<&str> = command.argv.iter().skip(1).map(String::as_str).collect();
    if let Some(rule) = rule_for(&command.program.to_ascii_lowercase(), &words) {
        findings.push(rule, &command.program);
    }
}

fn rule_for(program: &str, words: &[&str]) -> Option<&'static GuardRule> {
    let has = |names: &[&str]| words.iter().any(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name)));
    let about = has(&["--help", "--version", "-V", "/?", "-?", "--dry-run", "--no-act", "--when=cancel"])
        || words.windows(2).any(|pair| pair == ["--when", "cancel"]);
    match program {
        _ if about => None,
        "shutdown" | "shutdown.exe" => (!has(&["-c", "/a", "--show", "-k"])).then_some(&SY01),
        "reboot" | "halt" | "poweroff" | "stop-computer" | "restart-computer" => {
            (!has(&["-w", "--wtmp-only"])).then_some(&SY01)
        }
        "init" | "telinit" => words.first().is_some_and(|word| matches!(*word, "0" | "6")).then_some(&SY01),
        "loginctl" if has(&["terminate-user", "kill-user"]) => Some(&SY02),
        "systemctl" | "service" if stops_protection(words) => Some(&SY03),
        "chmod" => words.iter().any(|word| gives_rights(word)).then_some(&SY03),
        "setcap" => words.iter().any(|word| gives_capability(word)).then_some(&SY03),
        "systemctl" | "loginctl" => {
            let mut operands = words.iter().filter(|word| !word.starts_with('-')).copied();
            let verb = operands.next().unwrap_or_default();
            let target = operands.next().and_then(|unit| unit.strip_suffix(".target")).unwrap_or_default();
            let ends = |name: &str| {
                ["poweroff", "reboot", "halt", "suspend", "hibernate", "kexec", "emergency", "rescue"].contains(&name)
            };
            (ends(verb) || (matches!(verb, "isolate" | "start") && ends(target))).then_some(&SY01)
        }
        "killall5" => Some(&SY02),
        "skill" | "slay" => has(&["-u"]).then_some(&SY02),
        "taskkill" | "stop-process" => has(&["*"]).then_some(&SY02),
        "rtcwake" => has(&["off", "mem", "disk", "standby", "freeze"]).then_some(&SY01),
        "pm-hibernate" | "pm-suspend" | "pm-suspend-hybrid" | "kexec" => Some(&SY01),
        "dbus-send" | "busctl" | "gdbus" | "qdbus" => ends_by_message(words).then_some(&SY01),
        "sysctl" => words.iter().any(|word| PROTECTING_SETTINGS.contains(word)).then_some(&SY03),
        "auditctl" => (has(&["-D"]) || words.windows(2).any(|pair| pair == ["-e", "0"])).then_some(&SY03),
        "chpasswd" | "add-mppreference" => Some(&SY03),
        "set-netfirewallprofile" => has(&["false"]).then_some(&SY03),
        "netsh" | "netsh.exe" => (has(&["advfirewall", "firewall"]) && has(&["off", "disable"])).then_some(&SY03),
        "sc.exe" | "stop-service" => (has(&["stop", "delete", "config"]) || program == "stop-service")
            .then(|| has(WINDOWS_PROTECTIONS).then_some(&SY03))
            .flatten(),
        "net" | "net.exe" if has(&["stop"]) && has(WINDOWS_PROTECTIONS) => Some(&SY03),
        "icacls" | "takeown" | "cacls" => words.iter().any(|word| is_drive(word)).then_some(&SY03),
        "net" | "net.exe" | "net1" => (has(&["user", "localgroup"]) && has(&["/add", "/delete"])).then_some(&SY03),
        "new-localuser" | "add-localgroupmember" | "disable-localuser" | "remove-localuser" => Some(&SY03),
        "diskpart" => has(&["/s"]).then_some(&SY03),
        "kill" | "pkill" | "killall" => stops_everything(program, words).then_some(&SY02),
        "iptables" | "ip6tables" => has(&["-F", "--flush"]).then_some(&SY03),
        "nft" => (has(&["flush"]) && has(&["ruleset"])).then_some(&SY03),
        "ufw" => has(&["disable", "reset"]).then_some(&SY03),
        "setenforce" => has(&["0", "permissive"]).then_some(&SY03),
        "csrutil" | "spctl" => has(&["disable", "--master-disable", "--global-disable"]).then_some(&SY03),
        "visudo" => (!has(&["-c", "--check"])).then_some(&SY03),
        "userdel" | "deluser" | "set-executionpolicy" => (!words.is_empty()).then_some(&SY03),
        "useradd"
            if has(&["-o", "--non-unique", "-ou", "-ou0", "-u0"])
                || words.windows(2).any(|pair| pair == ["-u", "0"]) =>
        {
            Some(&SY03)
        }
        "usermod" | "gpasswd" | "adduser" | "useradd" => {
            has(&["sudo", "wheel", "root", "docker", "admin"]).then_some(&SY03)
        }
        "reg" | "reg.exe" => (has(&["delete"])
            && words.iter().any(|word| word.to_ascii_lowercase().starts_with("hklm") || is_hive(word)))
        .then_some(&SY03),
        "passwd" => has(&["-d", "--delete", "-l", "--lock"]).then_some(&SY03),
        "dscl" => has(&["-delete", "delete"]).then_some(&SY03),
        "apt" | "apt-get" => has(&["--allow-remove-essential"]).then_some(&SY03),
        "dpkg" => has(&["--force-all", "--force-remove-essential", "--force-depends"]).then_some(&SY03),
        "rpm" => (has(&["-e", "--erase"]) && has(&["--nodeps"])).then_some(&SY03),
        "pacman" => has(&["-Rdd", "-Rddn", "-Rddns", "-Rddsn"]).then_some(&SY03),
        "openrc-shutdown" => Some(&SY01),
        "set-mppreference" => has(&["-disablerealtimemonitoring"]).then_some(&SY03),
        _ => None,
    }
}

/// Services of Windows that keep others out.
const WINDOWS_PROTECTIONS: &[&str] = &["windefend", "mpssvc", "wscsvc", "sense", "wdnissvc", "securityhealthservice"];

/// Settings of the kernel that keep programs apart.
const PROTECTING_SETTINGS: &[&str] = &[
    "kernel.randomize_va_space=0",
    "kernel.yama.ptrace_scope=0",
    "kernel.sysrq=1",
    "fs.protected_symlinks=0",
    "fs.protected_hardlinks=0",
    "kernel.kptr_restrict=0",
];

/// `org.freedesktop.login1.Manager.PowerOff`.
fn ends_by_message(words: &[&str]) -> bool {
    let ends = |word: &&str| {
        let name = word.rsplit('.').next().unwrap_or(word);
        ["PowerOff", "Reboot", "Halt", "Suspend", "Hibernate", "KExec", "Shutdown"].contains(&name)
    };
    words.iter().any(|word| word.contains("login1") || word.contains("SessionManager") || word.contains("ConsoleKit"))
        && words.iter().any(ends)
}

/// `C:`, `C:\\` or `C:/*`.
fn is_drive(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && letters.all(|c| matches!(c, '/' | '\\' | '*'))
}

/// A part of the registry as a whole.
fn is_hive(word: &str) -> bool {
    ["hkcu", "hkcr", "hku", "hkcc", "hkey_current_user", "hkey_users", "hkey_classes_root"]
        .iter()
        .any(|hive| word.trim_end_matches(['\\', ':']).eq_ignore_ascii_case(hive))
}

/// `kill -9 $(ps -eo pid=)`, `ps aux | awk '{print $2}' | xargs kill`: all that runs, and nothing picked out of it.
fn kills_whatever_runs(commands: &[SimpleCommand], index: usize) -> bool {
    let picks = |command: &SimpleCommand| match command.program.as_str() {
        // `{print $2}` takes a column of every line; any other code may pick lines.
        "awk" | "gawk" | "mawk" => command.argv.get(1).is_none_or(|code| {
            let bare: String = code.chars().filter(|c| !c.is_whitespace()).collect();
            let column = bare.strip_prefix("{print$").and_then(|rest| rest.strip_suffix('}'));
            column.is_none_or(|column| !column.chars().all(|c| c.is_ascii_digit()))
        }),
        "cut" | "tr" | "sort" | "uniq" | "cat" | "tee" | "xargs" => false,
        "tail" => !command.argv.iter().any(|word| word == "+2"),
        _ => true,
    };
    let before = commands.get(..index).unwrap_or_default();
    let source = before.iter().rev().find(|command| command.program == "ps" || picks(command));
    source.is_some_and(|source| {
        const NARROWING: &[&str] = &["-p", "-C", "-u", "-U", "-g", "-t", "--pid", "--ppid", "--user"];
        let narrows = |word: &String| NARROWING.iter().any(|option| word.starts_with(option));
        source.program == "ps" && source.argv.len() > 1 && !source.argv.iter().skip(1).any(narrows)
    })
}

/// `kill -9 -1`, `pkill .`, `killall -u USER`.
fn stops_everything(program: &str, words: &[&str]) -> bool {
    let mut operands = Vec::new();
    let mut words = words.iter().copied();
    let mut signal_given = false;
    let of_user = |word: &&str| matches!(*word, "-u" | "-U" | "--user" | "--uid" | "--euid");
    while let Some(word) = words.next() {
        match word {
            "-s" | "-n" | "--signal" => {
                words.next();
                signal_given = true;
            }
            "--" => operands.extend(words.by_ref()),
            word if word.starts_with('-') && !signal_given && program == "kill" => {
                signal_given = true;
                if word == "-l" || word == "-L" {
                    return false;
                }
            }
            word if of_user(&word) && program != "kill" => {
                // Everything that belongs to a user; a pattern behind it narrows that down.
                let user = words.next().unwrap_or_default();
                let left: Vec<&str> = words.by_ref().filter(|word| !word.starts_with('-')).collect();
                return left.is_empty() && !user.is_empty();
            }
            word if word.starts_with('-') && program != "kill" => {}
            word => operands.push(word),
        }
    }
    match program {
        "kill" => operands.iter().any(|pid| matches!(*pid, "-1" | "1")),
        _ => operands.iter().any(|pattern| matches!(*pattern, "." | ".*" | "" | "^" | "init" | "systemd")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_and_processes() {
        let code = |line: &str| {
            let mut words = line.split(' ');
            let program = words.next().unwrap_or_default();
            rule_for(program, &words.collect::<Vec<_>>()).map_or("", |rule| rule.code)
        };
        let table = [
            ("shutdown -h now", "SY01"),
            ("reboot", "SY01"),
            ("systemctl reboot", "SY01"),
            ("init 0", "SY01"),
            ("systemctl isolate poweroff.target", "SY01"),
            ("systemctl start app.target", ""),
            ("kill -9 -1", "SY02"),
            ("kill -KILL -1", "SY02"),
            ("kill -s KILL -- -1", "SY02"),
            ("pkill -9 .", "SY02"),
            ("iptables -F", "SY03"),
            ("kill -9 123", ""),
            ("kill -1 123", ""),
            ("kill %1", ""),
            ("kill -l", ""),
            ("pkill -f node", ""),
            ("systemctl restart nginx", ""),
            ("shutdown --help", ""),
            ("init -q", ""),
        ];
        for (line, expected) in table {
            assert_eq!(code(line), expected, "{line}");
        }
    }
}
