//! `dispatch ext install` from a folder, a packed package, a registry and a repository, with the real npm and git.

use dispatch_support::{Output, Terminal, TestContext};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;

/// A package that is an extension with one command.
fn write_package(context: &TestContext, folder: &str, version: &str, fields: &str, said: &str) {
    let manifest = format!(
        r#"{{"id":"clock","name":"Clock","description":"Tells a time.","version":"{version}","apiVersion":"^0.2.0",
        "tier":"external","contributes":{{"commands":["clock"]}}{fields}}}"#
    );
    let package = json!({
        "name": "@me/clock", "version": version, "keywords": ["dispatch-extension"], "files": ["*.ts", "manifest.json"],
        "scripts": { "preinstall": "touch ran", "install": "touch ran", "postinstall": "touch ran", "prepare": "touch ran" }
    });
    let code = format!(
        "export const activate = (host) => host.defineCommand({{ name: 'clock', description: 'x', run: () => '{said}' }});"
    );
    context.write_cloned(format!("{folder}/manifest.json"), manifest);
    context.write_cloned(format!("{folder}/package.json"), package.to_string());
    context.write_cloned(format!("{folder}/index.ts"), code);
}

/// Packs a folder with npm; answers where, and what npm says of it.
fn pack(context: &TestContext, folder: &str) -> (PathBuf, Value) {
    let packed = context.run_shell(&format!("cd {folder} && npm pack --json --ignore-scripts"));
    assert_eq!(packed.status, 0, "{packed:?}");
    let said = packed.json()[0].clone();
    let name = said["filename"].as_str().unwrap().trim_start_matches('@').replace('/', "-");
    (context.project().join(folder).join(name), said)
}

/// Installs as a process that cannot ask anybody.
fn install_unasked(context: &TestContext, source: &str) -> Output {
    context.run_shell(&format!("dispatch ext install {source}"))
}

fn clock(context: &TestContext) -> Output {
    context.dispatch(&["run", "clock"])
}

#[test]
fn a_folder_is_shown_before_anything_runs_and_needs_a_person() {
    let context = TestContext::new();
    write_package(&context, "clock", "1.0.0", r#","capabilities":["network","db"]"#, "noon");
    let refused = install_unasked(&context, "clock");
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("confirm it at a terminal"), "{refused:?}");
    for shown in ["`clock` 1.0.0 from clock", "Tells a time.", "adds: command clock", "asks for: network, db"] {
        assert!(refused.stdout.contains(shown), "{shown}: {refused:?}");
    }
    let agent = context.run_shell("CLAUDECODE=1 dispatch ext install clock");
    assert!(agent.status == 2 && agent.stderr.contains("an agent ("), "{agent:?}");
    assert!(!context.home().join("config/extensions").exists(), "nothing was installed");

    let mut command = context.command("dispatch");
    command.args(["ext", "install", "clock"]);
    let mut terminal = Terminal::start(command);
    for question in ["install and approve the extension `clock` 1.0.0", "grant `clock` the capabilities network, db"] {
        terminal.wait_for(question);
        terminal.wait_for("Type `");
        let word = terminal.wait_for("`").trim_end_matches('`').to_owned();
        terminal.wait_for("go on: ");
        terminal.press(&format!("{word}\r"));
    }
    let (status, screen) = terminal.finish();
    assert_eq!(status, 0, "{screen}");
    assert_eq!(clock(&context).stdout, "noon\n");
    let settings = std::fs::read_to_string(context.home().join("config/dispatch.toml")).unwrap();
    assert!(settings.contains("[grants.clock]\ncapabilities = [\"network\", \"db\"]"), "{settings}");
}

