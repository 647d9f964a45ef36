//! `EX01` and `EX02`: credentials and the environment on their way to another machine.
//!
//! Pure.

use dispatch_toolcall::{SimpleCommand, resolve};

use super::options::ProgramOptions;
use super::rules::{EX01, EX02, GuardRule, RuleFindings};
use super::{JudgedCommand, flow};
use dispatch_redact::credential_path::{is_credential, is_environment};

/// Programs that send their standard input as it is.
const SENDS_INPUT: &[&str] = &["nc", "ncat", "netcat", "socat", "telnet", "sendmail", "mail", "mailx", "mutt"];
/// Programs that send their standard input only when something is piped into them.
const SENDS_PIPE: &[&str] = &["ssh", "http", "https", "xh", "xhs", "openssl"];
/// Programs that copy files to and from stores.
const STORES: &[&str] = &["aws", "gsutil", "gcloud", "rclone", "az", "mc", "s3cmd", "azcopy"];
/// Programs that hand the files they are given to whoever knows a word or an address.
const HANDS_OVER: &[&str] = &[
    "croc",
    "wormhole",
    "magic-wormhole",
    "transfer",
    "transfer.sh",
    "ffsend",
    "dropbox",
    "dbxcli",
    "onionshare",
    "onionshare-cli",
    "pastebinit",
    "gist",
    "termbin",
    "bashupload",
    "webwormhole",
    "ww",
    "portal",
    "localsend",
    "kdeconnect-cli",
    "gdrive",
    "mega-put",
    "onedrive",
    "ipfs",
    "swaks",
    "telegram-send",
    "slackcat",
    "slack-cli",
    "discord.sh",
    "mutt",
    "mail",
    "mailx",
    "s-nail",
    "uuencode",
];
/// Programs that put what a file holds into another one.
const COPIERS: &[&str] = &[
    "cp", "mv", "ln", "install", "cat", "tac", "base64", "base32", "xxd", "od", "hexdump", "gzip", "bzip2", "xz",
    "zstd", "tar", "zip", "7z", "openssl", "gpg", "dd", "tee", "rev", "tr", "strings", "sed", "awk", "split", "rsync",
    "ditto",
];
/// Programs whose address alone can carry data.
const LOOKUPS: &[&str] = &["dig", "nslookup", "host", "ping"];
/// Options that carry a credential where it belongs: to the service that issued it.
const IDENTITY_OPTIONS: &[&str] = &["-H", "--header", "-u", "--user", "--oauth2-bearer", "-b", "--cookie"];
const CURL_VALUES: &str = "oXHduATFbcDeKmrUxyYzCEPQtw";
const CURL_LONG: &[&str] = &[
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-ascii",
    "--data-urlencode",
    "--form",
    "--upload-file",
    "--json",
    "--output",
    "--header",
    "--request",
    "--user",
    "--cert",
    "--key",
    "--cacert",
    "--config",
    "--cookie",
    "--url",
];

/// Judges all calls of a command that may reach another machine.
pub(super) fn judge(shell: &JudgedCommand<'_>, findings: &mut RuleFindings) {
    for (index, command) in shell.effects.commands.iter().enumerate() {
        if let Some(rule) = sent_by_code(shell, command) {
            findings.push(rule, &command.program);
        }
        if TRANSFERS.contains(&command.program.as_str())
            && let Some(path) = put_files(shell.text).find(|path| is_secret(shell, command, path))
        {
            findings.push(&EX01, path);
        }
        if !reaches_out(&command.program) || stays_here(command) {
            continue;
        }
        let secret = |path: &&str| is_secret(shell, command, path) || holds_secret(shell, index, command, path);
        if let Some(path) = sent_files(command).into_iter().find(secret) {
            findings.push(&EX01, path);
        }
        // One part after the other, read in a loop.
        if LOOKUPS.contains(&command.program.as_str()) && !command.exact {
            let earlier = shell.effects.commands.get(..index).unwrap_or_default();
            if let Some(rule) = earlier.iter().rev().take(MAX_COPIES).find_map(|source| self::source(shell, source)) {
                findings.push(rule, &command.program);
            }
        }
        let rule = if sends_input(shell, command) || gets_words(command) { input_of(shell, index) } else { None };
        if let Some(rule) = rule.or_else(|| substituted(shell, index, command)) {
            findings.push(rule, &command.program);
        }
    }
    // Builtins are no calls of programs.
    let lists = ["export -p |", "declare -p |", "declare -x |", "declare -px |", "declare -xp |", "typeset -x |"];
    if lists.iter().any(|list| shell.text.contains(list))
        && let Some(command) = shell.effects.commands.iter().find(|command| sends_input(shell, command))
    {
        findings.push(&EX02, &command.program);
    }
    let raw_socket = shell.text.contains("/dev/tcp/") || shell.text.contains("/dev/udp/");
    if shell.effects.network && raw_socket {
        let rule =
            shell.effects.commands.iter().find_map(|command| source(shell, command)).or_else(|| redirected(shell));
        if let Some(rule) = rule {
            findings.push(rule, "/dev/tcp");
        }
    }
}

