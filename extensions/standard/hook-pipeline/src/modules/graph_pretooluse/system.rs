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
pub(super) fn judge(command: &SimpleCommand, findings: &mut RuleFindings) {
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
            && words.iter().any(|word| word.to_ascii_lowercase().starts_with("hklm")))
        .then_some(&SY03),
        "passwd" => has(&["-d", "--delete"]).then_some(&SY03),
        "set-mppreference" => has(&["-disablerealtimemonitoring"]).then_some(&SY03),
        _ => None,
    }
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
