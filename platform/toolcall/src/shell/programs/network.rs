//! Programs that reach other machines.
//!
//! Pure.

use super::super::arguments::{Arguments, OptionSyntax};
use super::super::command::Invocation;
use super::super::effects::UnknownReason;
use super::super::field::ShellField;
use super::super::interpreter::{Interpreter, Lifetime};
use super::super::recorder::EffectReach;
use super::super::unbounded::UnboundedKind;
use super::refuse_hidden_options;
use crate::access::Access;

pub(super) fn run(interpreter: &mut Interpreter, call: &Invocation<'_>) -> bool {
    match call.program {
        "curl" => curl(interpreter, call),
        "wget" => wget(interpreter, call),
        "aria2c" => aria2c(interpreter, call),
        "ping" | "ping6" => ping(interpreter, call),
        "dig" | "nslookup" | "host" | "traceroute" | "tracepath" | "whois" | "mtr" | "getent" | "nmap" => {
            interpreter.recorder.network()
        }
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "ftp" | "sftp" | "lftp" => opaque(interpreter, call),
        "ssh" | "mosh" | "autossh" => {
            interpreter.recorder.network();
            interpreter.recorder.code(UnknownReason::Remote, call.program);
            local_commands(interpreter, call);
            on_this_machine(interpreter, call);
        }
        "scp" => transfer(interpreter, call, "cFiJloPSDX"),
        "rsync" => transfer(interpreter, call, "efBTM"),
        "gh" | "glab" | "aws" | "gcloud" | "az" | "heroku" | "vercel" | "netlify" | "fly" | "flyctl" | "wrangler"
        | "doctl" | "firebase" | "supabase" | "kubectl" | "helm" | "terraform" | "tofu" | "pulumi" | "psql"
        | "mysql" | "mongosh" | "redis-cli" | "sqlplus" => {
            interpreter.recorder.network();
            interpreter.recorder.unknown(UnknownReason::Remote, call.program);
        }
        _ => return false,
    }
    true
}

/// `ssh localhost COMMAND` runs it here.
fn on_this_machine(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "BbcDEeFIiJLlmOopQRSWw", long: &[] });
    let Some((host, words)) = parsed.operands.split_first() else {
        return;
    };
    let name = host.text.rsplit('@').next().unwrap_or_default();
    if matches!(name, "localhost" | "127.0.0.1" | "::1" | "[::1]" | "0.0.0.0" | "ip6-localhost") && !words.is_empty() {
        let text: Vec<&str> = words.iter().map(ShellField::shown).collect();
        let context = call.context.wrapped(call.program);
        interpreter.script(&text.join(" "), call.state.child(), &context);
    }
}

/// Commands that run here although the program reaches out: `-o ProxyCommand=...`, `rsync -e ...`.
fn local_commands(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    let context = call.context.wrapped(call.program);
    let mut texts: Vec<String> = Vec::new();
    for word in call.arguments {
        let text = word.text.strip_prefix("-o").unwrap_or(&word.text);
        let command = ["ProxyCommand=", "LocalCommand=", "--rsh=", "KnownHostsCommand="]
            .iter()
            .find_map(|name| text.strip_prefix(name));
        texts.extend(command.map(str::to_owned));
    }
    if call.program == "rsync" {
        let shells = super::super::runners::option_texts(call.arguments, &["-e", "--rsh"]);
        texts.extend(shells.into_iter().map(|field| field.text.clone()));
    }
    for text in texts {
        interpreter.script(&text, call.state.child(), &context);
    }
}

fn opaque(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    interpreter.recorder.network();
    interpreter.recorder.code(UnknownReason::UnresolvedCode, call.program);
    if listens(call) && call.context.lifetime == Lifetime::Open {
        interpreter.recorder.unbounded(UnboundedKind::Endless, call.program);
    }
}

/// Whether a netcat waits for a connection with no limit on the time.
fn listens(call: &Invocation<'_>) -> bool {
    if !matches!(call.program, "nc" | "ncat" | "netcat") {
        return false;
    }
    let has = |long: &str, letter: char| {
        call.arguments.iter().any(|word| {
            let text = word.text.as_str();
            // Letters behind one that takes a value belong to the value.
            let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
            let end = cluster.find(|c: char| "pswiqTXxeoI".contains(c) && c != letter).unwrap_or(cluster.len());
            text.split('=').next() == Some(long) || cluster.get(..end).unwrap_or_default().contains(letter)
        })
    };
    has("--listen", 'l') && !has("--wait", 'w') && !has("--idle-timeout", 'i')
}

