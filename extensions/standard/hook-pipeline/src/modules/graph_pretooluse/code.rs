//! `EX03` to `EX05`: code that runs unseen, because it is fetched, decoded or typed by another machine.
//!
//! Pure.

use dispatch_toolcall::{SimpleCommand, UnknownReason, resolve};

use super::options::ProgramOptions;
use super::rules::{EX03, EX04, EX05, GuardRule, RuleFindings, SY02, UB04, UB09};
use super::{JudgedCommand, flow, opaque};

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "csh", "tcsh"];
/// Interpreters, and the letters of the options that hold their code.
const INTERPRETERS: &[(&str, &str)] = &[
    ("python", "c"),
    ("pypy", "c"),
    ("perl", "eE"),
    ("ruby", "e"),
    ("node", "ep"),
    ("nodejs", "ep"),
    ("php", "rBRE"),
    ("lua", "e"),
    ("bun", "e"),
    ("Rscript", "e"),
];
/// Programs that print what another machine sends.
const DOWNLOADERS: &[&str] = &[
    "curl", "wget", "fetch", "http", "https", "xh", "xhs", "lynx", "w3m", "links", "GET", "nc", "ncat", "netcat",
    "socat", "dig", "nslookup", "aria2c", "telnet",
];
const NETCATS: &[&str] = &["nc", "ncat", "netcat"];
const DECODERS: &[&str] = &["base64", "base32", "basenc", "gbase64", "xxd", "openssl", "uudecode", "rev"];
/// Decoding and running, as interpreters spell it.
const DECODE_WORDS: &[&str] = &[
    "b64decode",
    "unhexlify",
    "fromhex",
    "decode64",
    "base64_decode",
    "decode_base64",
    "hex2bin",
    "atob(",
    "'base64'",
    "\"base64\"",
];
const RUN_WORDS: &[&str] = &["exec(", "eval(", "system(", "subprocess", "popen", "child_process", "spawn("];

/// Code that a call runs and that its text does not show.
enum UnseenCode<'a> {
    /// From standard input, or from a descriptor.
    Input,
    /// From words that are computed.
    Words(Vec<&'a str>),
    /// From a file.
    File(String),
}

/// Judges what was decoded and run, where the analysis saw both.
pub(super) fn judge_decoded(shell: &JudgedCommand<'_>, findings: &mut RuleFindings) {
    if shell.effects.unknown.iter().any(|unknown| unknown.reason == UnknownReason::DecodedCode) {
        findings.push(&EX04, "");
    }
}

/// Judges one call as the place where code ends up.
pub(super) fn judge(shell: &JudgedCommand<'_>, index: usize, command: &SimpleCommand, findings: &mut RuleFindings) {
    if is_remote_shell(shell, index, command) {
        findings.push(&EX05, &command.program);
    }
    if decodes_and_runs(command) {
        findings.push(&EX04, &command.program);
    }
    judge_inline(command, findings);
    if runs_from_network(command) {
        findings.push(&EX03, &command.program);
    }
    if runs_each_line(command)
        && let Some(rule) = fed_by(shell, index)
    {
        findings.push(rule, &command.program);
    }
    let rule = match unseen(shell, command) {
        None => None,
        Some(UnseenCode::Input) => fed_by(shell, index).or_else(|| opaque::removes_root(shell.text).then_some(&UB09)),
        Some(UnseenCode::Words(words)) => {
            let computed =
                words.iter().any(|word| flow::substitutes(word)) || command.wrapped_by.iter().any(|by| by == "xargs");
            let direct = if computed { fed_by(shell, index) } else { None };
            direct
                .or_else(|| words.iter().find_map(|word| set_from(shell, word)))
                .or_else(|| words.iter().any(|word| is_read_from_pipe(shell, index, word)).then_some(&EX03))
        }
        Some(UnseenCode::File(path)) => saved_by(shell, index, &path),
    };
    if let Some(rule) = rule {
        let shown =
            if command.program.is_empty() { command.argv.first().map_or("", String::as_str) } else { &command.program };
        findings.push(rule, shown);
    }
}

