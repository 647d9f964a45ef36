//! `dispatch trust`: the user approves content that came with a project.

mod candidates;
mod compile;
mod extension_grant;
mod extension_review;
mod hook_review;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_os::lock::{FileLock, LockKind};
use dispatch_trust::{Approval, Trust};
use ext_hook_pipeline::contract::{RuleTrust, weakened_rules};
use ext_workspace_hooks::contract::{
    HookApprovals, HookFileValidity, ReviewState, is_hooks_file, read_hook_files, review_hooks, workspace_of,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use candidates::script_files;
pub(crate) use extension_grant::{GrantChoice, offer_grants};
pub(crate) use extension_review::review;

/// How long to wait for another `dispatch trust`.
const LOCK_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(crate) struct TrustRequest {
    /// Files, script folders, module names, extensions; default: the project's settings and .akira/hooks.json
    paths: Vec<PathBuf>,
    /// Approve the project's settings, .akira/hooks.json, every script below .ai/hooks and every extension
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    /// Also grant the extensions among them what their manifests ask for
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    grant: bool,
    /// List what is approved and what waits for approval instead
    #[arg(long, conflicts_with_all = ["paths", "all"])]
    list: bool,
    /// Withdraw the approval instead
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
    /// With --list: print one JSON object instead of text
    #[arg(long, requires = "list")]
    json: bool,
}

pub(crate) fn run(loaded: &Loaded, request: &TrustRequest, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::of(loaded);
    if request.list {
        return list(loaded, &workspace, request.json.into(), printer);
    }
    let what = if request.revoke { "withdraw an approval" } else { "approve files that came with a project" };
    crate::policy_change::confirm(loaded, what, printer)?;
    let lock = lock(loaded)?;
    let mut trust = Trust::read(&loaded.trust_file)?;
    let mut approvals = HookApprovals::beside(&loaded.trust_file);
    let mut lines = Vec::new();
    let paths = wanted(loaded, &workspace, request, &trust)?;
    for path in paths.clone() {
        lines.push(match request.revoke {
            true => revoke(&mut trust, &mut approvals, &path)?,
            false => approve(loaded, &mut trust, &mut approvals, path, printer)?,
        });
    }
    trust.write(&loaded.trust_file)?;
    approvals.save()?;
    drop(lock);
    // Whoever looks next may find the file invalid; from here on every process knows what it said.
    let _ = read_hook_files(&workspace_of(&loaded.start), &loaded.folders());
    printer.out(&lines.join("\n"));
    if !request.revoke {
        compile::compile(&workspace.root).iter().for_each(|problem| printer.warn(problem));
        for found in loaded.externals.found.iter().filter(|found| paths.contains(&found.path)) {
            if let Some(manifest) = &found.manifest {
                offer_grants(loaded, manifest, request.grant.into(), printer)?;
            }
        }
    }
    Ok(Status::Done)
}

/// Whether a file does not exist yet, or the user approved it as it is.
pub(crate) fn is_new_or_approved(loaded: &Loaded, path: &Path) -> bool {
    let Ok(content) = candidates::content(path) else {
        return !dispatch_os::files::exists(path);
    };
    Trust::load(&loaded.trust_file).approval(path, &content) == Approval::Approved
}

/// Approves a file that the user has just had written.
///
/// # Errors
/// When the file or the approvals cannot be read or written.
pub(crate) fn approve_own(loaded: &Loaded, path: &Path) -> Result<(), Failure> {
    let _lock = lock(loaded)?;
    let mut trust = Trust::read(&loaded.trust_file)?;
    trust.approve(path.to_path_buf(), &candidates::content(path)?)?;
    Ok(trust.write(&loaded.trust_file)?)
}

/// Withdraws the approval of something that is gone, if there was one.
///
/// # Errors
/// When the approvals cannot be read or written.
pub(crate) fn forget(loaded: &Loaded, path: &Path) -> Result<(), Failure> {
    let _lock = lock(loaded)?;
    let mut trust = Trust::read(&loaded.trust_file)?;
    if trust.revoke(path) {
        trust.write(&loaded.trust_file)?;
    }
    Ok(())
}

/// Keeps other commands from changing the approvals.
fn lock(loaded: &Loaded) -> Result<FileLock, Failure> {
    if let Some(folder) = loaded.trust_file.parent() {
        dispatch_os::files::create_dir_owner_only(folder)?;
    }
    Ok(FileLock::acquire(&loaded.trust_file.with_extension("lock"), LockKind::Exclusive, LOCK_WAIT)?)
}

/// The files that the command line is about.
fn wanted(
    loaded: &Loaded,
    workspace: &Workspace,
    request: &TrustRequest,
    trust: &Trust,
) -> Result<Vec<PathBuf>, Failure> {
    if !request.paths.is_empty() {
        let approved = if request.revoke { Some(trust) } else { None };
        return candidates::named(&workspace.root, &request.paths, &loaded.externals, approved);
    }
    let mut files = candidates::of_project(loaded, &workspace.root);
    if request.all && request.revoke {
        files.retain(|file| trust.iter().any(|(path, _)| path == file));
    }
    if !request.all {
        let settings = loaded.project_file();
        let is_rules = |file: &PathBuf| {
            let weakened = |name: &&str| file.ends_with(name) && is_weakened(loaded, workspace, name);
            candidates::RULE_FILES.iter().any(weakened)
        };
        let is_plain = |file: &PathBuf| {
            Some(file) == settings.as_ref()
                || is_hooks_file(file)
                || candidates::is_intents_file(file)
                || is_rules(file)
        };
        files.retain(|file| !candidates::RULE_FILES.iter().any(|name| file.ends_with(name)) || is_rules(file));
        let scripts = files.iter().filter(|file| !is_plain(file)).count();
        files.retain(is_plain);
        if files.is_empty() {
            return Err(nothing(scripts));
        }
    }
    if files.is_empty() { Err(nothing(0)) } else { Ok(files) }
}

/// Whether a rule file weakens something that is not approved yet.
fn is_weakened(loaded: &Loaded, workspace: &Workspace, name: &str) -> bool {
    let notes = weakened_rules(&workspace.paths("trust"), RuleTrust::File(&loaded.trust_file));
    notes.iter().any(|note| note.contains(&format!("in {name} ")))
}

fn nothing(scripts: usize) -> Failure {
    let failure = Failure::usage("nothing to approve here");
    match scripts {
        0 => {
            failure.hint(
                "name the files, or run this in a project that has .dispatch/dispatch.toml, .akira/hooks.json or script modules",
            )
        }
        _ => failure.hint(format!("look at the {scripts} script(s) below .ai/hooks, then run `dispatch trust --all`")),
    }
}

fn approve(
    loaded: &Loaded,
    trust: &mut Trust,
    approvals: &mut HookApprovals,
    path: PathBuf,
    printer: &Printer,
) -> Result<String, Failure> {
    if !dispatch_os::files::exists(&path) {
        return Err(Failure::usage(format!("no such file: {}", path.display())).hint("name existing files"));
    }
    let content = candidates::content(&path)?;
    let mut line = match state_of(trust, approvals, &path, &content) {
        "approved" => format!("already approved: {}", path.display()),
        _ => format!("approved: {}", path.display()),
    };
    if candidates::is_intents_file(&path) {
        let modes = String::from_utf8_lossy(&content);
        line = modes.lines().fold(line, |text, mode| format!("{text}\n  {mode}"));
    }
    if is_hooks_file(&path) {
        line = format!("{line}{}", hook_review::text(&review_hooks(approvals, &path, &content)));
        if approvals.approve(&path, &content)? == HookFileValidity::Invalid {
            printer.warn(&format!("{} is not valid; `dispatch workspace-hooks check` reports why", path.display()));
        }
    }
    if let Some(review) = extension_review::text(&loaded.externals, &path) {
        line = format!("{line}{review}");
    }
    trust.approve(path, &content)?;
    Ok(line)
}

fn revoke(trust: &mut Trust, approvals: &mut HookApprovals, path: &Path) -> Result<String, Failure> {
    approvals.revoke(path);
    if trust.revoke(path) {
        return Ok(format!("no longer approved: {}", path.display()));
    }
    Err(Failure::usage(format!("{} is not approved", path.display()))
        .hint("`dispatch trust --list` lists what is approved"))
}

/// One file and how it stands.
struct ApprovalListing {
    state: &'static str,
    hash: String,
    path: PathBuf,
}

fn list(loaded: &Loaded, workspace: &Workspace, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let trust = Trust::read(&loaded.trust_file)?;
    let approvals = HookApprovals::beside(&loaded.trust_file);
    let entry = |(path, hash): (&Path, &str)| ApprovalListing {
        state: state(&trust, &approvals, path),
        hash: hash.to_owned(),
        path: path.to_path_buf(),
    };
    let approved: Vec<ApprovalListing> = trust.iter().map(entry).collect();
    let waiting = candidates::of_project(loaded, &workspace.root).into_iter();
    let counts = |path: &PathBuf| {
        let name = candidates::RULE_FILES.iter().find(|name| path.ends_with(name));
        name.is_none_or(|name| is_weakened(loaded, workspace, name))
    };
    let waiting: Vec<ApprovalListing> = waiting.filter(counts).filter_map(|path| waiting_file(&trust, path)).collect();
    if format == Format::Json {
        let entry =
            |listed: &ApprovalListing| json!({"path": listed.path, "sha256": listed.hash, "state": listed.state});
        let entries = |list: &[ApprovalListing]| list.iter().map(entry).collect::<Vec<_>>();
        printer.json(&json!({"approved": entries(&approved), "waiting": entries(&waiting)}))?;
        return Ok(Status::Done);
    }
    if approved.is_empty() && waiting.is_empty() {
        printer.out("nothing is approved");
        return Ok(Status::Done);
    }
    let row = |listed: &ApprovalListing| {
        vec![listed.state.to_owned(), listed.hash.chars().take(12).collect(), listed.path.display().to_string()]
    };
    printer.out(&table(&approved.iter().chain(&waiting).map(row).collect::<Vec<_>>()));
    if !waiting.is_empty() {
        printer.out("\nwhat is waiting does not run; look at it, then approve it with `dispatch trust PATH`");
    }
    Ok(Status::Done)
}

/// The file, if neither it nor a copy of it was ever approved; hooks count in their own folder alone.
fn waiting_file(trust: &Trust, path: PathBuf) -> Option<ApprovalListing> {
    let content = candidates::content(&path).ok()?;
    let copied = !is_hooks_file(&path) && trust.is_approved(&content);
    let unknown = trust.approval(&path, &content) == Approval::Unknown && !copied;
    unknown.then(|| ApprovalListing { state: "waiting", hash: dispatch_trust::fingerprint(&content), path })
}

fn state(trust: &Trust, approvals: &HookApprovals, path: &Path) -> &'static str {
    candidates::content(path).map_or("missing", |content| state_of(trust, approvals, path, &content))
}

/// How a content of a file stands to what was approved. Hooks are as they were approved only if the files that they
/// name are.
fn state_of(trust: &Trust, approvals: &HookApprovals, path: &Path, content: &[u8]) -> &'static str {
    let same = || review_hooks(approvals, path, content).iter().all(|hook| hook.state == ReviewState::Same);
    match trust.approval(path, content) {
        Approval::Approved if !is_hooks_file(path) || same() => "approved",
        Approval::Approved | Approval::Changed => "changed",
        Approval::Unknown => "waiting",
    }
}
