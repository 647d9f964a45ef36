//! Programs that change the machine rather than files, or watch it.
//!
//! Pure.

use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::interpreter::{Interpreter, Lifetime, Stdin};
use super::super::recorder::EffectReach;
use super::super::unbounded::UnboundedKind;
use crate::access::Access;

const CHANGES: &[&str] = &[
    "kill",
    "killall",
    "pkill",
    "reboot",
    "shutdown",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "systemctl",
    "service",
    "launchctl",
    "mount",
    "umount",
    "swapon",
    "swapoff",
    "modprobe",
    "insmod",
    "rmmod",
    "sysctl",
    "iptables",
    "nft",
    "ufw",
    "ip",
    "ifconfig",
    "route",
    "hostname",
    "hostnamectl",
    "timedatectl",
    "useradd",
    "userdel",
    "usermod",
    "groupadd",
    "groupdel",
    "passwd",
    "chsh",
    "chfn",
    "visudo",
    "crontab",
    "loginctl",
    "defaults",
    "networksetup",
    "scutil",
    "pmset",
    "renice",
    "stty",
    "setterm",
    "ulimit",
    "ssh-add",
    "gpg",
    "xattr",
    "open",
    "xdg-open",
    "pbcopy",
    "update-alternatives",
    "ldconfig",
    "depmod",
    "setenforce",
    "journalctl",
    "netstat",
    "ss",
];

const DEVICES: &[&str] = &[
    "mkfs",
    "fdisk",
    "parted",
    "sfdisk",
    "gdisk",
    "wipefs",
    "sgdisk",
    "mkswap",
    "diskutil",
    "hdparm",
    "cryptsetup",
    "lvremove",
    "vgremove",
    "pvremove",
    "blkdiscard",
    "badblocks",
    "format",
];

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    match call.program {
        "top" | "htop" | "btop" | "iotop" | "iftop" | "inotifywait" | "fswatch" | "tcpdump" => {
            interpreter.recorder.unknown(UnknownReason::SystemState, call.program);
        }
        "journalctl" | "netstat" | "ss" => look(interpreter, call),
        program if DEVICES.contains(&program) || program.starts_with("mkfs.") => {
            interpreter.recorder.unknown(UnknownReason::SystemState, program);
            let looks = only_looks(program, call);
            for word in call.arguments.iter().filter(|word| !looks && word.text.starts_with("/dev/")) {
                interpreter.recorder.unbounded(UnboundedKind::DeviceWrite, &word.text);
            }
        }
        "hostname" | "mount" if call.arguments.is_empty() => {}
        "mount" => {
            interpreter.recorder.unknown(UnknownReason::SystemState, "mount");
            // What lies there is out of sight from now on.
            if let [.., from, _] = call.arguments
                && call.arguments.iter().any(|word| matches!(word.text.as_str(), "--move" | "-M"))
            {
                interpreter.recorder.touch(call.state, from, Access::Delete, EffectReach::Itself);
            }
            let hides = |word: &&ShellField| !word.text.starts_with('/') || word.text.contains("/.");
            if let Some(place) = call.arguments.iter().rfind(|word| !word.text.starts_with('-')).filter(hides) {
                interpreter.recorder.touch(call.state, place, Access::Delete, EffectReach::Itself);
            }
        }
        "ssh-keygen" => {
            interpreter.recorder.unknown(UnknownReason::SystemState, call.program);
            let file = call.arguments.windows(2).find(|pair| pair[0].text == "-f").map(|pair| &pair[1]);
            // It asks before it overwrites a key, unless somebody has answered.
            if let Some(file) = file.filter(|_| call.context.stdin != Stdin::Inherited) {
                interpreter.recorder.touch(call.state, file, Access::Write, EffectReach::Itself);
            }
        }
        program if CHANGES.contains(&program) => interpreter.recorder.unknown(UnknownReason::SystemState, program),
        _ => return false,
    }
    true
}

/// Whether a program for disks is asked to print only.
fn only_looks(program: &str, call: &Invocation<'_>) -> bool {
    let has = |names: &[&str]| call.arguments.iter().any(|word| names.contains(&word.text.as_str()));
    if has(&["--help", "--version", "--dry-run", "--no-act", "--read-only", "--list", "--print"]) {
        return true;
    }
    match program {
        "hdparm" => !has(&["--security-erase", "--write-sector", "--trim-sector-ranges", "--make-bad-sector"]),
        "wipefs" => !has(&["-a", "--all", "-af", "-fa", "-o", "--offset"]),
        "badblocks" => !has(&["-w", "-n"]),
        "sgdisk" => has(&["--verify", "-v", "--print", "-p", "--info", "-i", "--backup", "-b"]),
        "fdisk" | "sfdisk" | "gdisk" => has(&["-l", "--list", "-d", "--dump", "-J", "--json", "-x", "-s"]),
        "parted" => has(&["-l", "--list", "print", "unit"]) && !has(&["mklabel", "mkpart", "rm", "resizepart"]),
        "diskutil" => has(&[
            "list",
            "info",
            "activity",
            "verifyDisk",
            "verifyVolume",
            "repairDisk",
            "repairVolume",
            "eject",
            "unmountDisk",
            "unmount",
            "mount",
            "mountDisk",
        ]),
        "cryptsetup" => {
            has(&["status", "isLuks", "luksDump", "open", "close", "luksOpen", "luksClose", "--help", "benchmark"])
        }
        _ => false,
    }
}

/// Programs that print, unless an option makes them act or go on without end.
fn look(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let has = |names: &[&str]| call.arguments.iter().any(|word| names.iter().any(|name| word.text.starts_with(name)));
    let acts = has(&[
        "--vacuum",
        "--rotate",
        "--flush",
        "--sync",
        "--relinquish",
        "--setup-keys",
        "--update-catalog",
        "-K",
        "--kill",
    ]);
    let hidden = call.arguments.iter().any(|word| word.may_hide_option());
    if acts || hidden {
        interpreter.recorder.unknown(UnknownReason::SystemState, call.program);
    }
    if call.program != "journalctl" && has(&["-c", "--continuous", "-E", "--events"]) {
        note_endless(interpreter, call);
    }
}

fn note_endless(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    if call.context.lifetime == Lifetime::Open {
        interpreter.recorder.unbounded(UnboundedKind::Endless, call.program);
    }
}
