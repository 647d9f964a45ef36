//! `dispatch trust`: the user approves content that came with a project.

use crate::app::Status;
use crate::args::TrustRequest;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::trust::{Approval, Trust, read_content};
use dispatch_os::lock::{FileLock, LockKind};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another `dispatch trust`.
const LOCK_WAIT: Duration = Duration::from_secs(5);

pub(crate) fn run(loaded: &Loaded, request: &TrustRequest, printer: &Printer) -> Result<Status, Failure> {
    if request.list {
        return list(loaded, request.json.into(), printer);
    }
    let paths = if request.paths.is_empty() { project_files(loaded)? } else { absolute(&request.paths)? };
    if let Some(folder) = loaded.trust_file.parent() {
        dispatch_os::files::create_dir_owner_only(folder)?;
    }
    let _lock = FileLock::acquire(&loaded.trust_file.with_extension("lock"), LockKind::Exclusive, LOCK_WAIT)?;
    let mut trust = Trust::read(&loaded.trust_file)?;
    let mut lines = Vec::new();
    for path in paths {
        lines.push(if request.revoke { revoke(&mut trust, &path)? } else { approve(&mut trust, path)? });
    }
    trust.write(&loaded.trust_file)?;
    printer.out(&lines.join("\n"));
    Ok(Status::Done)
}

fn approve(trust: &mut Trust, path: PathBuf) -> Result<String, Failure> {
    let content = read_content(&path)?;
    let line = match trust.approval(&path, &content) {
        Approval::Approved => format!("already approved: {}", path.display()),
        Approval::Changed | Approval::Unknown => format!("approved: {}", path.display()),
    };
    trust.approve(path, &content);
    Ok(line)
}

fn revoke(trust: &mut Trust, path: &Path) -> Result<String, Failure> {
    if trust.revoke(path) {
        return Ok(format!("no longer approved: {}", path.display()));
    }
    Err(Failure::usage(format!("{} was not approved", path.display())).hint("`dispatch trust --list` shows what is"))
}

fn list(loaded: &Loaded, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let trust = Trust::read(&loaded.trust_file)?;
    let entries: Vec<_> = trust.iter().map(|(path, hash)| (path, hash, state(&trust, path))).collect();
    if format == Format::Json {
        let entry = |(path, hash, state): &(&Path, &str, &str)| json!({"path": path, "sha256": hash, "state": state});
        printer.json(&json!({"approved": entries.iter().map(entry).collect::<Vec<_>>()}))?;
        return Ok(Status::Done);
    }
    if entries.is_empty() {
        printer.out("nothing is approved");
        return Ok(Status::Done);
    }
    let row = |(path, hash, state): &(&Path, &str, &str)| {
        vec![(*state).to_owned(), hash.chars().take(12).collect(), path.display().to_string()]
    };
    printer.out(&table(&entries.iter().map(row).collect::<Vec<_>>()));
    Ok(Status::Done)
}

fn state(trust: &Trust, path: &Path) -> &'static str {
    match read_content(path).map(|content| trust.approval(path, &content)) {
        Ok(Approval::Approved) => "approved",
        Ok(_) => "changed",
        Err(_) => "missing",
    }
}

fn project_files(loaded: &Loaded) -> Result<Vec<PathBuf>, Failure> {
    let nothing = || {
        Failure::usage("there is nothing to approve here")
            .hint("name the files, or run this in a project that has .dispatch/dispatch.toml")
    };
    let file = loaded.project_file().filter(|file| file.is_file()).ok_or_else(nothing)?;
    Ok(vec![file])
}

fn absolute(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let resolve = |path: &PathBuf| {
        std::path::absolute(path).map_err(|error| Failure::usage(format!("{} is no path: {error}", path.display())))
    };
    paths.iter().map(resolve).collect()
}
