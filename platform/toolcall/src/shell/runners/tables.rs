//! One row per program that runs another one.
//!
//! Pure.

/// In which form a program takes the command it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum CommandForm {
    /// The words behind its options and operands.
    Words,
    /// The words behind `--`.
    BehindDashes,
    /// Those words, joined to one text for a shell.
    OneText,
    /// Each of those words is a text for a shell.
    EachText,
    /// Its standard input is a text for a shell.
    Input,
    /// None but the values of its options.
    Nothing,
}

/// A program that runs another one.
pub(in crate::shell) struct RunnerProgram {
    pub(super) names: RunnerWords,
    /// Subcommands behind which the command stands; none: it has no subcommands.
    pub(super) verbs: RunnerWords,
    /// Letters of short options with a value.
    pub(super) short: &'static str,
    /// Long options with a value.
    pub(super) long: RunnerWords,
    /// Options whose value is a text for a shell.
    pub(super) text: RunnerWords,
    /// Options whose value is the folder to run in.
    pub(super) folders: RunnerWords,
    /// Options whose value is a file that is written.
    pub(super) writes: RunnerWords,
    /// Operands before the command.
    pub(super) operands: usize,
    pub(super) form: CommandForm,
    /// Whether assignments may stand before the command.
    pub(super) assigns: bool,
    /// Whether one word with blanks is a text for a shell.
    pub(super) splits: bool,
    /// Whether it ends the command, or does not wait for it.
    pub(super) bounds: bool,
    /// Whether it gets the program from the network.
    pub(super) fetches: bool,
}

type RunnerWords = &'static [&'static str];

const fn words(names: RunnerWords, short: &'static str, long: RunnerWords, operands: usize) -> RunnerProgram {
    RunnerProgram {
        names,
        verbs: &[],
        short,
        long,
        text: &[],
        folders: &[],
        writes: &[],
        operands,
        form: CommandForm::Words,
        assigns: false,
        splits: false,
        bounds: false,
        fetches: false,
    }
}

const fn verb(names: RunnerWords, verbs: RunnerWords, short: &'static str, long: RunnerWords) -> RunnerProgram {
    RunnerProgram { verbs, ..words(names, short, long, 0) }
}

const fn text(names: RunnerWords, options: RunnerWords, short: &'static str) -> RunnerProgram {
    RunnerProgram { text: options, form: CommandForm::Nothing, ..words(names, short, &[], 0) }
}

const fn form(row: RunnerProgram, form: CommandForm) -> RunnerProgram {
    RunnerProgram { form, ..row }
}

const fn bounded(row: RunnerProgram) -> RunnerProgram {
    RunnerProgram { bounds: true, ..row }
}

const fn fetching(row: RunnerProgram) -> RunnerProgram {
    RunnerProgram { fetches: true, ..row }
}