fn unseen<'a>(shell: &JudgedCommand<'_>, command: &'a SimpleCommand) -> Option<UnseenCode<'a>> {
    let program = command.program.as_str();
    let words = command.argv.get(1..).unwrap_or_default();
    let file = |path: &str| {
        UnseenCode::File(resolve(path, command.cwd.as_deref().unwrap_or_default(), shell.workspace.home()))
    };
    if SHELLS.contains(&program) {
        let options = ProgramOptions::parse(words, "coO", &["--rcfile", "--init-file"]);
        if let Some(code) = options.values(&["c"]).next() {
            return (!command.exact).then(|| UnseenCode::Words(vec![code]));
        }
        return match options.operands.first() {
            Some(path) if is_descriptor(path) => Some(UnseenCode::Input),
            Some(path) if !options.has(&["s"]) => Some(file(path)),
            _ => reads_code(shell, program).then_some(UnseenCode::Input),
        };
    }
    match program {
        "eval" => (!command.exact).then(|| UnseenCode::Words(words.iter().map(String::as_str).collect())),
        "source" | "." => words.first().map(|path| match command.exact {
            true if is_descriptor(path) => UnseenCode::Input,
            true => file(path),
            false => UnseenCode::Words(vec![path]),
        }),
        "" => command.argv.first().filter(|path| path.contains('/') && command.exact).map(|path| file(path)),
        _ => interpreter_code(program).and_then(|letters| match first_script(words, letters)? {
            ScriptSource::Code(code) => (!command.exact).then(|| UnseenCode::Words(vec![code])),
            ScriptSource::Input => Some(UnseenCode::Input),
            ScriptSource::File(path) => Some(file(path)),
        }),
    }
}

/// Whether the analysis could not see what a shell reads; text that it saw was judged by itself.
fn reads_code(shell: &JudgedCommand<'_>, program: &str) -> bool {
    shell
        .effects
        .unknown
        .iter()
        .any(|unknown| unknown.reason == UnknownReason::UnresolvedCode && unknown.detail == program)
}

fn is_descriptor(path: &str) -> bool {
    path == "-" || path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/")
}

enum ScriptSource<'a> {
    Code(&'a str),
    Input,
    File(&'a str),
}

fn interpreter_code(program: &str) -> Option<&'static str> {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.iter().find(|(known, _)| *known == name).map(|(_, letters)| *letters)
}

/// Where an interpreter gets its code; nothing for a module, or if it only says its version.
fn first_script<'a>(words: &'a [String], letters: &str) -> Option<ScriptSource<'a>> {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            Some("") => return Some(ScriptSource::Input),
            Some("-eval" | "-print") => return words.next().map(ScriptSource::Code),
            Some("m" | "V" | "v" | "h" | "-version" | "-help") => return None,
            Some(flags) if !flags.starts_with('-') && flags.contains(|c| letters.contains(c)) => {
                let attached =
                    flags.get(1..).filter(|rest| !rest.is_empty() && flags.starts_with(|c| letters.contains(c)));
                return attached.or_else(|| words.next()).map(ScriptSource::Code);
            }
            Some(_) => {}
            None if is_descriptor(word) => return Some(ScriptSource::Input),
            None => return Some(ScriptSource::File(word)),
        }
    }
    Some(ScriptSource::Input)
}

/// Commands behind a shell that may fill it.
const MAX_FILLING: usize = 4;