fn curl(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    interpreter.recorder.network();
    let syntax = OptionSyntax {
        short: "oXHduATFbcDeKmrUxyYzCEPQtw",
        long: &[
            "--output",
            "--request",
            "--header",
            "--data",
            "--user",
            "--user-agent",
            "--upload-file",
            "--form",
            "--cookie",
            "--cookie-jar",
            "--dump-header",
            "--config",
            "--max-time",
            "--output-dir",
            "--data-raw",
            "--data-binary",
            "--data-urlencode",
            "--url",
            "--proxy",
            "--cacert",
            "--cert",
            "--key",
            "--retry",
            "--connect-timeout",
            "--write-out",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--json",
            "--etag-save",
            "--hsts",
            "--alt-svc",
        ],
    };
    let parsed = Arguments::parse(call.arguments, syntax);
    refuse_hidden_options(interpreter, call, &parsed);
    let written = [
        "-o",
        "--output",
        "-c",
        "--cookie-jar",
        "-D",
        "--dump-header",
        "--trace",
        "--trace-ascii",
        "--stderr",
        "--etag-save",
        "--hsts",
        "--alt-svc",
    ];
    let folder =
        parsed.options.iter().find(|option| option.name == "--output-dir").and_then(|option| option.value.clone());
    for file in parsed.values(&written).filter(|file| file.text != "-") {
        let place = match &folder {
            Some(folder) if folder.exact => {
                ShellField { text: format!("{}/{}", folder.text, file.text), ..file.clone() }
            }
            _ => file.clone(),
        };
        interpreter.recorder.touch(call.state, &place, Access::Write, EffectReach::Itself);
    }
    if parsed.has(&["-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name"]) {
        for url in &parsed.operands {
            save_as_named(interpreter, call, folder.as_ref(), url);
        }
        if parsed.has(&["-J", "--remote-header-name"]) {
            interpreter.recorder.unknown(UnknownReason::UnresolvedPath, "curl -J");
        }
    }
    for file in parsed.values(&["-T", "--upload-file"]).filter(|file| !is_standard_input(&file.text)) {
        interpreter.recorder.touch(call.state, file, Access::Read, EffectReach::Itself);
    }
    for value in parsed.values(&["-d", "--data", "--data-binary", "--data-urlencode", "-F", "--form", "--json"]) {
        let sent = value.text.split_once('@').filter(|(name, _)| name.is_empty() || name.ends_with('='));
        if let Some((_, file)) = sent.filter(|(_, file)| !is_standard_input(file)) {
            let file = ShellField { text: file.to_owned(), ..value.clone() };
            interpreter.recorder.touch(call.state, &file, Access::Read, EffectReach::Itself);
        }
    }
    if parsed.has(&["-K", "--config"]) {
        interpreter.recorder.unknown(UnknownReason::Option, "curl -K");
    }
}

/// `-`, or `.` for an upload that starts before all of it was read; form fields may say more after `;`.
fn is_standard_input(file: &str) -> bool {
    matches!(file.split(';').next(), Some("-" | "."))
}

/// The last part of an address becomes a file here.
fn save_as_named(interpreter: &mut Interpreter, call: &Invocation<'_>, folder: Option<&ShellField>, url: &ShellField) {
    let path = url.text.split(['?', '#']).next().unwrap_or_default();
    let after_host = path.split_once("://").map_or(path, |(_, rest)| rest);
    let name = after_host.split_once('/').and_then(|(_, rest)| rest.rsplit('/').next()).unwrap_or_default();
    let name = if name.is_empty() { "index.html" } else { name };
    let name = match folder {
        Some(folder) => format!("{}/{name}", folder.text),
        None => name.to_owned(),
    };
    let file = ShellField { text: name, ..url.clone() };
    interpreter.recorder.touch(call.state, &file, Access::Write, EffectReach::Itself);
}

fn aria2c(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    interpreter.recorder.network();
    let syntax = OptionSyntax { short: "dosxjkiTlUO", long: &["--dir", "--out", "--input-file", "--header", "--log"] };
    let parsed = Arguments::parse(call.arguments, syntax);
    refuse_hidden_options(interpreter, call, &parsed);
    let mut state = call.state.clone();
    for folder in parsed.values(&["-d", "--dir"]) {
        super::super::wrappers::enter(folder, &mut state);
    }
    let inside = Invocation { program: call.program, arguments: call.arguments, state: &state, context: call.context };
    let named: Vec<&ShellField> = parsed.values(&["-o", "--out"]).collect();
    for file in &named {
        interpreter.recorder.touch(&state, file, Access::Write, EffectReach::Itself);
    }
    for url in parsed.operands.iter().filter(|_| named.is_empty()) {
        save_as_named(interpreter, &inside, None, url);
    }
    if parsed.has(&["-i", "--input-file"]) {
        interpreter.recorder.touch(&state, &ShellField::literal("."), Access::Write, EffectReach::Tree);
    }
}