pub(super) const RUNNERS: &[RunnerProgram] = &[
    // Time, priority, terminal, tracing.
    bounded(words(&["nohup", "setsid", "daemonize", "start-stop-daemon"], "", &[], 0)),
    bounded(words(&["timeout", "gtimeout"], "ks", &["--kill-after", "--signal"], 1)),
    words(
        &[
            "unbuffer",
            "catchsegv",
            "coproc",
            "chronic",
            "busybox",
            "toybox",
            "fakeroot",
            "eatmydata",
            "ccache",
            "sccache",
            "distcc",
            "torsocks",
            "torify",
            "proxychains",
            "proxychains4",
            "tsocks",
            "dumb-init",
            "catatonit",
            "noti",
            "ts-run",
            "errno-run",
            "pkexec",
            "gksudo",
            "kdesudo",
            "lxqt-sudo",
            "dbus-launch",
            "optirun",
            "primusrun",
            "gamemoderun",
            "linux32",
            "linux64",
            "i386",
            "x86_64",
            "wine",
            "box64",
            "winpty",
            "cpulimit",
            "memusage",
            "softlimit",
            "setlock",
            "nsudo",
            "please",
        ],
        "",
        &[],
        0,
    ),
    RunnerProgram { writes: &["-o", "--output"], ..words(&["time"], "fo", &["--format", "--output"], 0) },
    words(&["nice", "gnice"], "n", &["--adjustment"], 0),
    words(&["ionice"], "cn", &["--class", "--classdata"], 0),
    words(&["chrt"], "TPD", &[], 1),
    words(&["taskset"], "", &[], 1),
    words(&["numactl"], "CNmipP", &[], 0),
    words(&["prlimit"], "", &[], 0),
    words(&["setarch"], "", &[], 1),
    words(&["stdbuf", "gstdbuf"], "ioe", &["--input", "--output", "--error"], 0),
    words(&["rlwrap"], "aCDefFgHlmMnopPqrsStw", &[], 0),
    words(&["caffeinate"], "tw", &[], 0),
    words(&["systemd-inhibit", "gnome-session-inhibit"], "", &["--what", "--who", "--why", "--mode"], 0),
    bounded(words(
        &["systemd-run"],
        "puEHMGt",
        &[
            "--unit",
            "--property",
            "--uid",
            "--gid",
            "--description",
            "--slice",
            "--on-active",
            "--on-calendar",
            "--setenv",
            "--working-directory",
        ],
        0,
    )),
    words(&["xvfb-run"], "eflnpsw", &["--server-args", "--server-num"], 0),
    words(&["dbus-run-session"], "", &["--config-file", "--dbus-daemon"], 0),
    words(&["faketime"], "f", &[], 1),
    words(&["cgexec"], "g", &[], 0),
    RunnerProgram { writes: &["-o"], ..words(&["strace", "ltrace"], "eopsEauPIXb", &[], 0) },
    words(&["valgrind", "heaptrack", "rr", "gperftools", "bpftrace-run"], "", &["--tool", "--log-file"], 0),
    verb(&["perf"], &["stat", "record", "trace"], "eFoCpr", &["--output", "--event"]),
    verb(&["rr"], &["record"], "", &[]),
    form(words(&["gdb", "lldb"], "", &[], 0), CommandForm::BehindDashes),
    // Other users, other roots.
    RunnerProgram {
        folders: &["-D", "--chdir"],
        assigns: true,
        ..words(
            &["sudo", "sudo-rs"],
            "ugpCDhrtRTU",
            &["--user", "--group", "--prompt", "--chdir", "--host", "--role", "--type", "--chroot", "--close-from"],
            0,
        )
    },
    RunnerProgram { assigns: true, ..words(&["doas"], "uC", &[], 0) },
    words(&["run0"], "u", &["--user", "--group", "--chdir", "--setenv", "--unit"], 0),
    text(&["su", "runuser", "sg", "newgrp", "capsh"], &["-c", "--command", "--session-command"], "csgGw"),
    form(words(&["runuser", "su", "capsh"], "ugGscw", &["--user", "--group", "--shell"], 0), CommandForm::BehindDashes),
    words(&["gosu", "su-exec", "setuidgid", "s6-setuidgid"], "u", &[], 1),
    words(&["setpriv"], "", &["--reuid", "--regid", "--groups", "--inh-caps", "--bounding-set"], 0),
    words(&["sshpass"], "pfdP", &[], 0),
    RunnerProgram { operands: 1, ..verb(&["machinectl"], &["shell"], "", &["--uid", "--setenv"]) },
    words(&["chroot", "arch-chroot", "schroot"], "rbwc", &["--userspec", "--groups"], 1),
    words(
        &["unshare", "firejail", "systemd-nspawn"],
        "RwSGDM",
        &["--root", "--wd", "--bind", "--ro-bind", "--dev", "--proc", "--chdir", "--map-user"],
        0,
    ),
    words(&["nsenter"], "tSG", &["--target"], 0),
    words(&["ssh-agent", "dtach", "abduco", "tini"], "tap", &[], 0),
    // Locks, loops, lists.
    RunnerProgram {
        text: &["-c", "--command"],
        ..words(&["flock", "lckdo", "shlock"], "wE", &["--timeout", "--wait", "--conflict-exit-code"], 1)
    },
    form(words(&["watch", "viddy", "hwatch"], "nq", &["--interval"], 0), CommandForm::OneText),
    RunnerProgram {
        text: &["-c", "--command"],
        ..words(&["script", "typescript"], "cTtBIOEom", &["--command", "--log-out", "--log-in", "--log-io"], 1)
    },
    words(&["entr"], "", &[], 0),
    form(
        words(
            &["watchexec", "reflex", "gow", "onchange"],
            "wefirRsd",
            &["--watch", "--exts", "--ignore", "--filter", "--restart"],
            0,
        ),
        CommandForm::OneText,
    ),
    RunnerProgram {
        text: &["-x", "--exec", "-s", "--shell"],
        ..text(&["nodemon", "watchmedo", "cargo-watch"], &["--exec", "-x"], "xewi")
    },
    form(
        words(
            &["hyperfine", "concurrently", "multitime", "run-p", "run-s", "npm-run-all", "wireit"],
            "wmMrnscpP",
            &[
                "--warmup",
                "--runs",
                "--prepare",
                "--names",
                "--setup",
                "--cleanup",
                "--export-json",
                "--export-markdown",
            ],
            0,
        ),
        CommandForm::EachText,
    ),
    // It ends what it started.
    bounded(form(words(&["start-server-and-test", "server-test", "start-test"], "", &[], 0), CommandForm::EachText)),
    text(&["hyperfine"], &["-p", "--prepare", "-s", "--setup", "-c", "--cleanup"], ""),
    form(words(&["at", "batch"], "fqt", &[], 0), CommandForm::Input),
    // Terminals.
    bounded(form(
        verb(
            &["tmux"],
            &[
                "new-session",
                "new",
                "new-window",
                "neww",
                "split-window",
                "splitw",
                "respawn-pane",
                "run-shell",
                "run",
                "if-shell",
                "popup",
                "display-popup",
            ],
            "snctFxyelp",
            &[],
        ),
        CommandForm::OneText,
    )),
    bounded(form(verb(&["tmux"], &["send-keys", "send"], "tN", &[]), CommandForm::EachText)),
    bounded(words(&["screen"], "SctTpXsehL", &[], 0)),
    form(
        words(
            &["xterm", "gnome-terminal", "konsole", "alacritty", "kitty", "foot", "wezterm", "terminator", "urxvt"],
            "TtgeD",
            &["--title", "--working-directory"],
            0,
        ),
        CommandForm::BehindDashes,
    ),
    words(&["xterm", "konsole", "alacritty", "foot", "urxvt"], "", &[], 0),
    // Tools of projects and their environments.
    fetching(words(&["npx", "bunx", "pnpx", "uvx"], "pc", &["--package", "--call", "--from", "--with", "--python"], 0)),
    text(&["npx", "npm"], &["-c", "--call"], ""),
    form(verb(&["npm"], &["exec", "x"], "wc", &["--workspace", "--package", "--call"]), CommandForm::Words),
    verb(&["pnpm"], &["exec", "dlx"], "CF", &["--filter", "--dir", "--package"]),
    verb(&["yarn"], &["exec", "dlx", "run -T", "workspaces foreach -A exec"], "p", &["--cwd", "--package"]),
    verb(&["bun"], &["x"], "", &["--cwd"]),
    verb(
        &["poetry", "pipenv", "pdm", "rye", "hatch", "uv", "pixi", "micromamba", "mamba", "conda"],
        &["run", "x", "exec"],
        "nepC",
        &[
            "--name",
            "--prefix",
            "--with",
            "--python",
            "--directory",
            "--project",
            "--env-file",
            "--group",
            "--extra",
            "--from",
            "--cwd",
        ],
    ),
    verb(&["uv"], &["tool run"], "", &["--from", "--with", "--python"]),
    verb(&["pipx"], &["run"], "", &["--spec"]),
    verb(
        &[
            "bundle", "rbenv", "pyenv", "nodenv", "jenv", "goenv", "asdf", "opam", "stack", "cabal", "dune", "mix",
            "volta", "fnm", "nvm", "sdk", "rtx", "proto",
        ],
        &["exec", "run"],
        "",
        &["--using", "--node"],
    ),
    form(verb(&["mise"], &["exec", "x"], "C", &["--cd", "--command"]), CommandForm::BehindDashes),
    text(&["mise", "nix-shell"], &["--command", "--run", "-c"], "c"),
    RunnerProgram { operands: 1, ..verb(&["direnv"], &["exec"], "", &[]) },
    form(verb(&["nix"], &["develop", "shell", "run"], "", &["--command"]), CommandForm::BehindDashes),
    RunnerProgram { text: &["-c", "--command"], ..verb(&["nix"], &["develop", "shell"], "", &[]) },
    form(
        verb(
            &[
                "op",
                "doppler",
                "infisical",
                "chamber",
                "aws-vault",
                "vaultenv",
                "envconsul",
                "teller",
                "dotenvx",
                "sops",
                "berglas",
                "summon",
                "saml2aws",
                "granted",
                "phase",
            ],
            &["run", "exec", "exec-env"],
            "",
            &["--env-file"],
        ),
        CommandForm::BehindDashes,
    ),
    words(
        &["dotenv", "env-cmd", "cross-env", "with-env", "envdir", "dotenvx", "envchain", "summon", "cross-env-shell"],
        "ef",
        &["--env-file", "--file"],
        0,
    ),
    form(words(&["dotenv", "env-cmd"], "ef", &[], 0), CommandForm::BehindDashes),
    verb(&["dotenv"], &["run"], "f", &[]),
    verb(&["git"], &["bisect run"], "Cc", &[]),
    form(verb(&["git"], &["submodule foreach"], "Cc", &[]), CommandForm::OneText),
    RunnerProgram { text: &["-x", "--exec"], ..form(verb(&["git"], &["rebase"], "Cc", &[]), CommandForm::Nothing) },
    RunnerProgram {
        text: &["--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--setup", "--commit-filter"],
        ..form(verb(&["git"], &["filter-branch"], "Cc", &[]), CommandForm::Nothing)
    },
    text(&["cargo"], &["-s", "--shell"], ""),
    verb(&["jj"], &["util exec"], "", &[]),
    RunnerProgram { operands: 1, ..verb(&["rustup"], &["run"], "", &[]) },
    form(words(&["lerna", "meta", "mr", "nx", "repo", "west"], "", &[], 0), CommandForm::BehindDashes),
    form(verb(&["repo"], &["forall"], "", &[]), CommandForm::Nothing),
    text(&["repo", "mr"], &["-c"], ""),
    words(&["wsl", "wsl.exe"], "du", &["--distribution", "--user", "--exec", "--cd"], 0),
];

/// Programs that do harm when a program that is not known starts them.
pub(super) const RISKY: &[&str] = &[
    "rm",
    "shred",
    "dd",
    "find",
    "chmod",
    "chown",
    "mv",
    "git",
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "python",
    "python3",
    "perl",
    "ruby",
    "node",
    "php",
    "mkfs",
    "wipefs",
    "truncate",
    "sudo",
    "env",
    "xargs",
    "eval",
    "unlink",
    "terraform",
    "tee",
    "rsync",
    "cp",
    "ln",
    "sed",
    "busybox",
    "curl",
    "wget",
];
