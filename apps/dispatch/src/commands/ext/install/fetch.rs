//! Brings an extension into a folder of our own with the real `npm` or `git`, so that it can be looked at. Nothing of it runs.

use super::source::InstallSource;
use crate::failure::Failure;
use dispatch_os::files;
use dispatch_os::process::ChildSpec;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a download may take.
const DOWNLOAD: Duration = Duration::from_secs(300);
/// How npm is told to do nothing but download and unpack.
const NPM_OPTIONS: [&str; 5] =
    ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--no-update-notifier"];
/// What npm and git need to reach servers from behind a proxy or with certificates of one's own.
const NETWORK_VARIABLES: [&str; 12] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "npm_config_registry",
    "NPM_CONFIG_USERCONFIG",
    "GIT_SSH_COMMAND",
    "SSH_AUTH_SOCK",
];

/// An extension that was fetched and not installed yet.
pub(super) struct Fetched {
    /// Its files.
    pub(super) folder: PathBuf,
    /// The package that it came as.
    pub(super) package: Option<FetchedPackage>,
}

/// A package of npm.
pub(super) struct FetchedPackage {
    /// The packed file.
    pub(super) tarball: PathBuf,
    /// Its name, maybe in a scope.
    pub(super) name: String,
}

/// Fetches a source into an empty folder.
pub(super) fn fetch(source: &InstallSource, start: &Path, into: &Path) -> Result<Fetched, Failure> {
    match source {
        InstallSource::Npm(name) => {
            let packed = npm(into, &["pack", "--json", "--pack-destination", "."], name)?;
            unpack(into.join(tarball_name(&packed)?), into)
        }
        InstallSource::Tarball(path) => {
            let path = existing(start, path)?;
            let copy = into.join(path.file_name().unwrap_or_default());
            files::copy(&path, &copy)
                .map_err(|error| Failure::usage(format!("cannot read {}", path.display())).caused_by(&error))?;
            unpack(copy, into)
        }
        InstallSource::Git { url, reference } => {
            let folder = into.join("clone");
            clone(url, reference.as_deref(), &folder)?;
            Ok(Fetched { folder, package: None })
        }
        InstallSource::Folder(path) => Ok(Fetched { folder: existing(start, path)?, package: None }),
    }
}

/// Installs a packed package for good.
pub(super) fn install_package(tarball: &Path, prefix: &Path) -> Result<(), Failure> {
    npm(prefix, &["install", "--prefix", "."], &tarball.display().to_string()).map(drop)
}

fn existing(start: &Path, path: &str) -> Result<PathBuf, Failure> {
    let path = start.join(path);
    if files::exists(&path) {
        return Ok(path);
    }
    Err(Failure::usage(format!("no such file or folder: {}", path.display()))
        .hint("a package of the npm registry is `npm:NAME`, a repository `git+https://...`"))
}

/// Unpacks a package with npm, beside it.
fn unpack(tarball: PathBuf, into: &Path) -> Result<Fetched, Failure> {
    let stage = into.join("stage");
    files::create_dir_all(&stage).map_err(|error| Failure::internal(error.to_string()))?;
    install_package(&tarball, &stage)?;
    let text = files::read_to_string(stage.join("package.json")).unwrap_or_default();
    let installed: Value = serde_json::from_str(&text).unwrap_or_default();
    let name = installed["dependencies"].as_object().and_then(|all| all.keys().next().cloned());
    let name = name.ok_or_else(|| Failure::internal(format!("npm installed nothing from {}", tarball.display())))?;
    Ok(Fetched { folder: stage.join("node_modules").join(&name), package: Some(FetchedPackage { tarball, name }) })
}

fn tarball_name(packed: &str) -> Result<String, Failure> {
    let packed: Value = serde_json::from_str(packed).unwrap_or_default();
    // npm writes a list, and from version 12 on an object by name.
    let first = packed.get(0).or_else(|| packed.as_object().and_then(|all| all.values().next()));
    let name = first.and_then(|package| package["filename"].as_str());
    // The file of `@me/name` is called `me-name-1.0.0.tgz`, whatever the answer says.
    name.map(|name| name.trim_start_matches('@').replace('/', "-"))
        .ok_or_else(|| Failure::internal("`npm pack` does not say what it packed"))
}

fn npm(folder: &Path, arguments: &[&str], what: &str) -> Result<String, Failure> {
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let spec = ChildSpec::new(program).args(arguments.iter().chain(&NPM_OPTIONS).copied()).arg("--").arg(what);
    run(
        spec.working_folder(folder),
        "npm",
        "install Node.js, which brings npm, or name a folder or a repository instead",
    )
}

fn clone(url: &str, reference: Option<&str>, into: &Path) -> Result<(), Failure> {
    let hint = "install git, or name a folder instead";
    let fetched =
        ChildSpec::new("git").args(["-c", "core.hooksPath=/dev/null", "clone", "--quiet", "--", url]).arg(into);
    run(fetched.variable("GIT_TERMINAL_PROMPT", "0"), "git", hint)?;
    if let Some(reference) = reference {
        let checkout =
            ChildSpec::new("git").args(["-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--detach"]);
        // A branch that was not checked out is known as one of the remote.
        let at_remote = format!("origin/{reference}");
        let tried = run(checkout.clone().arg(&at_remote).working_folder(into), "git", hint);
        if tried.is_err() {
            run(checkout.arg(reference).working_folder(into), "git", hint)?;
        }
    }
    Ok(())
}

fn run(spec: ChildSpec, program: &str, hint: &str) -> Result<String, Failure> {
    let spec = NETWORK_VARIABLES.iter().fold(spec, |spec, name| spec.pass_variable(*name));
    let outcome = spec.timeout(DOWNLOAD).run();
    if outcome.succeeded() {
        return Ok(outcome.stdout.text());
    }
    let said = outcome.stderr.text();
    let said = said.trim();
    let failure = Failure::usage(format!(
        "{program} failed: {}",
        if said.is_empty() { outcome.end.to_string() } else { said.to_owned() }
    ));
    Err(match outcome.end {
        dispatch_os::process::ChildEnd::FailedToStart(_) => failure.hint(hint),
        _ => failure,
    })
}