#[test]
fn a_new_version_is_asked_about_only_where_it_can_do_more() {
    let context = TestContext::new();
    write_package(&context, "clock", "1.0.0", r#","capabilities":["db"]"#, "one");
    context.allow_policy_changes();
    let installed = install_unasked(&context, "clock");
    assert!(installed.stdout.contains("not granted to `clock`: db; `dispatch trust clock --grant`"), "{installed:?}");
    std::fs::remove_file(context.home().join("config/dispatch.toml")).unwrap();

    write_package(&context, "clock", "1.1.0", r#","capabilities":["db"]"#, "two");
    let same = install_unasked(&context, "clock");
    assert_eq!(same.status, 0, "{same:?}");
    assert!(same.stdout.contains("it can do no more than version 1.0.0, which you approved"), "{same:?}");
    assert_eq!(clock(&context).stdout, "two\n");

    write_package(&context, "clock", "1.2.0", r#","capabilities":["db","fs"]"#, "three");
    let more = install_unasked(&context, "clock");
    assert_eq!(more.status, 2, "{more:?}");
    assert!(more.stdout.contains("new since version 1.1.0: capability fs"), "{more:?}");
    assert_eq!(clock(&context).stdout, "two\n", "the old version stays");
    write_package(&context, "clock", "1.3.0", "", "four");
    assert_eq!(install_unasked(&context, "clock").status, 0, "less is not asked about");
    assert_eq!(clock(&context).stdout, "four\n");
}

#[test]
fn a_packed_package_is_installed_by_npm_and_its_scripts_do_not_run() {
    let context = TestContext::new();
    write_package(&context, "clock", "1.0.0", "", "noon");
    let (tarball, _) = pack(&context, "clock");
    let installed = context.dispatch(&["ext", "install", tarball.to_str().unwrap()]);
    assert_eq!(installed.status, 0, "{installed:?}");
    let place = context.home().join("config/extensions/node_modules/@me/clock");
    assert!(place.join("index.ts").is_file() && !place.join("ran").exists());
    assert_eq!(clock(&context).stdout, "noon\n");
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    let line = listed.as_array().unwrap().iter().find(|it| it["id"] == "clock").unwrap().clone();
    assert!(line["source"].as_str().unwrap().ends_with("extensions/node_modules/@me/clock"), "{line}");

    write_package(&context, "clock", "2.0.0", "", "midnight");
    let (tarball, _) = pack(&context, "clock");
    assert_eq!(context.dispatch(&["ext", "install", tarball.to_str().unwrap()]).status, 0);
    assert_eq!(clock(&context).stdout, "midnight\n");
}

/// A registry with one package, for the real npm.
fn registry(tarball: PathBuf, packed: &Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let version = packed["version"].as_str().unwrap();
    let dist = json!({ "tarball": format!("{address}/clock.tgz"), "integrity": packed["integrity"], "shasum": packed["shasum"] });
    let versions = json!({ version: { "name": "@me/clock", "version": version, "dist": dist } });
    let document = json!({ "name": "@me/clock", "dist-tags": { "latest": version }, "versions": versions }).to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let asked = lines.next().unwrap_or_default();
            lines.find(String::is_empty);
            let body = if asked.contains("clock.tgz") {
                std::fs::read(&tarball).unwrap()
            } else {
                document.clone().into_bytes()
            };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

#[test]
fn a_package_of_a_registry_is_fetched_by_its_name() {
    let context = TestContext::new();
    write_package(&context, "clock", "1.4.0", "", "noon");
    let (tarball, packed) = pack(&context, "clock");
    let address = registry(tarball, &packed);
    let variables = [("npm_config_registry", address.as_str())];
    let installed = context.run("dispatch", &["ext", "install", "npm:@me/clock"], b"", &variables);
    assert!(installed.stdout.contains("installed `clock` 1.4.0"), "{installed:?}");
    assert_eq!(clock(&context).stdout, "noon\n");
    let missing = context.dispatch(&["ext", "install", "npm:--version"]);
    assert!(missing.status == 2 && missing.stderr.contains("invalid package name"), "{missing:?}");
}

#[test]
fn a_repository_is_cloned_by_git_at_the_tag_that_is_named() {
    let context = TestContext::new();
    write_package(&context, "clock", "1.0.0", "", "old");
    let git = |line: &str| {
        let output = context.run_shell(&format!("cd clock && git -c user.name=a -c user.email=a@b.c {line}"));
        assert_eq!(output.status, 0, "{line}: {output:?}");
    };
    for line in ["init -q", "add -A", "commit -qm one", "tag v1"] {
        git(line);
    }
    write_package(&context, "clock", "2.0.0", "", "new");
    git("commit -qam two");
    let address = format!("file://{}", context.project().join("clock").display());
    for (address, said) in [(address.clone(), "new\n"), (format!("{address}#v1"), "old\n")] {
        let installed = context.dispatch(&["ext", "install", &address]);
        assert_eq!(installed.status, 0, "{installed:?}");
        assert_eq!(clock(&context).stdout, said);
    }
    assert!(!context.home().join("config/extensions/clock/.git").exists());
    let missing = context.dispatch(&["ext", "install", &format!("{address}#v9")]);
    assert!(missing.status == 2 && missing.stderr.contains("v9"), "{missing:?}");
}

#[test]
fn what_is_no_extension_is_not_installed() {
    let context = TestContext::new();
    write_package(&context, "clock", "1.0.0", "", "noon");
    let manifest = context.project().join("clock/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    for (changed, said) in [
        (text.replace("^0.2.0", "^9.0.0"), "`apiVersion` is `^9.0.0`"),
        (text.replace("\"clock\",\"name\"", "\"storage-sqlite\",\"name\""), "part of the core"),
        (text.replace("\"tier\":\"external\"", "\"tier\":\"core\""), "tier"),
        ("{".to_owned(), "the file is not JSON"),
    ] {
        std::fs::write(&manifest, changed).unwrap();
        let refused = context.dispatch(&["ext", "install", "clock"]);
        assert_eq!(refused.status, 3, "{refused:?}");
        assert!(refused.stderr.contains(said), "{said}: {refused:?}");
    }
    std::fs::write(&manifest, text).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", context.project().join("clock/more.ts")).unwrap();
    let linked = context.dispatch(&["ext", "install", "clock"]);
    assert!(linked.stderr.contains("more.ts is a symbolic link"), "{linked:?}");
    let nowhere = context.dispatch(&["ext", "install", "nowhere"]);
    assert!(nowhere.stderr.contains("no such file or folder"), "{nowhere:?}");
    assert!(!context.home().join("config/extensions").exists());
}

#[test]
fn a_capability_is_granted_with_the_approval_and_asked_for_once() {
    let context = TestContext::new();
    write_package(&context, ".dispatch/extensions/clock", "1.0.0", r#","capabilities":["db"]"#, "noon");
    let approved = context.dispatch(&["trust", "clock", "--grant"]);
    assert!(approved.stdout.contains("granted to `clock`: db"), "{approved:?}");
    let settings = std::fs::read_to_string(context.home().join("config/dispatch.toml")).unwrap();
    assert!(settings.contains("[grants.clock]\ncapabilities = [\"db\"]"), "{settings}");
    assert!(settings.contains("confirm = \"none\""), "the rest of the file stays: {settings}");
    let again = context.dispatch(&["trust", "clock", "--grant"]);
    assert!(!again.stdout.contains("granted"), "{again:?}");
    let info = context.dispatch(&["ext", "info", "clock", "--json"]).json();
    assert_eq!(info["granted"], json!(["db"]));
}