fn reaches_out(program: &str) -> bool {
    matches!(program, "curl" | "wget" | "scp" | "rsync" | "sftp" | "gh" | "glab")
        || [SENDS_INPUT, SENDS_PIPE, STORES, LOOKUPS, HANDS_OVER].iter().any(|list| list.contains(&program))
}

/// A service on the same machine is not "the network".
fn stays_here(command: &SimpleCommand) -> bool {
    let mut hosts = command.argv.iter().skip(1).filter_map(|word| host_of(word)).peekable();
    hosts.peek().is_some() && hosts.all(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]" | "0.0.0.0"))
}

fn host_of(word: &str) -> Option<&str> {
    let word = word.trim_matches(['"', '\'']);
    let rest = match word.split_once("://") {
        Some((_, rest)) => rest,
        None => {
            word.strip_prefix("localhost").map(|_| word).or_else(|| word.strip_prefix("127.0.0.1").map(|_| word))?
        }
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    match host.starts_with('[') {
        true => host.find(']').and_then(|end| host.get(..=end)),
        false => host.split(':').next(),
    }
}

fn is_secret(shell: &JudgedCommand<'_>, command: &SimpleCommand, path: &str) -> bool {
    let resolved = resolve(path, command.cwd.as_deref().unwrap_or_default(), shell.workspace.home());
    is_credential(&resolved) || is_environment(&resolved)
}

/// Commands before a call that may have made a copy which it sends.
const MAX_COPIES: usize = 64;

/// Whether the same command put a credential into this file before: `cp .env x; curl -T x ...`.
fn holds_secret(shell: &JudgedCommand<'_>, index: usize, command: &SimpleCommand, path: &str) -> bool {
    let home = shell.workspace.home();
    let effects = shell.effects;
    let sent = resolve(path, command.cwd.as_deref().unwrap_or_default(), home);
    let moved = effects.moves.iter().map(|moved| &moved.to);
    if !effects.writes.iter().chain(&effects.creates).chain(moved).any(|written| written.path == sent) {
        return false;
    }
    let earlier = effects.commands.get(..index).unwrap_or_default();
    earlier.iter().rev().take(MAX_COPIES).any(|source| {
        let copies = COPIERS.contains(&source.program.as_str());
        let places = matches!(source.program.as_str(), "cp" | "mv" | "ln" | "install" | "rsync");
        // The last word of a copy is where it goes.
        let read = source.argv.len().saturating_sub(usize::from(places));
        let words = source.argv.get(1..read).unwrap_or_default();
        (copies && words.iter().any(|word| is_secret(shell, source, word))) || dumps_environment(source)
    })
}

/// Programs that are told what to do line by line.
const TRANSFERS: &[&str] = &["ftp", "lftp", "sftp", "tftp", "smbclient", "ncftp"];

/// The files behind `put` in what these are told, wherever that stands.
fn put_files(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "'\";|&".contains(c);
    text.split("put ").skip(1).map(move |rest| rest.trim_start().split(ends).next().unwrap_or_default())
}

/// The files that a call itself sends.
fn sent_files(command: &SimpleCommand) -> Vec<&str> {
    let words = command.argv.get(1..).unwrap_or_default();
    match command.program.as_str() {
        "curl" => curl_files(&ProgramOptions::parse(words, CURL_VALUES, CURL_LONG)),
        "wget" => ProgramOptions::parse(words, "O", &["--post-file", "--body-file"])
            .values(&["--post-file", "--body-file"])
            .collect(),
        "scp" | "sftp" => to_remote(&ProgramOptions::parse(words, "cFiJloPSDX", &[]).operands),
        "rsync" => {
            to_remote(&ProgramOptions::parse(words, "efBTM", &["--rsh", "--exclude", "--include", "--filter"]).operands)
        }
        "gh" | "glab" if words.first().is_some_and(|word| word == "api") => {
            words.iter().filter_map(|word| word.split_once("=@").map(|(_, file)| file)).collect()
        }
        "gh" | "glab" if words.iter().any(|word| matches!(word.as_str(), "gist" | "snippet" | "release")) => {
            ProgramOptions::parse(words, "dft", &[]).operands
        }
        "http" | "https" | "xh" | "xhs" => {
            words.iter().filter_map(|word| word.split_once('@').map(|(_, file)| file)).collect()
        }
        "socat" => words
            .iter()
            .filter_map(|word| word.split_once(':'))
            .filter(|(kind, _)| ["file", "open", "gopen"].iter().any(|known| kind.eq_ignore_ascii_case(known)))
            .map(|(_, path)| path.split(',').next().unwrap_or(path))
            .collect(),
        program if HANDS_OVER.contains(&program) => words.iter().map(|word| word.trim_start_matches("-a")).collect(),
        program if STORES.contains(&program) => to_remote(&ProgramOptions::parse(words, "", &[]).operands),
        _ => Vec::new(),
    }
}

fn curl_files<'a>(options: &ProgramOptions<'a>) -> Vec<&'a str> {
    let mut files: Vec<&str> = options.values(&["T", "--upload-file"]).collect();
    let data =
        options.values(&["d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "F", "--form"]);
    for value in data {
        let file = value
            .strip_prefix('@')
            .or_else(|| value.split_once('=').and_then(|(_, file)| file.strip_prefix(['@', '<'])))
            .or_else(|| {
                value.split_once('@').filter(|(name, _)| !name.contains([' ', '{', '='])).map(|(_, file)| file)
            });
        files.extend(file.map(|file| file.split(';').next().unwrap_or(file)));
    }
    files
}

/// The sources of a copy whose target lies elsewhere.
fn to_remote<'a>(operands: &[&'a str]) -> Vec<&'a str> {
    match operands.split_last() {
        Some((target, sources)) if target.contains(':') => sources.to_vec(),
        _ => Vec::new(),
    }
}