/// What feeds a call: something fetched, or something decoded.
fn fed_by(shell: &JudgedCommand<'_>, index: usize) -> Option<&'static GuardRule> {
    let mut rule = None;
    // What an output goes to stands before what prints it: `curl ... > >(bash)`.
    let fills = |source: &&SimpleCommand| prints_download(source) || decodes(source);
    if shell.text.contains(">(")
        && let Some(source) =
            shell.effects.commands.get(index + 1..).unwrap_or_default().iter().take(MAX_FILLING).find(fills)
    {
        return Some(if prints_download(source) { &EX03 } else { &EX04 });
    }
    for source in flow::feeding(&shell.effects.commands, index) {
        if prints_download(source) {
            return Some(&EX03);
        }
        if decodes(source) {
            rule = Some(&EX04);
        }
    }
    rule
}

/// `curl ... | while read -r line; do eval "$line"; done`.
fn is_read_from_pipe(shell: &JudgedCommand<'_>, index: usize, word: &str) -> bool {
    let name = word.trim_matches(['"', '$', '{', '}']);
    let reads = shell.text.split_once("read ").is_some_and(|(_, rest)| {
        let line = rest.split([';', '\n']).next().unwrap_or_default();
        !name.is_empty() && line.split_whitespace().any(|read| read == name)
    });
    reads && shell.text.contains('|') && shell.effects.commands.iter().take(index).any(prints_download)
}

/// What a computed word comes to, if its variables are set in the same command.
fn set_from(shell: &JudgedCommand<'_>, word: &str) -> Option<&'static GuardRule> {
    let ran =
        |programs: &[&str]| shell.effects.commands.iter().any(|command| programs.contains(&command.program.as_str()));
    flow::assigned(shell.text, word).into_iter().filter(|value| flow::substitutes(value)).find_map(|value| {
        if flow::mentions(value, DOWNLOADERS) && ran(DOWNLOADERS) {
            Some(&EX03)
        } else if flow::mentions(value, DECODERS) && ran(DECODERS) {
            Some(&EX04)
        } else {
            None
        }
    })
}

/// Whether a file that is run was fetched or decoded by the same command.
fn saved_by(shell: &JudgedCommand<'_>, index: usize, path: &str) -> Option<&'static GuardRule> {
    if !shell.effects.writes.iter().any(|written| written.path == path) {
        return None;
    }
    let earlier = shell.effects.commands.get(..index).unwrap_or_default();
    earlier.iter().find_map(|source| match source.program.as_str() {
        program if DOWNLOADERS.contains(&program) => saves_as(shell, source, path).then_some(&EX03),
        _ => decodes(source).then_some(&EX04),
    })
}

/// Whether a download may end in this file: by its own option, by its address, or by a redirection.
fn saves_as(shell: &JudgedCommand<'_>, source: &SimpleCommand, path: &str) -> bool {
    let named = source.argv.iter().skip(1).any(|word| {
        let end = word.rsplit(['/', '=']).next().unwrap_or(word);
        let bare = word.strip_prefix("-o").or_else(|| word.strip_prefix("-O")).unwrap_or(word);
        [word.as_str(), bare, end]
            .iter()
            .any(|name| resolve(name, source.cwd.as_deref().unwrap_or_default(), shell.workspace.home()) == path)
    });
    named || prints_download(source)
}

fn prints_download(source: &SimpleCommand) -> bool {
    let words = source.argv.get(1..).unwrap_or_default();
    let says =
        |wanted: &[&str]| words.iter().zip(wanted).filter(|(word, wanted)| word == *wanted).count() == wanted.len();
    let to_output = || words.last().is_some_and(|word| is_output(word));
    match source.program.as_str() {
        "curl" => {
            let options = ProgramOptions::parse(
                words,
                "oXHduATFbcDeKmrUxyYzCEPQtw",
                &["--output", "--header", "--request", "--data", "--user"],
            );
            let saved = options.has(&["O", "--remote-name", "--remote-name-all"]);
            !saved && options.values(&["o", "--output"]).all(is_output)
        }
        "wget" => {
            let options = ProgramOptions::parse(words, "OoaPiUteTwQBlADIXRY", &["--output-document", "--output-file"]);
            options.values(&["O", "--output-document"]).any(is_output)
        }
        "aria2c" => false,
        "ssh" => {
            words.iter().any(|word| word.contains(' '))
                || words.iter().filter(|word| !word.starts_with('-')).count() > 1
        }
        "git" => words.iter().any(|word| word == "--remote" || word.starts_with("--remote=")),
        "aws" => says(&["s3", "cp"]) && to_output(),
        "gsutil" => says(&["cat"]) || (says(&["cp"]) && to_output()),
        "gcloud" => says(&["storage", "cat"]) || (says(&["storage", "cp"]) && to_output()),
        "rclone" | "mc" | "ipfs" | "oras" => says(&["cat"]),
        "s3cmd" => says(&["get"]) && to_output(),
        "az" => says(&["storage", "blob", "download"]) && words.iter().any(|word| is_output(word)),
        "gh" => (says(&["release", "download"]) && words.iter().any(|word| is_output(word))) || says(&["gist", "view"]),
        program => DOWNLOADERS.contains(&program),
    }
}

fn is_output(path: &str) -> bool {
    matches!(path, "-" | "/dev/stdout" | "/dev/fd/1")
}

fn decodes(source: &SimpleCommand) -> bool {
    let words = source.argv.get(1..).unwrap_or_default();
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(&word.as_str()));
    let cluster = |letter: char| {
        words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    match source.program.as_str() {
        "base64" | "base32" | "basenc" | "gbase64" => {
            cluster('d') || cluster('D') || has(&["--decode", "--decod", "--deco", "--dec"])
        }
        "openssl" => has(&["-d"]),
        "xxd" => cluster('r'),
        "uudecode" | "rev" | "zcat" | "gzcat" | "bzcat" | "xzcat" | "gunzip" | "bunzip2" | "unxz" => true,
        "gzip" | "bzip2" | "xz" | "zstd" | "lz4" => cluster('d') || has(&["--decompress", "--uncompress"]),
        program if program.starts_with("python") && has(&["base64"]) && has(&["-m"]) => cluster('d'),
        "printf" => words.iter().any(|word| has_escape(word)),
        "echo" => cluster('e') && words.iter().any(|word| has_escape(word)),
        program => interpreter_code(program).is_some() && words.iter().any(|word| contains_any(word, DECODE_WORDS)),
    }
}

/// `\x72`, `\162` and `\u0072` spell a letter.
fn has_escape(word: &str) -> bool {
    word.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| c == 'x' || c == 'u' || c.is_ascii_digit()))
}

/// `python -c "exec(b64decode(...))"` in any of these languages.
fn decodes_and_runs(command: &SimpleCommand) -> bool {
    interpreter_code(&command.program).is_some()
        && command.argv.iter().skip(1).any(|word| contains_any(word, DECODE_WORDS) && contains_any(word, RUN_WORDS))
}

/// Programs of Windows that run or fetch what an address names and are hardly used for anything else.
fn runs_from_network(command: &SimpleCommand) -> bool {
    let name = command.program.to_ascii_lowercase();
    let names_address = || command.argv.iter().any(|word| word.contains("http://") || word.contains("https://"));
    matches!(name.trim_end_matches(".exe"), "mshta" | "certutil" | "bitsadmin" | "regsvr32" | "msiexec" | "wmic")
        && names_address()
}

/// `awk '{system($0)}'`, `perl -ne 'system $_'`: what comes in is a command.
fn runs_each_line(command: &SimpleCommand) -> bool {
    matches!(command.program.as_str(), "awk" | "gawk" | "mawk" | "nawk" | "perl" | "ruby")
        && command.argv.iter().skip(1).any(|word| {
            word.match_indices("system").any(|(at, name)| {
                let rest = word.get(at + name.len()..).unwrap_or_default();
                rest.trim_start_matches(['(', ' ']).starts_with('$')
            })
        })
}

/// How inline code fetches, runs what it got, opens a connection, hands over its terminal, and starts copies of itself.
const FETCH_WORDS: &[&str] = &[
    "urlopen",
    "\").get(",
    "').get(",
    "requests.get(",
    "fetch(",
    "http.get(",
    "https.get(",
    "file_get_contents('http",
    "file_get_contents(\"http",
    "URI.open(",
    "Net::HTTP",
    "LWP::Simple",
    "HTTP::Tiny",
    "curl ",
    "wget ",
    "httpx.get(",
];
const RUNS: &[&str] = &[
    "exec(",
    "eval(",
    "eval URI",
    "eval get",
    "eval Net",
    "(eval)",
    "load(io.popen",
    "loadstring(",
    "instance_eval(",
    "new Function(",
    "eval`",
    "eval `",
    "eval \"",
    "runInThisContext(",
];
const SOCKET_WORDS: &[&str] = &[
    "socket.socket(",
    "net.connect(",
    "net.Socket(",
    "fsockopen(",
    "TCPSocket",
    "IO::Socket",
    "sockaddr_in(",
    "\").connect(",
    "require(\"socket\")",
];
const TERMINAL_WORDS: &[&str] = &["dup2(", "pty.spawn(", "/bin/sh", "/bin/bash", "cmd.exe"];
const LOOPS: &[&str] = &[
    "while 1",
    "while True",
    "while true",
    "while(1)",
    "while (1)",
    "while(true)",
    "while (true)",
    "fork while",
    "fork until",
    "for(;;)",
    "for (;;)",
    "iter(int",
    "loop {",
    "loop{",
    "loop do",
    "setInterval(",
    "itertools.count",
    "until false",
];

/// Inline code that runs what it fetches, gives its terminal to a socket, or starts copies of itself without end.
fn judge_inline(command: &SimpleCommand, findings: &mut RuleFindings) {
    if interpreter_code(&command.program).is_none() {
        return;
    }
    // A module may be named by one word and used in another.
    let words = command.argv.get(1..).unwrap_or_default();
    if words.iter().any(|word| contains_any(word, FETCH_WORDS)) && words.iter().any(|word| contains_any(word, RUNS)) {
        findings.push(&EX03, &command.program);
    }
    for word in words {
        if contains_any(word, SOCKET_WORDS) && contains_any(word, TERMINAL_WORDS) {
            findings.push(&EX05, &command.program);
        }
        if kills_everything(word) {
            findings.push(&SY02, &command.program);
        }
        if word.contains("fork") && contains_any(word, LOOPS) {
            findings.push(&UB04, &command.program);
        }
    }
}

/// `os.kill(-1, 9)`, `process.kill(-1)`, `kill 9, -1`: the argument that stands for every process.
fn kills_everything(code: &str) -> bool {
    code.match_indices("kill").any(|(at, name)| {
        let arguments =
            code.get(at + name.len()..).unwrap_or_default().split([')', ';', '\n']).next().unwrap_or_default();
        arguments.starts_with(['(', ' ']) && arguments.split([',', '(', ' ']).any(|argument| argument.trim() == "-1")
    })
}

fn contains_any(word: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| word.contains(needle))
}