fn wget(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    interpreter.recorder.network();
    let syntax = OptionSyntax {
        short: "OoaPiUteTwQBlADIXRY",
        long: &[
            "--output-document",
            "--output-file",
            "--append-output",
            "--directory-prefix",
            "--input-file",
            "--header",
            "--user-agent",
            "--post-data",
            "--post-file",
            "--execute",
        ],
    };
    let parsed = Arguments::parse(call.arguments, syntax);
    refuse_hidden_options(interpreter, call, &parsed);
    if parsed.has(&["-e", "--execute", "--use-askpass"]) {
        interpreter.recorder.code(UnknownReason::Option, "wget");
    }
    for file in parsed.values(&["-o", "--output-file", "-a", "--append-output"]) {
        interpreter.recorder.touch(call.state, file, Access::Write, EffectReach::Itself);
    }
    let documents: Vec<&ShellField> = parsed.values(&["-O", "--output-document"]).collect();
    for file in documents.iter().filter(|file| file.text != "-") {
        interpreter.recorder.touch(call.state, file, Access::Write, EffectReach::Itself);
    }
    if parsed.has(&["--spider"]) || !documents.is_empty() {
        return;
    }
    if parsed.has(&["-r", "--recursive", "-m", "--mirror", "-p", "--page-requisites", "-i", "--input-file"])
        || parsed.has(&["-P", "--directory-prefix"])
    {
        let here = ShellField::literal(".");
        let folder = parsed.values(&["-P", "--directory-prefix"]).next().unwrap_or(&here);
        interpreter.recorder.touch(call.state, folder, Access::Write, EffectReach::Tree);
        return;
    }
    for url in &parsed.operands {
        save_as_named(interpreter, call, None, url);
    }
}

fn ping(interpreter: &mut Interpreter, call: &Invocation<'_>) {
    interpreter.recorder.network();
    let parsed = Arguments::parse(call.arguments, OptionSyntax { short: "cwWistIpQSlmMF", long: &[] });
    // On Windows `-n` takes a count.
    let counted = parsed.has(&["-n"]) && parsed.operands.len() > 1;
    if !parsed.has(&["-c", "-w"]) && !counted && call.context.lifetime == Lifetime::Open {
        interpreter.recorder.unbounded(UnboundedKind::Endless, call.program);
    }
}

/// `scp` and `rsync`: the last operand receives; a name with a colon lies on another machine.
fn transfer(interpreter: &mut Interpreter, call: &Invocation<'_>, short: &'static str) {
    let parsed = Arguments::parse(
        call.arguments,
        OptionSyntax {
            short,
            long: &[
                "--exclude",
                "--include",
                "--rsh",
                "--filter",
                "--exclude-from",
                "--files-from",
                "--port",
                "--log-file",
                "--backup-dir",
                "--partial-dir",
            ],
        },
    );
    refuse_hidden_options(interpreter, call, &parsed);
    local_commands(interpreter, call);
    if parsed.has(&["-e", "--rsh", "--rsync-path", "-S", "-o", "-D", "-F"]) && call.program == "scp"
        || parsed.has(&["--rsh", "--rsync-path"])
        || (call.program == "rsync" && parsed.has(&["-e"]))
    {
        interpreter.recorder.code(UnknownReason::Option, call.program);
    }
    for file in parsed.values(&["--log-file", "--backup-dir", "--partial-dir"]) {
        interpreter.recorder.touch(call.state, file, Access::Write, EffectReach::Tree);
    }
    let local = |field: &ShellField| !field.text.split('/').next().unwrap_or_default().contains(':');
    let tries_only = call.program == "rsync" && parsed.has(&["-n", "--dry-run", "--list-only"]);
    let Some((destination, sources)) = parsed.operands.split_last() else {
        return;
    };
    if !parsed.operands.iter().all(local) {
        interpreter.recorder.network();
    }
    for source in sources.iter().filter(|field| local(field)) {
        let removes = parsed.has(&["--remove-source-files"]) && !tries_only;
        let access = if removes { Access::Delete } else { Access::Read };
        interpreter.recorder.touch(call.state, source, access, EffectReach::Tree);
        if removes {
            let target = super::files::target(interpreter, call.state, source);
            interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
        }
    }
    if local(destination) && !tries_only && !sources.is_empty() {
        interpreter.recorder.touch(call.state, destination, Access::Write, EffectReach::Tree);
        // A folder without a slash behind it arrives under its own name.
        for source in sources.iter().filter(|source| source.exact && !source.text.ends_with('/')) {
            let name = source.text.rsplit(['/', ':']).next().unwrap_or(&source.text);
            if destination.exact && !matches!(name, "" | "." | "..") {
                let text = format!("{}/{name}", destination.text.trim_end_matches('/'));
                let place = ShellField { text, ..destination.clone() };
                interpreter.recorder.touch(call.state, &place, Access::Write, EffectReach::Tree);
            }
        }
        let here = matches!(destination.known(), Some("." | "./"));
        if here && sources.iter().any(|source| source.text.ends_with('/') && local(source)) {
            // What is in a folder lands here, whatever it is called.
            let inside = ShellField { text: "./**".to_owned(), glob: true, ..destination.clone() };
            interpreter.recorder.touch(call.state, &inside, Access::Write, EffectReach::Tree);
        }
        if parsed.options.iter().any(|option| option.name.starts_with("--del")) {
            interpreter.recorder.touch(call.state, destination, Access::Delete, EffectReach::Tree);
            let target = super::files::target(interpreter, call.state, destination);
            interpreter.recorder.unbounded(UnboundedKind::RecursiveDelete, &target);
        }
    }
}