fn sends_input(shell: &JudgedCommand<'_>, command: &SimpleCommand) -> bool {
    let program = command.program.as_str();
    let dash = || sent_files(command).iter().any(|file| matches!(*file, "-" | "." | "/dev/stdin"));
    match program {
        _ if SENDS_INPUT.contains(&program) || HANDS_OVER.contains(&program) => true,
        "openssl" => connects(command),
        _ if SENDS_PIPE.contains(&program) => shell.text.contains('|') || shell.text.contains('<'),
        _ => dash(),
    }
}

/// Whether `openssl` opens a connection; mostly it only computes.
fn connects(command: &SimpleCommand) -> bool {
    command.argv.iter().any(|word| word == "s_client")
}

/// Whether a pipe gives the call its words.
fn gets_words(command: &SimpleCommand) -> bool {
    !command.exact && command.wrapped_by.last().is_some_and(|wrapper| wrapper == "xargs")
}

/// What reaches the standard input of a call.
fn input_of(shell: &JudgedCommand<'_>, index: usize) -> Option<&'static GuardRule> {
    flow::feeding(&shell.effects.commands, index)
        .find_map(|command| source(shell, command))
        .or_else(|| redirected(shell))
}

/// What one call prints, if it is a secret.
fn source(shell: &JudgedCommand<'_>, command: &SimpleCommand) -> Option<&'static GuardRule> {
    let home = shell.workspace.home();
    if dumps_environment(command) || flow::names_path(command, home, is_environment) {
        return Some(&EX02);
    }
    if prints_credential(command) {
        return Some(&EX01);
    }
    let reads = (!reaches_out(&command.program) || (command.program == "openssl" && !connects(command)))
        && !matches!(command.program.as_str(), "source" | "." | "echo" | "printf");
    (reads && flow::names_path(command, home, is_credential)).then_some(&EX01)
}

/// Programs whose output is a credential.
const CREDENTIAL_PRINTERS: &[(&str, &str)] = &[
    ("gh", "auth token"),
    ("glab", "auth token"),
    ("gcloud", "auth print-access-token"),
    ("gcloud", "auth print-identity-token"),
    ("aws", "configure export-credentials"),
    ("aws", "sts get-session-token"),
    ("az", "account get-access-token"),
    ("op", "read"),
    ("op", "item get"),
    ("pass", "show"),
    ("bw", "get"),
    ("secret-tool", "lookup"),
    ("security", "find-generic-password"),
    ("security", "find-internet-password"),
    ("security", "dump-keychain"),
    ("git", "credential fill"),
    ("gpg", "--export-secret-keys"),
    ("heroku", "auth:token"),
    ("kubectl", "get secret"),
    ("kubectl", "get secrets"),
    ("vault", "kv get"),
    ("vault", "read"),
    ("vault", "print token"),
    ("aws", "secretsmanager get-secret-value"),
    ("gcloud", "secrets versions access"),
    ("az", "keyvault secret show"),
    ("doppler", "secrets"),
    ("infisical", "export"),
    ("infisical", "secrets"),
    ("chamber", "export"),
    ("lpass", "show"),
    ("gopass", "show"),
    ("keyring", "get"),
    ("rbw", "get"),
    ("sops", "-d"),
    ("sops", "decrypt"),
    ("ansible-vault", "view"),
    ("ansible-vault", "decrypt"),
];

fn prints_credential(command: &SimpleCommand) -> bool {
    CREDENTIAL_PRINTERS.iter().any(|(program, words)| {
        command.program == *program
            && words.split(' ').zip(command.argv.iter().skip(1)).all(|(expected, word)| expected == word)
            && command.argv.len() > words.split(' ').count()
    })
}

/// Inline code that reads a secret and talks to another machine.
fn sent_by_code(shell: &JudgedCommand<'_>, command: &SimpleCommand) -> Option<&'static GuardRule> {
    const INTERPRETERS: &[&str] = &["python", "node", "deno", "bun", "ruby", "perl", "php"];
    const SENDS: &[&str] = &[
        "requests.post(",
        "requests.put(",
        "requests.request(",
        "httpx.post(",
        "urlopen(",
        "http.client",
        "fetch(",
        "axios.post(",
        "\").post(",
        "').post(",
        "\").request(",
        "').request(",
        "file_get_contents('http",
        "file_get_contents(\"http",
        "http.request(",
        "https.request(",
        "Net::HTTP",
        "HTTP::Tiny",
        "LWP::",
        "curl_exec",
        "stream_context_create",
        "socket.create_connection(",
        "net.connect(",
        "smtplib",
    ];
    const ENVIRONMENT: &[&str] = &[
        "dict(os.environ)",
        "str(os.environ)",
        "os.environ.items()",
        "=os.environ)",
        "stringify(process.env)",
        ",process.env)",
        ", process.env)",
        "ENV.to_h",
        "Deno.env.toObject(",
    ];
    let name = command.program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    // A module may be named by one word and used in another.
    let mut code: Vec<&str> = command.argv.iter().skip(1).map(String::as_str).collect();
    if code.iter().all(|word| *word == "-") && shell.text.contains("<<") {
        code.push(shell.text);
    }
    // A service on the same machine is not "the network", if no other address is named.
    let local = |rest: &str| rest.starts_with("localhost") || rest.starts_with("127.0.0.1");
    let here = |word: &&str| !word.contains("://") || !word.split("://").skip(1).all(local);
    let code: Vec<&str> = code.into_iter().filter(here).collect();
    if !code.iter().any(|word| SENDS.iter().any(|call| word.contains(call))) {
        return None;
    }
    code.iter().find_map(|word| {
        if ENVIRONMENT.iter().any(|whole| word.contains(whole)) {
            return Some(&EX02);
        }
        let texts = word.split(['"', '\'', '`']).filter(|text| !text.contains("://") && !text.is_empty());
        // A text may be a command that prints the file.
        let mut names = texts.flat_map(|text| {
            let printed = text.strip_prefix("cat ").map(str::trim);
            [Some(text), printed].into_iter().flatten()
        });
        names.any(|text| is_secret(shell, command, text)).then_some(&EX01)
    })
}

fn dumps_environment(command: &SimpleCommand) -> bool {
    let words = command.argv.get(1..).unwrap_or_default();
    let only_options = words.iter().all(|word| word.starts_with('-'));
    match command.program.as_str() {
        "env" | "printenv" => only_options,
        "set" => words.is_empty(),
        "export" | "declare" | "typeset" => {
            only_options && words.iter().any(|word| word.contains('p') || word.contains('x'))
        }
        "compgen" => words.iter().any(|word| matches!(word.as_str(), "-e" | "-v")),
        _ => false,
    }
}

/// A secret that is read by a redirection: no call names it.
fn redirected(shell: &JudgedCommand<'_>) -> Option<&'static GuardRule> {
    let home = shell.workspace.home();
    let by_name = shell.effects.commands.iter().any(|command| flow::names_path(command, home, is_credential));
    let secret = shell.effects.reads.iter().any(|read| is_credential(&read.path));
    (secret && !by_name && shell.text.contains('<')).then_some(&EX01)
}

/// A secret that is computed into a word of the call.
fn substituted(shell: &JudgedCommand<'_>, index: usize, command: &SimpleCommand) -> Option<&'static GuardRule> {
    if command.exact {
        return None;
    }
    let mut identity = false;
    for word in command.argv.iter().skip(1) {
        let own = std::mem::replace(&mut identity, IDENTITY_OPTIONS.contains(&word.as_str()));
        let rule = match flow::substitutes(word) {
            true => input_of(shell, index),
            false => {
                flow::assigned(shell.text, word).into_iter().find_map(|value| written_source(shell, command, value))
            }
        };
        // A header that carries one credential is how services are used; sending the whole environment is not.
        if let Some(rule) = rule.filter(|rule| !own || **rule == EX02 || holds_whole_file(word)) {
            return Some(rule);
        }
    }
    None
}

/// `$(cat .env)`: a file of many secrets as a whole, and not one of them.
fn holds_whole_file(word: &str) -> bool {
    let picks = flow::mentions(word, &["grep", "cut", "awk", "sed", "jq", "yq", "head", "tail"]);
    !picks
        && [".env)", ".env`", ".env |", ".env|", "credentials)", "credentials |"].iter().any(|end| word.contains(end))
}

/// The same for a variable that was set to a substitution, as written.
fn written_source(shell: &JudgedCommand<'_>, command: &SimpleCommand, value: &str) -> Option<&'static GuardRule> {
    if !flow::substitutes(value) {
        return None;
    }
    let mut words =
        value.split(|c: char| c.is_whitespace() || "$()`\"'<>|;".contains(c)).filter(|word| !word.is_empty());
    let first = words.clone().next().unwrap_or_default();
    if matches!(first, "env" | "printenv") {
        return Some(&EX02);
    }
    // One value picked out of a file is used, not sent away.
    let picks = flow::mentions(value, &["grep", "cut", "awk", "sed", "jq", "yq"]);
    (!picks && words.any(|word| is_secret(shell, command, word))).then_some(&EX01)
}