fn is_remote_shell(shell: &JudgedCommand<'_>, index: usize, command: &SimpleCommand) -> bool {
    let program = command.program.as_str();
    let words = command.argv.get(1..).unwrap_or_default();
    if NETCATS.contains(&program) {
        let options = ProgramOptions::parse(words, "ecpswqIiGXxTVmMO", &["--exec", "--sh-exec", "--lua-exec"]);
        let runs = |value: &str| {
            SHELLS.contains(&value.split(' ').next().and_then(|word| word.rsplit('/').next()).unwrap_or_default())
        };
        return options.values(&["e", "c"]).any(runs) || options.has(&["--exec", "--sh-exec"]);
    }
    if program == "socat" {
        return words.iter().any(|word| {
            let kind = word.split(':').next().unwrap_or_default();
            kind.eq_ignore_ascii_case("exec") || kind.eq_ignore_ascii_case("system")
        });
    }
    if !SHELLS.contains(&program) {
        return false;
    }
    let open = words.iter().any(|word| word == "-i") || matches!(unseen(shell, command), Some(UnseenCode::Input));
    let raw_socket = shell.effects.network && (shell.text.contains("/dev/tcp/") || shell.text.contains("/dev/udp/"));
    let next = shell.effects.commands.get(index + 1).is_some_and(|next| NETCATS.contains(&next.program.as_str()));
    open && (raw_socket || next)
}
